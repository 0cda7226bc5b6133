"""Regions of directions, and a cover of all directions by them."""

import math
from dataclasses import dataclass

import numpy as np

from certpca.bounds.goals import Known
from certpca.bounds.l0_dual.problem import DualPoint
from certpca.runtime.arrays import Vector, to_vector

SAME_PLANE = 0.8  # smallest squared cosine between two planes that count as one
Cut = int  # ± (number of a ray, from 1)


@dataclass(frozen=True, slots=True, eq=False)
class Wedge:
    """The angles lo..hi of the plane (v, w), between the rays of two cuts."""

    v: Vector
    w: Vector
    lo: float
    hi: float
    cuts: tuple[Cut, Cut]
    position: int  # in the list of all pairs on the way to the region

    @property
    def middle(self) -> Vector:
        """The direction halfway."""
        angle = (self.lo + self.hi) / 2
        return np.asarray(math.cos(angle) * self.v + math.sin(angle) * self.w)


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """What a region is made of, and the best dual point for it."""

    path: tuple[tuple[Cut, Cut], ...]
    wedges: tuple[Wedge, ...]
    point: DualPoint
    weights: Vector  # one for each pair of the path
    start: DualPoint  # well inside, for the parts to start from
    last: DualPoint


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """How a region was split: the cuts, and the numbers of its parts."""

    cuts: tuple[Cut, ...]
    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """Regions that cover all directions; the largest of their bounds holds for the matrix."""

    regions: tuple[Region, ...]  # in the order in which they were made, split ones included
    splits: dict[int, Split]
    rays: tuple[Vector, ...]
    waiting: tuple[tuple[float, int], ...]  # a heap of regions that are not split, largest bound first
    known: Known

    @property
    def bound(self) -> float:
        """What no direction exceeds."""
        return -self.waiting[0][0]

    def leaves(self) -> list[int]:
        """Return the numbers of the regions that were not split, from left to right."""
        found, waiting = [], [0]
        while waiting:
            number = waiting.pop()
            if number in self.splits:
                waiting.extend(reversed(self.splits[number].parts))
            else:
                found.append(number)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Cutting:
    """Where to cut a region: all rays, and the wedges that become its parts in place of the one that is refined."""

    rays: tuple[Vector, ...]
    cuts: tuple[Cut, ...]
    wedges: tuple[Wedge, ...]
    refined: Wedge | None


def leading_plane(region: Region) -> tuple[Vector, Vector]:
    """Return the two directions that a region's density leans on most."""
    basis = to_vector(region.last.basis[:, -2:])
    return basis[:, 1], basis[:, 0]


def cutting(region: Region, rays: tuple[Vector, ...]) -> Cutting:
    """Cut a region where its density leans on two directions."""
    weights = to_vector(region.last.weights[-2:])
    return cut_of(region.wedges, len(region.path), leading_plane(region), float(weights[0] / weights[1]), rays)


def cut_of(
    wedges: tuple[Wedge, ...],
    position: int,
    plane: tuple[Vector, Vector],
    ratio: float,
    rays: tuple[Vector, ...],
    pieces: int = 3,
) -> Cutting:
    """Cut the plane of two leading directions in three or more, or halve a wedge of nearly that plane.

    `position` is the place of the new wedges in the list of pairs on the way, `ratio` how much the density has of the
    second direction for each of the first; more than three pieces are all alike.
    """
    v, w = plane
    refined = next((wedge for wedge in wedges if _overlap(wedge, v, w) > SAME_PLANE), None)
    if refined is not None:
        v, w = refined.v, refined.w
        angles = [refined.lo, (refined.lo + refined.hi) / 2, refined.hi]
        rays = (*rays, _ray(v, w, angles[1]))
        cuts: tuple[Cut, ...] = (refined.cuts[0], len(rays), refined.cuts[1])
    else:
        half = math.atan(math.sqrt(min(1.0, 0.5 * ratio)))
        angles = [-half, half, math.pi / 2, math.pi - half]
        if pieces > 3:
            angles = [math.pi * (number - 0.5) / pieces for number in range(pieces + 1)]
        first = len(rays) + 1
        rays = (*rays, *(_ray(v, w, angle) for angle in angles[:-1]))
        cuts = (*range(first, len(rays) + 1), -first)
    ends = zip(angles[:-1], angles[1:], cuts[:-1], cuts[1:], strict=True)
    fresh = tuple(Wedge(v, w, lo, hi, (first, second), position) for lo, hi, first, second in ends)
    return Cutting(rays, cuts, fresh, refined)


def signed(rays: tuple[Vector, ...], cut: Cut) -> Vector:
    """Return the ray of a cut."""
    return rays[abs(cut) - 1] if cut > 0 else -rays[abs(cut) - 1]


def _overlap(wedge: Wedge, v: Vector, w: Vector) -> float:
    inner = np.array([[wedge.v @ v, wedge.v @ w], [wedge.w @ v, wedge.w @ w]])
    return float(np.linalg.svd(inner, compute_uv=False)[-1]) ** 2


def _ray(v: Vector, w: Vector, angle: float) -> Vector:
    return np.asarray(-math.sin(angle) * v + math.cos(angle) * w)
