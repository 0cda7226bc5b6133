"""How many components: eigenvalues against what noise would give."""

from dataclasses import dataclass, field
from typing import Any, Literal, Unpack

import numpy as np

from certpca.intake import DataOptions, as_operator
from certpca.operators import Operator
from certpca.runtime.arrays import Vector, to_vector
from certpca.runtime.budget import Budget, Listener, Progress
from certpca.runtime.errors import InvalidProblemError
from certpca.search.krylov import leading_eigenpairs, whole_spectrum
from certpca.search.noise_spectra import (
    edge_of_noise,
    noise_with_variances,
    permuted,
    threshold_of_singular_values,
)
from certpca.verbs.sample_rows import SampleRows
from certpca.verbs.validation import (
    checked_choice,
    checked_limits,
    checked_whole,
    generator,
    is_whole,
    named_arguments,
    refuse_without_effect,
    require,
)

ComponentMethod = Literal["parallel", "gavish-donoho", "marchenko-pastur"]
LABELS: dict[str, str] = {
    "parallel": "permuted data, 95 %",
    "gavish-donoho": "Gavish-Donoho threshold",
    "marchenko-pastur": "Marchenko-Pastur edge",
}
REPEATS, LEAST_REPEATS = 20, 2
LEVEL = 0.95  # quantile of the eigenvalues of noise
LARGEST_SIDE = 4096  # up to which all eigenvalues are computed
LEADING = 64  # that are compared where there are more


@dataclass(frozen=True, slots=True, eq=False)
class ComponentChoice:
    """A recommended number of components and what speaks for it.

    Parameters
    ----------
    n_components : int
        The recommendation; 0 where no eigenvalue stands out.
    reason : str
        Why, in one sentence.
    method : str
        How it was chosen.
    eigenvalues : ndarray
        Variances of dense components, the largest first.
    thresholds : ndarray
        What each of them had to exceed.
    total : float
        The total variance.

    See Also
    --------
    choose_components : What returns it.

    Examples
    --------
    >>> import certpca
    >>> certpca.choose_components(certpca.pitprops(), samples=180).n_components
    3
    """

    n_components: int
    reason: str
    method: ComponentMethod
    eigenvalues: Vector = field(repr=False)
    thresholds: Vector = field(repr=False)
    total: float

    def plot(self, ax: Any = None) -> Any:
        """Draw the eigenvalues, what they had to exceed, and the recommendation.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default new axes.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on.
        """
        from certpca.plots import draw

        limits = {LABELS[self.method]: self.thresholds}
        return draw("scree", self.eigenvalues, thresholds=limits, total=self.total, chosen=self.n_components, ax=ax)

    def __str__(self) -> str:
        """Give the reason."""
        return self.reason


@named_arguments
def choose_components(
    data: Any,
    *,
    method: ComponentMethod = "parallel",
    samples: int | None = None,
    repeats: int | None = None,
    rng: int | np.random.Generator = 0,
    time_limit: float | None = None,
    budget: Budget | Progress | None = None,
    listener: Listener | None = None,
    **options: Unpack[DataOptions],
) -> ComponentChoice:
    """Recommend how many components to ask for.

    Eigenvalues, the variances of dense components, are counted as long as they exceed what noise would give. How many
    features each component needs is another question: see `choose_sparsity`.

    Parameters
    ----------
    data : array_like, DataFrame, reader or Operator
        As in `solve`; a covariance or correlation matrix needs `samples` as well.
    method : {"parallel", "gavish-donoho", "marchenko-pastur"}
        ``"parallel"``: Horn's parallel analysis. Each eigenvalue must exceed the 95 % quantile of the eigenvalue of the
        same rank when the values of every column are put in random order; of a matrix without its rows, of normal noise
        with the same variances. Features may have variances of their own.
        ``"gavish-donoho"``: the singular values that hard thresholding keeps where it estimates a matrix of low rank in
        noise best (Gavish & Donoho 2014), the noise being judged by the median singular value.
        ``"marchenko-pastur"``: the eigenvalues beyond the edge of the law of Marchenko and Pastur, with room for the
        fluctuation of the largest (Tracy-Widom, 95 %). All variance counts as noise there, so that weak components
        beside strong ones are not counted.
        The last two suppose that noise has one variance in all features: give them ``scale=True`` where features have
        units of their own.
    samples : int, optional
        How many samples a matrix was computed from.
    repeats : int, optional
        How often a parallel analysis puts columns in random order; by default 20.
    rng : int or numpy.random.Generator
        Seed or generator of a parallel analysis.
    time_limit : float, optional
        Seconds for all of it; where time is short there are fewer repeats, two at least, and the reason says so.
    budget : Budget, optional
        In place of `time_limit`.
    listener : callable, optional
        Called with a `Step` after each repeat; returning False ends the run.
    **options : DataOptions
        How data become a matrix, as in `solve`.

    Returns
    -------
    ComponentChoice
        The number, the reason, and the eigenvalues with what they had to exceed.

    Raises
    ------
    InvalidProblemError
        Where an argument has no meaning for these data, or would have no effect.
    InvalidDataError
        Where the data cannot be used as they are.
    UnknownArgumentError
        Where an argument has no such name.

    See Also
    --------
    choose_sparsity : How many features.
    decompose : Several components.

    Examples
    --------
    >>> import numpy as np, certpca
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 30)) + 2 * rng.standard_normal((100, 2)) @ rng.standard_normal((2, 30))
    >>> [certpca.choose_components(X, method=method).n_components for method in ("parallel", "gavish-donoho")]
    [2, 2]
    """
    checked_choice(method, "method", LABELS)
    if method != "parallel":
        refuse_without_effect('it is for method="parallel"', repeats=repeats)
    repeats = checked_whole(REPEATS if repeats is None else repeats, "repeats", LEAST_REPEATS)
    progress = checked_limits(time_limit, budget, listener)
    drawing = generator(rng)
    operator = as_operator(data, **options)
    count = _effective_rows(operator, samples)
    if method == "parallel":
        return _parallel(operator, count, repeats, drawing, progress)
    return _of_the_spectrum(operator, count, method)


