"""What levels are sought for: one component, or several together.

The sum of the variances of r components is at most

    Σ w_i + Σ over parts of t · (the sum of the l largest eigenvalues of kR + Σ Y_i).

One component is one part with l = t = 1. Components with uncorrelated scores are one part with l = r. Components with
disjoint supports pay prices w_i ≥ 0 for features, and are a part with t components for each k. On one support all
components choose the same k features: then k λ_max(R) + the sum of the r largest eigenvalues of Σ Y_i is enough.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from certpca.runtime.arrays import Vector


@dataclass(frozen=True, slots=True)
class Part:
    """`times` the sum of the `leading` largest eigenvalues of kR + Σ Y_i, k the `sparsity`.

    `once`: the level is paid for once, by k λ_max(R), and not by every direction.
    """

    sparsity: float
    leading: int = 1
    times: int = 1
    once: bool = False


@dataclass(frozen=True, slots=True)
class Aim:
    """The parts of a sum to be minimised, and whether features may have prices."""

    parts: tuple[Part, ...]
    priced: bool = False

    @property
    def components(self) -> int:
        """How many components there are."""
        return sum(part.leading * part.times for part in self.parts)

    @property
    def sparsity(self) -> float:
        """The mean sparsity of the components."""
        return sum(part.sparsity * part.leading * part.times for part in self.parts) / self.components


def one_component(sparsity: float) -> Aim:
    """Ask for the best component with k features."""
    return Aim((Part(sparsity),))


def on_one_support(sparsity: float, components: int) -> Aim:
    """Ask for components on the same k features."""
    return Aim((Part(sparsity, leading=components, once=components > 1),))


def uncorrelated(sparsities: Iterable[float]) -> Aim:
    """Ask for components with uncorrelated scores; where sparsities differ, as if all were the largest."""
    each = tuple(sparsities)
    return Aim((Part(max(each), leading=len(each)),))


def apart(sparsities: Iterable[float]) -> Aim:
    """Ask for components with disjoint supports."""
    counted = sorted(Counter(sparsities).items())
    return Aim(tuple(Part(k, times=times) for k, times in counted), priced=True)


class Spectrum(NamedTuple):
    """Eigenvalues (ascending) and eigenvectors of the matrix of a part, and a value for what is not known of it.

    `level` has those of kR on the directions with levels of their own, and kr, where these are not part of the matrix.
    """

    part: Part
    values: Vector
    vectors: Vector
    beyond: float
    level: tuple[Vector, Vector, float] | None = None

    @property
    def bound(self) -> float:
        """What the part contributes, without smoothing."""
        return self.part.times * (self._paid() + float(self.values[-self.part.leading :].sum()))

    @property
    def suspected(self) -> float:
        """What it contributes if the unknown directions are as they are thought to be."""
        values = np.sort(np.append(self.values, self.beyond))
        return self.part.times * (self._paid() + float(values[-self.part.leading :].sum()))

    def _paid(self) -> float:
        return 0.0 if self.level is None else max(float(self.level[0][-1]), self.level[2])


def leading_sum(values: Vector, leading: int, smoothing: float) -> tuple[float, Vector]:
    """Return the smoothed sum of the largest values and its derivative by each of them.

    It is the largest q·values − smoothing Σ q log q with 0 ≤ q ≤ 1 that add up to `leading`: a softmax for one value.
    The best q is min(1, c exp(values/smoothing)).
    """
    leading = min(leading, values.size)
    order = np.argsort(-values, kind="stable")
    sorted_ = values[order]
    for whole in range(leading):  # of the largest values, which count fully
        rest, left = sorted_[whole:], leading - whole
        shares = np.exp((rest - rest[0]) / smoothing)
        total = float(shares.sum())
        if left <= total:  # at the latest where one is left
            break
    derivative = np.ones_like(values)
    derivative[order[whole:]] = left * shares / total
    value = float(sorted_[:whole].sum()) + left * (float(rest[0]) + smoothing * math.log(total / left))
    return value, derivative
