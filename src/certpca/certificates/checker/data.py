"""The data of a certificate, prepared by the checker itself."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.arrays import Vector, to_numpy
from certpca.certificates.checker.numbers import gamma, largest_eigenvalue, require
from certpca.result import Source

ALLELES = "2pq"  # columns divided by √(2p(1 − p)), p half their mean
BLOCK_BYTES = 12 << 20  # small enough for the cache, large enough for BLAS


@dataclass(frozen=True, slots=True)
class Prepared:
    """F by blocks of columns in float64, and how far it can be from the exact one.

    Everything is multiplied by a power of two, which rounds nothing, so that no square overflows or vanishes;
    `unit` turns values of the form back. `error` bounds the Frobenius norm of what F misses; `excess` bounds how much
    the matrix exceeds FᵀF where F is a square root of it. `trace` is at least ‖F‖². `form` returns the quadratic form
    of sparse loadings and a bound on its error. `dense` returns the matrix on some features and its distance to the
    exact one in norm. `latest` keeps the dual point that was last worked out: its bound holds for every sparsity.
    """

    depth: int
    size: int
    block: Callable[[slice], Vector]
    form: Callable[[Any, Vector], tuple[float, float]]
    dense: Callable[[Any], tuple[Vector, float]]
    error: float
    excess: float
    trace: float
    unit: float
    latest: dict[str, Any] = field(default_factory=dict)

    def blocks(self) -> Iterator[tuple[slice, Vector]]:
        """Walk over the columns."""
        for columns in column_slices(self.depth, self.size):
            yield columns, self.block(columns)

    def keep(self, mask: NDArray[np.bool_]) -> "Prepared":
        """Leave out features; allowances for all of them cover the rest."""
        chosen = np.flatnonzero(mask)

        def block(columns: slice) -> Vector:
            wanted = chosen[columns]
            # The columns wanted lie in a run of the original ones: read that and take them out.
            first, last = int(wanted[0]), int(wanted[-1]) + 1
            return self.block(slice(first, last))[:, wanted - first]

        def dense(features: Any) -> tuple[Vector, float]:
            return self.dense(chosen[features])

        return replace(self, size=int(chosen.size), block=block, dense=dense, latest={})

    def lift(self, bound: float) -> float:
        """Turn a bound for the F at hand into one for the exact matrix.

        ‖F_S‖ changes by at most the norm of the error, so Z* ≤ (√bound + error)² + excess.
        """
        return ((math.sqrt(max(bound, 0.0)) + self.error) ** 2 + self.excess) * (1 + gamma(16))


def column_slices(rows: int, size: int) -> Iterator[slice]:
    """Cut the columns into runs of moderate size."""
    width = max(1, BLOCK_BYTES // (8 * rows))
    for start in range(0, size, width):
        yield slice(start, min(start + width, size))


def prepare(source: Source) -> Prepared:
    """Standardise data, or take the square root of a matrix."""
    require(len(source.values.shape) == 2 and 0 not in source.values.shape, "the data are not a table")
    rows, size = (int(side) for side in source.values.shape)
    if source.kind == "matrix":
        require(rows == size, "the matrix is not square")
        matrix = dense_columns(source.values, slice(0, size))
        require(bool(np.isfinite(matrix).all()), "the matrix has entries that are not finite")
        unit = _power_of_two(float(np.abs(matrix).max()))
        return _square_root(matrix / unit, 0.0, unit)
    require(source.kind == "data", f"unknown kind of data {source.kind!r}")
    data = _standardised(source)
    if rows <= size:
        return data
    # More samples than features: the matrix is smaller than the data.
    return _square_root(*data.dense(np.arange(size)), data.unit)


def _power_of_two(largest: float) -> float:
    return 2.0 ** min(1000, max(-1000, math.frexp(largest)[1])) if largest > 0 else 1.0


def dense_columns(values: Any, columns: slice, chosen: Any = None) -> Vector:
    """Return a run of columns of whatever holds the values, or some of that run, in float64."""
    if getattr(values, "format", None) in ("bsr", "coo", "dia"):  # these cannot be cut
        values = values.tocsc()
    part = values[:, columns]
    part = part.toarray() if hasattr(part, "toarray") else to_numpy(part)
    return np.asarray(part if chosen is None else part[:, chosen], dtype=np.float64)


def _square_root(matrix: Vector, slack: float, unit: float) -> Prepared:
    """Factor a symmetric matrix by its symmetric square root and measure what that leaves."""
    size = matrix.shape[0]
    matrix = (matrix + matrix.T) / 2
    values, vectors = np.linalg.eigh(matrix)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    trace = float((root**2).sum()) * (1 + gamma(size * size + 4))
    # The computed rest misses the exact one by at most the roundings of the product and the difference. Where the
    # matrix has slightly negative eigenvalues it lies below FᵀF, so only what exceeds FᵀF counts.
    doubt = gamma(size + 8) * (trace + float(np.abs(matrix).sum()))
    excess = max(0.0, largest_eigenvalue(matrix - root.T @ root, doubt)) + slack

    def form(support: Any, loadings: Vector) -> tuple[float, float]:
        part = matrix[np.ix_(support, support)]
        size_of = np.abs(loadings)
        rounding = gamma(2 * support.size + 8) * float(size_of @ np.abs(part) @ size_of)
        return float(loadings @ part @ loadings), rounding * (1 + gamma(8)) + slack * float(loadings @ loadings)

    def dense(features: Any) -> tuple[Vector, float]:
        # The matrix was made symmetric, which rounds.
        return matrix[np.ix_(features, features)], slack + gamma(2) * float(np.linalg.norm(matrix))

    return Prepared(size, size, lambda columns: root[:, columns], form, dense, 0.0, excess, trace, unit)


class _Columns:
    """The columns of data, centred and scaled, with bounds on the roundings; `unit` turns their products back."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.rows, self.size = (int(side) for side in source.values.shape)
        # Not what only equals True: it would be named one thing and treated as another.
        require(isinstance(source.scale, bool) or source.scale == ALLELES, f"unknown scaling {source.scale!r}")
        require(source.scale != ALLELES or bool(source.center), "scaling by allele frequencies needs centring")
        require(source.divisor > 0 and math.isfinite(source.divisor), "the divisor of the covariance is not positive")
        parts = column_slices(self.rows, self.size)
        largest = np.concatenate([np.abs(self._filled(part, None)[0]).max(axis=0) for part in parts])
        require(bool(np.isfinite(largest).all()), "the data have values that are not finite")
        # Correlations scale every column by a power of two of its own; else one serves all, and the divisor has one.
        exponents = np.frexp(largest if source.scale is True else np.full(self.size, largest.max()))[1]
        mantissa, power = math.frexp(source.divisor)
        mantissa, power = (mantissa, power) if power % 2 == 0 else (2 * mantissa, power - 1)
        power = 0 if source.scale is True else 2 * int(exponents[0]) - power
        require(-1074 <= power <= 1023, "the data are too large or too small to square")
        self._units = np.ldexp(1.0, np.minimum(exponents, 1023))
        self._factor = 1.0 / math.sqrt(mantissa)
        self.unit = math.ldexp(1.0, power)

    def _filled(self, columns: slice, chosen: Any) -> tuple[Vector, NDArray[np.bool_]]:
        source = self._source
        raw = dense_columns(source.values, columns, chosen)
        hole = np.isnan(raw) if source.missing is None else raw == source.missing
        require(
            not hole.any() or bool(source.fill_missing and source.center),
            "the data have missing values and no rule for them",
        )
        return np.where(hole, 0.0, raw), hole

    def standardised(self, columns: slice, chosen: Any = None) -> tuple[Vector, Vector]:
        """Return a run of columns, or some of it, and by how much each can be off in length."""
        source, rows = self._source, self.rows
        raw, hole = self._filled(columns, chosen)
        unit = self._units[columns] if chosen is None else self._units[columns][chosen]
        raw /= unit
        count = np.maximum(rows - hole.sum(axis=0), 1)
        mean = raw.sum(axis=0) / count if source.center else np.zeros(raw.shape[1])
        centred = np.where(hole, 0.0, raw - mean)
        lengths = np.linalg.norm(centred, axis=0)
        # The mean is off by at most γ of the mean magnitude, in every row; each difference rounds once more.
        level = np.abs(raw).sum(axis=0) / count if source.center else np.zeros(raw.shape[1])
        doubt = (gamma(rows + 8) * level * math.sqrt(rows) + gamma(4) * lengths) * (1 + gamma(rows + 8))
        if source.scale is True:
            require(bool((lengths > 4 * doubt).all()), "a column is constant, so it has no correlation")
            # x/|x| moves by at most twice the relative error of x, and rounds.
            return centred / lengths, 2 * doubt / (lengths - doubt) + gamma(rows + 16)
        if source.scale == ALLELES:
            root, slip = _expected_spread(mean * unit / 2, (gamma(rows + 8) * level + gamma(4) * np.abs(mean)) * unit)
            centred, doubt, lengths = centred / root, (doubt + lengths * slip) / root * (1 + gamma(8)), lengths / root
        return centred * self._factor, (doubt + gamma(8) * lengths) * self._factor * (1 + gamma(16))


