"""Prove components with disjoint or orthogonal loadings optimal together: pit props, covariances, markers.

    python -m benchmarks.branching.together [--limit 60] [--group disjoint]

The search begins with one feature for each component, so that it finds the supports itself. Seconds are those of the
processor. Results go to benchmarks/results/together.json.
"""

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks.machine import SHARED, facts, write_results

import certpca
from certpca.bounds.near_one import set_in_data_units
from certpca.bounds.sets.find import find_set_certificate
from certpca.datasets.examples import pitprops_matrix
from certpca.runtime.budget import Budget, Progress

Case = tuple[str, str, np.ndarray, tuple[int, ...], float, float | None]
LARGEST = 101  # features of the covariances


def cases() -> Iterator[Case]:
    """Yield problem, name, matrix, sparsities, the gap that is asked for, and the optimum where it is known."""
    known = json.loads((SHARED.parent / "reference/joint_components.json").read_text())["pitprops_disjoint_optimum"]
    for split, value in known.items():
        if split != "how":
            yield "disjoint", "pitprops", pitprops_matrix(), tuple(map(int, split.split(","))), 1e-6, value
    for file in sorted((SHARED / "covariances").glob("*.npz")):
        matrix = np.load(file)["A"]
        for sparsities in ((5, 5), (10, 10), (5, 5, 5), (10, 10, 10)):
            if sum(sparsities) <= matrix.shape[0] <= LARGEST:
                yield "disjoint", file.stem.removeprefix("INFORMS_"), matrix, sparsities, 1e-3, None
    markers = np.load(SHARED / "snp500/A.npz")["A"]
    for sparsity in range(5, 40, 5):
        for problem in ("disjoint", "orthogonal"):
            yield problem, "snp500", markers, (sparsity,) * 4, 1e-2, None


def run(case: Case, limit: float) -> dict[str, Any]:
    problem, name, matrix, sparsities, gap, optimum = case
    operator = certpca.from_matrix(matrix)
    near = operator.near_one()
    begin = time.process_time()
    loadings = np.eye(operator.size)[:, : len(sparsities)]
    found = find_set_certificate(near, problem, sparsities, loadings, gap, Progress(Budget(seconds=limit)))
    solved = time.process_time()
    certificate = set_in_data_units(found, near.power - operator.power)
    proof = certpca.verify(certificate, operator)
    return {
        "problem": problem,
        "name": name,
        "size": operator.size,
        "sparsities": list(sparsities),
        "kind": proof.kind,
        "objective": proof.objective,
        "optimum": optimum,
        "gap": proof.gap,
        "asked": gap,
        "seconds": solved - begin,
        "verify_seconds": time.process_time() - solved,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--group", default="", help="a problem or a data set, alone")
    arguments = parser.parse_args()
    start, rows = facts(), []
    for case in cases():
        if arguments.group in ("", *case[:2]):
            rows.append(run(case, arguments.limit))
            print(json.dumps(rows[-1]), flush=True)
    if not arguments.group:
        write_results("together", start, {"rows": rows})


if __name__ == "__main__":
    main()
