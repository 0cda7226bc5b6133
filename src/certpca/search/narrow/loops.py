"""Compiled: starts that are thresholded and compared, and supports that climb by thresholds and exchanges.

With unit loadings x on a support S, image g = Ax and objective λ, thresholding to T captures at least ‖g_T‖² / λ, since
‖g_T‖ = yᵀAx ≤ √(yᵀAy · λ) for y along g_T. An exchange of i for j captures at least the larger eigenvalue of the 2×2
matrix in `search/swaps.py`. So a move whose bound exceeds λ raises the objective, and needs no trial.
"""

import math
from typing import Any

import numpy as np
from numba import njit

from certpca.search.narrow.eigenvectors import dot, leading_of_part, scale
from certpca.search.swaps import GAIN_TOLERANCE

ALMOST_ALL = 1e-4  # left of a squared length without a loading, from which nothing is said: it would be rounding
LEVEL = 1 + GAIN_TOLERANCE
KEYS = 4096  # of supports, beside those of starts: a half of them are kept in mind
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # of splitmix64, which mixes bits
GAMMA, ONE = np.uint64(0x9E3779B97F4A7C15), np.uint64(1)
HIGH, MIDDLE, LOW = np.uint64(30), np.uint64(27), np.uint64(31)


@njit(cache=True, nogil=True, error_model="numpy")
def take_largest(image: Any, largest: Any, support: Any) -> None:
    """Fill in the sorted places of the entries of largest magnitude; ties go to the lower place."""
    count, filled = support.size, 0
    for place in range(image.size):
        value = abs(image[place])
        if filled < count:
            at = filled
            filled += 1
        elif value > largest[count - 1]:
            at = count - 1
        else:
            continue
        while at > 0 and largest[at - 1] < value:
            largest[at] = largest[at - 1]
            at -= 1
        largest[at] = value
    level, room, found = largest[count - 1], 0, 0
    for at in range(count):
        room += largest[at] == level
    for place in range(image.size):
        value = abs(image[place])
        if value > level or (value == level and room > 0):
            room -= value == level
            support[found] = place
            found += 1
            if found == count:
                return


@njit(cache=True, nogil=True, error_model="numpy")
def key_of(support: Any) -> Any:
    """Return a number that stands for a set of features: 64 bits, so that no two sets of a search have the same."""
    key = np.uint64(0)
    for feature in support:
        bits = (np.uint64(feature) + ONE) * GAMMA
        bits = (bits ^ (bits >> HIGH)) * FIRST
        bits = (bits ^ (bits >> MIDDLE)) * SECOND
        key += bits ^ (bits >> LOW)
    return key


@njit(cache=True, nogil=True, error_model="numpy")
def enters(key: Any, table: Any, taken: Any) -> bool:
    """Note a key in a table that has room, and say whether it is new there."""
    at = int(key >> np.uint64(1)) % table.size
    while taken[at]:
        if table[at] == key:
            return False
        at = (at + 1) % table.size
    table[at], taken[at] = key, True
    return True


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})  # sums by several at a time
def gathered(matrix: Any, support: Any, part: Any) -> None:
    """Fill in the submatrix of a support."""
    for row in range(support.size):
        source = matrix[support[row]]
        for column in range(support.size):
            part[row, column] = source[support[column]]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})  # sums by several at a time
def multiplied(matrix: Any, support: Any, loadings: Any, image: Any) -> None:
    """Fill in the product of the matrix and sparse loadings."""
    image[:] = 0.0
    for row in range(support.size):
        weight, source = loadings[row], matrix[support[row]]
        for place in range(image.size):
            image[place] += weight * source[place]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})  # sums by several at a time
def captured(matrix: Any, support: Any, loadings: Any) -> float:
    """Return what sparse loadings capture."""
    total = 0.0
    for row in range(support.size):
        source, across = matrix[support[row]], 0.0
        for column in range(row):
            across += source[support[column]] * loadings[column]
        total += loadings[row] * (2.0 * across + source[support[row]] * loadings[row])
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def enter(matrix: Any, image: Any, largest: Any, support: Any, loadings: Any) -> float:
    """Threshold an image to unit loadings, and return what these capture."""
    take_largest(image, largest, support)
    for row in range(support.size):
        loadings[row] = image[support[row]]
    squared = dot(loadings, loadings)
    if squared > 0.0:
        scale(loadings, squared)
    return captured(matrix, support, loadings)


@njit(cache=True, nogil=True, error_model="numpy")
def note_best(values: Any, place: int, places: Any, filled: int) -> int:
    """Put a place into its order among those of the largest values; ties keep theirs. Return how many these are."""
    if filled < places.size:
        at = filled
        filled += 1
    elif values[place] > values[places[filled - 1]]:
        at = filled - 1
    else:
        return filled
    while at > 0 and values[places[at - 1]] < values[place]:
        places[at] = places[at - 1]
        at -= 1
    places[at] = place
    return filled


