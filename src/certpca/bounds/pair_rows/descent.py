"""The descent on the smoothed bound of the rows that matter, with their partners and the largest of the other rows."""

import math
from collections.abc import Callable

import numpy as np

from certpca.bounds.pair_bound.points import ALPHA_SCALE, K_SCALE, LINK_BELOW, ROW_SMOOTHING, PairPoint
from certpca.bounds.pair_bound.quasi_newton import descend
from certpca.bounds.pair_bound.sums import pack, slopes, smooth_top_sum, unpack
from certpca.bounds.pair_rows.row_sums import slopes_across, smooth_rows
from certpca.bounds.pair_rows.wide_point import RowsPoint
from certpca.runtime.arrays import Vector
from certpca.runtime.threads import in_threads

MEMORY = 8


class Descent:
    """The smoothed bound as a function of all numbers of a point, in units of what is captured.

    `inner` and `between` are the matrix on M and between M and J, `others` α₀ times β of the other rows: these are
    taken to change with α₀ alone.
    """

    def __init__(self, inner: Vector, between: Vector, others: Vector, sparsity: int) -> None:
        self._inner, self._between, self._others, self._sparsity = inner, between, others, sparsity
        size, wide = between.shape
        self._own, self._all = size * size, size * size + size * wide
        self._shape, self._diagonal = (size, wide), np.diag_indices(size)
        self._weights = np.empty((size, size + wide), dtype=np.float32)
        self._unit = K_SCALE / sparsity
        self._levels, self._level = np.full(size, np.nan), math.nan
        self._sums, self._outer = np.empty(size + others.size), np.ones(size + others.size)

    def tightened(
        self, start: RowsPoint, *, smoothing: float, steps: int, target: float, late: Callable[[], bool]
    ) -> tuple[RowsPoint, Vector]:
        """Return the best point, and the weights of the rows of M in the sum."""
        best: tuple[float, Vector | None, Vector] = (math.inf, None, self._outer[: self._shape[0]])

        def smoothed(packed: Vector) -> tuple[float, Vector]:
            nonlocal best
            value, gradient = self.smoothed(packed, start, smoothing)
            if value < best[0]:
                best = value, packed, self._outer[: self._shape[0]].copy()
            return value, gradient

        descend(
            smoothed,
            self.packed(start),
            steps=steps,
            tolerance=1e-4 * smoothing,
            stop=lambda value: value <= target or late(),
            memory=MEMORY,
        )
        return start if best[1] is None else self._unpacked(best[1], start), best[2]

    def smoothed(self, packed: Vector, start: RowsPoint, smoothing: float) -> tuple[float, Vector]:
        """Return the smoothed bound and its gradient at packed numbers."""
        return self._evaluated(self._unpacked(packed, start), smoothing)

    def packed(self, point: RowsPoint) -> Vector:
        """Put all numbers of a point into one vector, scaled so that the descent is fast."""
        own = point.own
        return np.concatenate(
            [
                pack(own.u, own.k, self._unit).ravel(),
                (point.across * math.sqrt(2.0)).ravel(),
                np.log(own.alpha) / ALPHA_SCALE,
                np.log([point.rest, point.room]) / ALPHA_SCALE,
            ]
        )

    def _unpacked(self, packed: Vector, start: RowsPoint) -> RowsPoint:
        size, _ = self._shape
        u, k = unpack(packed[: self._own].reshape(size, size), self._unit)
        across = (packed[self._own : self._all] * math.sqrt(0.5)).reshape(self._shape)
        logs = np.exp(np.clip(packed[self._all :] * ALPHA_SCALE, -40, 40))
        own = PairPoint(start.own.features, u, k, logs[:size])
        return RowsPoint(own, start.partners, across, start.shift, float(logs[size]), float(logs[size + 1]))

    def _evaluated(self, point: RowsPoint, smoothing: float) -> tuple[float, Vector]:
        """Return the smoothed bound and its gradient."""
        size, sparsity, own = self._shape[0], self._sparsity, point.own
        sums, outer, weights = self._sums, self._outer, self._weights
        row_smoothing = ROW_SMOOTHING * smoothing / sparsity**2

        def fill(first: int, last: int) -> None:
            smooth_rows(
                own.u,
                own.k,
                point.across,
                own.alpha,
                point.rest,
                sparsity - 1,
                row_smoothing,
                self._levels,
                weights,
                sums,
                first,
                last,
            )

        in_threads(fill, size)
        sums[size:] = self._others / point.rest
        top, self._level = smooth_top_sum(sums, sparsity, smoothing / sparsity, outer, self._level)
        gradient = np.empty(self._all + size + 2)
        across = gradient[self._own : self._all].reshape(self._shape)
        value, density, by_rest, by_room = self._eigenvalues(point, smoothing, across)
        link = self._unit if smoothing < LINK_BELOW else 0.0
        inner = gradient[: self._own].reshape(size, size)
        by_alpha = slopes(own.u, own.alpha, density, weights, outer, link, inner)
        by_rest += slopes_across(point.across, own.alpha, point.rest, weights, outer, across, by_alpha)
        by_rest -= float(outer[size:] @ sums[size:])
        gradient[self._all :] = ALPHA_SCALE * np.append(by_alpha, [by_rest, by_room])
        return value + top, gradient

    def _eigenvalues(self, point: RowsPoint, smoothing: float, across: Vector) -> tuple[float, Vector, float, float]:
        """Return the softmax of the eigenvalues, c + α₀ + s among them, and its derivatives; by Y in `across`."""
        beside = self._between - point.across
        middle = self._inner - point.own.u
        middle += beside @ beside.T / point.room
        middle[self._diagonal] += point.own.alpha
        values, vectors = np.linalg.eigh(middle)
        below = point.shift + point.rest + point.room
        leading = max(float(values[-1]), below)
        share = np.exp((values - leading) / smoothing)
        last = math.exp((below - leading) / smoothing)
        total = float(share.sum()) + last
        share, last = share / total, last / total
        live = vectors[:, share > 1e-12] * np.sqrt(share[share > 1e-12])
        along = live.T @ beside
        by_room = last * point.room - float(np.einsum("ij,ij->", along, along)) / point.room
        np.matmul(live, along * (2 / point.room), out=across)
        return leading + smoothing * math.log(total), live @ live.T, last * point.rest, by_room
