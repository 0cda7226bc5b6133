"""Find a point on the rows that matter, leave out what it can, and search a tree over what is left."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from certpca.bounds.pair_bound.points import first_point, stored, tightened
from certpca.bounds.pair_rows.strongest import Strongest
from certpca.bounds.pair_rows.wide_point import WidePoint, widened
from certpca.bounds.support_tree.search import TreeSearch
from certpca.results.evidence_forms import within
from certpca.runtime.arrays import Indices

ROWS_FOR_EACH = 6  # rows of M for each feature of a support,
FEWEST_ROWS, MOST_ROWS = 400, 800  # within these
SCHEDULE = ((0.03, 15), (0.01, 25), (0.003, 40), (0.001, 60), (0.0003, 60))  # smoothing, steps
SMALL_TREE = 64  # features that are left to the tree at once
LARGEST_TREE = 512  # features that are left to it at the end
ROWS = "rows"  # the part of the evidence that holds the wide point


@dataclass(frozen=True, slots=True, eq=False)
class PairRows:
    """Where the search stands: a wide point, the features it leaves, and the tree over these where there is one."""

    point: WidePoint
    left: Indices
    bound: float
    tree: TreeSearch | None = None

    def evidence(self) -> dict[str, Any]:
        """Return what a certificate holds."""
        own = self.point.own
        # A power of two, so that nothing rounds and small units survive single precision.
        scale = 2.0 ** math.frexp(float(own.alpha.max()))[1]
        packed = np.triu(own.u) + np.tril(own.k, -1)  # U above, K below the diagonal
        arrays = {
            "scale": np.float64(scale),
            "features": own.features,
            "pairs": (packed / scale).astype(np.float32),
            "alpha": own.alpha / scale,
            "shift": np.float64(self.point.shift / scale),
            "rest": np.float64(self.point.rest / scale),
        }
        if self.tree is None:
            return within(ROWS, arrays)
        return {**within(ROWS, {**arrays, "left": self.left}), **self.tree.certificate()[1]}

    def records(self) -> Any:
        """Return the tree in plain lists."""
        return None if self.tree is None else self.tree.certificate()[0]


def search(
    pairs: Strongest, sparsity: int, support: Indices, captured: float, target_gap: float, late: Callable[[], bool]
) -> Iterator[PairRows]:
    """Tighten the point step by step, then search the tree; each state has a bound that is at most the last one's."""
    best: PairRows | None = None
    for point in _points(pairs, sparsity, support, captured, target_gap, late):
        left = np.flatnonzero(point.forced > captured * (1 + target_gap))
        # A feature of the incumbent is always left, so that the tree can say that it is optimal.
        left = np.union1d(left, support)
        if best is None or point.bound < best.bound or left.size < best.left.size:
            best = PairRows(point, left, min(point.bound, math.inf if best is None else best.bound))
        yield best
        if best.left.size <= max(SMALL_TREE, 2 * sparsity) or point.bound <= captured * (1 + target_gap):
            break
    if best is None or not sparsity <= best.left.size <= LARGEST_TREE or late():
        return
    columns = pairs.columns[:, best.left].astype(np.float64)
    tree = TreeSearch(columns.T @ columns, sparsity, np.searchsorted(best.left, support), target_gap)
    dropped = np.delete(best.point.forced, best.left).max(initial=0.0)
    for standing in tree.steps(late):
        bound = max(standing.upper_bound, float(dropped))
        if bound < best.bound:
            yield PairRows(best.point, best.left, bound, tree)
        if standing.upper_bound <= captured * (1 + target_gap):
            return


def _points(
    pairs: Strongest, sparsity: int, support: Indices, captured: float, target_gap: float, late: Callable[[], bool]
) -> Iterator[WidePoint]:
    count = min(pairs.size, max(FEWEST_ROWS, min(MOST_ROWS, ROWS_FOR_EACH * sparsity)))
    sums = pairs.squares.astype(np.float64).sum(axis=1) + pairs.diagonal**2
    features = np.union1d(np.argsort(-sums, kind="stable")[:count], support)
    columns = pairs.columns[:, features].astype(np.float64)
    matrix = columns.T @ columns / captured
    current = first_point(features, matrix, _shift(pairs, sparsity) / captured, 0, sparsity)
    for smoothing, steps in SCHEDULE:
        if late():
            return
        current, _, _ = tightened(
            matrix, current, 0, sparsity, smoothing=smoothing, steps=steps, target=1 + target_gap, late=late
        )
        own = stored(features, current.u * captured, current.k * captured, current.alpha * captured)
        yield widened(pairs, own, sparsity, captured)


def _shift(pairs: Strongest, sparsity: int) -> float:
    """Return the c that is best for c + √T with squares alone: T is quadratic in c on the rows that count."""
    others = pairs.squares.astype(np.float64).sum(axis=1)
    shift = 0.0
    for _ in range(20):
        rows = (pairs.diagonal - shift) ** 2 + others
        chosen = np.argsort(-rows, kind="stable")[:sparsity]
        mean = float(pairs.diagonal[chosen].mean())
        spread = float(((pairs.diagonal[chosen] - mean) ** 2).sum() + others[chosen].sum())
        # c + √(k(mean − c)² + spread) is least where √k(mean − c) = √(spread/(k − 1)).
        fresh = mean - math.sqrt(spread / (sparsity * (sparsity - 1)))
        if abs(fresh - shift) <= 1e-9 * mean:
            break
        shift = fresh
    return shift
