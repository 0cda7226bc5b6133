"""Whether a given matrix is symmetric and positive semidefinite, and if not, what shows it."""

import math
from typing import Any

import numpy as np

from certpca.operators.base import LARGEST_VARIANCE, SMALLEST_VARIANCE, divided, even_power
from certpca.readers.sparse_format import by_columns
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import Array, is_host, namespace, to_vector
from certpca.runtime.errors import InvalidDataError

SYMMETRY_TOLERANCE = 1e-8  # relative to the largest entry; 1e-5 in single precision
INDEFINITE_TOLERANCE = 1e-6  # a smallest eigenvalue below minus this, relative to the largest, is refused
DENSE_CHECK_SIZE = 3000  # up to here definiteness is decided by LAPACK, beyond by Lanczos


def _tolerance_of(dtype: Any) -> float:
    return 1e-5 if dtype.itemsize == 4 else SYMMETRY_TOLERANCE


NOT_FINITE = "the matrix must be finite"


def _entry_error(what: str, row: int, column: int, value: float) -> InvalidDataError:
    return InvalidDataError(f"{what}: entry ({row}, {column}) is {value:.6g}")


def _asymmetry(row: int, column: int, value: float, mirrored: float) -> InvalidDataError:
    return InvalidDataError(
        f"the matrix must be symmetric: entry ({row}, {column}) is {value:.6g} but ({column}, {row}) is "
        f"{mirrored:.6g}; for data instead of a covariance matrix leave covariance unset"
    )


def checked_dense_matrix(matrix: Array) -> Array:
    """Return a symmetric floating matrix, or name the entry or eigenvalue that is wrong."""
    xp = namespace(matrix)
    if not xp.isdtype(matrix.dtype, "real floating"):
        matrix = xp.astype(matrix, xp.float64)
    finite = xp.isfinite(matrix)
    if not bool(xp.all(finite)):
        row, column = _first(~finite)
        raise _entry_error(NOT_FINITE, row, column, float(matrix[row, column]))
    largest = float(xp.max(xp.abs(matrix)))
    _refuse_extreme(largest)
    difference = xp.abs(matrix - matrix.T)
    if float(xp.max(difference)) > _tolerance_of(_host_type(matrix)) * largest:
        row, column = divmod(int(xp.argmax(difference)), matrix.shape[1])
        raise _asymmetry(row, column, float(matrix[row, column]), float(matrix[column, row]))
    if bool(xp.any(difference > 0)):
        matrix = (matrix + matrix.T) / 2
    _refuse_indefinite(matrix, xp.linalg.diagonal(matrix), largest)
    return matrix


def checked_sparse_matrix(matrix: Any) -> Any:
    """Return a symmetric floating matrix by columns, or name what is wrong."""
    from scipy.sparse import csc_array

    matrix = by_columns(matrix)
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    coordinates = matrix.tocoo()
    if bad.size:
        row, column = (int(part[bad[0]]) for part in coordinates.coords)
        raise _entry_error(NOT_FINITE, row, column, float(matrix.data[bad[0]]))
    largest = float(np.abs(matrix.data).max(initial=0.0))
    _refuse_extreme(largest)
    difference = abs(matrix - matrix.T)
    if difference.nnz and difference.max() > _tolerance_of(matrix.dtype) * largest:
        row, column = (int(part[difference.tocoo().data.argmax()]) for part in difference.tocoo().coords)
        raise _asymmetry(row, column, float(matrix[row, column]), float(matrix[column, row]))
    if difference.nnz:
        matrix = csc_array((matrix + matrix.T) / 2)
    _refuse_indefinite(matrix, matrix.diagonal(), largest)
    return matrix


def _refuse_extreme(largest: float) -> None:
    """Refuse entries whose sums overflow, or of which few digits are left."""
    power = math.frexp(largest)[1]
    if largest > 0 and not SMALLEST_VARIANCE <= power <= LARGEST_VARIANCE:
        msg = (
            f"the entries of the matrix, up to {largest:.3g}, are too {'small' if power < 0 else 'large'} for double "
            f"precision; {'multiply' if power < 0 else 'divide'} them by a constant, such as 2**{abs(power)}"
        )
        raise InvalidDataError(msg)


def _refuse_indefinite(matrix: Any, diagonal: Array, largest: float) -> None:
    """Refuse a matrix with a clearly negative eigenvalue, and say what shows it."""
    if largest == 0.0:
        return
    on_host = to_vector(diagonal)
    lowest = int(on_host.argmin())
    if on_host[lowest] < -INDEFINITE_TOLERANCE * largest:
        what = "the matrix must be positive semidefinite, but a diagonal entry is negative"
        raise _entry_error(what, lowest, lowest, on_host[lowest])
    power = even_power(largest)
    near = matrix if power == 0 else divided(matrix, power)
    smallest, greatest = (float(divided(value, -power)) for value in extreme_eigenvalues(near))
    if smallest < -INDEFINITE_TOLERANCE * greatest:
        msg = (
            f"the matrix must be positive semidefinite, but it has the eigenvalue {smallest:.6g} "
            f"(the largest is {greatest:.6g}); if noise made it so, set its negative eigenvalues to zero"
        )
        raise InvalidDataError(msg)


def extreme_eigenvalues(matrix: Any, dense_up_to: int = DENSE_CHECK_SIZE) -> tuple[float, float]:
    """Smallest and largest eigenvalue; above a size, Lanczos values, which never exaggerate."""
    size = matrix.shape[0]
    sparse = is_sparse(matrix)
    if size <= dense_up_to:
        dense = matrix.toarray() if sparse else matrix
        values = to_vector(namespace(dense).linalg.eigvalsh(dense))
        return float(values[0]), float(values[-1])
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    if not sparse and not is_host(matrix):
        xp = namespace(matrix)
        held = matrix
        matrix = LinearOperator(
            (size, size), dtype=np.float64, matvec=lambda v: to_vector(held @ xp.asarray(v, dtype=held.dtype))
        )
    start = np.random.default_rng(0).standard_normal(size)
    found = []
    for which in ("SA", "LA"):
        try:
            values = eigsh(matrix, 1, which=which, v0=start, tol=1e-3, maxiter=50, return_eigenvectors=False)
        except ArpackNoConvergence as error:
            values = error.eigenvalues
        found.append(float(values[0]) if len(values) else 0.0)
    return found[0], found[1]


def _first(mask: Array) -> tuple[int, int]:
    xp = namespace(mask)
    flat = int(xp.argmax(xp.astype(mask, xp.int8)))
    row, column = divmod(flat, mask.shape[1])
    return row, column


def _host_type(array: Array) -> np.dtype[Any]:
    return np.dtype(np.float32 if namespace(array).finfo(array.dtype).bits == 32 else np.float64)
