"""What looks wrong about a table before it is analysed: a matrix given as data, an index among the features."""

from typing import Any

import numpy as np

from certpca.formats.arranging import Table
from certpca.formats.selection import drop_option
from certpca.readers.missing import genotype_code
from certpca.readers.moments import dense_moments
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import Vector

LARGEST_SHARE = 0.95  # of the total variance that a feature may have unremarked
MOST_BYTES = 1 << 30  # of larger tables nothing is said: looking at them takes time
FEWEST_ROWS = 5  # fewer count up by chance
SYMMETRY = 1e-8


def suspicions(table: Table, *, covariance: bool, scaled: bool, centred: bool) -> tuple[str, ...]:
    """Return what a user may want to know before an analysis; tables that stay in a file are not looked at.

    Parameters
    ----------
    table
        The table.
    covariance
        Whether it is taken for a covariance matrix.
    scaled
        Whether columns are scaled.
    centred
        Whether means are subtracted.
    """
    data = table.data
    if not (isinstance(data, np.ndarray) or is_sparse(data)) or data.ndim != 2 or 0 in data.shape:
        return ()
    if data.dtype.kind not in "biuf" or (data.data.nbytes if is_sparse(data) else data.nbytes) > MOST_BYTES:
        return ()
    found = [] if covariance else [*_counting(table), *_symmetric(data)]
    variances = data.diagonal() if covariance else None if scaled else _variances(data, centred=centred)
    if variances is not None:
        found += _outstanding(table, np.asarray(variances, dtype=np.float64), covariance=covariance)
    return tuple(found)


def _without(index: int, table: Table) -> str:
    """Return the option that leaves a column out, unless columns have been moved and have no names."""
    moved = table.reading.keys() & {"columns", "drop"} and table.names is None
    return "" if moved or "transpose" in table.reading else f"; without it: {drop_option(index, table.names)}"


def _column(index: int, table: Table) -> str:
    return f"column {index + 1}" if table.names is None else f"column {table.names[index]!r}"


def _counting(table: Table) -> list[str]:
    """Look for columns of whole numbers that go up by one from row to row."""
    data = table.data
    if is_sparse(data) or data.shape[0] < FEWEST_ROWS or data.shape[1] < 2:
        return []
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.diff(data[:FEWEST_ROWS].astype(np.float64), axis=0)
    likely = np.flatnonzero((steps == 1).all(axis=0) & (data[0] == np.floor(data[0].astype(np.float64))))
    counting = [int(index) for index in likely if (np.diff(data[:, index].astype(np.float64)) == 1).all()]
    if len(counting) > data.shape[1] / 2:
        return []
    return [
        f"{_column(index, table)} counts up by one, as an index does{_without(index, table)}" for index in counting[:3]
    ]


def _symmetric(data: Any) -> list[str]:
    size = data.shape[0]
    if size != data.shape[1] or size < 2:
        return []
    diagonal = np.asarray(data.diagonal())
    if not (diagonal > 0).all():
        return []
    slack = SYMMETRY * float(diagonal.max())
    if is_sparse(data):
        symmetric = bool(abs(data - data.T).max() <= slack)
    else:
        blocks = (slice(start, start + 256) for start in range(0, size, 256))
        symmetric = all(np.allclose(data[part], data[:, part].T, rtol=SYMMETRY, atol=slack) for part in blocks)
    if not symmetric:
        return []
    return [
        f"the table is square, symmetric and has a positive diagonal ({size} × {size}), as a covariance matrix has, "
        "but its rows are taken for samples; if it is one: --covariance"
    ]


def _variances(data: Any, *, centred: bool) -> Vector | None:
    if is_sparse(data):
        rows = data.shape[0]
        square = data.astype(np.float64)
        square.data = square.data**2
        mean = np.asarray(data.mean(axis=0)).ravel() if centred else 0.0
        return np.asarray(np.asarray(square.sum(axis=0)).ravel() / rows - mean**2)
    moments = dense_moments(data, genotype_code(data), center=centred)
    return np.asarray(moments.squares / np.maximum(moments.count, 1))


def _outstanding(table: Table, variances: Vector, *, covariance: bool) -> list[str]:
    total = variances.sum()
    if variances.size < 3 or not np.isfinite(total) or total <= 0:
        return []
    index = int(np.argmax(variances))
    share = variances[index] / total
    if share <= LARGEST_SHARE:
        return []
    cure = "a correlation matrix treats all alike" if covariance else "--correlation treats all columns alike"
    return [
        f"{_column(index, table)} alone has {100 * share:.2f} % of the total variance; {cure}"
        + ("" if covariance else _without(index, table))
    ]
