"""The default solver beside the quickest one: what each captures, in how many seconds and products with the data.

    python -m benchmarks.speed.auto [--only NAME ...] [--at K ...] [--before]

Each case is a process of its own with one thread, as in the league table of peers; data are loaded and centred
before the clock starts, short solves are repeated and the shortest time counts. A walk is one question that goes over
all data, there, back or both: a product with a panel, or columns of the matrix; small matrices that are formed have
none. Results go to benchmarks/results/auto.json, with --before to auto_before.json: run that with PYTHONPATH leading to
the version to compare with. `python -m benchmarks.render` writes the table in docs/costs.md.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from benchmarks.certificates.gaps import DATA
from benchmarks.machine import CHECKOUT, SHARED, facts, write_results
from benchmarks.peers.datasets import genotypes, hadamard, text

import certpca

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
LARGE = {
    "simulated": (624, 9377),
    "chr 1": (208, 626),
    "bladder": (10, 50),
    "lung": (10, 159),
    "colon": (50,),
    "HapMap3": (10, 50, 360),
    "chr 22, Europe": (723, 2170),
    "Associated Press": (10,),
    "stocks": (5, 10, 20),
}
SMALL = (5, 10)
SOLVERS = ("auto", "svd-threshold")
SHORT = 0.5  # seconds up to which a solve is repeated
REPEATS = 5


def _listed(name: str) -> certpca.Operator:
    load, file = DATA[name]
    data = load(file)
    return certpca.from_matrix(data) if name == "stocks" else certpca.from_data(data, missing="mean")


def _covariance(file: str) -> certpca.Operator:
    return certpca.from_matrix(np.load(SHARED / "covariances" / f"{file}.npz")["A"])


def _made(load: Callable[[], Any]) -> certpca.Operator:
    return certpca.from_data(load().values)


def cases() -> dict[str, tuple[Callable[[], certpca.Operator], tuple[int, ...]]]:
    """Return how each matrix is loaded, and its sparsities."""
    found: dict[str, tuple[Callable[[], certpca.Operator], tuple[int, ...]]] = {
        "pit props": (certpca.pitprops, (5, 7)),
        "Hadamard 33 x 256": (partial(_made, partial(hadamard.load, 5, 8)), (64,)),
        "Hadamard 129 x 4096": (partial(_made, partial(hadamard.load, 7, 12)), (1024,)),
        "genotypes 2240 x 5000": (partial(_made, partial(genotypes.load, 7, 5000)), (83,)),
        "text, made": (partial(_made, text.load), (50,)),
    }
    for path in sorted((SHARED / "covariances").glob("*.npz")):
        found[path.stem] = (partial(_covariance, path.stem), SMALL)
    found |= {name: (partial(_listed, name), sparsities) for name, sparsities in LARGE.items()}
    return found


def counted(operator: certpca.Operator, asked: dict[str, int]) -> certpca.Operator:
    """Count the questions that go over all data, and the vectors that they were about."""
    whole: Any = operator
    asking: list[str] = []

    def watch(name: str, vectors: Callable[..., int]) -> None:
        ask = getattr(operator, name, None)
        if ask is None:  # in versions before it
            return

        def counting(*given: Any) -> Any:
            if not asking:  # else it is a part of another question
                asked["walks"] += 1
                asked["vectors"] += vectors(*given)
            asking.append(name)
            try:
                return ask(*given)
            finally:
                asking.pop()

        setattr(whole, name, counting)

    watch("matmat", lambda panel: int(panel.shape[1]))
    watch("columns", lambda indices: int(np.size(indices)))
    watch("images", lambda supports, _: int(supports.shape[0]))
    watch("captured", lambda supports, _: int(supports.shape[0]))
    watch("transposed_times", lambda scores: int(scores.shape[1]))
    return operator


def run(name: str, sparsity: int) -> dict[str, Any]:
    """Solve one case by each solver."""
    load, _ = cases()[name]
    operator = load()
    row: dict[str, Any] = {"data": name, "features": operator.size, "sparsity": sparsity}
    for solver in SOLVERS:
        certpca.solve(certpca.pitprops(), 3, solver)  # what is imported and compiled is ready
        times: list[float] = []
        while not times or (times[0] < SHORT and len(times) < REPEATS):
            begin = time.perf_counter()
            solution = certpca.solve(operator, sparsity, solver)
            times.append(time.perf_counter() - begin)
        asked = {"walks": 0, "vectors": 0}
        certpca.solve(counted(load(), asked), sparsity, solver)
        row[solver] = {
            "objective": solution.objective,
            "f": solution.relative_objective,
            "seconds": min(times),
            **asked,
        }
    return row


def _in_a_process(name: str, sparsity: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.speed.auto", "--case", name, str(sparsity)]
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        return {"data": name, "sparsity": sparsity, "failed": done.stderr.splitlines()[-1:]}
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(cases()), help="names of data sets")
    parser.add_argument("--at", type=int, nargs="*", help="sparsities, instead of all")
    parser.add_argument("--before", action="store_true", help="these are the numbers that later ones are compared with")
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.case:
        print(json.dumps(run(asked.case[0], int(asked.case[1]))))
        return
    start, rows = facts(), []
    for name, (_, sparsities) in cases().items():
        for sparsity in sparsities:
            if (asked.only and name not in asked.only) or (asked.at and sparsity not in asked.at):
                continue
            rows.append(_in_a_process(name, sparsity))
            print(json.dumps(rows[-1]), flush=True)
    print(f"-> {write_results('auto_before' if asked.before else 'auto', start, {'rows': rows})}")


if __name__ == "__main__":
    main()
