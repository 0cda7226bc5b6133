"""The data of a certificate, prepared by the checker itself."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from certpca.checker.columns import Columns, column_slices, sliceable, stored_columns
from certpca.checker.limits import Limits, Work
from certpca.checker.numbers import UNDERFLOW, Mask, Vector, gamma, largest_eigenvalue, require
from certpca.checker.read_ahead import read_ahead
from certpca.checker.whole_numbers import ColumnSums, Uncentred
from certpca.results.certificate import Source

PRODUCT_BYTES = 24 << 20  # of columns that are multiplied by panels at a time

Result = TypeVar("Result")
NOTHING = 0.01  # of the doubt about a matrix: what its square root may miss without a look at eigenvalues


@dataclass(frozen=True, slots=True)
class Prepared:
    """F by blocks of columns in float64, and how far it can be from the exact one.

    Everything is multiplied by a power of two, which rounds nothing, so that no square overflows or vanishes;
    `unit` turns values of the form back. `error` bounds the Frobenius norm of what F misses. Where F is a square root
    of the matrix, `excess` bounds how much that exceeds FᵀF, and `distance` how far it is from FᵀF in norm. `trace` is
    at least ‖F‖². `vanished` is what underflow can have taken: nothing where all data are zero. `form` returns the
    quadratic form of sparse loadings and a bound on its error. `dense` returns the matrix on some features and its
    distance to the exact one in norm. `never_negative`: it comes from data, so that no form of it is negative. `work`
    counts what a certificate costs. `latest` keeps the dual point that was last worked out: its bound holds for every
    sparsity. `squares` are those of the lengths of columns where they are known; `memory` keeps what is the same for
    all certificates. `limits` are those of the examination. `threads` is how many may read blocks. `uncentred` is F by
    numbers as they are stored, where these are small: products with them need not centre every one.
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
    vanished: float = UNDERFLOW
    never_negative: bool = True
    squares: Vector | None = None
    latest: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict)
    work: Work = field(default_factory=Work)
    limits: Limits = field(default_factory=Limits)
    distance: float = 0.0
    threads: int = 1
    uncentred: Uncentred | None = None

    def blocks(self) -> Iterator[tuple[slice, Vector]]:
        """Walk over the columns."""
        yield from read_ahead(column_slices(self.depth, self.size), self.block, self.threads)

    def stored_blocks(self) -> Iterator[tuple[slice, Vector]]:
        """Walk over the columns as they are stored, where products need not centre them."""
        read = self.block if self.uncentred is None else self.uncentred.block
        yield from read_ahead(column_slices(self.depth, self.size, PRODUCT_BYTES), read, self.threads)

    def worked_out(self, work: Callable[[slice, Vector], Result]) -> Iterator[tuple[slice, Result]]:
        """Walk over the columns with what can be worked out from each block, while others are read."""
        yield from read_ahead(
            column_slices(self.depth, self.size), lambda part: work(part, self.block(part)), self.threads
        )

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what depends on nothing but the data, worked out when it is first asked for."""
        if name not in self.memory:
            self.memory[name] = make()
        return self.memory[name]

    def diagonal(self) -> Vector:
        """Return the squared lengths of the columns of F, each a sum that rounded as an inner product does."""
        if self.squares is not None:
            return self.squares
        made: Vector = self.once(
            "diagonal", lambda: np.concatenate([(block**2).sum(axis=0) for _, block in self.blocks()])
        )
        return made

    def keep(self, mask: Mask) -> "Prepared":
        """Leave out features; allowances for all of them cover the rest."""
        chosen = np.flatnonzero(mask)

        def block(columns: slice) -> Vector:
            wanted = chosen[columns]
            taken = np.empty((self.depth, wanted.size))
            # They lie in a run of the original columns, of which many may be others: read it piece by piece.
            first, last = int(wanted[0]), int(wanted[-1]) + 1
            for part in column_slices(self.depth, last - first):
                begin, end = np.searchsorted(wanted, [first + part.start, first + part.stop])
                if begin < end:
                    here = wanted[begin:end]
                    run = slice(int(here[0]), int(here[-1]) + 1)
                    taken[:, begin:end] = self.block(run)[:, here - run.start]
            return taken

        def dense(features: Any) -> tuple[Vector, float]:
            return self.dense(chosen[features])

        squares = None if self.squares is None else self.squares[mask]
        kept = replace(self, size=int(chosen.size), block=block, dense=dense, squares=squares, uncentred=None)
        return replace(kept, latest={}, memory={})

    def lift(self, bound: float, leading: int = 1) -> float:
        """Turn a bound for the F at hand into one for the exact matrix.

        ‖F_S‖ changes by at most the norm of the error, so Z* ≤ (√bound + error)² + excess. So does the root of the sum
        of the `leading` largest squared singular values, a norm that is at most Frobenius's, and each eigenvalue
        exceeds that of FᵀF by at most the excess.
        """
        above = leading * (self.excess + self.vanished)
        return ((math.sqrt(max(bound, 0.0)) + self.error) ** 2 + above) * (1 + gamma(16))


def prepare(source: Source, limits: Limits | None = None, sums: ColumnSums | None = None) -> Prepared:
    """Standardise data, or take the square root of a matrix; sums over columns save walks over data."""
    limits = limits or Limits()
    return replace(_prepared(source, limits, sums), limits=limits)


def _prepared(source: Source, limits: Limits, sums: ColumnSums | None) -> Prepared:
    require(len(source.values.shape) == 2 and 0 not in source.values.shape, "the data are not a table")
    rows, size = (int(side) for side in source.values.shape)
    if source.kind == "matrix":
        require(rows == size, "the matrix is not square")
        matrix = stored_columns(sliceable(source.values), slice(0, size)).astype(np.float64)
        require(bool(np.isfinite(matrix).all()), "the matrix has entries that are not finite")
        unit = _power_of_two(float(np.abs(matrix).max()))
        vanished = UNDERFLOW if matrix.any() else 0.0
        return replace(_square_root(matrix / unit, vanished, unit), vanished=vanished, never_negative=False)
    data = _standardised(source, limits.gathered_bytes, sums)
    if rows <= size or size > limits.largest_dense:
        return data
    # More samples than features: the matrix is smaller than the data.
    return replace(_square_root(*data.dense(np.arange(size)), data.unit), vanished=data.vanished)


def _power_of_two(largest: float) -> float:
    return 2.0 ** min(1000, max(-1000, math.frexp(largest)[1])) if largest > 0 else 1.0


def _square_root(matrix: Vector, slack: float, unit: float) -> Prepared:
    """Factor a symmetric matrix by its symmetric square root and measure what that leaves."""
    size = matrix.shape[0]
    matrix = (matrix + matrix.T) / 2
    values, vectors = np.linalg.eigh(matrix)
    quarter = vectors * np.maximum(values, 0.0) ** 0.25
    root = quarter @ quarter.T  # a matrix and its own transpose: half the work of any other product
    trace = float((root**2).sum()) * (1 + gamma(size * size + 4))
    # The computed rest misses the exact one by at most the roundings of the product and the difference. Where the
    # matrix has slightly negative eigenvalues it lies below FᵀF, so only what exceeds FᵀF counts.
    doubt = gamma(size + 8) * (trace + float(np.abs(matrix).sum()))
    rest = matrix - root.T @ root
    norm = float(np.linalg.norm(rest)) * (1 + gamma(size * size + 4))
    # Where the rest is rounding alone, its length says as much as its eigenvalues.
    above = norm + doubt if norm <= NOTHING * doubt else max(0.0, largest_eigenvalue(rest, doubt))
    excess = above + slack
    distance = (norm + doubt + slack) * (1 + gamma(4))

    def form(support: Any, loadings: Vector) -> tuple[float, float]:
        part = matrix[np.ix_(support, support)]
        size_of = np.abs(loadings)
        rounding = gamma(2 * support.size + 8) * float(size_of @ np.abs(part) @ size_of)
        return float(loadings @ part @ loadings), rounding * (1 + gamma(8)) + slack * float(loadings @ loadings)

    def dense(features: Any) -> tuple[Vector, float]:
        # The matrix was made symmetric, which rounds.
        return matrix[np.ix_(features, features)], slack + gamma(2) * float(np.linalg.norm(matrix))

    return Prepared(
        size, size, lambda columns: root[:, columns], form, dense, 0.0, excess, trace, unit, distance=distance
    )


def _standardised(source: Source, gathered_bytes: int, sums: ColumnSums | None) -> Prepared:
    """Centre and scale the data column by column, with bounds on the roundings."""
    data = Columns(source, sums)
    rows, size = data.rows, data.size
    error = math.sqrt(float((data.doubt**2).sum())) * (1 + gamma(size + 8))
    trace = math.sqrt(float(data.squares.sum())) * (1 + gamma(rows + size + 8))
    vanished = UNDERFLOW if data.any_nonzero else 0.0
    trace = (trace + error) ** 2 * (1 + gamma(8)) + vanished

    def form(support: Any, loadings: Vector) -> tuple[float, float]:
        scores = np.zeros(rows)
        for part in column_slices(rows, size):
            mine = (support >= part.start) & (support < part.stop)
            if mine.any():
                scores += data.standardised(part, support[mine] - part.start) @ loadings[mine]
        length = float(np.linalg.norm(loadings))
        value = float(scores @ scores)
        off = (error + gamma(support.size + 16) * math.sqrt(trace)) * length
        return value, 2 * off * math.sqrt(value) + off**2 + gamma(rows + 16) * value + vanished

    def gathered(features: Any) -> Vector:
        chosen = np.empty((rows, len(features)))
        for part in column_slices(rows, size):
            mine = (features >= part.start) & (features < part.stop)
            if mine.any():
                chosen[:, mine] = data.standardised(part, features[mine] - part.start)
        return chosen

    def dense(features: Any) -> tuple[Vector, float]:
        matrix = np.empty((len(features), len(features)))
        width = max(1, gathered_bytes // (8 * rows))
        runs = [slice(start, start + width) for start in range(0, len(features), width)]
        for number, left in enumerate(runs):
            first = gathered(features[left])
            for right in runs[number:]:
                second = first if right is left else gathered(features[right])
                matrix[left, right] = first.T @ second
                matrix[right, left] = matrix[left, right].T
        slack = gamma(rows + 8) * trace + 2 * error * math.sqrt(trace) + error**2 + vanished
        return (matrix + matrix.T) / 2, slack * (1 + gamma(16))

    return Prepared(
        rows,
        size,
        data.standardised,
        form,
        dense,
        error,
        0.0,
        trace,
        data.unit,
        vanished,
        squares=data.squares,
        threads=data.threads,
        uncentred=data.uncentred(),
    )
