"""The features of a matrix as rows, in blocks that lie somewhere: see `distributed/executors.py`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from certpca.distributed.executors import Here, Place, PlacedFactor, runs_of
from certpca.operators.base import Operator
from certpca.operators.factor import Factor, column_bounds
from certpca.operators.views import is_numpy
from certpca.runtime.arrays import Array, Indices, Vector, device_of, namespace, to_vector


class RowBlocks:
    """A matrix by blocks of rows, with the few things the dual asks of all of them.

    Parameters
    ----------
    place
        Where the blocks are.
    parts
        Their handles.
    bounds
        Which rows each of them holds.
    """

    def __init__(
        self, place: Place, parts: Sequence[Any], bounds: Sequence[slice], depth: int, dtype: Any, like: Operator
    ) -> None:
        self.place, self.parts, self.bounds = place, list(parts), tuple(bounds)
        self.shape = (self.bounds[-1].stop, depth)
        self.dtype = dtype
        self.xp, self.device = like.xp, like.device
        self._like = like

    def map(self, name: str, function: Callable[..., Any], *columns: Sequence[Any], **shared: Any) -> list[Any]:
        """Call a function for each block of rows and return handles."""
        return self.place.map(name, function, self.parts, *columns, **shared)

    def split(self, values: Array) -> list[Array]:
        """Cut an array with one entry for each row as the rows are cut."""
        return [values[rows] for rows in self.bounds]

    def joined(self, handles: Sequence[Any]) -> Array:
        """Return what there is for each row as one array."""
        return self.xp.concat(self.place.gather(handles))

    def whole(self) -> Array:
        """Return all rows."""
        return self.joined(self.parts)

    def gram(self) -> Array:
        """Return rowsᵀ rows in float64."""
        return self.place.sum("gram", gram_of, self.parts)

    def lengths(self) -> Array:
        """Return the squared length of every row, in float64."""
        return self.joined(self.map("lengths", _lengths))

    def divided(self, number: float) -> "RowBlocks":
        """Return the rows divided by a number."""
        return self._with(self.map("rows", _divided, number=number), self.bounds)

    def times(self, panel: Array) -> Array:
        """Return rows @ panel, in the type of the rows."""
        there = self.xp.asarray(panel, dtype=self.dtype, device=self.device)
        return self.joined(self.map("image", _times, panel=self.place.share(there)))

    def combination(self, rows: Indices, weights: Vector) -> Vector:
        """Return the sum of a few rows times weights, in float64 on the host."""
        inside = [np.flatnonzero((rows >= part.start) & (rows < part.stop)) for part in self.bounds]
        touched = [number for number, found in enumerate(inside) if found.size]
        parts = self.place.map(
            "rows",
            _combination,
            [self.parts[number] for number in touched],
            [rows[inside[number]] - self.bounds[number].start for number in touched],
            [weights[inside[number]] for number in touched],
        )
        total = np.zeros(self.shape[1])
        for part in self.place.gather(parts):
            total += part
        return total

    def take(self, rows: Indices) -> "RowBlocks":
        """Return some rows, in sorted order, in blocks of their own."""
        if len(self.parts) == 1:
            return self._with(self.map("rows", _picked, [rows]), [slice(0, rows.size)])
        height = max(part.stop - part.start for part in self.bounds)
        bounds = [slice(start, min(start + height, rows.size)) for start in range(0, rows.size, height)]
        made = []
        for part in bounds:
            wanted = rows[part]
            sources = [
                (number, wanted[(wanted >= held.start) & (wanted < held.stop)] - held.start)
                for number, held in enumerate(self.bounds)
            ]
            used = [(self.parts[number], chosen) for number, chosen in sources if chosen.size]
            # One function of as many blocks as the new one draws from.
            blocks = [[block] for block, _ in used]
            made += self.place.map("rows", _picked_from, [[chosen for _, chosen in used]], *blocks)
        return self._with(made, bounds)

    def _with(self, parts: Sequence[Any], bounds: Sequence[slice]) -> "RowBlocks":
        return RowBlocks(self.place, parts, bounds, self.shape[1], self.dtype, self._like)


def feature_rows(
    operator: Operator, dtype: Any, directions: Array | None = None, block_bytes: int | None = None
) -> RowBlocks:
    """Return the columns of an operator's factor as rows; with directions, only what they have along these.

    On a device one block holds them all: it has room, and calls cost more there.
    """
    factor = operator.factor()
    depth = factor.depth if directions is None else int(directions.shape[1])
    bounds = column_bounds(factor.depth, factor.size, block_bytes)
    # Short rows: several blocks of the data make one of these.
    together = max(1, _width(column_bounds(depth, factor.size, block_bytes)) // _width(bounds))
    merged = [slice(run[0].start, run[-1].stop) for run in runs_of(bounds, together)]
    if isinstance(factor, PlacedFactor):
        place = factor.place
        shared = {} if directions is None else {"directions": place.share(directions)}
        parts = place.map("rows", _rows_of, factor.pieces, factor.makers, dtype=dtype, **shared)
        if together > 1:
            groups = runs_of(parts, together)
            parts = [place.map("rows", _stacked, *([part] for part in group))[0] for group in groups]
        return RowBlocks(place, parts, merged, depth, dtype, operator)
    xp = operator.xp
    if directions is not None:
        rows = factor.transposed_times(directions)
        bounds = tuple(merged)
        parts = [rows[part, :] for part in bounds]
    else:
        parts = [xp.matrix_transpose(factor.block(part, dtype)) for part in bounds]
        rows = None
    if not is_numpy(operator):
        return rows_in_memory(xp.concat(parts, axis=0) if rows is None else rows, operator)
    return RowBlocks(Here(), parts, bounds, depth, dtype, operator)


def rows_in_memory(rows: Array, operator: Operator) -> RowBlocks:
    """Take rows that are there already, as one block."""
    return RowBlocks(Here(), [rows], [slice(0, rows.shape[0])], rows.shape[1], rows.dtype, operator)


def gram_of(rows: Array) -> Array:
    """Return rowsᵀ rows in float64; NumPy computes half of it, and lets other threads work meanwhile."""
    xp = namespace(rows)
    return xp.astype(xp.matrix_transpose(rows) @ rows, xp.float64)


def _rows_of(piece: Any, maker: Callable[[Any], Factor], dtype: Any, directions: Array | None = None) -> Array:
    """Return a piece of a factor as rows, on whatever worker holds it."""
    factor = maker(piece)
    if directions is not None:
        return factor.transposed_times(directions)
    return factor.block(slice(0, factor.size), dtype).T


def _width(bounds: Sequence[slice]) -> int:
    return int(bounds[0].stop - bounds[0].start)


def _stacked(*blocks: Array) -> Array:
    return np.concatenate(blocks)


def _lengths(rows: Array) -> Array:
    xp = namespace(rows)
    return xp.astype(xp.sum(rows * rows, axis=1), xp.float64)


def _divided(rows: Array, number: float) -> Array:
    return rows / number


def _times(rows: Array, panel: Array) -> Array:
    return rows @ panel


def _combination(rows: Array, chosen: Indices, weights: Vector) -> Vector:
    return np.asarray(to_vector(_picked(rows, chosen)).T @ weights)


def _picked(rows: Array, chosen: Indices) -> Array:
    xp = namespace(rows)
    return xp.take(rows, xp.asarray(np.asarray(chosen), device=device_of(rows)), axis=0)


def _picked_from(chosen: Sequence[Indices], *blocks: Array) -> Array:
    return np.concatenate([block[rows] for block, rows in zip(blocks, chosen, strict=True)])
