"""Directions of sample space along which data vary most, without a matrix of samples x samples."""

import numpy as np

from certpca.arrays import Vector, to_vector
from certpca.operators.base import Operator

OVERSAMPLING = 16
PRODUCTS = 4
BLOCK_BYTES = 64 << 20


def leading_directions(operator: Operator, count: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    """Return orthonormal directions, shape (samples, count), and about the variances along them, largest first.

    Subspace iteration from a random start (Halko, Martinsson & Tropp, SIAM Review 53, 2011, algorithm 4.4): each
    product with FFᵀ is one walk over the factor F.
    """
    factor, xp = operator.factor(), operator.xp
    width = min(count + OVERSAMPLING, factor.depth)
    panel = np.linalg.qr(rng.standard_normal((factor.depth, width)))[0]
    step = max(1, BLOCK_BYTES // (4 * factor.depth))
    for _ in range(PRODUCTS):
        there = xp.asarray(panel, dtype=xp.float32, device=operator.device)
        image = np.zeros(panel.shape)
        for _, block in factor.blocks(step, xp.float32):
            image += to_vector(block @ (xp.matrix_transpose(block) @ there))
        core = panel.T @ image
        values, turn = np.linalg.eigh((core + core.T) / 2)
        panel = np.linalg.qr(image)[0]
    # The last product also says how the directions mix: turn the new ones accordingly.
    core = panel.T @ image @ turn
    left = np.linalg.svd(core)[0]
    return np.asarray((panel @ left)[:, :count]), np.asarray(values[::-1][:count])
