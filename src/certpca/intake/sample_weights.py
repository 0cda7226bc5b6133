"""Sample weights: only their ratios matter, so that they are brought to a mean of one.

With weights ω of mean one, the mean of a column is Σω_i x_i / Σω_i and the matrix Σω_i(x_i − μ)(x_i − μ)ᵀ over the
same divisor as without: equal weights change nothing, and a weight of two counts as two rows would. The data are
multiplied by √ω once, in memory.
"""

from typing import Any

import numpy as np

from certpca.operators.covariance import Weighted
from certpca.readers.moments import Moments, without_rounding
from certpca.results.certificate import SMALLEST_WEIGHT, Source
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import Vector, to_vector
from certpca.runtime.errors import InvalidDataError, InvalidProblemError

MOST_DENSE = 1 << 28  # numbers of sparse data that are made dense
HUGE = 2.0**400  # of numbers whose squares are added up here


def checked_weights(given: Any, rows: int) -> Vector:
    """Return one weight for each sample, or say what is wrong."""
    try:
        weights = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"sample_weight must be numbers, one for each of the {rows} samples, got {str(given)[:80]}"
        raise InvalidDataError(msg) from error
    if weights.shape != (rows,):
        msg = f"sample_weight must have one number for each of the {rows} samples, got shape {weights.shape}"
        raise InvalidDataError(msg)
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if bad.size:
        msg = (
            f"sample_weight[{bad[0]}] is {weights[bad[0]]:g}, and {bad.size} weights are not finite or negative; use "
            "zero to leave a sample out"
        )
        raise InvalidDataError(msg)
    if not weights.any():
        msg = "every sample has the weight zero, so there are no data; give positive weights to some"
        raise InvalidDataError(msg)
    if weights[weights > 0].min() < SMALLEST_WEIGHT * weights.max():
        msg = f"sample_weight spans more than a factor of {1 / SMALLEST_WEIGHT:g}; set the smallest weights to zero"
        raise InvalidDataError(msg)
    return weights


def require_dense_enough(values: Any) -> None:
    """Refuse sparse data that are too large to be weighted."""
    if is_sparse(values) and values.shape[0] * values.shape[1] > MOST_DENSE:
        msg = (
            f"sample_weight makes data dense, and {values.shape[0]} x {values.shape[1]} are too many numbers for that; "
            "choose fewer columns"
        )
        raise InvalidProblemError(msg)


def weighted(values: Any, source: Source, weights: Vector) -> tuple[Vector, Moments, Weighted]:
    """Return the data centred and multiplied by the roots of the weights, their moments, and where they come from."""
    raw = values.toarray().astype(np.float64) if is_sparse(values) else np.array(to_vector(values), dtype=np.float64)
    if float(np.nanmax(np.abs(raw), initial=0.0)) > HUGE:
        msg = "the data hold values too large to be weighted; divide them by a constant"
        raise InvalidDataError(msg)
    hole = np.isnan(raw) if source.missing is None else np.isnan(raw) | (raw == source.missing)
    rows = raw.shape[0]
    relative = weights * (rows / weights.sum())
    raw[hole] = 0.0
    present = relative @ ~hole
    mean = np.zeros(raw.shape[1])
    if source.center:
        np.divide(relative @ raw, present, out=mean, where=present > 0)
    raw -= mean
    raw[hole] = 0.0
    raw *= np.sqrt(relative)[:, None]
    squares = without_rounding((raw**2).sum(axis=0), mean, rows)
    found = Moments(rows, np.full(mean.size, float(rows)), 0.0 * mean, squares, np.zeros(mean.size, dtype=bool))
    return raw, found, Weighted(source, mean)
