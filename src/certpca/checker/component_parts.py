"""Parts of all choices of components with disjoint supports: what each has, what it may have, how many of each block.

Splits are those of `set_rules/priced_trees`; every choice of a part is, but for an exchange of components that are
alike, in one of the parts it is split into.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from certpca.checker.numbers import Vector, gamma, indices_of, require

MOST_BLOCKS = 64

Block = frozenset[int]


class Kind(NamedTuple):
    """How many features a component may have, which it has, which others it may have, and how many of each block."""

    sparsity: int
    has: Block
    may: Block
    counts: tuple[tuple[int, int], ...] = ()  # at least and at most

    def limits(self, needed: Sequence[int], blocks: Sequence[Block]) -> list[tuple[int, int]]:
        """Return these counts where all components together need so many of each block."""
        taken = sum(least for least, _ in self.counts)
        return [
            (least, min(most, len(block) - (all_of_them - least), self.sparsity - (taken - least)))
            for block, all_of_them, (least, most) in zip(blocks, needed, self.counts, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Part:
    """A part, with the kind of each component, and what exchanges of twins have changed on the way to it."""

    number: Any
    kinds: tuple[Kind, ...]
    exchanged: float = 0.0

    @property
    def free(self) -> Block:
        """The features that some component may have."""
        return Block().union(*(kind.may for kind in self.kinds))

    def without(self, features: Block) -> "Part":
        """Bar all components from some features."""
        barred = {kind: kind._replace(may=kind.may - features) for kind in set(self.kinds)}
        return replace(self, kinds=tuple(barred[kind] for kind in self.kinds))

    def given(self, feature: int, component: int) -> "Part":
        """Give a feature to a component."""
        kinds = list(self.without(Block({feature})).kinds)
        kinds[component] = kinds[component]._replace(has=kinds[component].has | {feature})
        return replace(self, kinds=tuple(kinds))

    def needed(self, blocks: Sequence[Block]) -> list[int]:
        """Return how many of each block components have at least, all together."""
        return [sum(kind.counts[number][0] for kind in self.kinds) for number in range(len(blocks))]

    def possible(self, blocks: Sequence[Block]) -> bool:
        """Whether components can have as many as they must."""
        room = all(needed <= len(block) for needed, block in zip(self.needed(blocks), blocks, strict=True))
        return room and all(
            max(len(kind.has), sum(least for least, _ in kind.counts)) <= kind.sparsity for kind in set(self.kinds)
        )


def whole(sparsities: Sequence[int], size: int, blocks: int) -> Part:
    """Return the part of all choices."""
    everything = Block(range(size))
    return Part(0, tuple(Kind(k, Block(), everything, ((0, k),) * blocks) for k in sparsities))


def blocks_of(evidence: Mapping[str, Mapping[str, Any]], size: int) -> list[Block]:
    """Read blocks of features, which are not empty and have none in common."""
    named = [part for part, arrays in evidence.items() if part.startswith("block") and "features" in arrays]
    require(len(named) <= MOST_BLOCKS, f"it counts features of more than {MOST_BLOCKS} blocks")
    blocks: list[Block] = []
    for number in range(len(named)):
        require(f"block{number}" in named, "its blocks are not numbered from zero")
        features = indices_of(evidence[f"block{number}"], "features", size)
        blocks.append(Block(features.tolist()))
    require(len(Block().union(*blocks)) == sum(map(len, blocks)), "its blocks have features in common")
    return blocks


def given_away(part: Part, record: Mapping[str, Any]) -> list[Part]:
    """Give a feature to none, and to a component of each kind that may have it."""
    feature, into = record["split"], _into(part, record)
    require(type(feature) is int and feature in part.free, "a split is not on a free feature")
    require(len(into) <= len(part.kinds), "a split is malformed")
    needed = {kind for kind in part.kinds if len(kind.has) < kind.sparsity and feature in kind.may}
    needed -= {part.kinds[component] for component, _ in into}
    require(not needed, "a split leaves out a component")
    parts = [replace(part.without(Block({feature})), number=record["none"])]
    return parts + [replace(part.given(feature, component), number=number) for component, number in into]


def counted(part: Part, record: Mapping[str, Any], blocks: Sequence[Block]) -> list[Part]:
    """Let some of the components that are alike have more of a block than a number, and the others not."""
    block, one, above, into = (record[name] for name in ("block", "of", "above", "into"))
    require(type(block) is int and 0 <= block < len(blocks), "a split names no block")
    require(type(one) is int and 0 <= one < len(part.kinds), "a split names no component")
    own = part.kinds[one]
    least, most = own.counts[block]
    require(type(above) is int and least <= above < most, "a split is not between the counts of a component")
    alike = [place for place, kind in enumerate(part.kinds) if kind == own]
    require(isinstance(into, list) and len(into) <= len(alike) + 1, "a split is malformed")

    def with_counts(count: tuple[int, int]) -> Kind:
        counts = (*own.counts[:block], count, *own.counts[block + 1 :])
        return Kind(own.sparsity, own.has, own.may, counts)

    more, fewer = with_counts((above + 1, most)), with_counts((least, above))

    def having(many: int) -> Part:
        kinds = list(part.kinds)
        for order, place in enumerate(alike):
            kinds[place] = more if order < many else fewer
        return replace(part, kinds=tuple(kinds))

    # The more of them have more than that, the more of the block is needed.
    enough = len(into) == len(alike) + 1
    require(enough or not having(len(into)).possible(blocks), "a split leaves out a number of components")
    return [replace(having(many), number=number) for many, number in enumerate(into)]


def exchanged(dense: tuple[Vector, float], part: Part, record: Mapping[str, Any]) -> list[Part]:
    """Give one of some twins to a component, or none of them to any that is like that."""
    feature, twins, into = record["split"], record["twins"], _into(part, record)
    require(isinstance(twins, list) and all(type(one) is int for one in (feature, *twins)), "its twins are malformed")
    together = Block((feature, *twins))
    require(len(into) == 1, "a split of twins is not about one component")
    component, number = into[0]
    require(together <= part.kinds[component].may, "a split is not on free features")
    alike = all(together <= kind.may or not together & kind.may for kind in part.kinds)
    require(alike, "some of its twins are free for a component, and others not")
    require(not part.kinds[0].counts, "twins are exchanged where features of blocks are counted")
    matrix, slack = dense
    changed = max((_distance(matrix, feature, twin) for twin in twins), default=0.0) + 2 * slack
    cost = (part.exchanged + 2 * changed) * (1 + gamma(8))
    own, barred = part.kinds[component], part.without(together)
    kinds = tuple(less if kind == own else kind for kind, less in zip(part.kinds, barred.kinds, strict=True))
    given = part.given(feature, component)
    return [replace(part, number=record["none"], kinds=kinds), replace(given, number=number, exchanged=cost)]


def _distance(matrix: Vector, first: int, second: int) -> float:
    """Bound the norm of what exchanging two features changes of a symmetric matrix."""
    others = np.abs(matrix[first] - matrix[second])
    others[[first, second]] = 0.0
    own = abs(float(matrix[first, first] - matrix[second, second]))
    return (own + 2 * float(others.sum())) * (1 + gamma(matrix.shape[0] + 8))


def _into(part: Part, record: Mapping[str, Any]) -> list[tuple[int, Any]]:
    into, found = record["into"], []
    require(isinstance(into, list), "a split is malformed")
    for entry in into:
        require(isinstance(entry, list) and len(entry) == 2, "a split is malformed")
        component, number = entry
        require(type(component) is int and 0 <= component < len(part.kinds), "a split names no component")
        found.append((component, number))
    return found
