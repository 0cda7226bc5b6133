"""Several components, the variance they explain, and the matrices they were found on."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from certpca.operators import Operator
from certpca.operators.deflation import deflate
from certpca.results.certificate import Certificate
from certpca.results.solution import Solution
from certpca.runtime.arrays import Indices, Vector, to_vector
from certpca.runtime.rounded import percent_up
from certpca.verbs.validation import checked_position

DEPENDENT = 1e-10  # share of a score's variance below which the earlier scores explain it


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Sparse components in the order in which they were found, and the variance they explain.

    With V the loadings as columns, A the matrix and C = VᵀAV the covariance of the scores, variance has three
    definitions. All agree on eigenvectors. The sum of the second is at most the third, and the third is at most the
    sum of as many leading eigenvalues, which dense principal components reach; the sum of the first has no such
    limit, as correlated components count the same variance twice.

    Parameters
    ----------
    components : tuple of Solution
        One for each, in the indices of all features. Objective, gap and certificate are about the matrix
        the component was found on, that is `problem(j)`.
    explained_variance : ndarray
        Of each component by itself: v_jᵀAv_j, the diagonal of C.
    adjusted_variance : ndarray
        Of each component beyond the ones before it: R_jj² with XV = QR, the pivots of C (Zou, Hastie & Tibshirani,
        Journal of Computational and Graphical Statistics 15, 2006).
    total_variance : float
        Of all components together, by regression of the data on their scores: tr(C⁺VᵀA²V).
    trace : float
        The trace of A, what the ratios are shares of.
    deflation : str
        How a component is taken out of the matrix before the next is searched for.
    disjoint : bool
        Whether its features are left out instead.
    operator : Operator
        The matrix A.

    See Also
    --------
    decompose : What returns it.
    Solution : One component.

    Examples
    --------
    >>> import certpca
    >>> found = certpca.decompose(certpca.pitprops(), 2, 4)
    >>> found.loadings.shape
    (13, 2)
    >>> print(found)
    2 components of 13 features, schur deflation: 46.35% of the variance
       features  explained   adjusted  cumulative     gap
    1         4     2.9375     2.9375      22.60%       -
    2         4     2.2432     2.0395      38.28%       -
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
        return as_columns(self.operator.size, self.components)

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

        Parameters
        ----------
        component : int
            Its position, from 0.

        Returns
        -------
        Operator
            What the components before it leave of the matrix.

        Raises
        ------
        InvalidProblemError
            Where there is no such component.
        """
        checked_position(component, len(self.components))
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


def remaining_problem(operator: Operator, found: Sequence[Solution], deflation: str, *, disjoint: bool) -> Operator:
    """Return what the components found so far leave of a matrix."""
    if disjoint:
        return operator.restrict(left_over(operator.size, found)) if found else operator
    for j, component in enumerate(found):
        earlier = as_columns(operator.size, found[:j])
        operator = deflate(operator, component.support, component.loadings, deflation, earlier)
    return operator


def left_over(size: int, found: Sequence[Solution]) -> Indices:
    """Return the features that no component has."""
    free = np.ones(size, dtype=bool)
    for component in found:
        free[component.support] = False
    return np.flatnonzero(free)


def as_columns(size: int, found: Sequence[Solution]) -> Vector:
    """Return components as columns over all features."""
    columns = np.zeros((size, len(found)))
    for j, component in enumerate(found):
        columns[component.support, j] = component.loadings
    return columns


def joint_variance(operator: Operator, loadings: Vector) -> tuple[Vector, float]:
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
