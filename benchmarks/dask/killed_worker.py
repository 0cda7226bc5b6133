"""Kill one of four Dask workers in the middle of a certificate and compare it with one made undisturbed, and in memory.

python -m benchmarks.dask.killed_worker [--samples 2240 --features 10000 --steps 6]
"""

import argparse
import os
import signal
import time
from typing import Any

import numpy as np
from benchmarks.dask.clusters import difference, one_thread, workers
from benchmarks.machine import facts, write_results

import certpca

WORKERS = 4
KILL_AT = 4  # steps


def certified(operator: Any, solution: Any, steps: int, client: Any = None) -> tuple[Any, float, bool]:
    """Return a certificate, the seconds it took, and whether a worker was killed; with a client one is."""
    heard: list[Any] = []
    killed: list[int] = []

    def listener(step: Any) -> None:
        heard.append(step)
        if client is not None and len(heard) == KILL_AT:
            held = client.has_what()
            killed.append(client.run(os.getpid)[max(held, key=lambda worker: len(held[worker]))])
            os.kill(killed[0], signal.SIGKILL)

    begin = time.perf_counter()
    certificate = certpca.certify(
        operator,
        solution.sparsity,
        solution=solution,
        branching=False,
        target_gap=0.0,
        budget=certpca.Budget(steps=steps),
        listener=listener,
    )
    return certificate, time.perf_counter() - begin, bool(killed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2240)
    parser.add_argument("--features", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=6)
    options = parser.parse_args()
    start = facts()
    data = np.asarray(certpca.balding_nichols(options.samples, options.features, populations=5).data)
    sparsity = max(1, options.features // 60)
    made = []
    with one_thread():
        solution = certpca.solve(data, sparsity, "svd-threshold")
        made.append(("in memory", *certified(certpca.from_data(data), solution, options.steps)))
        with workers(WORKERS) as client:
            operator = certpca.from_data(data, client=client)
            made.append((f"{WORKERS} workers", *certified(operator, solution, options.steps)))
            made.append((f"{WORKERS} workers, one killed", *certified(operator, solution, options.steps, client)))
    first = made[0][1]
    rows = [
        {
            "run": name,
            "seconds": seconds,
            "killed": killed,
            "kind": certificate.kind,
            "objective": certificate.objective,
            "upper_bound": certificate.upper_bound,
            "objective_difference": difference(first.objective, certificate.objective),
            "bound_difference": difference(first.upper_bound, certificate.upper_bound),
            "same_density": bool(np.array_equal(first.evidence["density"], certificate.evidence["density"])),
        }
        for name, certificate, seconds, killed in made
    ]
    for row in rows:
        print(row)
    content = {"samples": options.samples, "features": options.features, "sparsity": sparsity, "steps": options.steps}
    write_results("dask_killed_worker", start, {**content, "rows": rows})


if __name__ == "__main__":
    main()
