"""Measured hot loops: the secular equations of the dual bound, one for each feature.

Rows of a panel C hold features in the eigenvectors of a density matrix with eigenvalues p. For a level ρ the root
θ > 0 of Σ_j p_j C_ij² / (θ + ρ p_j) = 1 is found by Newton's method on the reciprocal of the left side, which is
increasing and concave in θ: a step from anywhere lands at or left of the root and climbs from there.
Written against the array API; the compiled twin (numba, host arrays only) does the same without temporaries and is
more than ten times as fast on two cores (`benchmarks/speed/secular.py`).
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from certpca.runtime.arrays import Array, Indices, device_of, is_host, namespace
from certpca.runtime.threads import in_threads

NEWTON_STEPS = 60
CHUNK = 1 << 22  # entries of a host panel worked on at a time, to bound temporaries
DEVICE_CHUNK = 1 << 26
STRIP = 128  # columns whose sums stay in the first-level cache
WORTH_THREADS = 1 << 16  # entries from which a loop takes longer than waking threads for it


def relative_tolerance(dtype: Any) -> float:
    """Relative change of θ at which Newton's method stops."""
    return 1e-5 if np.dtype(str(dtype).rsplit(".", 1)[-1]) == np.float32 else 1e-11


def negligible(dtype: Any) -> float:
    """Squared length below which a feature counts as zero beside others near one: its reciprocals would overflow."""
    return 1e-30 if np.dtype(str(dtype).rsplit(".", 1)[-1]) == np.float32 else 1e-280


def secular(panel: Array, weights: Array, level: float, guess: Array) -> tuple[Array, Array, Array]:
    """Solve the secular equation of every row.

    Returns θ, the share y'P²y / y'Py and the norm y'Py with y = (θ + ρP)⁻¹a; all zero where |a|² ≤ ρ, since that
    feature needs no dual matrix, and where it is negligible. `guess` holds θ of a neighbouring problem, or zeros.
    """
    xp = namespace(panel)
    compiled = _compiled() if is_host(panel) else None
    if compiled is not None:
        theta = np.array(guess, dtype=np.float64)
        share, norm = np.empty_like(theta), np.empty_like(theta)
        kind = panel.dtype.type
        given = panel, weights.astype(panel.dtype), kind(level), theta, share, norm, kind(negligible(panel.dtype))
        tolerance = relative_tolerance(panel.dtype)
        _by_runs(lambda first, last: compiled[0](*given, tolerance, NEWTON_STEPS, first, last), len(panel), panel.size)
        return theta, share, norm
    parts = [_secular_chunk(xp, panel[rows, :], weights, level, guess[rows]) for rows in row_chunks(panel)]
    theta, share, norm = (xp.concat([part[index] for part in parts]) for index in range(3))
    return theta, share, norm


def dual_rows(panel: Array, weights: Array, level: float, theta: Array, norm: Array) -> Array:
    """Return Z with ZᵀZ = Σ Y_i in the density's eigenvectors: Z_i = √(θ/y'Py) (θ + ρP)⁻¹a. Reuses host panels."""
    xp = namespace(panel)
    compiled = _compiled() if is_host(panel) else None
    if compiled is not None:
        given = panel, weights.astype(panel.dtype), panel.dtype.type(level), theta, norm
        _by_runs(lambda first, last: compiled[1](*given, first, last), len(panel), panel.size)
        return panel
    live = theta > 0
    one = xp.ones_like(theta)
    factor = xp.where(live, xp.sqrt(theta / xp.where(live, norm, one)), xp.zeros_like(theta))
    safe = xp.where(live, theta, one)
    chunks = [
        panel[rows, :] * xp.astype(factor[rows, None] / (safe[rows, None] + level * weights[None, :]), panel.dtype)
        for rows in row_chunks(panel)
    ]
    return xp.concat(chunks, axis=0)


