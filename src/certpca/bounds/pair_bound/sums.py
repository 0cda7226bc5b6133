"""Sums of the largest shares, exact and smoothed, compiled.

`shares` is the matrix C of a node with the features fixed in first; `fixed` is their number and `budget` the number of
free ones to choose, of which there are more. With a `floor` of zero fewer may be chosen, as many as help: so where
features have prices, which are taken off the diagonal of C.
"""

import numpy as np
from numba import njit

from certpca.runtime.arrays import Vector


@njit(cache=True, nogil=True)
def top_sum(values: Vector, count: int, floor: float = -np.inf) -> float:
    """Sum the largest values, those below the floor as if they were there."""
    size = values.size
    if count <= 0:
        return 0.0
    if floor > -np.inf:
        values = np.maximum(values, floor)
    if count >= size:
        return float(values.sum())
    return float(np.partition(values, size - count)[size - count :].sum())


@njit(cache=True, nogil=True)
def _free_entries(shares: Vector, row: int, fixed: int, entries: Vector) -> int:
    """Copy the free entries of a row but its own, and return their number."""
    count = 0
    for column in range(fixed, shares.shape[0]):
        if column != row:
            entries[count] = shares[row, column]
            count += 1
    return count


@njit(cache=True, nogil=True)
def _row_sums(shares: Vector, fixed: int, budget: int, floor: float) -> tuple[Vector, Vector, Vector]:
    """Return β, the smallest chosen free entry of each row, and the largest one that is not chosen."""
    size = shares.shape[0]
    sums, last, following = np.empty(size), np.full(size, np.inf), np.zeros(size)
    spare = budget + 1 if floor > -np.inf else 0  # places that no feature need take
    entries = np.full(size - fixed + spare, floor)
    for row in range(size):
        total = 0.0
        for column in range(fixed):
            total += shares[row, column]
        count = _free_entries(shares, row, fixed, entries)
        if row >= fixed:
            total += shares[row, row]
        for place in range(spare):
            entries[count + place] = floor
        count += spare
        chosen = budget if row < fixed else budget - 1
        largest = np.sort(np.partition(entries[:count], count - chosen - 1)[count - chosen - 1 :])
        following[row] = largest[0]
        if chosen > 0:
            last[row] = largest[1]
        for place in range(1, chosen + 1):
            total += largest[place]
        sums[row] = total
    return sums, last, following


@njit(cache=True, nogil=True)
def totals(shares: Vector, fixed: int, budget: int, floor: float = -np.inf) -> tuple[float, Vector, Vector]:
    """Return T, and T with each free feature forced in and forced out."""
    size = shares.shape[0]
    free = size - fixed
    sums, last, following = _row_sums(shares, fixed, budget, floor)
    total = sums[:fixed].sum() + top_sum(sums[fixed:], budget, floor)
    forced_in, forced_out = np.empty(free), np.empty(free)
    with_it, without_it = np.empty(free - 1), np.empty(free - 1)
    columns = np.ascontiguousarray(shares.T)
    for feature in range(free):
        column = columns[fixed + feature]
        own, others, count = sums[fixed + feature], 0.0, 0
        for row in range(size):
            if row == fixed + feature:
                continue
            inside = outside = sums[row]
            if column[row] >= last[row]:  # it is among the chosen: without it the next one follows
                outside = sums[row] - column[row] + following[row]
            elif last[row] == np.inf:  # nothing is chosen in this row unless it is forced in
                inside = sums[row] + column[row]
            else:
                inside = sums[row] - last[row] + column[row]
            if row < fixed:
                own += inside
                others += outside
            else:
                with_it[count] = inside
                without_it[count] = outside
                count += 1
        forced_in[feature] = own + top_sum(with_it, budget - 1, floor)
        forced_out[feature] = others + top_sum(without_it, budget, floor)
    return total, forced_in, forced_out


