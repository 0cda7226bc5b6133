"""Scores of samples, old or new, on components that were found before: only columns of their supports are read."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from certpca.intake.columns import columns_of
from certpca.intake.inputs import checked_names, values_and_names
from certpca.results.component_set import ComponentSet
from certpca.results.solution import Solution
from certpca.runtime.array_kinds import is_sparse, require_table
from certpca.runtime.arrays import Indices, Vector
from certpca.runtime.errors import InvalidDataError, InvalidProblemError
from certpca.verbs.validation import checked_choice, named_arguments, require

METHODS = ("projection", "regression")
SHOWN = 5  # names in a message


@named_arguments
def transform(
    data: Any,
    result: Solution | ComponentSet,
    *,
    method: str = "projection",
    missing: str = "error",
    names: Any = None,
) -> Vector:
    """Return the scores of samples on components that were found before, such as those of a stored result.

    Samples are standardised as the training data were, whatever their own means are. Where both the result and the data
    have names, columns are found by name, in any order and among any others; else there must be as many as then.

    Parameters
    ----------
    data : array_like, DataFrame, AnnData or reader
        Samples x features.
    result : Solution or ComponentSet
        From `solve`, `decompose`, `load_solution` or `load_components`.
    method : {"projection", "regression"}
        What scores are, as in `SparsePCA`: ZVᵀ, or the least-squares ones ZVᵀ(VVᵀ)⁺.
    missing : {"error", "mean"}
        ``"mean"`` puts the mean of the training data where a value is missing.
    names : sequence of str, optional
        One name for each column of the data; taken from a DataFrame or a file by default.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        The scores.

    Raises
    ------
    InvalidProblemError
        Where the result is not about data, or an argument has no meaning.
    InvalidDataError
        Where columns that the components need are not there, or values are missing.

    See Also
    --------
    SparsePCA : Fits and transforms.
    load_solution, load_components : Read a result.

    Examples
    --------
    >>> import certpca, numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 6))
    >>> found = certpca.decompose(X[:40], 2, 3)
    >>> certpca.transform(X[40:], found).shape
    (10, 2)
    """
    checked_choice(method, "method", METHODS)
    checked_choice(missing, "missing", ("error", "mean"))
    require(isinstance(result, (Solution, ComponentSet)), "result", "what solve or decompose returns", result)
    solutions = result.components if isinstance(result, ComponentSet) else (result,)
    support, mean, scale, components = _standardised_components(solutions)
    values, found = values_and_names(data)
    require_table(values)
    width = int(values.shape[1])
    labels = checked_names(names, found, width)
    chosen = _columns(solutions, support, labels, width)
    part, code = columns_of(values, chosen)
    if np.isinf(part.data if is_sparse(part) else part).any():
        msg = "the data have infinite values among the columns that the components use; mend these first"
        raise InvalidDataError(msg)
    scores = projections(part, mean, components.T / scale[:, None], code, missing)
    return scores if method == "projection" else scores @ inverse_gram(components)


def projections(part: Any, mean: Vector, weights: Vector, code: int | None, missing: str) -> Vector:
    """Return products of centred columns with weights, in double precision; sparse columns are not filled up.

    Parameters
    ----------
    part
        Columns of samples, dense or scipy.sparse.
    mean
        What is subtracted from each.
    weights
        A row for each column, a column for each component.
    code
        What marks missing values beside NaN.
    missing
        What to do with these: ``"error"`` or ``"mean"``.
    """
    if is_sparse(part):
        part = with_nan(part, code)
        if not np.isnan(part.data).any():
            return np.asarray(part @ weights - mean @ weights)
        part = part.toarray()
    holes = np.isnan(part) if code is None else np.isnan(part) | (part == code)
    if missing == "error" and holes.any():
        mark = "" if code is None else f" (coded {code})"
        msg = f"X has missing values{mark}; use missing='mean' to put the column mean there"
        raise InvalidDataError(msg)
    return np.asarray((np.where(holes, mean, part) - mean) @ weights)


def with_nan(data: Any, code: int | None) -> Any:
    """Put NaN for the mark of missing values among the entries of sparse samples."""
    if code is None or not (data.data == code).any():
        return data
    marked = data.astype(np.float64)
    marked.data[marked.data == code] = np.nan
    return marked


def inverse_gram(components: Vector) -> Vector:
    """Return (VVᵀ)⁺ for components as rows, which is 1 for one of them."""
    return np.asarray(np.linalg.pinv(components @ components.T, hermitian=True))


def _standardised_components(solutions: Sequence[Solution]) -> tuple[Indices, Vector, Vector, Vector]:
    """Return the features that components use, what is done to these, and the components as rows over them."""
    support = np.unique(np.concatenate([solution.support for solution in solutions]))
    mean, scale = np.zeros(support.size), np.ones(support.size)
    components = np.zeros((len(solutions), support.size))
    for row, solution in zip(components, solutions, strict=True):
        if solution.mean is None or solution.scale is None:
            msg = (
                f"the result is about a {solution.matrix}, and does not say how samples are standardised; scores need "
                "one that was found from samples x features, by this version or a later one"
            )
            raise InvalidProblemError(msg)
        places = np.searchsorted(support, solution.support)
        mean[places], scale[places], row[places] = solution.mean, solution.scale, solution.loadings
    return support, mean, scale, components


def _columns(solutions: Sequence[Solution], support: Indices, labels: tuple[str, ...] | None, width: int) -> Indices:
    """Return where in the data the features of components are: by name, or else by position."""
    named = {
        int(index): name
        for solution in solutions
        for index, name in zip(solution.support, solution.names or (), strict=bool(solution.names))
    }
    if labels is None or not named:
        size = solutions[0].size
        if width != size:
            what = "the data have no names" if named else "the result has no names"
            msg = f"{what}, so that columns go by position: they must be {size}, as they were then, got {width}"
            raise InvalidDataError(msg)
        return support
    counts, places = Counter(labels), {name: place for place, name in enumerate(labels)}
    wanted = [named[int(index)] for index in support]
    for problem, names in (
        ("are not among the columns", [name for name in wanted if not counts[name]]),
        ("are several columns each", [name for name in wanted if counts[name] > 1]),
    ):
        if names:
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            msg = (
                f"{len(names)} of {len(wanted)} features of the components {problem}: "
                f"{', '.join(map(repr, names[:SHOWN]))}{more}"
            )
            raise InvalidDataError(msg)
    return np.array([places[name] for name in wanted], dtype=np.intp)
