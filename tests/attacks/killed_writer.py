"""Overwrite a result again and again, be killed at random moments, and see whether the old or the new one is whole.

Run as ``python killed_writer.py FOLDER KILLS SEED``; prints how many kills left the old result, the new one, and .part
files. A separate process, so that nothing but this is forked.
"""

import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import certpca


def write_for_ever(folder: Path, results: list[certpca.Solution]) -> None:
    while True:
        for solution in results:
            certpca.save_solution(solution, folder / "result.json")


def main(folder: Path, kills: int, seed: int) -> None:
    rng, chance = np.random.default_rng(seed), random.Random(seed)
    data = rng.standard_normal((120, 200)) + rng.standard_normal((120, 4)) @ rng.standard_normal((4, 200))
    results = []
    for sparsity in (20, 30):
        solution = certpca.solve(data, sparsity)
        certificate = certpca.certify(data, sparsity, solution=solution, target_gap=1e-4, branching=False)
        results.append(replace(solution, certificate=certificate))
    assert all(solution.certificate is not None and solution.certificate.evidence for solution in results)
    certpca.save_solution(results[0], folder / "result.json")
    found, left = {20: 0, 30: 0}, 0
    for _ in range(kills):
        child = os.fork()
        if child == 0:
            write_for_ever(folder, results)
        time.sleep(chance.uniform(0.0, 0.06))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        left += any(file.name.endswith(".part") for file in folder.iterdir())
        solution = certpca.load_solution(folder / "result.json")
        assert solution.certificate is not None
        assert solution.certificate.sparsity == solution.sparsity
        beside = certpca.load_certificate(folder / "result.certificate.json")
        assert isinstance(beside, certpca.Certificate)
        for certificate in (solution.certificate, beside):
            assert certpca.verify(certificate, data).upper_bound <= certificate.upper_bound
        found[solution.sparsity] += 1
    certpca.save_solution(results[0], folder / "result.json")
    names = sorted(file.name for file in folder.iterdir())
    assert len(names) == 3, names  # the result, its certificate, its evidence: leftovers went with the next write
    print(found[20], found[30], left)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
