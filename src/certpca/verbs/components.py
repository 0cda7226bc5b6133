"""Several components with the data they came from: the matrices they were found on, and their variances."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certpca.operators import Operator
from certpca.operators.deflation import deflate
from certpca.results.component_set import GREEDY, ComponentSet, as_columns
from certpca.results.set_certificate import SetCertificate
from certpca.results.solution import Solution
from certpca.results.status import Status
from certpca.runtime.arrays import Indices, Vector, to_vector
from certpca.verbs.validation import checked_position

DEPENDENT = 1e-10  # share of a score's variance below which the earlier scores explain it


@dataclass(frozen=True, slots=True, eq=False)
class Components(ComponentSet):
    """Sparse components, the variance they explain, and the matrix they are of.

    Parameters
    ----------
    components, explained_variance, adjusted_variance, total_variance, trace : Any
        As in `ComponentSet`.
    together, deflation, status, seconds, certificate : Any
        As in `ComponentSet`.
    operator : Operator
        The matrix A.

    See Also
    --------
    decompose : What returns it.
    save_components : Write it to a file.
    Solution : One component.

    Examples
    --------
    >>> import certpca
    >>> found = certpca.decompose(certpca.pitprops(), 2, 4)
    >>> found.loadings.shape
    (13, 2)
    >>> print(found)
    2 components of 13 features, one after the other (schur deflation)
       features   variance   adjusted  cumulative  gap of step
    1         4     2.9375     2.9375      22.60%            -
    2         4     2.2432     2.0395      38.28%            -
    sum of the variances: 5.18071 (39.85% of the total variance)
    without counting twice: adjusted 38.28% (cumulative above), by regression on all scores 46.35%
    nothing is proved of the set
    """

    operator: Operator = field(repr=False)

    def problem(self, component: int) -> Operator:
        """Rebuild the matrix a component was found on, for `certpca.verify`.

        Parameters
        ----------
        component : int
            Its position, from 0.

        Returns
        -------
        Operator
            What the components before it leave of the matrix; the matrix itself where all were chosen together.

        Raises
        ------
        InvalidProblemError
            Where there is no such component.
        """
        checked_position(component, len(self.components))
        return remaining_problem(self.operator, self.components[:component], self.deflation)

    def scores(self) -> Vector:
        """Return what the components give for each sample, standardised as the data are.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The scores.

        Raises
        ------
        InvalidProblemError
            Where the matrix is not that of samples.
        """
        return np.stack([self.operator.scores(part.support, part.loadings) for part in self.components], axis=1)

    def correlations(self, features: Indices) -> Vector:
        """Return the correlations of features with the scores of all components.

        Parameters
        ----------
        features : ndarray of int
            Which features.

        Returns
        -------
        ndarray of shape (len(features), n_components)
            The correlations; 0 where a feature or a score has no variance.
        """
        near = self.operator.near_one()
        panel = near.xp.asarray(self.loadings, dtype=near.xp.float64, device=near.device)
        images = to_vector(near.matmat(panel))
        spread = np.sqrt(np.outer(to_vector(near.diagonal())[features], (self.loadings * images).sum(axis=0)))
        return np.asarray(images[features] / np.where(spread > 0, spread, np.inf))

    def plot(self, kind: str = "components", ax: Any = None, **settings: Any) -> Any:
        """Draw the components, or the samples along them.

        Parameters
        ----------
        kind : {"components", "heatmap", "scree", "scores", "pairs", "biplot"}
            Loadings as bars or as coloured cells; variances beside those of dense components; samples on two components
            or on every two; samples and features together.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default new axes.
        **settings : Any
            ``labels``, one for each sample, and ``pair``, positions of two components, for plots of samples; what the
            plot of that kind takes beyond, such as ``scaling="correlation"`` of a biplot, ``ellipses=0.9`` and
            ``texts`` of scores.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on.

        Raises
        ------
        InvalidProblemError
            Where there is no such plot, or the data have no samples.
        InvalidDataError
            Where there is not one label for each sample.
        """
        from certpca.verbs.component_plots import drawn_on

        return drawn_on(self, kind, ax, settings)


def remaining_problem(operator: Operator, found: Sequence[Solution], deflation: str | None) -> Operator:
    """Return what the components found so far leave of a matrix."""
    for j, component in enumerate(found if deflation is not None else ()):
        earlier = as_columns(operator.size, found[:j])
        assert deflation is not None
        operator = deflate(operator, component.support, component.loadings, deflation, earlier)
    return operator


def with_variances(
    operator: Operator,
    found: Sequence[Solution],
    *,
    together: str = GREEDY,
    deflation: str | None = None,
    status: Status,
    seconds: float,
    certificate: SetCertificate | None = None,
) -> Components:
    """Put components together with the variances they explain."""
    near = operator.near_one()
    units = near.power - operator.power
    adjusted, total = joint_variance(near, as_columns(operator.size, found))
    own = np.array([near.quadratic_form(component.support, component.loadings) for component in found])
    return Components(
        components=tuple(found),
        explained_variance=np.ldexp(own, units),
        adjusted_variance=np.ldexp(adjusted, units),
        total_variance=math.ldexp(total, units),
        trace=operator.trace(),
        together=together,
        deflation=deflation,
        status=status,
        seconds=seconds,
        certificate=certificate,
        operator=operator,
    )


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
