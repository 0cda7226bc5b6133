"""Cells of counts, and the tree of splits that leads to them."""

from dataclasses import dataclass

import numpy as np

from certpca.bounds.goals import Known
from certpca.bounds.l0_level.model import Levels
from certpca.checker.rules.count_tree import vertices
from certpca.runtime.arrays import Indices, Vector

Vertex = tuple[int, ...]  # how many features of each group, the others first


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """Supports that have so many features in some groups, and levels for them: those of all other features first.

    `bound` is about what the levels prove; `stage` tells how closely they were sought, `tries` how often at this stage.
    """

    groups: tuple[int, ...]
    counts: tuple[tuple[int, int], ...]
    levels: tuple[Levels, ...]
    bound: float
    stage: int = 0
    tries: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A cell split by how many features its supports have in a group: at most `most`, or more."""

    group: int
    most: int
    parts: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class CountTree:
    """Cells that hold every support; the largest of their bounds holds for the matrix.

    `basis` are the known directions of sample space, those with levels of their own first. `stuck`: the cell with the
    largest bound cannot be split, so that nothing lowers the bound any more.
    """

    basis: Vector
    groups: tuple[Indices, ...]
    cells: tuple[Cell, ...]  # in the order in which they were made, split ones included
    splits: dict[int, Split]
    known: Known
    stuck: bool = False

    def leaves(self) -> list[int]:
        """Return the numbers of the cells that were not split."""
        return [number for number in range(len(self.cells)) if number not in self.splits]

    def worst(self) -> list[int]:
        """Return them with the largest bounds first."""
        return sorted(self.leaves(), key=lambda number: -self.cells[number].bound)

    @property
    def bound(self) -> float:
        """What no support exceeds."""
        return max(self.cells[number].bound for number in self.leaves())


def members(cell: Cell, groups: tuple[Indices, ...], size: int) -> list[Indices]:
    """Return the features of every level of a cell."""
    mine = [groups[number] for number in cell.groups]
    free = np.ones(size, dtype=bool)
    for group in mine:
        free[group] = False
    return [np.flatnonzero(free), *mine]


def vertices_of(cell: Cell, sizes: list[int], sparsity: int) -> list[Vertex]:
    """Return the vertices of the counts of a cell whose levels are for so many features each."""
    box = [(low, min(high, size, sparsity)) for (low, high), size in zip(cell.counts, sizes[1:], strict=True)]
    return vertices(box, sparsity, sizes[0])
