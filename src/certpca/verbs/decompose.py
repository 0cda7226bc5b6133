"""Several components, one after the other, each from what the earlier ones leave of the matrix."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np

from certpca.intake import DataOptions, as_operator
from certpca.operators import Operator
from certpca.operators.deflation import deflate
from certpca.operators.deflations import deflation_named, semidefinite_ones
from certpca.results.certificate import Certificate
from certpca.results.solution import Solution
from certpca.runtime.arrays import Vector, to_vector
from certpca.runtime.budget import Budget, Listener, Progress, begun
from certpca.runtime.errors import InvalidProblemError
from certpca.runtime.rounded import percent_up
from certpca.solvers import Solver
from certpca.verbs.solve import solve
from certpca.verbs.validation import (
    checked_budget,
    checked_counts,
    checked_flag,
    checked_gap,
    checked_listener,
    generator,
)

NOTHING_LEFT = 1e-10  # share of the trace that is rounding once the rest is explained
DEPENDENT = 1e-10  # share of a score's variance below which the earlier scores explain it


@dataclass(frozen=True, slots=True, eq=False)
class Decomposition:
    """Sparse components in the order in which they were found, and the variance they explain.

    With V the loadings as columns, A the matrix and C = VᵀAV the covariance of the scores, variance has three
    definitions. All agree on eigenvectors. The sum of the second is at most the third, and the third is at most the
    sum of as many leading eigenvalues, which dense principal components reach; the sum of the first has no such
    limit, as correlated components count the same variance twice.

    Parameters
    ----------
    components
        One `Solution` for each, in the indices of all features. Objective, gap and certificate are about the matrix
        the component was found on, that is `problem(j)`.
    explained_variance
        Of each component by itself: v_jᵀAv_j, the diagonal of C.
    adjusted_variance
        Of each component beyond the ones before it: R_jj² with XV = QR, the pivots of C (Zou, Hastie & Tibshirani,
        Journal of Computational and Graphical Statistics 15, 2006).
    total_variance
        Of all components together, by regression of the data on their scores: tr(C⁺VᵀA²V).
    trace
        tr A, what the ratios are shares of.
    deflation
        How a component is taken out of the matrix before the next is searched for; with `disjoint`, its features
        are left out instead.
    operator
        The matrix A.
    """

    components: tuple[Solution, ...]
    explained_variance: Vector
    adjusted_variance: Vector
    total_variance: float
    trace: float
    deflation: str
    disjoint: bool
    operator: Operator = field(repr=False)

    @property
    def loadings(self) -> Vector:
        """The components as columns over all features."""
        return _columns(self.operator.size, self.components)

    @property
    def explained_variance_ratio(self) -> Vector:
        """Explained variance as a share of the trace."""
        return self.explained_variance / (self.trace or 1.0)

    @property
    def adjusted_variance_ratio(self) -> Vector:
        """Adjusted variance as a share of the trace."""
        return self.adjusted_variance / (self.trace or 1.0)

    @property
    def total_variance_ratio(self) -> float:
        """Total variance as a share of the trace."""
        return self.total_variance / (self.trace or 1.0)

    @property
    def certificates(self) -> tuple[Certificate | None, ...]:
        """The certificates of the components, each for its `problem`."""
        return tuple(component.certificate for component in self.components)

    def problem(self, component: int) -> Operator:
        """Rebuild the matrix a component was found on, for `certpca.verify`.

        With disjoint supports it has only the features that were left then.
        """
        if not 0 <= component < len(self.components):
            msg = f"component must lie in 0..{len(self.components) - 1}, got {component}"
            raise InvalidProblemError(msg)
        return remaining_problem(self.operator, self.components[:component], self.deflation, disjoint=self.disjoint)

    def __str__(self) -> str:
        """Lay out the components as a table."""
        how = "disjoint supports" if self.disjoint else f"{self.deflation} deflation"
        lines = [
            f"{len(self.components)} components of {self.operator.size} features, {how}: "
            f"{self.total_variance_ratio:.2%} of the variance",
            "   features  explained   adjusted  cumulative     gap",
        ]
        cumulative = np.cumsum(self.adjusted_variance_ratio)
        for j, component in enumerate(self.components):
            gap = percent_up(component.gap)
            lines.append(
                f"{j + 1:<3d}{component.support.size:8d} {self.explained_variance[j]:10.5g} "
                f"{self.adjusted_variance[j]:10.5g} {cumulative[j]:11.2%} {gap:>7}"
            )
        return "\n".join(lines)


def decompose(
    data: Any,
    n_components: int,
    sparsity: int | Sequence[int],
    solver: str | Solver = "auto",
    *,
    deflation: str = "schur",
    disjoint: bool = False,
    certify: bool = False,
    target_gap: float = 0.01,
    rng: int | np.random.Generator = 0,
    budget: Budget | Progress | None = None,
    listener: Listener | None = None,
    **options: Unpack[DataOptions],
) -> Decomposition:
    """Find several sparse components, each from what the earlier ones leave of the matrix.

    Parameters
    ----------
    data, solver, certify, target_gap, rng, listener, options
        As in `solve`; each component gets a certificate of its own, for the matrix it was found on.
    n_components
        How many. Fewer are returned where nothing is left to explain, and after Ctrl-C; where a limit is reached, the
        later ones are found by cheaper steps.
    sparsity
        Largest allowed number of nonzero loadings: one for all, or one for each component.
    deflation
        How a component is taken out of the matrix A. ``"schur"``: everything its scores explain by regression, so that
        objectives are adjusted variances. ``"projection"``: its direction. ``"hotelling"`` and
        ``"orthogonal-hotelling"``: its variance along its direction, or along the part of it that is orthogonal to
        the earlier components; what is left can have negative eigenvalues, so these two give no certificates.
    disjoint
        Let no feature be in two components: leave out the features of the earlier ones instead of deflating.
    budget
        Seconds are for all components together, in equal shares; steps for each. The first Ctrl-C ends the run with the
        components found so far.

    Examples
    --------
    >>> import certpca
    >>> found = certpca.decompose(certpca.pitprops(), 3, sparsity=[7, 4, 4])
    >>> [component.support.size for component in found.components]
    [7, 4, 4]
    >>> found.adjusted_variance_ratio.round(3).tolist()
    [0.307, 0.153, 0.125]
    """
    checked_gap(target_gap)
    proving = checked_flag(certify, "certify")
    progress = begun(checked_budget(budget), checked_listener(listener), proving=proving)
    generator(rng)
    operator = as_operator(data, **options)
    counts = checked_counts(n_components, sparsity, operator.size, disjoint=checked_flag(disjoint, "disjoint"))
    way = deflation_named(deflation)
    if certify and len(counts) > 1 and not disjoint and not way.semidefinite:
        msg = (
            f"{deflation} deflation can leave a matrix with negative eigenvalues, for which there are no certificates; "
            f"use deflation={' or '.join(map(repr, semidefinite_ones()))}"
        )
        raise InvalidProblemError(msg)
    trace = operator.trace()
    found: list[Solution] = []
    with progress.until_interrupted():
        for number, count in enumerate(counts):
            problem = remaining_problem(operator, found, deflation, disjoint=disjoint)
            if found and not problem.trace() > NOTHING_LEFT * trace:
                break
            # A proof may take all the time it is given, so what is left is shared by the components to come. Where
            # nothing is left, a solver still takes its cheapest step: every component that is asked for exists.
            share = progress.part(1 / (len(counts) - number))
            # Features without variance left, whose starts solvers scale up, may overflow: they are then passed over.
            with np.errstate(over="ignore"):
                solution = solve(problem, count, solver, rng=rng, budget=share, certify=certify, target_gap=target_gap)
            if found and not solution.objective > 0:
                break
            support = _left_over(operator.size, found)[solution.support] if disjoint else solution.support
            found.append(replace(solution, support=support, size=operator.size))
            if progress.interrupted:
                break
    near = operator.near_one()
    units = near.power - operator.power
    adjusted, total = _joint_variance(near, _columns(operator.size, found))
    own = np.array([near.quadratic_form(component.support, component.loadings) for component in found])
    own, adjusted, total = np.ldexp(own, units), np.ldexp(adjusted, units), math.ldexp(total, units)
    return Decomposition(tuple(found), own, adjusted, total, trace, deflation, disjoint, operator)


def remaining_problem(operator: Operator, found: Sequence[Solution], deflation: str, *, disjoint: bool) -> Operator:
    """Return what the components found so far leave of a matrix."""
    if disjoint:
        return operator.restrict(_left_over(operator.size, found)) if found else operator
    for j, component in enumerate(found):
        earlier = _columns(operator.size, found[:j])
        operator = deflate(operator, component.support, component.loadings, deflation, earlier)
    return operator


def _left_over(size: int, found: Sequence[Solution]) -> Any:
    free = np.ones(size, dtype=bool)
    for component in found:
        free[component.support] = False
    return np.flatnonzero(free)


def _columns(size: int, found: Sequence[Solution]) -> Vector:
    columns = np.zeros((size, len(found)))
    for j, component in enumerate(found):
        columns[component.support, j] = component.loadings
    return columns


def _joint_variance(operator: Operator, loadings: Vector) -> tuple[Vector, float]:
    """Return the adjusted variances and the total variance of components given as columns."""
    panel = operator.xp.asarray(loadings, dtype=operator.xp.float64, device=operator.device)
    images = to_vector(operator.matmat(panel))
    scores = loadings.T @ images
    scores = (scores + scores.T) / 2
    values, vectors = np.linalg.eigh(scores)
    kept = values > DEPENDENT * values[-1]
    total = float(((images @ vectors[:, kept]) ** 2).sum(axis=0) @ (1 / values[kept])) if kept.any() else 0.0
    floor = DEPENDENT * np.diag(scores)
    pivots = np.zeros(len(scores))
    for j in range(len(scores)):  # Cholesky, passing over scores that depend on earlier ones
        if scores[j, j] > floor[j]:
            pivots[j] = scores[j, j]
            scores = scores - np.outer(scores[:, j], scores[:, j]) / pivots[j]
    return pivots, total
