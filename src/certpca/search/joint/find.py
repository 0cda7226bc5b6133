"""The search for components together, whatever the size of the matrix: the way into this package."""

import numpy as np

from certpca.operators.base import Operator
from certpca.runtime.arrays import Vector, fix_sign, to_vector
from certpca.runtime.budget import Progress
from certpca.search.joint.component import Member, fitted
from certpca.search.joint.contenders import searched_by_contenders
from certpca.search.joint.problems import DISJOINT, ORTHOGONAL, SHARED, UNCORRELATED, as_columns, normals_of
from certpca.search.joint.set_problem import Members
from certpca.search.joint.stages import Budgets, searched
from certpca.search.krylov import leading_eigenpairs

IN_MEMORY = 1024  # features up to which the whole matrix is searched
REFITTED = 8192  # features of all components up to which their submatrix is formed once more
NO_VARIANCE = 1e-10  # share of the largest eigenvalue below which another one counts as zero


def find_together(operator: Operator, problem: str, budgets: Budgets, seed: int, progress: Progress) -> Vector:
    """Return components as columns, feasible to rounding, for a matrix near one on the host."""

    def tell(value: float) -> None:
        progress.tick(value)

    if operator.size <= IN_MEMORY:
        matrix = operator.submatrix(np.arange(operator.size))
        members = searched(matrix, problem, budgets, seed, progress.late, tell)
    else:
        members = searched_by_contenders(operator, problem, budgets, seed, progress.late, tell)
    members = _exact(operator, problem, members)
    if len(set(budgets.counts)) == 1:  # places are interchangeable: the largest variance comes first
        members = tuple(sorted(members, key=lambda member: -member.value))
    signed = [Member(member.support, fix_sign(member.loadings), member.value) for member in members]
    return as_columns(operator.size, signed)


def _exact(operator: Operator, problem: str, members: Members) -> Members:
    """Fit loadings once more in float64 on the supports found, each beside those before it and those after it."""
    union = np.unique(np.concatenate([member.support for member in members]))
    if problem == SHARED or union.size > REFITTED:
        return members
    matrix = operator.submatrix(union)
    inside = [Member(np.searchsorted(union, member.support), member.loadings, member.value) for member in members]
    if problem in (ORTHOGONAL, UNCORRELATED, DISJOINT):
        for t, member in enumerate(inside):
            others = [other for s, other in enumerate(inside) if s != t]
            again = fitted(matrix, member.support, normals_of(problem, matrix, others))
            inside[t] = member if again is None else again
    return tuple(Member(union[member.support], member.loadings, member.value) for member in inside)


def rank_up_to(operator: Operator, most: int) -> int:
    """Return the rank of a matrix near one, or `most` where it is at least that."""
    if operator.size <= IN_MEMORY:
        values = np.linalg.eigvalsh(operator.submatrix(np.arange(operator.size)))[::-1][:most]
    else:
        values = leading_eigenpairs(operator, most, accuracy=1e-4, rng=0).values
    floor = NO_VARIANCE * max(float(values[0]), np.finfo(float).tiny)
    variances = to_vector(operator.diagonal())
    return int((values > floor).sum()) if variances.max() > 0 else 0
