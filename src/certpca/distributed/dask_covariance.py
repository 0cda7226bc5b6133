"""The covariance of data on the workers of a Dask cluster."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from certpca.distributed.dask_reader import DaskReader
from certpca.distributed.executors import PlacedFactor
from certpca.operators.covariance import DenseCovariance, SparseCovariance, Standardisation
from certpca.operators.factor import Factor
from certpca.operators.streamed import StreamedCovariance
from certpca.readers.base import Reader
from certpca.readers.blocks import with_holes_filled
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import Array


@dataclass(frozen=True, slots=True)
class _AsFactor:
    """Makes a factor of a block as a worker holds it, the way it would be made of all data in memory."""

    columns: Standardisation
    dtype: Any

    def __call__(self, held: Reader) -> Factor:
        about, values = (self.columns, self.dtype, None, ""), held.resident()
        if isinstance(values, Reader):  # packed
            return StreamedCovariance(values, *about).factor()
        if not is_sparse(values):
            return DenseCovariance(values, *about).factor()
        fill = self.columns.mean if self.columns.has_nan else None
        return SparseCovariance(with_holes_filled(values, values.dtype, fill), *about).factor()


class DaskCovariance(StreamedCovariance):
    """The covariance of data on workers: what the dual needs of its factor stays there."""

    _data: DaskReader

    def factor(self) -> Factor:
        """Give the standardised data by blocks that stay where they are."""
        data, plain = self._data, super().factor()
        cluster = data.cluster
        makers = [_AsFactor(self._columns.take(part), self.dtype) for part in data.bounds]  # type: ignore[arg-type]

        def forth(panel: Array) -> Array:
            parts = cluster.map("times", _forth, data.blocks, makers, data.split(panel))
            return cluster.gather([cluster.sum_in_order("times", parts)])[0]

        def back(scores: Array) -> Array:
            there = cluster.share(scores)
            parts = cluster.map("transposed-times", _back, data.blocks, makers, scores=there)
            return np.concatenate(cluster.gather(parts))

        def around(scores: Array) -> Array:
            parts = cluster.map("sample-product", _around, data.blocks, makers, scores=cluster.share(scores))
            return cluster.gather([cluster.sum_in_order("sample-product", parts)])[0]

        return PlacedFactor(
            plain.depth,
            plain.size,
            plain.block,
            forth,
            back,
            around,
            place=cluster,
            pieces=tuple(data.blocks),
            makers=tuple(makers),
            bounds=data.bounds,
        )


def _forth(block: Reader, maker: _AsFactor, panel: Array) -> Array:
    return maker(block).times(panel)


def _back(block: Reader, maker: _AsFactor, scores: Array) -> Array:
    return maker(block).transposed_times(scores)


def _around(block: Reader, maker: _AsFactor, scores: Array) -> Array:
    return maker(block).sample_product(scores)
