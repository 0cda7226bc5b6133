"""Parts: how many features of each block every component has, and the prices that are best there."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from certpca.bounds.pair_bound.counted_sums import Counts
from certpca.bounds.sets.paired.descent import Prices
from certpca.runtime.arrays import Indices

Limits = tuple[tuple[int, int], ...]  # at least and at most, of each block
Kind = tuple[int, Limits]  # with the number of features of a component


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The block of each feature, the last for those of none, and how many features each has, but for the last."""

    labels: Indices
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, size: int, blocks: list[Indices]) -> "Blocks":
        """Return these blocks."""
        labels = np.full(size, len(blocks), dtype=np.intp)
        for number, block in enumerate(blocks):
            labels[block] = number
        return cls(labels, tuple(block.size for block in blocks))

    def features(self, block: int) -> Indices:
        """Return the features of a block."""
        return np.flatnonzero(self.labels == block)

    def allow(self, components: tuple[Kind, ...]) -> bool:
        """Whether components can have as many as they must."""
        enough = all(sum(limits[block][0] for _, limits in components) <= size for block, size in enumerate(self.sizes))
        return enough and all(sum(least for least, _ in limits) <= sparsity for sparsity, limits in components)

    def counts(self, kind: Kind, components: tuple[Kind, ...]) -> Counts:
        """Return how many of each block a component of a kind has, where others must have theirs."""
        sparsity, limits = kind
        least, most = [low for low, _ in limits], []
        for block, (low, high) in enumerate(limits):
            others = sum(other[block][0] for _, other in components) - low
            most.append(min(high, self.sizes[block] - others, sparsity - sum(least) + low))
        return Counts(self.labels, np.array([*least, 0]), np.array([*most, sparsity - sum(least)]))


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What each component has of the blocks, and prices with a point for every kind of component, as they are met.

    `bound` is the least that is known, in the units of the descent; `stage` how far the descent came.
    """

    number: int
    components: tuple[Kind, ...]
    at: Prices
    bound: float
    stage: int = 0

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of components, in the order in which they are met."""
        return tuple(dict.fromkeys(self.components))

    def divided(self, kind: Kind, block: int, above: int, blocks: Blocks) -> Iterator["Part"]:
        """Yield parts in which 0, 1, 2, … components of a kind have more than that of a block, as far as there are."""
        sparsity, limits = kind
        least, most = limits[block]
        alike = [place for place, other in enumerate(self.components) if other == kind]
        for many in range(len(alike) + 1):
            components = list(self.components)
            for order, place in enumerate(alike):
                own = (above + 1, most) if order < many else (least, above)
                components[place] = sparsity, (*limits[:block], own, *limits[block + 1 :])
            if not blocks.allow(tuple(components)):
                return
            yield self._with(tuple(components), blocks)

    def _with(self, components: tuple[Kind, ...], blocks: Blocks) -> "Part":
        """Return a part of this one, with its prices, and its points for what became of its kinds."""
        points, found = dict(zip(self.kinds, self.at.kinds, strict=True)), []
        for kind in dict.fromkeys(components):
            point = points[self.components[components.index(kind)]]
            counts = blocks.counts(kind, components)
            found.append(replace(point, copies=components.count(kind), counts=counts))
        return replace(self, components=components, at=replace(self.at, kinds=tuple(found)), stage=0)

    def packed(self) -> "Part":
        """Keep its points in single precision, as a certificate does."""
        return self._in(np.float32)

    def unpacked(self) -> "Part":
        """Return its points in double precision."""
        return self._in(np.float64)

    def _in(self, dtype: type[np.floating]) -> "Part":
        kinds = tuple(replace(kind, u=kind.u.astype(dtype), k=kind.k.astype(dtype)) for kind in self.at.kinds)
        return replace(self, at=replace(self.at, kinds=kinds))
