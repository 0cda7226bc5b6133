"""What levels are sought for: one component, or several together.

The sum of the variances of r components is at most

    Σ w_i + Σ over parts of t · (the sum of the l largest eigenvalues of kR + Σ Y_i).

One component is one part with l = t = 1. Components on one support, or with uncorrelated scores, are one part with
l = r. Components with disjoint supports pay prices w_i ≥ 0 for features, and are a part with t components for each k.
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
    """`times` the sum of the `leading` largest eigenvalues of kR + Σ Y_i, k the `sparsity`."""

    sparsity: float
    leading: int = 1
    times: int = 1


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


def leading_together(sparsities: Iterable[float]) -> Aim:
    """Ask for components on one support, or with uncorrelated scores; where sparsities differ, for their mean."""
    each = tuple(sparsities)
    return Aim((Part(sum(each) / len(each), leading=len(each)),))


def apart(sparsities: Iterable[float]) -> Aim:
    """Ask for components with disjoint supports."""
    counted = sorted(Counter(sparsities).items())
    return Aim(tuple(Part(k, times=times) for k, times in counted), priced=True)


class Spectrum(NamedTuple):
    """Eigenvalues (ascending) and eigenvectors of the matrix of a part, and a value for what is not known of it."""

    part: Part
    values: Vector
    vectors: Vector
    beyond: float

    @property
    def bound(self) -> float:
        """What the part contributes, without smoothing."""
        return self.part.times * float(self.values[-self.part.leading :].sum())


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
