"""Directions of sample space along which data vary most, without a matrix of samples x samples."""

import math

import numpy as np

from certpca.operators.base import Operator
from certpca.runtime.arrays import Vector, to_vector

PRODUCTS = 8
SPARE = 2.0  # vectors multiplied for each direction wanted


def leading_directions(operator: Operator, count: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    """Return orthonormal directions, shape (samples, count), and about the variances along them and the next ones.

    Ritz vectors of a block Krylov space of FFᵀ (Musco & Musco, NeurIPS 2015): each product is one walk over the factor
    F. For the same number of multiplications that is more accurate than multiplying all directions again and again.
    """
    factor, xp = operator.factor(), operator.xp
    width = min(math.ceil(SPARE * count / PRODUCTS) + 2, factor.depth)
    fresh, space = rng.standard_normal((factor.depth, width)), np.zeros((factor.depth, 0))
    images: list[Vector] = []
    for _ in range(PRODUCTS):
        fresh = fresh[:, : factor.depth - space.shape[1]]
        if fresh.shape[1] == 0:
            break
        for _ in range(2):
            fresh = np.linalg.qr(fresh - space @ (space.T @ fresh))[0]
        image = to_vector(factor.sample_product(xp.asarray(fresh, dtype=xp.float32, device=operator.device)))
        space, images, fresh = np.concatenate([space, fresh], axis=1), [*images, image], image
    core = space.T @ np.concatenate(images, axis=1)
    values, turn = np.linalg.eigh((core + core.T) / 2)
    return np.asarray(space @ turn[:, ::-1][:, :count]), np.asarray(values[::-1])
