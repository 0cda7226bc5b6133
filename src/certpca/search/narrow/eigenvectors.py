"""Compiled: leading eigenvectors of a small symmetric matrix by the method of Lanczos, the basis kept orthonormal.

The largest eigenvalue of the tridiagonal matrix is found by Laguerre's method from above, the second by bisection, and
their eigenvectors by twisted factorisations, which are accurate without a search for more eigenvalues.

Loops are kept on disk by the file of who calls them: after a change here, `loops.py` has to be saved again as well.
"""

import math
from typing import Any

import numpy as np
from numba import njit

GONE = 1e-14  # of the largest eigenvalue: a residual that is rounding, so that the basis holds all that can be reached
LOST = 0.5  # share of a squared length that is left after a projection, below which it is made again
GOLDEN = 0.6180339887498949
ASIDE = 1e-3  # share of a direction like no other in a start, which might miss the eigenvector


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})  # sums by several at a time
def dot(first: Any, second: Any) -> float:
    """Return the product of two vectors."""
    total = 0.0
    for place in range(first.size):
        total += first[place] * second[place]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def scale(vector: Any, squared: float) -> None:
    """Divide a vector by the root of its squared length."""
    length = math.sqrt(squared)
    for place in range(vector.size):
        vector[place] /= length


@njit(cache=True, nogil=True, error_model="numpy")
def krylov(matrix: Any, basis: Any, between: Any, goal: float, every: int) -> tuple[int, float, float]:
    """Grow a basis from its first row; return how many rows there are, the largest Ritz value, and its residual.

    `between` gets the tridiagonal matrix: its diagonal, and what lies beside it, in rows. The basis grows until the
    residual, looked at every so many rows, is below `goal` as a share of the value, or there is no room left.
    """
    most, size = basis.shape
    weights = np.empty(most)
    image = np.empty(size)
    scale(basis[0], dot(basis[0], basis[0]))
    largest = 0.0
    for row in range(most):
        own = basis[row]
        for place in range(size):
            image[place] = dot(matrix[place], own)
        middle = dot(own, image)
        between[0, row] = middle
        largest = max(largest, abs(middle))
        before = dot(image, image)
        squared = before
        for again in range(3):
            for other in range(row + 1):
                share = dot(basis[other], image)
                for place in range(size):
                    image[place] -= share * basis[other, place]
            squared = dot(image, image)
            if again and squared > LOST * before:
                break
            before = squared
        beside = math.sqrt(squared)
        count = row + 1
        last = count == most or not beside > GONE * largest
        if last or count % every == 0:
            value = top_of(between, count)
            vector_of(between, count, value, weights)
            residual = 0.0 if count == size else beside * abs(weights[row])
            if last or residual <= goal * value:
                return count, value, residual
        between[1, row] = beside
        for place in range(size):
            basis[row + 1, place] = image[place] / beside
    return 0, 0.0, 0.0  # never reached


@njit(cache=True, nogil=True, error_model="numpy")
def top_of(between: Any, count: int) -> float:
    """Return the largest eigenvalue of a tridiagonal matrix: from above Laguerre's method passes none."""
    top: float = between[0, 0]
    scale = 0.0
    for row in range(count):
        reach = 0.0
        if row > 0:
            reach += between[1, row - 1]
        if row < count - 1:
            reach += between[1, row]
        top = max(top, between[0, row] + reach)
        scale = max(scale, abs(between[0, row]) + reach)
    if count == 1 or scale == 0.0:
        return top
    value: float = top + 1e-15 * scale
    for _ in range(60):
        pivot = value - between[0, 0]
        if pivot <= 0.0:
            return value
        slope, bend = 1.0, 0.0  # of the pivot
        ratio = 1.0 / pivot
        first, second = ratio, ratio * ratio  # sums of 1 / (value − λ), and of its squares
        for row in range(1, count):
            back = 1.0 / pivot
            cross = between[1, row - 1] * between[1, row - 1] * back
            ratio = slope * back
            bend = -cross * (2.0 * ratio * ratio - bend * back)
            slope = 1.0 + cross * ratio
            pivot = value - between[0, row] - cross
            if pivot <= 0.0:
                return value
            ratio = slope / pivot
            first += ratio
            second += ratio * ratio - bend / pivot
        spread = (count - 1) * (count * second - first * first)
        step = count / (first + math.sqrt(max(spread, 0.0)))
        value -= step
        if not step > 1e-16 * scale:
            return value
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def next_of(between: Any, count: int, largest: float) -> float:
    """Return the second eigenvalue of a tridiagonal matrix, about, by bisection."""
    low, high = -abs(largest), largest
    for _ in range(45):
        value = (low + high) / 2
        above = 0
        pivot = 1.0
        for row in range(count):
            pivot = between[0, row] - value - (0.0 if row == 0 else between[1, row - 1] ** 2 / pivot)
            if pivot == 0.0:
                pivot = 1e-300
            if pivot > 0.0:
                above += 1
        if above >= 2:
            low = value
        else:
            high = value
    return low


