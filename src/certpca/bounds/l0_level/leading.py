"""Directions that lead in the matrix of a bound: a proof with many samples treats them apart from all others."""

import numpy as np

from certpca.bounds.l0_level.aim import one_component
from certpca.bounds.l0_level.search import Found
from certpca.bounds.l0_level.space import Space
from certpca.runtime.arrays import Vector


def leading_of(found: Found, space: Space, sparsity: int, count: int) -> Vector:
    """Return eigenvectors of the bound's matrix within the known directions, the last one leading; it takes no walk."""
    known = space.known
    inside, triangle = np.linalg.qr(np.concatenate([space.basis.T @ found.directions, np.eye(known)], axis=1))
    width = found.levels.width
    inside[:, :width] *= np.where(np.diagonal(triangle)[:width] < 0, -1.0, 1.0)  # the levels are for W as it is
    model = space.model(1.0, space.along @ space.there(inside))
    levels = found.levels.times(1 / space.scale)
    _, _, z, other, _, _ = model.factors(levels)
    spectra = model.spectra(levels, one_component(sparsity), model.rows(levels, z, other), other)
    return np.asarray(space.basis @ (inside @ spectra[0].vectors[:, known - count :]))
