"""What one dual matrix for several features would gain over one for each (docs/mathematics.md, 3.6), on small problems.

    python -m benchmarks.certificates.features_together

European genotypes along their leading directions, few enough features that Clarabel solves the relaxation: P stands for
ξξᵀ, W_i for it where feature i is chosen, X_T for it where exactly the features T of a group are. The groups are those
whose W_i agree least with each other. These are computed values, not proofs. Needs cvxpy and clarabel; five minutes.
"""

import argparse
import itertools
import json
import time
from typing import Any

import cvxpy
import numpy as np
from benchmarks.certificates.gaps import DATA
from benchmarks.machine import SHARED, facts, write_results

from certpca.runtime.arrays import Vector

cp: Any = cvxpy  # its annotations are incomplete
CASES = (
    (5, 90, 0, 0.15),
    (8, 45, 7, 0.05),
    (9, 60, 0, 0.15),
)  # directions, every which feature from where, share chosen
SIZES = (1, 2, 3)  # features of a group
STARTS = 3000
CHOSEN_A_LITTLE = 1e-3  # trace of W_i from which a feature is grouped


def best_found(columns: Vector, k: int) -> float:
    """Return the most that k features capture, from many random directions."""
    rng = np.random.default_rng(0)
    best = captured = 0.0
    for _ in range(STARTS):
        direction: Vector = rng.normal(size=(columns.shape[0],))
        for _ in range(20):
            support = np.argpartition(-((columns.T @ direction) ** 2), k)[:k]
            values, vectors = np.linalg.eigh(columns[:, support] @ columns[:, support].T)
            direction = vectors[:, -1]
            captured = float(values[-1])
        best = max(best, captured)
    return best


def relaxed(columns: Vector, k: int, groups: list[tuple[int, ...]]) -> tuple[float, Vector, list[Vector]]:
    """Return the value of the relaxation with these groups, P and the W_i."""
    depth, size = columns.shape
    whole = cp.Variable((depth, depth), PSD=True)
    mine = [cp.Variable((depth, depth), PSD=True) for _ in range(size)]
    rules = [cp.trace(whole) == 1, k * whole - sum(mine) >> 0]
    grouped = {feature for group in groups for feature in group}
    rules += [whole - mine[feature] >> 0 for feature in range(size) if feature not in grouped]
    for group in groups:
        exactly = {
            chosen: cp.Variable((depth, depth), PSD=True)
            for count in range(len(group) + 1)
            for chosen in itertools.combinations(group, count)
        }
        rules.append(sum(exactly.values()) == whole)
        rules += [mine[f] == sum(part for chosen, part in exactly.items() if f in chosen) for f in group]
    captured = sum(columns[:, f] @ mine[f] @ columns[:, f] for f in range(size))
    problem = cp.Problem(cp.Maximize(captured), rules)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value), whole.value, [matrix.value for matrix in mine]


def grouped(whole: Vector, mine: list[Vector], size: int) -> list[tuple[int, ...]]:
    """Put features together whose matrices commute least."""
    values, vectors = np.linalg.eigh(whole)
    root = (vectors / np.sqrt(np.maximum(values, 1e-6))) @ vectors.T
    scaled = np.array([root @ matrix @ root for matrix in mine])
    left = [f for f, matrix in enumerate(mine) if CHOSEN_A_LITTLE < np.trace(matrix) < 1 - CHOSEN_A_LITTLE]
    products = np.einsum("iab,jbc->ijac", scaled, scaled)
    strife = np.linalg.norm(products - products.transpose(0, 1, 3, 2), axis=(2, 3))
    groups = []
    for first, second in sorted(itertools.combinations(left, 2), key=lambda pair: -strife[pair]):
        if first not in left or second not in left:
            continue
        group = [first, second]
        while len(group) < size:
            others = [f for f in left if f not in group]
            if not others:
                break
            group.append(max(others, key=lambda f: sum(strife[f, g] for g in group)))
        left = [f for f in left if f not in group]
        groups.append(tuple(group))
    return groups


def measured(directions: int, every: int, begin: int, share: float) -> dict[str, Any]:
    """Return the gap of one small problem with groups of each size."""
    load, file = DATA["chr 22, Europe"]
    data = np.asarray(load(file), dtype=float)
    data -= data.mean(axis=0)
    left = np.linalg.svd(data, full_matrices=False)[0][:, :directions]
    columns = (left.T @ data)[:, begin::every] / np.sqrt(data.shape[0])
    k = int(share * columns.shape[1])
    row: dict[str, Any] = {"directions": directions, "features": columns.shape[1], "sparsity": k}
    best, start = best_found(columns, k), time.perf_counter()
    bound, whole, mine = relaxed(columns, k, [])
    row["gaps"] = [1 - best / bound]
    for size in SIZES[1:]:
        row["gaps"].append(1 - best / relaxed(columns, k, grouped(whole, mine, size))[0])
    return row | {"seconds": time.perf_counter() - start}


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    if not SHARED.exists():
        msg = "needs the genotypes of ../shared/data"
        raise SystemExit(msg)
    start, rows = facts(), []
    for case in CASES:
        rows.append(measured(*case))
        print(json.dumps(rows[-1]), flush=True)
    write_results("features_together", start, {"sizes": SIZES, "rows": rows})


if __name__ == "__main__":
    main()
