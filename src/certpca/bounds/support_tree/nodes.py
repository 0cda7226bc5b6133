"""What a search over supports knows of a node, and of the best support."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certpca.bounds.pair_bound.points import StoredPoint, largest_eigenvalue
from certpca.checker.allowed_supports import AllowedSupports
from certpca.runtime.arrays import Indices, Vector
from certpca.search.nonnegative import best_nonnegative

Operation = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The best support known, in the scaled matrix: its leading eigenvalue, and that less its price."""

    value: float
    support: Indices
    leading: float


@dataclass(slots=True, eq=False)
class Node:
    """Features in, features free, and what is known: `bound` holds for every support of the node."""

    number: int  # of its record
    inside: Indices
    free: Indices
    bound: float
    point: StoredPoint | None = None
    shift: float | None = None  # of the best bound by squares
    alpha: float | None = None  # its α, where there are prices
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


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What is searched for: the support of at most so many features with the largest λ_max(A_SS) less its price.

    Without prices only supports of that many features matter, as larger ones capture no less. A bound is good enough
    where it exceeds the best value by no more than a share of it (`target_gap`) and a number (`tolerance`). Traces are
    bounds where the matrix is `semidefinite`. With `unraised`, loadings must not be negative: that is the matrix they
    are judged by, entries of which are raised in the one that is bounded.
    """

    matrix: Vector
    sparsity: int
    target_gap: float
    prices: Vector | None = None
    tolerance: float = 0.0
    semidefinite: bool = True
    allowed: AllowedSupports | None = None
    unraised: Vector | None = None

    def valued(self, support: Indices) -> Best:
        """Return what a support is worth."""
        leading = self.leading(support)
        if self.unraised is not None:
            return Best(best_nonnegative(self.unraised[np.ix_(support, support)])[0], np.sort(support), leading)
        return Best(leading - self.price(support), np.sort(support), leading)

    def leading(self, support: Indices) -> float:
        """Return the largest eigenvalue on a support."""
        return largest_eigenvalue(self.matrix[np.ix_(support, support)])

    @property
    def grouped(self) -> bool:
        """Whether supports have all or none of some groups."""
        return self.allowed is not None and self.allowed.grouped

    def completed(self, inside: Indices, free: Indices) -> tuple[Indices, Indices] | None:
        """Return what is in and what is free with what constraints imply, or None where no support is left."""
        return (inside, free) if self.allowed is None else self.allowed.completed(inside, free)

    def price(self, features: Indices) -> float:
        """Return what features cost together."""
        return 0.0 if self.prices is None else float(self.prices[features].sum())

    def enough(self, best: Best) -> float:
        """Return the bound that closes a node."""
        return best.value * (1 + self.target_gap) + self.tolerance

    def on(self, features: Indices) -> Vector | None:
        """Return the prices of some features."""
        return None if self.prices is None else self.prices[features]

    def most_chosen(self, budget: int, free: int) -> int:
        """Return how many supports there are with a budget of free features."""
        if self.prices is None:
            return math.comb(free, budget)
        return sum(math.comb(free, count) for count in range(min(budget, free) + 1))

    def shift_for(self, best: Best) -> float:
        """Return c for U = A − cI: the mean of the eigenvalues of the best support but the largest."""
        if best.support.size <= 1:
            return 0.0
        trace = float(np.diagonal(self.matrix)[best.support].sum())
        return max((trace - best.leading) / (best.support.size - 1), 0.0)
