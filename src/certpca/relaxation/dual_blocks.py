"""What one evaluation of the dual does to each block of features: pure functions, called wherever the block lies."""

from typing import Any

import numpy as np

from certpca.arrays import Array, Vector, device_of, namespace, to_vector
from certpca.linalg.kernels import dual_rows, row_chunks, secular
from certpca.linalg.row_blocks import half_gram

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
    """Return Σ Y_i (see `half_gram`) and the sums of Z_i² over groups of features with log θ between edges.

    `reuse`: the panel is not needed again and may be written over.
    """
    theta, norm, _ = found
    if not reuse and isinstance(panel, np.ndarray):
        panel = panel.copy()
    dual = dual_rows(panel, weights, level, theta, norm)
    return half_gram(dual), _squares(dual, to_vector(theta), edges)


def _squares(dual: Array, theta: Vector, edges: Vector | None) -> Array:
    xp = namespace(dual)
    device, groups = device_of(dual), 0 if edges is None else edges.size - 1
    squares = xp.zeros((groups, dual.shape[1]), dtype=xp.float64, device=device)
    if edges is None:
        return squares
    live = theta > 0
    group = np.full(theta.size, -1)
    group[live] = np.clip(np.searchsorted(edges, np.log(theta[live]), side="right") - 1, 0, groups - 1)
    member: Any = xp.asarray((group[None, :] == np.arange(groups)[:, None]), device=device)
    for rows in row_chunks(dual):  # no second array of the size of `dual`
        part = dual[rows, :]
        squares = squares + xp.astype(xp.astype(member[:, rows], dual.dtype) @ (part * part), xp.float64)
    return squares
