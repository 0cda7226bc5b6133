"""What a search over supports knows of a node, and of the best support."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certpca.bounds.pair_bound.points import PairPoint
from certpca.runtime.arrays import Indices, Vector

Operation = dict[str, Any]


@dataclass(slots=True, eq=False)
class Best:
    """The best support known, in the scaled matrix."""

    value: float
    support: Indices


@dataclass(slots=True, eq=False)
class Node:
    """Features in, features free, and what is known: `bound` holds for every support of the node."""

    inside: Indices
    free: Indices
    bound: float
    record: list[Operation] = field(default_factory=list)
    point: PairPoint | None = None
    shift: float | None = None  # of the best bound by squares
    weights: dict[int, float] = field(default_factory=dict)
    depth: int = 0
    closed: bool = False
    worst: float = 0.0  # largest bound of what was decided here
    evaluations: int = 0


def shift_for(matrix: Vector, sparsity: int, best: Best) -> float:
    """Return c for U = A − cI: the mean of the eigenvalues of the best support but the largest."""
    if sparsity == 1:
        return 0.0
    trace = float(np.diagonal(matrix)[best.support].sum())
    return max((trace - best.value) / (sparsity - 1), 0.0)