@njit(cache=True, nogil=True)
def smooth_top_sum(  # noqa: PLR0912
    values: Vector, count: int, smoothing: float, weights: Vector, start: float, floor: float = -np.inf
) -> tuple[float, float]:
    """Return min over s ≥ floor of count·s + μ Σ log(1 + exp((x − s)/μ)), at least the sum of the largest, and s.

    Its derivatives go to `weights`.
    """
    size = values.size
    if count <= 0:
        weights[:] = 0.0
        return 0.0, start
    if count >= size and floor == -np.inf:
        weights[:] = 1.0
        return values.sum(), start
    low, high = values.min() - 40 * smoothing, values.max() + 40 * smoothing
    level, rounds = start, 60
    if floor > -np.inf:
        low, high, total = max(low, floor), max(high, floor), 0.0
        for index in range(size):
            total += 1 / (1 + np.exp(min(max((floor - values[index]) / smoothing, -40.0), 40.0)))
        if total <= count:  # what is left of the count stays unused
            level, rounds = floor, 0
    if rounds and not low < level < high:
        level = max(np.partition(values, size - count)[size - count], low)
    for _ in range(rounds):
        total = slope = 0.0
        for index in range(size):
            u = (values[index] - level) / smoothing
            if u > 25:
                total += 1.0
            elif u > -25:
                share = 1 / (1 + np.exp(-u))
                total += share
                slope += share * (1 - share)
        if abs(total - count) < 1e-6 * count:
            break
        if total > count:
            low = level
        else:
            high = level
        fresh = level + (total - count) * smoothing / slope if slope > 1e-9 else 0.5 * (low + high)
        level = fresh if low < fresh < high else 0.5 * (low + high)
    result = count * level
    for index in range(size):
        u = (values[index] - level) / smoothing
        if u > 30:
            weights[index] = 1.0
            result += values[index] - level
        elif u < -30:
            weights[index] = 0.0
        else:
            power = np.exp(u)
            weights[index] = power / (1 + power)
            result += smoothing * np.log1p(power)
    return result, level


@njit(cache=True, nogil=True)
def fill_shares(u: Vector, k: Vector, alpha: Vector, prices: Vector, shares: Vector) -> None:
    """Fill C less prices."""
    size = u.shape[0]
    for row in range(size):
        for column in range(size):
            shares[row, column] = u[row, column] ** 2 / (2 * (alpha[row] + alpha[column])) + k[row, column]
        shares[row, row] -= prices[row]


@njit(cache=True, nogil=True)
def smooth_row_sums(
    u: Vector,
    k: Vector,
    alpha: Vector,
    fixed: int,
    budget: int,
    smoothing: float,
    levels: Vector,
    shares: Vector,
    weights: Vector,
    prices: Vector,
    floor: float = -np.inf,
) -> Vector:
    """Fill the shares less prices, and return smoothed row sums with their derivatives in `weights`."""
    size = u.shape[0]
    free = size - fixed
    sums, entries, part = np.empty(size), np.empty(free), np.empty(free)
    fill_shares(u, k, alpha, prices, shares)
    for row in range(size):
        total = 0.0
        for column in range(fixed):
            total += shares[row, column]
            weights[row, column] = 1.0
        count = _free_entries(shares, row, fixed, entries)
        if row >= fixed:
            total += shares[row, row]
            weights[row, row] = 1.0
        chosen = budget if row < fixed else budget - 1
        value, levels[row] = smooth_top_sum(entries[:count], chosen, smoothing, part[:count], levels[row], floor)
        count = 0
        for column in range(fixed, size):
            if column != row:
                weights[row, column] = part[count]
                count += 1
        sums[row] = total + value
    return sums


@njit(cache=True, nogil=True)
def pack(u: Vector, k: Vector, unit: float) -> Vector:
    """Put U in the upper triangle, off the diagonal times √2, and K in units of `unit` in the lower one."""
    size = u.shape[0]
    packed = np.empty((size, size))
    root = np.sqrt(2.0)
    for row in range(size):
        packed[row, row] = u[row, row]
        for column in range(row):
            packed[column, row] = root * u[row, column]
            packed[row, column] = root * k[row, column] / unit
    return packed


@njit(cache=True, nogil=True)
def unpack(packed: Vector, unit: float) -> tuple[Vector, Vector]:
    """Return U and K."""
    size = packed.shape[0]
    u, k = np.empty((size, size)), np.zeros((size, size))
    root = np.sqrt(0.5)
    for row in range(size):
        u[row, row] = packed[row, row]
        for column in range(row):
            u[row, column] = u[column, row] = root * packed[column, row]
            k[row, column] = root * unit * packed[row, column]
            k[column, row] = -k[row, column]
    return u, k


@njit(cache=True, nogil=True)
def slopes(
    u: Vector, alpha: Vector, density: Vector, weights: Vector, outer: Vector, unit: float, gradient: Vector
) -> Vector:
    """Fill the gradient with respect to the packed U and K, and return that with respect to log α."""
    size = u.shape[0]
    by_alpha = np.zeros(size)
    root = np.sqrt(2.0)
    for row in range(size):
        own = u[row, row] / (2 * alpha[row])
        gradient[row, row] = outer[row] * own - density[row, row]
        by_alpha[row] += density[row, row] - outer[row] * own**2
        for column in range(row):
            here, there = outer[row] * weights[row, column], outer[column] * weights[column, row]
            ratio = u[row, column] / (alpha[row] + alpha[column])
            gradient[column, row] = root * ((here + there) * ratio / 2 - density[row, column])
            gradient[row, column] = unit / root * (here - there)
            change = (here + there) * ratio * ratio / 2
            by_alpha[row] -= change
            by_alpha[column] -= change
    return by_alpha * alpha
