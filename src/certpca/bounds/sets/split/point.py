"""The bound at a density of directions and a threshold, and its slopes.

With the density Σ p_ju_ju_jᵀ every feature has the vector z that is best for it (`checker/split_points`): g_j =
p_jb_j/(τ + p_j), where Σ p_jb_j²/(τ + p_j) is its price. The share x = |g|²/Σ(g_j²/p_j) of the feature is used then: by
the threshold the bound has the slope K less the shares of all, by the density Σ zzᵀ.
"""

from dataclasses import dataclass

import numpy as np

from certpca.runtime.arrays import Array, Vector, namespace, to_vector

ROWS = 2048  # of features that are worked on at a time
SINGLE = 24  # leading directions that are told apart where roots are sought; others are put together by their weights
GROUPS = 40
HALVINGS = 36
SMALLEST_ROOT = 1e-9
CLEAR = 1e-4  # of the square of b·g, that q must be above in single precision


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """Σ Y_i in the coordinates of the directions, the roots of all features, and the shares in which they are used."""

    total: Vector
    roots: Vector
    shares: Vector


def evaluated(rest: Array, weights: Vector, prices: Vector) -> Evaluated:
    """Evaluate at features as rows in coordinates of the directions whose weights these are."""
    xp, (size, depth) = namespace(rest), rest.shape

    def there(values: Vector) -> Array:
        return xp.asarray(values.astype(np.float32), dtype=rest.dtype, device=rest.device)

    groups, means = _grouped(weights)
    own, grouped = there(weights), there(groups)
    roots, shares = np.empty(size), np.empty(size)
    total = xp.zeros((depth, depth), dtype=rest.dtype, device=rest.device)
    for start in range(0, size, ROWS):
        part = slice(start, min(start + ROWS, size))
        rows = rest[part, :]
        squares = rows * rows
        roots[part] = _roots(to_vector(squares @ grouped), means, prices[part])
        leaning = rows * (own[None, :] / (there(roots[part])[:, None] + own[None, :]))
        lengths = to_vector(xp.sum(squares, axis=1))
        inner = to_vector(xp.sum(rows * leaning, axis=1))
        leaning2 = leaning * leaning
        long = to_vector(xp.sum(leaning2, axis=1))
        used = to_vector(xp.sum(leaning2 / own[None, :], axis=1))
        along, back, shares[part] = _factors(prices[part], lengths, inner, long, used)
        z = rows * there(along)[:, None] - leaning * there(back)[:, None]
        total += xp.matrix_transpose(z) @ z
    return Evaluated(to_vector(total), roots, shares)


def _factors(
    prices: Vector, lengths: Vector, inner: Vector, long: Vector, used: Vector
) -> tuple[Vector, Vector, Vector]:
    """Return what b and g are multiplied by in z, and the share of each feature."""
    with np.errstate(all="ignore"):
        q = inner**2 - prices * long
        clear = q > CLEAR * inner**2
        root = np.sqrt(np.where(clear, q, 1.0))
        plain = np.sqrt(np.maximum(1 - prices / lengths, 0.0))
        share = long / used
    paying = (prices > 0) & (lengths > prices)
    along = np.where(paying, np.where(clear, inner / root, plain), 0.0)
    back = np.where(paying & clear, prices / root, 0.0)
    free = prices <= 0
    return np.where(free, 1.0, along), back, np.where(free, 1.0, np.where(paying, np.nan_to_num(share), 0.0))


def _grouped(weights: Vector) -> tuple[Vector, Vector]:
    """Return which directions are put together, as columns of zeros and ones, and the weight of each group."""
    order = np.argsort(-weights)
    logs = np.log(weights[order[SINGLE:]])
    labels = np.arange(weights.size)
    if logs.size:
        edges = np.linspace(logs.min(), logs.max(), GROUPS + 1)[1:-1]
        labels[SINGLE:] = SINGLE + np.unique(np.searchsorted(edges, logs), return_inverse=True)[1]
    groups = np.zeros((weights.size, int(labels.max()) + 1))
    groups[order, labels] = 1.0
    counts = groups.sum(axis=0)
    return groups, np.exp((np.log(weights) @ groups) / counts)


def _roots(squares: Vector, weights: Vector, prices: Vector) -> Vector:
    """Solve Σ p b²/(τ + p) = w for each row of b², by halving the interval of log τ."""
    low, high = np.full(prices.size, np.log(SMALLEST_ROOT)), np.full(prices.size, np.log(1 / SMALLEST_ROOT))
    weighted = squares * weights
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = (weighted / (np.exp(middle)[:, None] + weights)).sum(axis=1) > prices
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(np.exp((low + high) / 2))