def squares_by_group(panel: Array, group: Indices, groups: int) -> Array:
    """Return sums of the squared rows of each group, in float64; rows of group -1 count nowhere."""
    xp = namespace(panel)
    compiled = _compiled() if is_host(panel) else None
    if compiled is not None:
        total = np.zeros((groups, panel.shape[1]))
        strips = -(-panel.shape[1] // STRIP)  # of columns, so that the order of sums is fixed
        _by_runs(lambda first, last: compiled[2](panel, group, total, first, last), strips, panel.size)
        return total
    device = device_of(panel)
    member = xp.asarray(group[None, :] == np.arange(groups)[:, None], device=device)
    squares = xp.zeros((groups, panel.shape[1]), dtype=xp.float64, device=device)
    for rows in row_chunks(panel):  # no second array of the size of the panel
        part = panel[rows, :]
        squares = squares + xp.astype(xp.astype(member[:, rows], panel.dtype) @ (part * part), xp.float64)
    return squares


def _by_runs(loop: Callable[[int, int], None], count: int, entries: int) -> None:
    """Run a compiled loop over range(count), in threads where it takes long enough to be worth waking them."""
    if entries < WORTH_THREADS:
        loop(0, count)
    else:
        in_threads(loop, count)


def row_chunks(panel: Array) -> list[slice]:
    """Cut the rows of a panel into runs whose temporaries stay small."""
    rows, width = panel.shape
    height = max(1, (CHUNK if is_host(panel) else DEVICE_CHUNK) // max(1, width))
    return [slice(start, min(start + height, rows)) for start in range(0, rows, height)]


def _secular_chunk(xp: Any, panel: Array, weights: Array, level: float, guess: Array) -> tuple[Array, Array, Array]:
    tolerance = relative_tolerance(panel.dtype)
    p = xp.astype(weights, panel.dtype)
    squares = panel * panel
    weighted = squares * p[None, :]
    top = xp.sum(weighted, axis=1)
    live = (xp.sum(squares, axis=1) > level * (1 + 1e-6)) & (top > negligible(panel.dtype))
    one = xp.ones_like(top)
    start = xp.astype(guess, panel.dtype)
    theta = xp.where((start > 0) & (start <= top), start, top)
    theta = xp.where(live, theta, one)
    shift = level * p
    for _ in range(NEWTON_STEPS):
        inverse = 1 / (theta[:, None] + shift[None, :])
        terms = weighted * inverse
        left, slope = xp.sum(terms, axis=1), xp.sum(terms * inverse, axis=1)
        usable = live & (slope > 0)
        step = (left - left * left) / xp.where(usable, slope, one)
        new = xp.where(usable, theta - step, theta)
        new = xp.where(new > 0, new, theta * 0.05)
        moved = xp.abs(new - theta) > tolerance * new
        theta = new
        if not bool(xp.any(moved & live)):
            break
    y2 = squares / (theta[:, None] + shift[None, :]) ** 2
    norm = xp.sum(y2 * p[None, :], axis=1)
    share = xp.sum(y2 * (p * p)[None, :], axis=1) / xp.where(norm > 0, norm, one)
    zero = xp.zeros_like(top)
    results = (xp.where(live, part, zero) for part in (theta, share, norm))
    theta, share, norm = (xp.astype(part, xp.float64) for part in results)
    return theta, share, norm


@cache
def _compiled() -> tuple[Any, Any, Any]:  # noqa: PLR0915
    """Compile the host loops once.

    They are not parallel themselves: numba's own threads survive no fork and, in one of its layers, serve one caller
    at a time. `in_threads` calls them for several runs at once instead, since they release the interpreter. NumPy's
    rules for divisions by zero leave the inner loops without branches, so that they are vectorised.
    """
    import numba

    @numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
    def solve(panel, p, level, theta, share, norm, least, tolerance, steps, first, last):  # type: ignore[no-untyped-def]
        depth = panel.shape[1]
        one = panel.dtype.type(1.0)
        for i in range(first, last):
            a = panel[i]
            length = panel.dtype.type(0.0)
            top = panel.dtype.type(0.0)
            for j in range(depth):
                length += a[j] * a[j]
                top += p[j] * a[j] * a[j]
            if length <= level * (1.0 + 1e-6) or top <= least:
                theta[i] = 0.0
                share[i] = 0.0
                norm[i] = 0.0
                continue
            root = theta[i]
            if root <= 0.0 or root > top:
                root = top
            for _ in range(steps):
                left = panel.dtype.type(0.0)
                slope = panel.dtype.type(0.0)
                now = panel.dtype.type(root)
                for j in range(depth):
                    inverse = one / (now + level * p[j])
                    term = p[j] * a[j] * a[j] * inverse
                    left += term
                    slope += term * inverse
                new = root - (1.0 / left - 1.0) * left * left / slope
                if new <= 0.0:
                    new = 0.05 * root
                change = abs(new - root)
                root = new
                if change <= tolerance * root:
                    break
            total = panel.dtype.type(0.0)
            inner = panel.dtype.type(0.0)
            now = panel.dtype.type(root)
            for j in range(depth):
                y = a[j] / (now + level * p[j])
                total += p[j] * y * y
                inner += p[j] * p[j] * y * y
            theta[i] = root
            norm[i] = total
            share[i] = inner / total

    @numba.njit(fastmath=True, nogil=True, cache=True, error_model="numpy")
    def scale(panel, p, level, theta, norm, first, last):  # type: ignore[no-untyped-def]
        depth = panel.shape[1]
        for i in range(first, last):
            if theta[i] <= 0.0:
                for j in range(depth):
                    panel[i, j] = 0.0
            else:
                factor = panel.dtype.type(math.sqrt(theta[i] / norm[i]))
                root = panel.dtype.type(theta[i])
                for j in range(depth):
                    panel[i, j] = factor * panel[i, j] / (root + level * p[j])

    @numba.njit(nogil=True, cache=True, error_model="numpy")
    def squares(panel, group, total, first, last):  # type: ignore[no-untyped-def]
        count, depth = panel.shape
        for strip in range(first, last):
            left, right = strip * STRIP, min((strip + 1) * STRIP, depth)
            for i in range(count):
                if group[i] >= 0:
                    for j in range(left, right):
                        total[group[i], j] += panel[i, j] * panel[i, j]

    return solve, scale, squares
