"""Moments of data that are seen block by block, put together again."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from certpca.readers.moments import Moments, without_rounding
from certpca.runtime.arrays import Vector

ORDINARY_POWER = 400  # of two, up to which squares neither overflow nor vanish


def of_columns(parts: Iterable[Moments]) -> Moments:
    """Put runs of columns side by side."""
    found = list(parts)
    return Moments(
        found[0].rows,
        np.concatenate([part.count for part in found]),
        np.concatenate([part.mean for part in found]),
        np.concatenate([part.squares for part in found]),
        np.concatenate([part.infinite for part in found]),
        np.concatenate([np.broadcast_to(part.power, part.count.shape) for part in found]),
    )


def of_rows(parts: Iterable[Moments], size: int, *, center: bool) -> Moments:
    """Add up runs of rows: squared deviations grow by what the distance of the two means contributes.

    Nothing cancels in this (Chan, Golub & LeVeque, 1983), so one walk gives what two give.
    """
    rows = 0
    count, mean, squares = np.zeros(size), np.zeros(size), np.zeros(size)
    power, infinite = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):  # values that are not finite are refused later, by name
        for part in parts:
            total = count + part.count
            share = np.divide(part.count, total, out=np.zeros(size), where=total > 0)
            distance = part.mean - mean
            apart = np.where((count > 0) & (part.count > 0), distance, 0.0) if center else np.zeros(size)
            common = _common_power((squares, power), (part.squares, part.power), apart)
            squares = np.ldexp(squares, 2 * (power - common)) + np.ldexp(part.squares, 2 * (part.power - common))
            squares += np.ldexp(apart, -common) ** 2 * count * share
            mean += distance * share
            count, power = total, common
            rows += part.rows
            infinite |= part.infinite
    reference = np.ldexp(mean, -power) if center else np.zeros(size)
    return Moments(rows, count, mean, without_rounding(squares, reference, rows), infinite, power)


def _common_power(first: tuple[Vector, Any], second: tuple[Vector, Any], apart: Vector) -> Any:
    """Return a power of two for each column in whose units sums of squares and a distance can be added up."""
    nothing = -(1 << 20)
    reach = np.where(apart != 0, np.frexp(apart)[1], nothing)
    for squares, power in (first, second):
        reach = np.maximum(reach, np.where(squares > 0, np.frexp(squares)[1] // 2 + power, nothing))
    return np.where((np.abs(reach) <= ORDINARY_POWER) | (reach == nothing), 0, reach)