@njit(cache=True, nogil=True, error_model="numpy")
def raced(matrix: Any, vectors: Any, supports: Any, loadings: Any, best: Any, tops: Any, cut: int) -> int:
    """Threshold vectors and columns, then the images of the best; return how many are among the best.

    One in `cut` of the first goes on, or all of `best`, which is filled in with places of `supports`, the best first.
    `tops` gets what the best captured at first and in the end; where it has room for one, none goes on.
    """
    size, starts, room = matrix.shape[0], vectors.shape[0] + matrix.shape[0], supports.shape[0]
    values, ahead = np.empty(room), np.empty(room - starts, np.intp)
    table, taken = np.empty(2 * room, np.uint64), np.zeros(2 * room, np.bool_)
    largest, image = np.empty(supports.shape[1]), np.empty(size)
    count, going, filled = 0, 0, 0
    for start in range(starts):
        begin = vectors[start] if start < vectors.shape[0] else matrix[start - vectors.shape[0]]
        values[count] = enter(matrix, begin, largest, supports[count], loadings[count])
        if enters(key_of(supports[count]), table, taken):
            going = note_best(values, count, ahead, going)
            filled = note_best(values, count, best, filled)
            count += 1
    tops[:] = values[best[0]]
    if tops.size > 1:
        for row in range(min(going, max(best.size, count // cut))):
            multiplied(matrix, supports[ahead[row]], loadings[ahead[row]], image)
            values[count] = enter(matrix, image, largest, supports[count], loadings[count])
            if enters(key_of(supports[count]), table, taken):
                filled = note_best(values, count, best, filled)
                count += 1
        tops[1] = values[best[0]]
    return filled


@njit(cache=True, nogil=True, error_model="numpy")
def exchanged(
    matrix: Any, diagonal: Any, support: Any, loadings: Any, value: float, image: Any, inside: Any
) -> tuple[int, int]:
    """Return which member had best leave for which feature; the member is -1 where no exchange helps."""
    goal = LEVEL * value
    best, leaving, entering = goal, -1, -1
    for row in range(support.size):
        entry, source = loadings[row], matrix[support[row]]
        squared = entry * entry
        rest = 1.0 - squared
        if rest < ALMOST_ALL:
            first, back = 0.0, 0.0
        else:
            back = 1.0 / rest
            first = (value * (1.0 - 2.0 * squared) + squared * diagonal[support[row]]) * back
        reach = best - first
        for place in range(image.size):
            across = image[place] - entry * source[place]
            if across * across * back > reach * (best - diagonal[place]) or diagonal[place] > best or reach < 0.0:
                if inside[place]:
                    continue
                half = (first - diagonal[place]) / 2
                bound = first - half + math.sqrt(half * half + across * across * back)
                if bound > best:
                    best, leaving, entering = bound, row, place
                    reach = best - first
    return leaving, entering


@njit(cache=True, nogil=True, error_model="numpy")
def replaced(support: Any, leaving: int, entering: int, target: Any) -> None:
    """Fill in a support with one member exchanged, sorted."""
    place, waiting = 0, True
    for row in range(support.size):
        if row == leaving:
            continue
        if waiting and entering < support[row]:
            target[place] = entering
            place += 1
            waiting = False
        target[place] = support[row]
        place += 1
    if waiting:
        target[place] = entering


@njit(cache=True, nogil=True, error_model="numpy")
def finds_better(
    matrix: Any,
    diagonal: Any,
    support: Any,
    loadings: Any,
    value: float,
    image: Any,
    largest: Any,
    inside: Any,
    better: Any,
) -> bool:
    """Fill in where a threshold of the image, or else an exchange, leads; say whether either helps."""
    take_largest(image, largest, better)
    if dot(largest, largest) > LEVEL * value * value:
        return True
    for feature in support:
        inside[feature] = True
    leaving, entering = exchanged(matrix, diagonal, support, loadings, value, image, inside)
    for feature in support:
        inside[feature] = False
    if leaving >= 0:
        replaced(support, leaving, entering, better)
    return leaving >= 0


@njit(cache=True, nogil=True, error_model="numpy")
def climbed(matrix: Any, diagonal: Any, starts: Any, supports: Any, loadings: Any, values: Any, tops: Any) -> int:
    """Move each support until nothing helps or it meets another; fill in where they end, and return how many do.

    `tops` gets the best objective after each move, of which it has room for so many; the rest of it is left.
    """
    (count, width), size = starts.shape, matrix.shape[0]
    room = KEYS + 4 * count  # starts and half as many moves do not fill it
    table, taken = np.empty(room, np.uint64), np.zeros(room, np.bool_)
    part, basis, between = np.empty((width, width)), np.empty((width, width)), np.zeros((2, width))
    largest, image, fitted = np.empty(width), np.empty(size), np.empty(width)
    inside, moved = np.zeros(size, np.bool_), np.empty(width, np.intp)
    ends, seen = 0, 0
    for start in range(count):
        support = supports[ends]
        for row in range(width):
            support[row], fitted[row] = starts[start, row], 0.0
        if not enters(key_of(support), table, taken):
            continue
        seen += 1
        for move in range(tops.size):
            gathered(matrix, support, part)
            values[ends] = value = leading_of_part(part, basis, between, fitted)
            for row in range(width):
                loadings[ends, row] = fitted[row]
            tops[move] = max(tops[move], value)
            multiplied(matrix, support, fitted, image)
            if move + 1 == tops.size or not finds_better(
                matrix, diagonal, support, fitted, value, image, largest, inside, moved
            ):
                break
            if 2 * seen < room:
                if not enters(key_of(moved), table, taken):
                    break
                seen += 1
            for row in range(width):
                support[row] = moved[row]
                fitted[row] = image[moved[row]]
        ends += 1
    return ends
