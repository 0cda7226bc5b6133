"""Search for levels that are matrices on real and simulated data, and prove them: gaps after so many seconds.

    python -m benchmarks.certificates.levels [--only NAME] [--seconds 60] [--clock wall|cpu]

Gaps are those of the loadings that `solve` finds; times begin after that, once the features are in memory, and end
before the proof. With the clock of the process (`cpu`), set the number of threads of everything to one.
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.machine import SHARED

import certpca
from certpca.bounds.l0_level.evidence import level_evidence
from certpca.bounds.l0_level.features import features_of
from certpca.bounds.l0_level.search import LevelSearch
from certpca.bounds.proving import Prover

MARKS = (10.0, 30.0, 60.0)


def _array(file: str, name: str) -> Callable[[], Any]:
    return lambda: np.load(SHARED / file)[name]


def _common_variants() -> Any:
    data = np.load(SHARED / "geno_1kg_chr1/geno.npz")["G"]
    frequency = data.mean(axis=0) / 2
    return np.ascontiguousarray(data[:, np.minimum(frequency, 1 - frequency) > 0.05])


def _words() -> Any:
    """Return log counts of words that are in at least five articles."""
    from scipy.sparse import csc_matrix, load_npz

    counts = load_npz(SHARED / "text_associated_press/X.npz").astype(np.float64)
    counts.data = np.log1p(counts.data)
    return csc_matrix(counts[:, np.asarray((counts > 0).sum(axis=0)).ravel() >= 5])


def _logs() -> Any:
    return np.log2(np.maximum(np.load(SHARED / "expr_alon/X.npz")["X"], 1))


CASES: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "simulated": (_array("simulated/chr1_like.npz", "G"), (624, 9377)),
    "chr1": (_common_variants, (626,)),
    "hapmap3": (_array("geno_hapmap3_672/geno.npz", "G"), (360, 5424)),
    "associated-press": (_words, (10,)),
    "colon": (_logs, (50, 300)),
    "lung": (_array("expr_lung_harvard/X.npz", "X"), (10,)),
    "bladder": (_array("expr_bladderbatch/X.npz", "X"), (50,)),
    "eur-chr22": (_array("geno_1kg_eur_chr22/geno.npz", "G"), (723,)),
}


def run(name: str, data: Any, sparsity: int, seconds: float, clock: Callable[[], float]) -> None:
    operator = certpca.from_data(data, missing="mean") if isinstance(data, np.ndarray) else certpca.from_data(data)
    solution = certpca.solve(operator, sparsity)
    near = operator.near_one()
    support, loadings = np.asarray(solution.support), np.asarray(solution.loadings)
    objective = near.quadratic_form(support, loadings)
    features = features_of(near)
    panel = np.zeros((near.size, 1))
    panel[support, 0] = loadings
    direction = features.combined(near.adopt(panel))
    begin = clock()
    search = LevelSearch(features, sparsity, objective, lambda: clock() - begin > seconds)
    begun = search.start(direction)
    best, gaps = begun.best, dict[float, float]()
    for at in search.rounds(begun):
        best = at.best
        for mark in MARKS:
            if clock() - begin <= mark:
                gaps[mark] = 1 - objective / best.bound
    took = clock() - begin
    prover = Prover(near, sparsity)
    prover.prove("trace", {}, support, loadings)  # prepares the data
    begin = clock()
    made = prover.prove("l0-level", level_evidence(best.directions, best.levels), support, loadings)
    cells = [f"{gaps[mark]:.2%}" if mark in gaps else "–" for mark in MARKS]
    print(
        f"| {name} {features.depth} x {features.size} | {sparsity} | {' | '.join(cells)} | {made.gap:.3%} | {took:.1f} "
        f"| {search.evaluations} | {features.walks} | {best.levels.width} | {clock() - begin:.1f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="name of a data set")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    options = parser.parse_args()
    if not SHARED.is_dir():
        sys.exit("the data sets are not beside this checkout")
    clock = time.perf_counter if options.clock == "wall" else time.process_time
    head = [f"after {mark:.0f} s" for mark in MARKS]
    print(f"| data | k | {' | '.join(head)} | proved | search s | evaluations | walks | directions | proof s |")
    print("|---|--:|" + "--:|" * (len(MARKS) + 6))
    for name, (load, sparsities) in CASES.items():
        if options.only in (None, name):
            data = load()
            for sparsity in sparsities:
                run(name, data, sparsity, options.seconds, clock)


if __name__ == "__main__":
    main()