@njit(cache=True, nogil=True, error_model="numpy")
def vector_of(between: Any, count: int, value: float, weights: Any) -> None:
    """Fill in the unit eigenvector of a tridiagonal matrix, from where its factors from both ends meet best."""
    down, up = np.empty(count), np.empty(count)
    for row in range(count):
        down[row] = between[0, row] - value - (0.0 if row == 0 else between[1, row - 1] ** 2 / down[row - 1])
        if down[row] == 0.0:
            down[row] = 1e-300
    for row in range(count - 1, -1, -1):
        up[row] = between[0, row] - value - (0.0 if row == count - 1 else between[1, row] ** 2 / up[row + 1])
        if up[row] == 0.0:
            up[row] = 1e-300
    meeting, least = 0, math.inf
    for row in range(count):
        defect = abs(down[row] + up[row] - (between[0, row] - value))
        if defect < least:
            meeting, least = row, defect
    weights[meeting] = 1.0
    for row in range(meeting - 1, -1, -1):
        weights[row] = -between[1, row] * weights[row + 1] / down[row]
    for row in range(meeting + 1, count):
        weights[row] = -between[1, row - 1] * weights[row - 1] / up[row]
    scale(weights[:count], dot(weights[:count], weights[:count]))


@njit(cache=True, nogil=True, error_model="numpy")
def combined(basis: Any, count: int, weights: Any, vector: Any) -> None:
    """Fill in a unit vector of the basis."""
    vector[:] = 0.0
    for row in range(count):
        for place in range(vector.size):
            vector[place] += weights[row] * basis[row, place]
    scale(vector, dot(vector, vector))


@njit(cache=True, nogil=True, error_model="numpy")
def leading_two(matrix: Any, basis: Any, between: Any, goal: float, values: Any, vectors: Any) -> float:
    """Fill in the two largest eigenvalues, and their vectors in rows; return the residual of the first.

    The basis begins with its first row.
    """
    count, value, residual = krylov(matrix, basis, between, goal, 4)
    weights = np.empty(count)
    for which in range(min(2, count)):
        values[which] = next_of(between, count, value) if which else value
        vector_of(between, count, values[which], weights)
        combined(basis, count, weights, vectors[which])
    return residual


@njit(cache=True, nogil=True, error_model="numpy")
def leading_of_part(part: Any, basis: Any, between: Any, vector: Any) -> float:
    """Return the largest eigenvalue of a small matrix, and fill in its vector, which is also where it begins."""
    size = part.shape[0]
    length = math.sqrt(dot(vector, vector))
    for place in range(size):
        aside = ((place + 1) * GOLDEN) % 1.0 - 0.5
        basis[0, place] = vector[place] + ASIDE * length * aside if length > 0.0 else aside
    count, value, _ = krylov(part, basis, between, 1e-13, 6)
    weights = np.empty(count)
    vector_of(between, count, value, weights)
    combined(basis, count, weights, vector)
    return value