def _standardised(source: Source) -> Prepared:
    """Centre and scale the data column by column, with bounds on the roundings."""
    data = _Columns(source)
    rows, size, columns_and_errors = data.rows, data.size, data.standardised
    error = trace = 0.0
    for part in column_slices(rows, size):
        block, doubt = columns_and_errors(part)
        error += float((doubt**2).sum())
        trace += float((block**2).sum())
    error = math.sqrt(error) * (1 + gamma(size + 8))
    trace = (math.sqrt(trace) * (1 + gamma(rows + size + 8)) + error) ** 2 * (1 + gamma(8))

    def form(support: Any, loadings: Vector) -> tuple[float, float]:
        scores = np.zeros(rows)
        for part in column_slices(rows, size):
            mine = (support >= part.start) & (support < part.stop)
            if mine.any():
                scores += columns_and_errors(part, support[mine] - part.start)[0] @ loadings[mine]
        length = float(np.linalg.norm(loadings))
        value = float(scores @ scores)
        off = (error + gamma(support.size + 16) * math.sqrt(trace)) * length
        return value, 2 * off * math.sqrt(value) + off**2 + gamma(rows + 16) * value

    def columns_of(part: slice) -> Vector:
        return columns_and_errors(part)[0]

    def dense(features: Any) -> tuple[Vector, float]:
        chosen = np.empty((rows, len(features)))
        for part in column_slices(rows, size):
            mine = (features >= part.start) & (features < part.stop)
            if mine.any():
                chosen[:, mine] = columns_and_errors(part, features[mine] - part.start)[0]
        matrix = chosen.T @ chosen
        slack = gamma(rows + 8) * trace + 2 * error * math.sqrt(trace) + error**2
        return (matrix + matrix.T) / 2, slack * (1 + gamma(16))

    return Prepared(rows, size, columns_of, form, dense, error, 0.0, trace, data.unit)


def _expected_spread(share: Vector, off: Vector) -> tuple[Vector, Vector]:
    """Return √(2p(1 − p)) for frequencies p that are off by at most `off`, and by how much of itself it is off.

    That is δ|1 − 2p|/(2p(1 − p)) to first order; more than twice as much is allowed for, and p must be far from 0 and 1
    compared with δ.
    """
    spread = share * (1 - share)
    require(bool((spread > 8 * off).all()), "a column has no allele frequency between 0 and 1")
    return np.sqrt(2 * spread), 2 * off / spread + gamma(16)


def fingerprint(source: Source) -> str:
    """Hash the values in float64, by blocks of columns, with the shape and the normalisation."""
    rows, size = (int(side) for side in source.values.shape)
    digest = blake2b(digest_size=20)
    digest.update(repr((rows, size, sorted(source.normalisation().items()))).encode())
    for columns in column_slices(rows, size):
        digest.update(dense_columns(source.values, columns).tobytes(order="F"))  # column after column
    return digest.hexdigest()
