"""Find components together and prove how far from the best set they are: pit props, covariances, stocks.

    python -m benchmarks.branching.together [--limit 120] [--workers 1] [--group disjoint] [--resume]

Each case is one call of `decompose` with one thread, proof included; its certificate is verified afterwards. Results go
to benchmarks/results/together.json after each case, so that a run can be resumed, and `python -m benchmarks.render`
writes the table of docs/branching.md.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

import numpy as np
from benchmarks.machine import CHECKOUT, SHARED, facts, write_results

import certpca
from certpca.datasets.examples import pitprops_matrix

Case = tuple[str, str, np.ndarray, tuple[int, ...], float, float | None]
RESULTS = CHECKOUT / "benchmarks" / "results" / "together.json"
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
    for sparsity in range(35, 0, -5):
        for problem in ("disjoint", "orthogonal"):
            yield problem, "snp500", markers, (sparsity,) * 4, 1e-2, None


def run(case: Case, limit: float) -> dict[str, Any]:
    problem, name, matrix, sparsities, gap, optimum = case
    operator = certpca.from_matrix(matrix)
    begin = time.perf_counter()
    found = certpca.decompose(
        operator,
        len(sparsities),
        list(sparsities),
        together=problem,
        certify=True,
        target_gap=gap,
        time_limit=limit,
    )
    solved = time.perf_counter()
    assert found.certificate is not None
    proof = certpca.verify(found.certificate, operator)
    return {
        "problem": problem,
        "name": name,
        "size": operator.size,
        "sparsities": list(sparsities),
        "kind": proof.kind,
        "objective": proof.objective,
        "share": proof.objective / operator.trace(),
        "optimum": optimum,
        "gap": proof.gap,
        "asked": gap,
        "seconds": solved - begin,
        "verify_seconds": time.perf_counter() - solved,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--workers", type=int, default=1, help="cases at a time, one core each")
    parser.add_argument("--group", default="", help="a problem or a data set to be run again; others stay")
    parser.add_argument("--resume", action="store_true", help="leave out what this very code was measured for")
    arguments = parser.parse_args()
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"  # of the workers, which are started afresh
    start, every = facts(), list(cases())
    chosen = [case for case in every if arguments.group in ("", *case[:2])]
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    if arguments.group or arguments.resume:
        rows = {_key(row): row for row in json.loads(RESULTS.read_text())["rows"]}
    if arguments.resume:
        measured = {key: row for key, row in rows.items() if row["source"] == start["source"]}
        chosen = [case for case in chosen if _key_of(case) not in measured]
        rows = rows if arguments.group else measured
    chosen.sort(key=lambda case: -case[2].shape[0] * sum(case[3]))  # those that take long first
    with ProcessPoolExecutor(arguments.workers, mp_context=get_context("spawn")) as pool:
        running = [pool.submit(run, case, arguments.limit) for case in chosen]
        for done in as_completed(running):
            row = done.result()
            rows[_key(row)] = {**row, "source": start["source"]}
            print(json.dumps(row), flush=True)
            ordered = [rows[_key_of(case)] for case in every if _key_of(case) in rows]
            write_results("together", start, {"rows": ordered})


def _key_of(case: Case) -> tuple[Any, ...]:
    return case[0], case[1], case[3]


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["problem"], row["name"], tuple(row["sparsities"])


if __name__ == "__main__":
    main()
