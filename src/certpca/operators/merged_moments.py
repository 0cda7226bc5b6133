"""Moments of data that are seen block by block, put together again."""

from collections.abc import Iterable

import numpy as np

from certpca.operators.moments import Moments, without_rounding


def of_columns(parts: Iterable[Moments]) -> Moments:
    """Put runs of columns side by side."""
    found = list(parts)
    return Moments(
        found[0].rows,
        np.concatenate([part.count for part in found]),
        np.concatenate([part.mean for part in found]),
        np.concatenate([part.squares for part in found]),
        np.concatenate([part.infinite for part in found]),
    )


def of_rows(parts: Iterable[Moments], size: int, *, center: bool) -> Moments:
    """Add up runs of rows: squared deviations grow by what the distance of the two means contributes.

    Nothing cancels in this (Chan, Golub & LeVeque, 1983), so one walk gives what two give.
    """
    rows = 0
    count, mean, squares = np.zeros(size), np.zeros(size), np.zeros(size)
    infinite = np.zeros(size, dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):  # values too large to square are refused later, by name
        for part in parts:
            total = count + part.count
            share = np.divide(part.count, total, out=np.zeros(size), where=total > 0)
            distance = part.mean - mean
            squares += part.squares
            if center:
                squares += distance**2 * count * share
            mean += distance * share
            count = total
            rows += part.rows
            infinite |= part.infinite
    reference = mean if center else np.zeros(size)
    return Moments(rows, count, mean, without_rounding(squares, reference, rows), infinite)
