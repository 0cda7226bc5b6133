"""Components against what else is known of the samples."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certpca.runtime.arrays import Vector
from certpca.runtime.errors import InvalidDataError
from certpca.verbs.validation import checked_share, named_arguments

LEVEL = 0.05  # unless it is given
LEAST = 3  # samples with a value


@dataclass(frozen=True, slots=True, eq=False)
class Associations:
    """How strongly scores go with columns of metadata.

    Parameters
    ----------
    names : tuple of str
        Of the columns.
    kinds : tuple of str
        ``"number"`` or ``"groups"``, for each column.
    strengths : ndarray of shape (n_columns, n_components)
        Of numbers the correlation; of groups the correlation ratio: the square root of the share of the scores'
        variance that lies between groups. NaN where there is nothing to compare.
    p_values : ndarray of shape (n_columns, n_components)
        How often chance gives a stronger one, by the F test; of numbers that is the t test.
    level : float
        The probability of any false star among all.

    See Also
    --------
    associations : What returns it.

    Examples
    --------
    >>> import numpy as np, certpca
    >>> scores = np.array([[-2.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [2.0, 1.0]])
    >>> found = certpca.associations(scores, {"age": [20, 30, 50, 60], "sex": ["f", "m", "m", "f"]})
    >>> found.kinds, found.strengths.round(6).tolist()
    (('number', 'groups'), [[1.0, 0.0], [0.0, 1.0]])
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    strengths: Vector
    p_values: Vector = field(repr=False)
    level: float

    @property
    def clear(self) -> Any:
        """Which are beyond chance, allowing for how many were looked at (Bonferroni)."""
        known = int(np.isfinite(self.p_values).sum())
        return np.nan_to_num(self.p_values, nan=1.0) * known < self.level

    def plot(self, ax: Any = None) -> Any:
        """Draw the strengths as coloured cells, with a star where they are clear.

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

        return draw("metadata", self.strengths, self.names, clear=self.clear, ax=ax)

    def __str__(self) -> str:
        """Lay out as a table, with stars."""
        width = max(len(name) for name in self.names)
        head = " " * width + "".join(f"{j + 1:>9}" for j in range(self.strengths.shape[1]))
        lines = [
            name.ljust(width)
            + "".join(f"{value:8.2f}{'*' if star else ' '}" for value, star in zip(row, stars, strict=True))
            for name, row, stars in zip(self.names, self.strengths, self.clear, strict=True)
        ]
        return "\n".join([head, *lines])


@named_arguments
def associations(scores: Any, metadata: Any, *, level: float = LEVEL) -> Associations:
    """Ask which columns of metadata go with which components.

    Parameters
    ----------
    scores : array_like of shape (n_samples, n_components)
        From `Components.scores` or an estimator's ``transform``.
    metadata : mapping or DataFrame
        A column for each name, with one value for each sample. Numbers are correlated, anything else makes groups; None
        and NaN are not known and left out.
    level : float
        The probability of any false star among all; by default 0.05.

    Returns
    -------
    Associations
        Strengths, probabilities, and which are beyond chance.

    Raises
    ------
    InvalidDataError
        Where a column does not fit the scores, or says nothing about any group of samples.
    InvalidProblemError
        Where the level is no probability.

    See Also
    --------
    Components.scores : Scores of the samples.

    Examples
    --------
    >>> import numpy as np, certpca
    >>> rng = np.random.default_rng(0)
    >>> batch = np.repeat(["a", "b"], 20)
    >>> X = rng.standard_normal((40, 10)) + 3 * (batch == "a")[:, None]
    >>> found = certpca.associations(certpca.decompose(X, 1, 4).scores(), {"batch": batch})
    >>> found.clear.tolist()
    [[True]]
    """
    level = checked_share(level, "level")
    table = np.asarray(scores, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or not np.isfinite(table).all():
        msg = f"scores must be samples x components and finite, got an array of shape {table.shape}"
        raise InvalidDataError(msg)
    columns = _columns(metadata, len(table))
    found = [_against(table, values) for values in columns.values()]
    kinds = tuple("number" if values.dtype.kind == "f" else "groups" for values in columns.values())
    strengths, chances = (np.array([part[j] for part in found]) for j in range(2))
    return Associations(tuple(columns), kinds, strengths, chances, level)


def _columns(metadata: Any, samples: int) -> dict[str, Any]:
    """Return columns as floating numbers, or as texts with "" for what is not known."""
    items = metadata.items() if hasattr(metadata, "items") else None
    if items is None or not len(metadata):
        msg = "metadata must be a DataFrame, or a dictionary with a column for each name"
        raise InvalidDataError(msg)
    columns = {}
    for name, values in items:
        listed = list(values)
        if len(listed) != samples:
            msg = f"column {name!r} of the metadata has {len(listed)} values, but there are {samples} samples"
            raise InvalidDataError(msg)
        columns[str(name)] = column = _read(listed)
        known = column[_known(column)]
        if len(known) < LEAST or len(set(known)) < 2:
            msg = f"column {name!r} of the metadata has fewer than two values to compare; leave it out"
            raise InvalidDataError(msg)
        if column.dtype.kind != "f" and len(set(known)) == len(known):
            msg = f"column {name!r} of the metadata has another text for every sample and makes no groups; leave it out"
            raise InvalidDataError(msg)
    return columns


def _read(values: Sequence[Any]) -> Any:
    unknown = [value is None or value != value or value == "" for value in values]  # noqa: PLR0124  # NaN
    texts = any(
        isinstance(value, (str, bool, np.bool_)) for value, gone in zip(values, unknown, strict=True) if not gone
    )
    if not texts:
        try:
            return np.array([np.nan if gone else float(value) for value, gone in zip(values, unknown, strict=True)])
        except (TypeError, ValueError):
            pass
    return np.array(["" if gone else str(value) for value, gone in zip(values, unknown, strict=True)])


def _known(column: Any) -> Any:
    return np.isfinite(column) if column.dtype.kind == "f" else column != ""


def _against(scores: Vector, column: Any) -> tuple[Vector, Vector]:
    """Return strengths and probabilities for all components."""
    from scipy.stats import f

    known = _known(column)
    own = scores[known] - scores[known].mean(axis=0)
    total = (own**2).sum(axis=0)
    if column.dtype.kind == "f":
        values = column[known] - column[known].mean()
        along = values @ own / np.sqrt(values @ values)
        between, groups, sign = along**2, 2, np.sign(along)
    else:
        _, place = np.unique(column[known], return_inverse=True)
        sizes = np.bincount(place)
        sums = np.stack([np.bincount(place, weights=part) for part in own.T], axis=1)
        between, groups, sign = (sums**2 / sizes[:, None]).sum(axis=0), sizes.size, np.ones(own.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.minimum(between / total, 1.0)
        freedom = len(own) - groups
        ratio = (share / (groups - 1)) / ((1 - share) / freedom) if freedom > 0 else np.full(share.shape, np.nan)
    return sign * np.sqrt(share), np.asarray(f.sf(ratio, groups - 1, freedom))
