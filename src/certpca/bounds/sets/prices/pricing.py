"""Good supports at given prices: local search for the largest λ_max(A_SS) − Σ_{i∈S} w_i with |S| ≤ k, from many starts.

With ξ = Fx/‖Fx‖ a support is worth at least Σ_{i∈S} [(Ax)_i²/xᵀAx − w_i]: the best S for that has the largest positive
terms, and the best x on it is Ax restricted to S. Neither step can lose.
"""

import numpy as np
from numpy.typing import NDArray

from certpca.bounds.sets.prices.assignments import Slot
from certpca.runtime.arrays import Indices, Vector

STEPS = 40
EXCHANGED = 8  # supports that are improved by exchanging single features
GAIN = 1e-12  # relative; less is rounding
TRIED = 5  # moves, the most promising ones first
TINY = 1e-300


def good_supports(matrix: Vector, prices: Vector, slot: Slot, free: Indices, starts: Vector) -> list[Indices]:
    """Return different supports of a slot, the best first, from starts given as columns."""
    size, inside = matrix.shape[0], list(slot.inside)
    bonus = np.full(size, -np.inf)  # no support has what is given to others
    free = slot.open(free)
    bonus[free] = 0.0
    bonus[inside] = np.inf
    x = starts / np.maximum(np.linalg.norm(starts, axis=0), TINY)
    masks = np.zeros(x.shape, dtype=bool)
    for _ in range(STEPS):
        image = matrix @ x
        captured = np.maximum((x * image).sum(axis=0), TINY)
        chosen = _largest_positive(image**2 / captured - prices[:, None] + bonus[:, None], slot.sparsity)
        x = np.where(chosen, image, 0.0)
        x /= np.maximum(np.linalg.norm(x, axis=0), TINY)
        if (chosen == masks).all():
            break
        masks = chosen
    found: dict[bytes, tuple[float, Indices]] = {}

    def keep(support: Indices) -> None:
        if support.size and support.tobytes() not in found:
            found[support.tobytes()] = (value_of(matrix, prices, support), support)

    for column in np.unique(masks, axis=1).T:
        keep(np.flatnonzero(column))
    for _, support in _ranked(found)[:EXCHANGED]:
        keep(_exchanged(matrix, prices, support, slot, free))
    return [support for _, support in _ranked(found)]


def value_of(matrix: Vector, prices: Vector, support: Indices) -> float:
    """Return what a support is worth."""
    return float(np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-1] - prices[support].sum())


def _ranked(found: dict[bytes, tuple[float, Indices]]) -> list[tuple[float, Indices]]:
    return sorted(found.values(), key=lambda entry: -entry[0])


def _exchanged(matrix: Vector, prices: Vector, support: Indices, slot: Slot, free: Indices) -> Indices:
    """Add, drop or exchange single features while that gains."""
    best = value_of(matrix, prices, support)
    while True:
        for candidate in _moves(matrix, prices, support, slot, np.setdiff1d(free, support)):
            value = value_of(matrix, prices, candidate)
            if value > best + GAIN * abs(best):
                support, best = np.sort(candidate), value
                break
        else:
            return support


def _moves(matrix: Vector, prices: Vector, support: Indices, slot: Slot, outside: Indices) -> list[Indices]:
    """Return the most promising neighbours, by the larger eigenvalue on the loadings that stay and one feature more."""
    x = np.linalg.eigh(matrix[np.ix_(support, support)])[1][:, -1]
    own = np.diagonal(matrix)[outside]
    moves: list[tuple[float, Indices]] = []
    leaving = [place for place, feature in enumerate(support) if int(feature) not in slot.inside]
    for place in [None, *leaving] if support.size < slot.sparsity else leaving:
        rest, y = (support, x) if place is None else (np.delete(support, place), np.delete(x, place))
        if rest.size == 0:
            continue
        y = y / max(float(np.linalg.norm(y)), TINY)
        held, spared = float(y @ matrix[np.ix_(rest, rest)] @ y), 0.0 if place is None else prices[support[place]]
        if place is not None:
            moves.append((held + spared, rest))
        if outside.size:
            cross = (matrix[np.ix_(outside, rest)] @ y) ** 2
            gain = (held + own) / 2 + np.sqrt(((held - own) / 2) ** 2 + cross) - prices[outside] + spared
            entering = int(gain.argmax())
            moves.append((float(gain[entering]), np.append(rest, outside[entering])))
    return [candidate for _, candidate in sorted(moves, key=lambda move: -move[0])[:TRIED]]


def _largest_positive(worth: Vector, count: int) -> NDArray[np.bool_]:
    """Mark the largest entries of each column that are positive, never more than so many."""
    size = worth.shape[0]
    if count >= size:
        return worth > 0
    rows = np.argpartition(worth, size - count, axis=0)[size - count :]
    chosen = np.zeros(worth.shape, dtype=bool)
    np.put_along_axis(chosen, rows, True, axis=0)
    return chosen & (worth > 0)
