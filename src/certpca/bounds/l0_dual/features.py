"""Features as rows of sample space, where the checker will look for them."""

from typing import Any

import numpy as np

from certpca.bounds.l0_dual.row_blocks import RowBlocks, feature_rows, rows_in_memory
from certpca.operators.base import Operator
from certpca.runtime.arrays import Vector
from certpca.runtime.errors import InvalidProblemError
from certpca.runtime.limits import limits

LARGEST_FACTOR_BYTES = 6 << 30  # in single precision
SINGLE_FROM = 4_000_000  # entries of F from which products are made in single precision


def dual_depth(operator: Operator) -> int:
    """Return the order of the density matrices: samples, or features where these are fewer or there are no samples."""
    source = operator.source()
    return int(operator.size if source.kind == "matrix" else min(source.values.shape))


def fewer_asked(operator: Operator, wanted: int | None) -> bool:
    """Whether to work with fewer directions than there are, as asked for."""
    return wanted is not None and wanted < dual_depth(operator)


def too_deep(operator: Operator, wanted: int | None = None) -> bool:
    """Whether a matrix of all directions is out of the question: because of time, or of memory, or as asked for."""
    depth = dual_depth(operator)
    large = depth > limits().largest_factored or 4 * depth * operator.size > LARGEST_FACTOR_BYTES
    return large or fewer_asked(operator, wanted)


def sample_space_rows(operator: Operator, single_from: int = SINGLE_FROM) -> RowBlocks:
    """Return features as rows, in the sample space that the checker will use for the same matrix.

    That is the space of samples, or, where samples outnumber features or there are none, that of the matrix's
    symmetric square root. From `single_from` entries on they are in single precision.
    """
    xp, size = operator.xp, operator.size
    source = operator.source()
    depth = dual_depth(operator)
    if depth > limits().largest_factored:
        msg = (
            f"the dual bound works with matrices of order min(samples, features) = {depth}, "
            f"allowed up to {limits().largest_factored}"
        )
        raise InvalidProblemError(msg)
    dtype = _precision(operator, size * depth, single_from)
    if source.kind == "matrix" or source.values.shape[0] > size:
        matrix = xp.asarray(operator.submatrix(np.arange(size)), dtype=xp.float64, device=operator.device)
        values, vectors = xp.linalg.eigh(matrix)
        roots = xp.sqrt(xp.where(values > 0, values, xp.zeros_like(values)))
        return rows_in_memory(xp.astype((vectors * roots[None, :]) @ xp.matrix_transpose(vectors), dtype), operator)
    return feature_rows(operator, dtype)


def rows_along(operator: Operator, directions: Vector, single_from: int = SINGLE_FROM) -> RowBlocks:
    """Return features as rows in coordinates of a few directions, reading the factor once."""
    dtype = _precision(operator, operator.size * directions.shape[1], single_from)
    return feature_rows(operator, dtype, operator.xp.asarray(directions, dtype=dtype, device=operator.device))


def _precision(operator: Operator, entries: int, single_from: int) -> Any:
    ordinary = 1e-12 < operator.trace() / operator.size < 1e12
    return operator.xp.float32 if entries > single_from and ordinary else operator.xp.float64
