"""The search for prices of directions, and of features where supports are disjoint, and what it stores."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from certpca.bounds.pair_bound.points import stored
from certpca.bounds.sets.paired.descent import Descent, Prices
from certpca.results.evidence_forms import within
from certpca.runtime.arrays import Vector

SCHEDULE = ((0.03, 40), (0.01, 60), (0.003, 80), (0.001, 80), (0.0003, 80), (0.0001, 80), (0.00003, 80))
ON_FEATURES = 0.3  # share of what components capture beyond the last one that features cost at first, if they do
LEAST = 0.02  # of what a component captures, that its direction costs at first
MORE = 8  # directions besides those of the components,
DENSE = 0.1  # of which this is the size, as a share of what they capture


class PairedSearch:
    """Finds prices for components with orthogonal loadings, and with disjoint supports where they are `apart`."""

    def __init__(
        self,
        matrix: Vector,
        sparsities: tuple[int, ...],
        loadings: Vector,
        late: Callable[[], bool],
        *,
        apart: bool,
    ) -> None:
        captured = (loadings * (matrix @ loadings)).sum(axis=0)
        self.unit = max(float(captured.mean()), np.finfo(float).tiny)  # in which the descent works
        self.largest = float(np.diagonal(matrix).max())
        self.descent = Descent(matrix / self.unit, late)
        self.at = self._first(sparsities, loadings, captured / self.unit, apart)

    @property
    def bound(self) -> float:
        """What the prices prove, but for roundings."""
        return self.at.bound * self.unit

    def run(self, target: float) -> None:
        """Descend until the bound is good enough."""
        self.at = self.descent.run(self.at, SCHEDULE, target / self.unit)

    def _first(self, sparsities: tuple[int, ...], loadings: Vector, captured: Vector, apart: bool) -> Prices:
        """Make all components worth as much as the last one, by prices of their directions, and of features."""
        size, beyond = loadings.shape[0], captured - captured.min()
        values, vectors = np.linalg.eigh(self.descent.matrix)
        own = loadings * np.sqrt(np.maximum(beyond * (1 - ON_FEATURES * apart), LEAST * captured))
        dense = DENSE * vectors[:, -MORE:] * np.sqrt(np.maximum(values[-MORE:], 0.0))
        prices = ON_FEATURES * loadings**2 @ beyond if apart else None
        at = Prices(np.hstack([own, dense]), prices, (), math.inf)
        kinds = []
        for sparsity in dict.fromkeys(sparsities):
            mine = [place for place, count in enumerate(sparsities) if count == sparsity]
            shift = float(np.mean([self._others(loadings[:, place], captured[place]) for place in mine]))
            kinds.append(self.descent.first(at, sparsity, len(mine), size, shift))
        return replace(at, kinds=tuple(kinds))

    def _others(self, loadings: Vector, captured: float) -> float:
        """Return the mean of the eigenvalues of a component's support but the largest."""
        support = np.flatnonzero(loadings)
        trace = float(np.diagonal(self.descent.matrix)[support].sum())
        return max((trace - captured) / max(support.size - 1, 1), 0.0)

    def certificate(self) -> tuple[list[Any], dict[str, Any]]:
        """Return the tree and the evidence: of one leaf where features have prices, else of directions alone."""
        slots, own = leaf_of(self.at, self.unit, self.largest)
        if self.at.prices is None:
            return slots, own
        return [{"leaf": 0, "slots": slots}], within("leaf0", own)


def leaf_of(at: Prices, unit: float, largest: float) -> tuple[list[Any], dict[str, Any]]:
    """Return the trees and the evidence of prices in such units, for a matrix with so large entries."""
    # With this c, A − M + cI is semidefinite.
    shift = unit * float(np.linalg.norm(at.directions, 2) ** 2)
    own: dict[str, Any] = {"directions": at.directions * math.sqrt(unit), "shift": np.float64(shift)}
    if at.prices is not None:
        own["prices"] = at.prices * unit
    scale = 2.0 ** math.frexp(largest + shift)[1]
    factor = unit / scale
    slots: list[Any] = []
    for number, kind in enumerate(at.kinds):
        point = stored(np.arange(kind.u.shape[0]), factor * kind.u, factor * kind.k, factor * kind.alpha)
        arrays = {"features": point.features, "pairs": point.pairs, "alpha": point.alpha}
        slots.append([[{"leaf": "cheapest", "point": 0}]])
        own |= within(f"slot{number}", {"scale": np.float64(scale), **within("point0", arrays)})
    return slots, own
