"""Several components and the variance they explain, without the data they came from."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from certpca.results.certificate import PROVED_OPTIMAL, Certificate, share_lost
from certpca.results.html_summary import of_components
from certpca.results.set_certificate import PROBLEMS, SetCertificate
from certpca.results.solution import Solution
from certpca.results.status import Status
from certpca.results.tidy import loadings_frame, summary_frame, summary_row
from certpca.runtime.arrays import Vector
from certpca.runtime.rounded import down, percent_down, percent_up, up

if TYPE_CHECKING:
    import pandas

GREEDY = "greedy"
TOGETHER = (GREEDY, *PROBLEMS)  # what decompose can be asked for


@dataclass(frozen=True, slots=True, eq=False)
class ComponentSet:
    """Sparse components and the variance they explain.

    With V the loadings as columns, A the matrix and C = VᵀAV the covariance of the scores, variance has three
    definitions. All agree on eigenvectors. The sum of the second is at most the third, and the third is at most the
    sum of as many leading eigenvalues, which dense principal components reach; the sum of the first has no such
    limit unless components are orthogonal, as correlated ones count the same variance twice. It is the sum of the
    first that components chosen together maximise, and that their certificate bounds.

    Parameters
    ----------
    components : tuple of Solution
        One for each, in the indices of all features. With ``together="greedy"`` objective, gap and certificate of each
        are about what the ones before it left of the matrix; of the set they prove nothing.
    explained_variance : ndarray
        Of each component by itself: v_jᵀAv_j, the diagonal of C.
    adjusted_variance : ndarray
        Of each component beyond the ones before it: R_jj² with XV = QR, the pivots of C (Zou, Hastie & Tibshirani,
        Journal of Computational and Graphical Statistics 15, 2006).
    total_variance : float
        Of all components together, by regression of the data on their scores: tr(C⁺VᵀA²V).
    trace : float
        The trace of A, what the ratios are shares of.
    together : {"greedy", "disjoint", "orthogonal", "uncorrelated", "shared"}
        What the components were asked to be together; ``"greedy"`` is one after the other.
    deflation : str or None
        How a greedy component is taken out of the matrix before the next is searched for.
    status : Status
        How the run ended, for the set.
    seconds : float
        Time that it took.
    certificate : SetCertificate, optional
        The upper bound for the sum of the variances, with its evidence.

    See Also
    --------
    Components : The same with the data, as `decompose` returns it.
    load_components : Read one from a file.

    Examples
    --------
    >>> import certpca
    >>> found = certpca.decompose(certpca.pitprops(), 2, 5, together="disjoint")
    >>> round(found.objective, 4), isinstance(found, certpca.ComponentSet)
    (5.7104, True)
    """

    components: tuple[Solution, ...]
    explained_variance: Vector
    adjusted_variance: Vector
    total_variance: float
    trace: float
    together: str
    deflation: str | None
    status: Status
    seconds: float
    certificate: SetCertificate | None

    @property
    def size(self) -> int:
        """Number of features."""
        return self.components[0].size

    @property
    def sparsities(self) -> tuple[int, ...]:
        """Largest number of nonzero loadings of each component; of a total that was split, its part."""
        return tuple(component.sparsity for component in self.components)

    @property
    def reading(self) -> Mapping[str, Any]:
        """How the file behind the data was read, as in `Certificate`."""
        return self.components[0].reading

    @property
    def loadings(self) -> Vector:
        """The components as columns over all features."""
        return as_columns(self.size, self.components)

    @property
    def objective(self) -> float:
        """The sum of the variances along the components."""
        return float(self.explained_variance.sum())

    @property
    def upper_bound(self) -> float:
        """What no such components exceed in sum; infinite while nothing is proved about the set."""
        return math.inf if self.certificate is None else self.certificate.upper_bound

    @property
    def gap(self) -> float:
        """Largest possible loss of the set against the best set, as a fraction; NaN while nothing is proved of it."""
        return math.nan if self.certificate is None else share_lost(self.objective, self.upper_bound)

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
        """The certificates of greedy steps, each for what the earlier ones left; `certificate` is that of the set."""
        return tuple(component.certificate for component in self.components)

    @property
    def description(self) -> str:
        """What the components are together, in words."""
        if self.together == GREEDY:
            return f"one after the other ({self.deflation} deflation)"
        return f"chosen together, {PROBLEMS[self.together]}"

    def to_frame(self) -> "pandas.DataFrame":
        """Return the loadings as a table with a row for each that is not zero.

        Returns
        -------
        pandas.DataFrame
            Columns component, feature (its name), position (from 1), loading and sign, the largest loadings first.
        """
        return loadings_frame(enumerate(self.components, start=1), "component")

    def summary_frame(self) -> "pandas.DataFrame":
        """Return what is captured and proved as a table with a row for each component.

        Returns
        -------
        pandas.DataFrame
            Among others objective, variance_ratio, upper_bound and gap; empty where nothing is proved.
        """
        return summary_frame(self._summary_rows())

    def _summary_rows(self) -> Iterator[dict[str, Any]]:
        ratios = zip(self.explained_variance_ratio, self.adjusted_variance_ratio, strict=True)
        for j, (component, (own, beyond)) in enumerate(zip(self.components, ratios, strict=True), start=1):
            more = {"variance_ratio": own, "adjusted_variance_ratio": beyond}
            yield {"component": j, **summary_row(component), **more}

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        return of_components(self)

    def __str__(self) -> str:
        """Lay out the components as a table, and say which variance is which and what is proved of the set."""
        greedy = self.together == GREEDY
        plural = "s" if len(self.components) > 1 else ""
        lines = [
            f"{len(self.components)} component{plural} of {self.size} features, {self.description}",
            "   features   variance   adjusted  cumulative" + ("  gap of step" if greedy else ""),
        ]
        cumulative = np.cumsum(self.adjusted_variance_ratio)
        for j, component in enumerate(self.components):
            line = (
                f"{j + 1:<3d}{component.support.size:8d} {self.explained_variance[j]:10.5g} "
                f"{self.adjusted_variance[j]:10.5g} {cumulative[j]:11.2%}"
            )
            lines.append(line + (f" {percent_up(component.gap):>12}" if greedy else ""))
        share = percent_down(float(self.explained_variance_ratio.sum()))
        lines += [
            f"sum of the variances: {down(self.objective)} ({share} of the total variance)",
            f"without counting twice: adjusted {percent_down(float(self.adjusted_variance_ratio.sum()))} (cumulative "
            f"above), by regression on all scores {percent_down(self.total_variance_ratio)}",
            self.verdict(),
        ]
        return "\n".join(lines)

    def verdict(self) -> str:
        """Say in a sentence what is proved of the set.

        Returns
        -------
        str
            The sentence.
        """
        if self.certificate is None:
            if self.together == GREEDY and any(certificate is not None for certificate in self.certificates):
                return "proved of each step, for what the earlier ones left; of the set nothing is proved"
            return "nothing is proved of the set"
        # Of a total that was split, the bound is for this split and for no other.
        each = self.sparsities
        features = f"{each[0]} features each" if len(set(each)) == 1 else f"{', '.join(map(str, each))} features"
        if self.gap <= PROVED_OPTIMAL:
            return (
                f"proved optimal as a set: no such components of {features} have a larger sum, to one part in a million"
            )
        bound, gap = up(self.upper_bound), percent_up(self.gap)
        above = f"the sum of no such components of {features} exceeds {bound}"
        return f"proved of the set: {above}, so it is within {gap} of the best"


def as_columns(size: int, found: Sequence[Solution]) -> Vector:
    """Return components as columns over all features."""
    columns = np.zeros((size, len(found)))
    for j, component in enumerate(found):
        columns[component.support, j] = component.loadings
    return columns