def _effective_rows(operator: Operator, samples: Any) -> int:
    """Return the number of rows that are free after centring."""
    if operator.rows is None:
        if samples is None:
            msg = (
                f"how many components stand out depends on the number of samples, which the {operator.description} "
                "does not tell; give samples=, or the data themselves"
            )
            raise InvalidProblemError(msg)
        require(is_whole(samples) and samples > 2, "samples", "a whole number above 2", samples)
        return int(samples) - 1
    refuse_without_effect("the data tell how many samples there are", samples=samples)
    rows = operator.rows - bool(operator.source().center)
    if rows < 2:
        msg = f"at least three samples are needed to tell components from noise, got {operator.rows}"
        raise InvalidProblemError(msg)
    return rows


def _spectrum(operator: Operator, rank: int) -> Vector:
    """Return all eigenvalues that can differ from zero, or the leading ones of a large matrix, near one."""
    if rank <= LARGEST_SIDE:
        return whole_spectrum(operator)[:rank]
    return leading_eigenpairs(operator, LEADING, accuracy=1e-4).values


def _parallel(
    operator: Operator, rows: int, repeats: int, rng: np.random.Generator, progress: Progress
) -> ComponentChoice:
    rank = min(rows, operator.size)
    near = operator.near_one()
    own = _spectrum(near, rank)
    given = None if operator.rows is None else SampleRows(operator, "parallel analysis", 1, 'method="gavish-donoho"')
    drawn: list[Vector] = []
    with progress.until_interrupted():
        while len(drawn) < repeats and (len(drawn) < LEAST_REPEATS or progress.tick(float(len(drawn)))):
            if given is None:
                variances = to_vector(near.diagonal())
                noise = noise_with_variances(rows + 1, variances, rng)
                drawn.append((np.linalg.svd(noise, compute_uv=False)[: own.size] ** 2) / rows)
            else:
                mixed = given.permuted(lambda values: permuted(values, rng))
                again = _spectrum(mixed.near_one(), rank)
                drawn.append(np.ldexp(again, mixed.near_one().power - near.power))
    thresholds = np.quantile(np.array(drawn), LEVEL, axis=0)
    count = _leading_run(own > thresholds)
    told = f"{len(drawn)} times" if len(drawn) == repeats else f"{len(drawn)} of {repeats} times, when time was up"
    how = "normal noise was drawn" if given is None else "the values of every column were put in random order"
    where = f" of the {own.size} looked at" if own.size < rank else ""
    reason = (
        f"{_counted(count)}{where}: each is larger than in {LEVEL:.0%} of cases of pure chance, for which {how} {told}"
    )
    return _answer(operator, count, reason, "parallel", own, thresholds)


def _of_the_spectrum(operator: Operator, rows: int, method: ComponentMethod) -> ComponentChoice:
    small, large = sorted((rows, operator.size))
    if small > LARGEST_SIDE:
        msg = (
            f"{method} needs all {small:,} eigenvalues, computed for up to {LARGEST_SIDE:,}; "
            'use method="parallel", or fewer samples or features'
        )
        raise InvalidProblemError(msg)
    own = whole_spectrum(operator.near_one())[:small]
    if method == "gavish-donoho":
        times = threshold_of_singular_values(small / large)
        thresholds = np.full(small, times**2 * float(np.median(own)))
        about = f"their singular values exceed {times:.3f} times the median one, the best threshold"
    else:
        thresholds = np.full(small, edge_of_noise(small, large) * float(own.mean()))
        about = "they lie beyond the edge of the law of Marchenko and Pastur"
    count = _leading_run(own > thresholds)
    reason = f"{_counted(count)}: {about} for {rows} x {operator.size} values of noise"
    return _answer(operator, count, reason, method, own, thresholds)


def _answer(
    operator: Operator, count: int, reason: str, method: ComponentMethod, own: Vector, thresholds: Vector
) -> ComponentChoice:
    units = operator.near_one().power - operator.power
    if count == 0:
        reason = f"no component stands out; none of the eigenvalues would be counted. {reason}"
    if count == own.size:
        reason += ". These are all there are, so that the comparison tells little"
    values, limits = np.ldexp(own, units), np.ldexp(thresholds, units)
    return ComponentChoice(count, f"{reason}.", method, values, limits, operator.trace())


def _leading_run(holds: Any) -> int:
    return int(holds.size if holds.all() else np.argmin(holds))


def _counted(count: int) -> str:
    return f"{count} component{'' if count == 1 else 's'}"
