"""What a search over supports knows of a node, and of the best support."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certpca.bounds.pair_bound.points import StoredPoint
from certpca.runtime.arrays import Indices, Vector

Operation = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The best support known, in the scaled matrix."""

    value: float
    support: Indices


@dataclass(slots=True, eq=False)
class Node:
    """Features in, features free, and what is known: `bound` holds for every support of the node."""

    number: int  # of its record
    inside: Indices
    free: Indices
    bound: float
    point: StoredPoint | None = None
    shift: float | None = None  # of the best bound by squares
    weights: dict[int, float] = field(default_factory=dict)
    depth: int = 0
    closed: bool = False
    worst: float = 0.0  # largest bound of what was decided here
    evaluations: int = 0


@dataclass(slots=True, eq=False)
class Tree:
    """Where a search stands: what was decided at each node, in the order in which they were made, and the open ones."""

    best: Best
    records: list[list[Operation]]
    open: list[tuple[float, int, Node]]  # a heap, largest bound first
    scale: float  # of the matrix that was given
    nodes: int = 0  # that were visited
    worst: float = 0.0
    root_bound: float = math.inf
    tickets: int = 0
    stored_bytes: int = 0

    @property
    def value(self) -> float:
        """What the best support captures, in the units of the matrix that was given."""
        return self.best.value * self.scale

    @property
    def upper_bound(self) -> float:
        """What no support exceeds, in the units of the matrix that was given."""
        still_open = max((node.bound for _, _, node in self.open), default=0.0)
        return max(self.worst, self.best.value, still_open) * self.scale

    @property
    def note(self) -> str:
        """Say how large the tree is."""
        return f"{self.nodes} nodes, {len(self.open)} open"


def shift_for(matrix: Vector, sparsity: int, best: Best) -> float:
    """Return c for U = A − cI: the mean of the eigenvalues of the best support but the largest."""
    if sparsity == 1:
        return 0.0
    trace = float(np.diagonal(matrix)[best.support].sum())
    return max((trace - best.value) / (sparsity - 1), 0.0)
