"""What one evaluation of the dual does to each block of features: pure functions, called wherever the block lies."""

import numpy as np

from certpca.bounds.l0_dual.row_blocks import gram_of
from certpca.bounds.l0_dual.secular import dual_rows, secular, squares_by_group
from certpca.runtime.arrays import Array, Vector, namespace, to_vector

Solved = tuple[Array, Array, float]  # θ and the norm of each feature, and the sum of their shares


def panel_of(rows: Array, basis: Array) -> Array:
    """Return the features in the density's eigenvectors."""
    return rows @ basis


def held_by(panel: Array, weights: Array) -> Array:
    """Return a'Pa of each feature."""
    return (panel * panel) @ namespace(panel).astype(weights, panel.dtype)


def solved(panel: Array, guess: Array | Solved, weights: Array, level: float) -> Solved:
    """Solve the secular equations from a guess of θ, or from what was found at another level."""
    theta = guess[0] if isinstance(guess, tuple) else guess
    theta, share, norm = secular(panel, weights, level, theta)
    return theta, norm, float(namespace(panel).sum(share))


def dual_sums(
    panel: Array, found: Solved, weights: Array, level: float, edges: Vector | None, *, reuse: bool
) -> tuple[Array, Array]:
    """Return Σ Y_i and the sums of Z_i² over groups of features with log θ between edges.

    `reuse`: the panel is not needed again and may be written over.
    """
    theta, norm, _ = found
    if not reuse and isinstance(panel, np.ndarray):
        panel = panel.copy()
    dual = dual_rows(panel, weights, level, theta, norm)
    return gram_of(dual), _squares(dual, to_vector(theta), edges)


def _squares(dual: Array, theta: Vector, edges: Vector | None) -> Array:
    groups = 0 if edges is None else edges.size - 1
    group = np.full(theta.size, -1)
    if edges is not None:
        live = theta > 0
        group[live] = np.clip(np.searchsorted(edges, np.log(theta[live]), side="right") - 1, 0, groups - 1)
    return squares_by_group(dual, group, groups)
