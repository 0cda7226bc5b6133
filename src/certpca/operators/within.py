"""A problem under constraints as a part of the matrix that was given: the features that are allowed, and what is asked.

Everything that searches or proves works on that part by its own indices; what users and the checker see is about the
whole. `allowed_part` goes there, and `bounds/near_one.py` comes back.
"""

from copy import copy
from dataclasses import dataclass

from certpca.operators.base import Operator
from certpca.results.constraints import FREE, Constraints
from certpca.runtime.arrays import Indices


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """The whole matrix, the features kept of it, and what is asked of supports: of the whole, and of those kept."""

    whole: Operator
    kept: Indices
    constraints: Constraints
    inner: Constraints


def allowed_part(operator: Operator, constraints: Constraints) -> Operator:
    """Return the matrix of the features that are allowed, near one, which knows what else is asked."""
    if not constraints:
        return operator.near_one()
    kept = constraints.kept(operator.size)
    near = copy((operator if kept.size == operator.size else operator.part(kept)).near_one())
    near.within = Within(operator, kept, constraints, constraints.completed.on(kept))
    return near


def asked_of(operator: Operator) -> Constraints:
    """Return what is asked of supports, by the indices of an operator."""
    return FREE if operator.within is None else operator.within.inner
