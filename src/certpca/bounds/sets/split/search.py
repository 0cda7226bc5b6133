"""Mirror ascent: the density is the exponential of the sum of what it met, cut off at one, and θ follows its slope."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from certpca.bounds.l0_level.features import Features
from certpca.bounds.sets.split.point import evaluated
from certpca.runtime.arrays import Vector

STEP = 0.8  # relative to the mean eigenvalue of the first sum
FLOOR = 0.02  # of the weight of a direction, of the mean one
CLOSER = 0.5  # how far the threshold goes to where its slope would be zero
PATIENCE = 4  # steps that do not help
HELPS = 3e-4  # by this share, relative to the bound
FAR = 1.01  # times the best bound, beyond which a step was too long


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A bound, about, and its evidence: the frame, of which the first directions are apart; see `shared_split`."""

    bound: float
    frame: Vector
    weights: Vector
    roots: Vector
    prices: Vector
    lifted: Vector


@dataclass(frozen=True, slots=True, eq=False)
class OnSplit:
    """Where a search stands.

    That is the frame without the directions that are apart, the logarithm of the density there, how many features are
    above the threshold, and the step.
    """

    frame: Vector
    logs: Vector
    above: float
    step: float
    best: Found
    least: float = 0.0
    idle: int = 0
    steps: int = 0


class SplitSearch:
    """Looks for bounds with some directions apart, those of the first columns of orthonormal `directions`."""

    def __init__(self, features: Features, directions: Vector, components: int, sparsity: int) -> None:
        self.features, self.apart, self.components, self.sparsity = features, directions, components, sparsity
        seen = features.along(directions)
        self.marks = np.asarray((np.asarray(seen, dtype=np.float64) ** 2).sum(axis=1))
        self._sorted = np.sort(self.marks)[::-1]

    def start(self) -> OnSplit:
        """Begin with the same weight for all directions."""
        depth, count = self.apart.shape
        frame = orthonormal_complement(self.apart)
        nothing = Found(np.inf, *(np.empty(0) for _ in range(5)))
        return self.step(OnSplit(frame, np.zeros(depth - count), float(self.sparsity), np.nan, nothing))

    def step(self, at: OnSplit) -> OnSplit:
        """Evaluate the bound, and move the density and the threshold."""
        weights = self._weights(at.logs)
        prices = np.maximum(self._threshold(at.above) - self.marks, 0.0)
        now = evaluated(self.features.along(at.frame), weights, prices)
        depth, chosen = weights.size, np.sort(self.marks + prices)[::-1][: self.sparsity].sum()
        count = min(self.components, self.sparsity, depth)
        total = now.total.astype(np.float32)
        values, vectors = eigh(total, subset_by_index=[depth - count, depth - 1], driver="evr", check_finite=False)
        bound, least = float(chosen + values.sum()), float(chosen + weights @ np.diagonal(now.total))
        best, step = at.best, at.step
        if not step > 0:
            step = STEP * depth / max(float(np.trace(now.total)), np.finfo(float).tiny)
        idle = 0 if bound < at.best.bound * (1 - HELPS) else at.idle + 1
        if bound < best.bound:
            frame = np.concatenate([self.apart, at.frame], axis=1)
            lifted = vectors[:, 1:] * np.sqrt(np.maximum(values[1:] - values[0], 0.0))
            best = Found(bound, frame.astype(np.float32), weights, now.roots, prices, lifted)
        elif bound > FAR * best.bound:
            step /= 2
        used = float(now.shares[prices > 0].sum())
        above = at.above + CLOSER * (min(max(self.sparsity - used, 1.0), float(self.sparsity)) - at.above)
        logs, turn = np.linalg.eigh((np.diag(at.logs) + step * now.total).astype(np.float32))
        return OnSplit(
            at.frame @ turn.astype(at.frame.dtype),
            logs.astype(np.float64),
            above,
            step,
            best,
            least,
            idle,
            at.steps + 1,
        )

    def _threshold(self, above: float) -> float:
        """Return θ with so many features above it, between two of them for fractions."""
        place = min(max(above, 1.0), float(self._sorted.size)) - 1
        return float(np.interp(place, np.arange(self._sorted.size), self._sorted))

    def _weights(self, logs: Vector) -> Vector:
        """Return the weights: exponentials up to one, which add up to the number of components."""
        wanted = float(self.components)
        if logs.size <= wanted:
            return np.ones(logs.size)
        low, high = -50.0 - float(logs.max()), 50.0 - float(logs.min())
        for _ in range(100):
            middle = (low + high) / 2
            above = float(np.exp(np.minimum(logs + middle, 0.0)).sum()) > wanted
            low, high = (low, middle) if above else (middle, high)
        return np.maximum(np.exp(np.minimum(logs + low, 0.0)), FLOOR * wanted / logs.size)


def orthonormal_complement(directions: Vector) -> Vector:
    """Return orthonormal directions of all that is orthogonal to some orthonormal ones."""
    count = directions.shape[1]
    whole = np.linalg.qr(directions, mode="complete")[0]
    return np.asarray(whole[:, count:])
