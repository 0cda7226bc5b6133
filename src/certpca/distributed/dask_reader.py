"""Samples x features on the workers of a Dask cluster, in blocks of columns; products are tasks over them.

Blocks are kept as they are stored: int8 genotypes stay int8, packed ones packed, sparse ones sparse. Sums are taken in
the order of the blocks.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

import numpy as np

from certpca.distributed.dask_cluster import Cluster
from certpca.readers import merged_moments
from certpca.readers.base import Reader
from certpca.readers.missing import code_in, negatives
from certpca.readers.moments import Moments
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import Array, Indices, Vector


@final
class HeldColumns(Reader):
    """Columns in memory as they were stored, dense or scipy.sparse: what a worker has of the data."""

    def __init__(self, values: Any, code: int | None = None) -> None:
        super().__init__()
        self.values, self._code = values, code
        self.shape = (int(values.shape[0]), int(values.shape[1]))
        self.dtype = values.dtype
        self.is_sparse = is_sparse(values)

    def __sizeof__(self) -> int:
        """Tell Dask how much memory the block takes."""
        return int(self.values.data.nbytes + self.values.indices.nbytes if self.is_sparse else self.values.nbytes)

    def read(self, columns: slice | Indices) -> Any:
        """Return columns."""
        return self.values[:, columns]

    def resident(self) -> Any:
        """Return the columns: they are in memory."""
        return self.values

    def missing_code(self) -> int | None:
        """Return what was found out about all blocks together."""
        return self._code

    def with_code(self, code: int) -> "HeldColumns":
        """Return the same columns, some of whose values are marks of missing ones."""
        return HeldColumns(self.values, code)

    def parts(self, dtype: Any) -> Iterator[slice]:  # noqa: ARG002
        """Take all at once: a block is as large as may be converted."""
        yield slice(0, self.shape[1])


@final
class DaskReader(Reader):
    """Columns on workers; read like a file.

    Parameters
    ----------
    cluster
        Whose workers.
    blocks
        Handles of what a worker holds of them, each a `Reader`, from left to right.
    bounds
        The columns of each block.
    rows, dtype, names
        Of the table.
    code, code_known
        What marks missing values, where that is known.
    bytes_of
        Returns how much memory columns take as they are stored, where that is not what dense ones take.
    """

    def __init__(
        self,
        cluster: Cluster,
        blocks: Sequence[Any],
        bounds: Sequence[slice],
        rows: int,
        dtype: Any,
        names: tuple[str, ...] | None = None,
        code: int | None = None,
        *,
        code_known: bool = False,
        bytes_of: Callable[[Indices], int] | None = None,
    ) -> None:
        super().__init__()
        self._bytes_of = bytes_of
        self.cluster, self.blocks, self.bounds = cluster, list(blocks), tuple(bounds)
        self.shape = (rows, self.bounds[-1].stop)
        self.dtype, self.names = np.dtype(dtype), names
        self._code, self._code_known = code, code_known or self.dtype.kind != "i"

    def missing_code(self) -> int | None:
        """Look for -9 among integers that are otherwise not negative."""
        if not self._code_known:
            self._code = code_in(self.cluster.gather(self.cluster.map("look", _negatives, self.blocks)))
            if self._code is not None:
                self.blocks = self.cluster.map("load", HeldColumns.with_code, self.blocks, code=self._code)
            self._code_known = True
        return self._code

    def read(self, columns: slice | Indices) -> Any:
        """Bring columns here."""
        wanted = np.arange(self.shape[1])[columns]
        inside = [np.flatnonzero((wanted >= part.start) & (wanted < part.stop)) for part in self.bounds]
        used = [number for number, found in enumerate(inside) if found.size]
        chosen = [_run(wanted[inside[number]] - self.bounds[number].start) for number in used]
        handles = self.cluster.map("read", _read, [self.blocks[number] for number in used], chosen)
        parts = self.cluster.gather(handles)
        self._walked += wanted.size / self.shape[1]
        if is_sparse(parts[0]):
            from scipy.sparse import hstack

            together: Any = hstack(parts, format="csc")
        else:
            together = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        order = np.concatenate([inside[number] for number in used])
        if (np.diff(order) == 1).all():
            return together
        back = np.empty_like(order)
        back[order] = np.arange(order.size)
        return together[:, back]

    def block_bytes(self, columns: Indices) -> int:
        """Return how much memory columns take as they are stored."""
        return super().block_bytes(columns) if self._bytes_of is None else self._bytes_of(columns)

    def moments(self, *, center: bool) -> Moments:
        """Take the moments of every block where it is."""
        self.missing_code()
        self._walked += 1.0
        found = self.cluster.gather(self.cluster.map("moments", _moments, self.blocks, center=center))
        return merged_moments.of_columns(found)

    def times(self, panel: Array, fill: Vector | None) -> Array:
        """Multiply blocks and add up in their order."""
        return self.cluster.gather([self._times(panel, fill)])[0]

    def _times(self, panel: Array, fill: Vector | None) -> Any:
        self._walked += 1.0
        parts = self.cluster.map("times", _times, self.blocks, self.split(panel), self.split(fill))
        return self.cluster.sum_in_order("times", parts)

    def transposed_times(self, scores: Array, fill: Vector | None) -> Array:
        """Multiply every block by the same scores."""
        return np.concatenate(self.cluster.gather(self._transposed_times(self.cluster.share(scores), fill)))

    def _transposed_times(self, scores: Any, fill: Vector | None, shift: Array | None = None) -> list[Any]:
        self._walked += 1.0
        columns = (self.blocks, self.split(fill))
        return self.cluster.map("transposed-times", _transposed_times, *columns, scores=scores, shift=shift)

    def normal_product(self, panel: Array, shift: Array, fill: Vector | None) -> tuple[Array, Array]:
        """Multiply there and back; what lies between stays on the workers."""
        product = self._times(panel, fill)
        total = self.cluster.call("times", _column_sums, product, shift)
        *parts, sums = self.cluster.gather([*self._transposed_times(product, fill, shift), total])
        return np.concatenate(parts), sums

    def sample_product(self, scores: Array, mean: Vector, weight: Vector, fill: Vector | None) -> Array:
        """Multiply there and back within each block and add up in their order."""
        self._walked += 1.0
        columns = (self.split(mean), self.split(weight), self.split(fill))
        there = self.cluster.share(scores)
        parts = self.cluster.map("sample-product", _sample_product, self.blocks, *columns, scores=there)
        return self.cluster.gather([self.cluster.sum_in_order("sample-product", parts)])[0]

    def split(self, values: Any) -> list[Any]:
        """Cut what has one entry for each column as the columns are cut; nothing stays nothing."""
        return [None if values is None else values[part] for part in self.bounds]


def own_copy(part: Any) -> Any:
    """Copy a block so that it keeps nothing else alive, and lies as it did."""
    return part.copy() if is_sparse(part) else np.array(part, order="K", subok=False)


def _run(indices: Indices) -> slice | Indices:
    """Return neighbours as a slice, which copies faster."""
    together = bool((np.diff(indices) == 1).all())
    return slice(int(indices[0]), int(indices[-1]) + 1) if together else indices


# --- on the workers ---------------------------------------------------------------------------------------------------


def _read(block: Reader, columns: slice | Indices) -> Any:
    return own_copy(block.read(columns))


def _negatives(block: HeldColumns) -> tuple[bool, bool]:
    return negatives(block.values)


def _moments(block: Reader, center: bool) -> Moments:
    return block.moments(center=center)


def _times(block: Reader, panel: Array, fill: Vector | None) -> Array:
    return block.times(panel, fill)


def _transposed_times(block: Reader, fill: Vector | None, scores: Array, shift: Array | None) -> Array:
    return block.transposed_times(scores if shift is None else scores - shift[None, :], fill)


def _sample_product(block: Reader, mean: Vector, weight: Vector, fill: Vector | None, scores: Array) -> Array:
    return block.sample_product(scores, mean, weight, fill)


def _column_sums(scores: Array, shift: Array) -> Array:
    return (scores - shift[None, :]).sum(axis=0)
