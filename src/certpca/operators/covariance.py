"""The covariance or correlation of a data matrix, never formed.

With X of m rows, column means μ, column weights w (1, or one over the standard deviation) and
a divisor c, the operator is A = FᵀF with F = (X − 1μᵀ) diag(w) / √c. Where numbers of X are so large or so small that
products of their products would overflow or vanish, the weights are divided by a power of two, and what the verbs
return is multiplied by its square, the unit.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, final

import numpy as np

from certpca.operators.base import Operator, even_power
from certpca.operators.factor import Factor
from certpca.operators.sparse_gram import products_of_columns
from certpca.results.certificate import Source
from certpca.runtime.arrays import Array, Indices, Vector, device_of, is_host, namespace, to_numpy, to_vector

SINGLE_REACH = 2.0**60  # of weights whose columns are still in the range of single precision
SMALLEST_BLOCK_BYTES = 4 << 20
FORM_BYTES = 2 << 20  # of columns standardised for a quadratic form: larger ones are new pages of memory each time
ENTRY_BYTES = 16 << 20  # of columns standardised at a time
FEW_ENTRIES = 0.25  # share of entries of a sparse column up to which it is multiplied before it is centred
CANCELS = 64.0  # squared mean of a sparse column, in units of its variance, up to which two of 16 digits are lost
BLOCK_BYTES = 32 << 20  # at most, of converted rows: smaller blocks lose more to calls than they gain in cache


@dataclass(frozen=True, slots=True, eq=False)
class Weighted:
    """Where data come from that were centred and multiplied by roots of weights, and the means taken off them."""

    source: Source
    mean: Vector


@dataclass(frozen=True, slots=True, eq=False)
class Standardisation:
    """What is done to each column before products: subtract `mean`, multiply by `weight`.

    `mean` is zero where centring is off. `variance` is the diagonal of the operator, and
    `divisor` the number the products are divided by; both are turned back by `unit`, an even power of two. `missing`
    is the integer that codes a missing value, or None where none are missing or they are NaN. Where samples have
    weights, the data are those that `weighted` says, and nothing is left to centre or fill.
    """

    mean: Vector
    weight: Vector
    variance: Vector
    divisor: float
    center: bool
    scale: bool | str
    missing: int | None = None
    has_nan: bool = False
    unit: float = 1.0
    weighted: Weighted | None = None

    def take(self, indices: Indices) -> "Standardisation":
        """Keep some columns; of weighted ones these are then the data."""
        kept = replace(self, mean=self.mean[indices], weight=self.weight[indices], variance=self.variance[indices])
        return kept if self.weighted is None else replace(kept, weighted=None, center=False)

    def near_one(self) -> tuple["Standardisation", int]:
        """Return the same in a unit in which the largest variance is near one, and what power of two that unit is."""
        power = math.frexp(self.unit)[1] - 1
        half = even_power(float(self.variance.max())) // 2
        weight, variance = np.ldexp(self.weight, -half), np.ldexp(self.variance, -2 * half)
        return replace(self, weight=weight, variance=variance, unit=1.0), power + 2 * half

    @property
    def fits_single(self) -> bool:
        """Whether the columns themselves, their means and their weights can be told apart in single precision."""
        return bool((self.weight < SINGLE_REACH).all() and (self.weight > 1 / SINGLE_REACH).all())


class Covariance(Operator):
    """What dense and sparse data share: centring and scaling by rank-one corrections."""

    rows: int
    _fresh: ClassVar[bool] = False  # whether raw columns are a copy that nobody else has

    def __init__(
        self,
        data: Any,
        columns: Standardisation,
        dtype: Any,
        names: tuple[str, ...] | None,
        description: str,
        given: Any = None,
    ) -> None:
        self._data = data
        self._given = data if given is None else given
        self._columns = columns
        self.rows, self.size = (int(side) for side in data.shape)
        self.dtype = dtype
        self.names = names
        self.description = description

    @abstractmethod
    def _through_rows(self, panel: Array, shift: Array) -> tuple[Array, Array]:
        """Return Xᵀ(X·panel − 1·shift) and 1ᵀ(X·panel − 1·shift) in one walk over the data."""

    @abstractmethod
    def _back(self, scores: Array) -> Array:
        """Return Xᵀ·scores."""

    @abstractmethod
    def _raw_columns(self, indices: Indices | slice, dtype: Any) -> Array:
        """Return columns of X as they are, missing values replaced by the mean."""

    @abstractmethod
    def _take(self, indices: Indices) -> Any:
        """Return columns of X in their stored form."""

    def _like(self, vector: Vector, panel: Array) -> Array:
        return self.xp.asarray(vector, dtype=panel.dtype, device=self.device)

    @cached_property
    def _fits_single(self) -> bool:
        return self._columns.fits_single

    def _widely(self, product: Callable[[Array], Array], panel: Array) -> Array:
        """Multiply in double precision where single precision has no room for the data, whatever type is asked for."""
        xp = self.xp
        if self._fits_single or panel.dtype == xp.float64:
            return product(panel)
        return xp.astype(product(xp.astype(panel, xp.float64)), panel.dtype)

    def _in_units(self, product: Array) -> Array:
        """Divide products of columns, which nobody else has, as the matrix asks for."""
        product /= self._columns.divisor  # in place: new pages cost more than this
        if self._columns.unit != 1.0:
            product *= self._columns.unit
        return product

    def near_one(self) -> Operator:
        """Let the weights bring the numbers near one; the data stay as they are."""
        columns = self._columns
        if columns.unit == 1.0 and even_power(float(columns.variance.max())) == 0:
            return self
        near, power = columns.near_one()
        made = type(self)(self._data, near, self.dtype, self.names, self.description, self._given)
        made.power = self.power + power
        return made

    def matmat(self, panel: Array) -> Array:
        """Multiply with one walk over the data."""
        return self._widely(self._multiplied, panel)

    def _multiplied(self, panel: Array) -> Array:
        mean, weight = self._like(self._columns.mean, panel), self._like(self._columns.weight, panel)
        weighted = weight[:, None] * panel
        product, total = self._through_rows(weighted, mean @ weighted)
        return self._in_units(weight[:, None] * (product - mean[:, None] * self.xp.reshape(total, (1, -1))))

    def columns(self, indices: Indices) -> Array:
        """Multiply the transposed data by a few standardised columns."""
        return self._widely(self._correlated, self._standardised(indices, self.dtype))

    def _correlated(self, scores: Array) -> Array:
        mean, weight = self._like(self._columns.mean, scores), self._like(self._columns.weight, scores)
        total = self.xp.sum(scores, axis=0)
        return self._in_units(weight[:, None] * (self._back(scores) - mean[:, None] * total[None, :]))

    def transposed_times(self, scores: Array) -> Array:
        """Multiply the transposed data in one walk."""
        return self._widely(self._correlated, scores) * self._root

    def diagonal(self) -> Array:
        """Return the variances found when the data were checked."""
        return self.xp.asarray(self._columns.variance * self._columns.unit, dtype=self.dtype, device=self.device)

    def trace(self) -> float:
        """Sum the variances."""
        return float(self._columns.variance.sum()) * self._columns.unit

    def submatrix(self, indices: Indices) -> Vector:
        """Centre a few columns explicitly and multiply in float64."""
        scores = to_vector(self._standardised(indices, self.xp.float64))
        return np.asarray(self._in_units(scores.T @ scores))

    def rough_submatrix(self, indices: Indices) -> Vector | None:
        """Multiply in single precision, where products of the numbers neither overflow nor vanish there."""
        if not self._fits_single:
            return None
        every = np.array_equal(indices, np.arange(self.size))  # then nothing need be gathered
        scores = self._standardised(slice(None) if every else indices, self.xp.float32)
        return np.asarray(self._in_units(to_vector(scores.T @ scores)))

    def entries(self, rows: Indices, columns: Indices) -> Vector:
        """Multiply standardised columns with each other in float64, where that is less than a walk over the data."""
        if rows.size + columns.size > self.size // 2:
            return super().entries(rows, columns)
        across = to_vector(self._standardised(columns, self.xp.float64))
        found = np.empty((rows.size, columns.size))
        width = max(1, ENTRY_BYTES // (8 * self.rows))
        for start in range(0, rows.size, width):
            part = slice(start, start + width)
            found[part] = to_vector(self._standardised(rows[part], self.xp.float64)).T @ across
        return np.asarray(self._in_units(found))

    def captured(self, supports: Indices, loadings: Vector) -> Vector:
        """Square the lengths of scores: half of a product, from no more columns than the supports have."""
        total = to_vector(self._scores_of(supports, loadings))
        return np.asarray(self._in_units(np.einsum("ij,ij->j", total, total)))

    def images(self, supports: Indices, loadings: Vector) -> Vector:
        """Go back from the scores: half of a product, and a part of the other half."""
        product = self._widely(self._correlated, self._scores_of(supports, loadings))
        return np.ascontiguousarray(to_numpy(product).T)

    def _scores_of(self, supports: Indices, loadings: Vector) -> Array:
        """Multiply standardised columns by several sparse vectors, from the columns that these have."""
        among = np.zeros(self.size, dtype=bool)
        among[supports] = True
        features, places = np.flatnonzero(among), np.cumsum(among) - 1
        panel = np.zeros((features.size, supports.shape[0]))
        np.put_along_axis(panel, places[supports].T, loadings.T, axis=0)
        total, width = None, max(1, ENTRY_BYTES // (8 * self.rows))
        for start in range(0, features.size, width):
            part = slice(start, start + width)
            product = self._standardised(features[part], self.dtype) @ self.adopt(panel[part])
            total = product if total is None else total + product
        return total

    def quadratic_form(self, support: Indices, loadings: Vector) -> float:
        """Square the length of the scores."""
        total = self._projected(support, loadings)
        return float(self._in_units(total @ total))

    def standardised_by(self, indices: Indices) -> tuple[Vector, Vector]:
        """Return what is subtracted from some columns before scores, and what they are then multiplied by."""
        columns = self._columns.take(indices)
        return columns.mean, columns.weight * math.sqrt(columns.unit)

    def scores(self, support: Indices, loadings: Vector) -> Vector:
        """Multiply standardised columns."""
        projected = self._projected(support, loadings) * math.sqrt(self._columns.unit)
        if self._columns.weighted is None:
            return projected
        weights = np.asarray(self._columns.weighted.source.weights)
        root = np.sqrt(weights * (self.rows / weights.sum()))
        # A sample of weight zero is not in the data any more.
        return np.asarray(np.divide(projected, root, out=np.full(self.rows, np.nan), where=root > 0))

    def _projected(self, support: Indices, loadings: Vector) -> Vector:
        """Multiply columns as they are weighted, in blocks of them."""
        total = np.zeros(self.rows)
        few = getattr(self._data, "columns_apart", True)  # arrays have no such thing, and may be cut anywhere
        width = min(256, max(1, FORM_BYTES // (8 * self.rows))) if few else 256
        for start in range(0, support.size, width):
            part = slice(start, start + width)
            total += to_vector(self._standardised(support[part], self.xp.float64)) @ loadings[part]
        return total

    def source(self) -> Source:
        """Return the data as they were given and what is done to them."""
        if self._columns.weighted is not None:
            return self._columns.weighted.source
        return Source(
            "data",
            self._given,
            center=self._columns.center,
            scale=self._columns.scale,
            divisor=self._columns.divisor,
            missing=self._columns.missing,
            fill_missing=self._columns.missing is not None or self._columns.has_nan,
        )

    def standardisation(self) -> tuple[Vector, Vector]:
        """Return what is subtracted from each column and what it is then divided by."""
        columns = self._columns
        mean = columns.mean if columns.weighted is None else columns.weighted.mean
        return mean, 1.0 / (columns.weight * math.sqrt(columns.unit))

    @property
    def _root(self) -> float:
        return math.sqrt(self._columns.divisor) / math.sqrt(self._columns.unit)

    def factor(self) -> Factor:
        """Give the standardised data themselves."""
        root = self._root
        return Factor(self.rows, self.size, lambda columns, dtype: self._standardised(columns, dtype, root))

    def restrict(self, indices: Indices) -> Operator:
        """Copy the columns in their stored form."""
        return self._same_kind(
            self._take(indices),
            self._columns.take(indices),
            self.dtype,
            self.names_of(indices),
            self.description,
        )

    def part(self, indices: Indices) -> Operator:
        """Copy the columns: their covariance is that part of the whole."""
        return self.restrict(indices)

    def _same_kind(self, *parts: Any) -> Self:
        return type(self)(*parts)

    def _standardised(self, indices: Indices | slice, dtype: Any, root: float = 1.0) -> Array:
        raw = self._raw_columns(indices, dtype if self._fits_single else self.xp.float64)
        mean = self._like(self._columns.mean[indices], raw)
        weight = self._like(self._columns.weight[indices], raw)
        if not (self._fresh and isinstance(raw, np.ndarray)):
            made = self.xp.astype((raw - mean[None, :]) * weight[None, :], dtype, copy=False)
            return made if root == 1.0 else made / root
        raw -= mean  # in place: new pages cost more than this
        raw *= weight
        made = raw.astype(dtype, copy=False)
        if root != 1.0:
            made /= root
        return made


@final
class DenseCovariance(Covariance):
    """Dense data of any array library and any real type; int8 stays int8."""

    _fresh: ClassVar[bool] = True

    def __init__(
        self,
        data: Array,
        columns: Standardisation,
        dtype: Any,
        names: tuple[str, ...] | None,
        description: str,
        given: Any = None,
    ) -> None:
        super().__init__(data, columns, dtype, names, description, given)
        self.xp, self.device = namespace(data), device_of(data)

    def _filled(self, block: Array, raw: Array, mean: Vector) -> Array:
        """Put the column mean where a value is missing."""
        if self._columns.missing is not None:
            hole = raw == self._columns.missing
        elif self._columns.has_nan:
            hole = self.xp.isnan(raw)
        else:
            return block
        return self.xp.where(hole, self._like(mean, block)[None, :], block)

    def _row_blocks(self, dtype: Any) -> Iterator[Array]:
        """Walk over the rows in the floating type asked for; no copy where none is needed."""
        complete = self._columns.missing is None and not self._columns.has_nan
        if self._data.dtype == dtype and complete:
            yield self._data
            return
        host = is_host(self._data)
        limit = min(BLOCK_BYTES, max(SMALLEST_BLOCK_BYTES, self._data.nbytes // 4)) if host else BLOCK_BYTES
        height = min(self.rows, max(1, limit // (self.size * self.xp.finfo(dtype).bits // 8)))
        # On the host one buffer serves all blocks: allocating each costs memory and page faults.
        buffer = np.empty((height, self.size), dtype=dtype) if host else None
        for start in range(0, self.rows, height):
            raw = self._data[start : min(start + height, self.rows), :]
            if buffer is None or not complete:
                yield self._filled(self.xp.astype(raw, dtype), raw, self._columns.mean)
            else:
                part = buffer[: raw.shape[0]]
                np.copyto(part, raw, casting="unsafe")
                yield part

    def gram(self) -> Vector:
        """Return the whole matrix, on the host in float64, centred before it is multiplied, by blocks of rows."""
        total = np.zeros((self.size, self.size))
        mean, weight = self._columns.mean, self._columns.weight
        for block in self._row_blocks(self.xp.float64):
            centred = (to_vector(block) - mean) * weight
            total += centred.T @ centred
        return np.asarray(self._in_units(total))

    def _through_rows(self, panel: Array, shift: Array) -> tuple[Array, Array]:
        xp = self.xp
        product, total = None, None
        for block in self._row_blocks(panel.dtype):
            scores = block @ panel - shift[None, :]
            part, sums = xp.matrix_transpose(block) @ scores, xp.sum(scores, axis=0)
            product, total = (part, sums) if product is None else (product + part, total + sums)
        return product, total

    def _back(self, scores: Array) -> Array:
        product, start = None, 0
        for block in self._row_blocks(scores.dtype):
            stop = start + block.shape[0]
            part = self.xp.matrix_transpose(block) @ scores[start:stop, :]
            product = part if product is None else product + part
            start = stop
        return product

    def _raw_columns(self, indices: Indices | slice, dtype: Any) -> Array:
        raw = self._take(indices)
        block = self.xp.astype(raw, dtype, copy=isinstance(indices, slice))  # what was gathered is a copy already
        return self._filled(block, raw, self._columns.mean[indices])

    def _take(self, indices: Indices | slice) -> Array:
        if isinstance(indices, slice):
            return self._data[:, indices]
        if isinstance(self._data, np.ndarray) and self._data.flags.f_contiguous:
            return self._data.T.take(indices, axis=0).T  # NumPy would copy all of what is kept by columns first
        return self.xp.take(self._data, self.xp.asarray(indices, device=self.device), axis=1)


@final
class SparseCovariance(Covariance):
    """scipy.sparse data by columns, kept sparse: only means and weights are dense."""

    def __init__(
        self,
        data: Any,
        columns: Standardisation,
        dtype: Any,
        names: tuple[str, ...] | None,
        description: str,
        given: Any = None,
    ) -> None:
        super().__init__(data, columns, dtype, names, description, given)
        self.xp, self.device = namespace(np.empty(0)), "cpu"

    def columns(self, indices: Indices) -> Array:
        """Multiply sparse columns where few of their entries are not zero, and subtract the product of their means."""
        part = self._data[:, indices].astype(np.float64)
        if np.diff(part.indptr).max(initial=0) > FEW_ENTRIES * self.rows:
            return super().columns(indices)
        mean, weight = self._columns.mean, self._columns.weight
        product = np.asarray((self._data.T @ part).toarray(), dtype=np.float64)
        product -= mean[:, None] * (self.rows * mean[indices])
        product *= weight[:, None]
        product *= weight[indices]
        return np.asarray(self._in_units(product)).astype(self.dtype, copy=False)

    def entries(self, rows: Indices, columns: Indices) -> Vector:
        """Multiply sparse columns by those, fewer, that are centred first."""
        if rows.size < columns.size:
            return self.entries(columns, rows).T
        across, found = self._data[:, rows].T, np.empty((rows.size, columns.size))
        mean, width = self._columns.mean[rows, None], max(1, ENTRY_BYTES // (8 * self.rows))
        for start in range(0, columns.size, width):
            part = slice(start, start + width)
            scores = to_vector(self._standardised(columns[part], self.xp.float64))
            found[:, part] = across @ scores - mean * scores.sum(axis=0)
        found *= self._columns.weight[rows, None]
        return np.asarray(self._in_units(found))

    def captured(self, supports: Indices, loadings: Vector) -> Vector:
        """Square the lengths of sparse scores, of which the means are subtracted at the end."""
        scores, shift = self._sparse_scores(supports, loadings)
        scores = scores.tocsc()
        of = np.repeat(np.arange(supports.shape[0]), np.diff(scores.indptr))
        squares, sums = (np.bincount(of, each, supports.shape[0]) for each in (scores.data**2, scores.data))
        return np.asarray(self._in_units(squares - 2 * shift * sums + self.rows * shift**2))

    def _scores_of(self, supports: Indices, loadings: Vector) -> Array:
        scores, shift = self._sparse_scores(supports, loadings)
        return (scores.toarray() - shift).astype(self.dtype, copy=False)

    def _sparse_scores(self, supports: Indices, loadings: Vector) -> tuple[Any, Vector]:
        """Multiply the data as they are by sparse vectors, and say what is to be subtracted from each product."""
        from scipy.sparse import csr_array

        weighted = loadings * self._columns.weight[supports]
        starts = np.arange(0, supports.size + 1, supports.shape[1])
        panel = csr_array((weighted.ravel(), supports.ravel(), starts), shape=(supports.shape[0], self.size))
        return self._data @ panel.T, np.einsum("ij,ij->i", weighted, self._columns.mean[supports])

    @property
    def numbers(self) -> int:
        """What is stored."""
        return int(self._data.nnz)

    def rough_submatrix(self, indices: Indices) -> None:
        """Leave it: few entries are multiplied as quickly in double precision."""
        del indices

    def submatrix(self, indices: Indices) -> Vector:
        """Multiply sparse columns and subtract the product of their means.

        That cancels nothing where a squared mean is no larger than the variance, as where few entries are not zero, and
        few digits up to a multiple of it. Columns beyond that are centred first, as dense ones are.
        """
        columns, part = self._columns.take(indices), self._data[:, indices].astype(np.float64)
        part.data *= np.repeat(columns.weight, np.diff(part.indptr))
        mean = columns.mean * columns.weight
        product = products_of_columns(part)
        product -= np.outer(self.rows * mean, mean)
        many = mean**2 > CANCELS * columns.variance
        if many.any():
            scores = to_vector(self._standardised(indices[many], self.xp.float64))
            across = part.T @ scores - np.outer(mean, scores.sum(axis=0))
            product[:, many], product[many] = across, across.T
            product[np.ix_(many, many)] = scores.T @ scores
        return np.asarray(self._in_units(product))

    def _through_rows(self, panel: Array, shift: Array) -> tuple[Array, Array]:
        scores = self._data @ panel - shift[None, :]
        return self._back(scores), scores.sum(axis=0)

    def _back(self, scores: Array) -> Array:
        return self._data.T @ scores

    def _raw_columns(self, indices: Indices | slice, dtype: Any) -> Array:
        return self._data[:, indices].toarray().astype(dtype, copy=False)

    def _take(self, indices: Indices) -> Any:
        return self._data[:, indices]
