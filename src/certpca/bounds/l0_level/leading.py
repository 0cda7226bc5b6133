"""Directions that lead in the matrix of a bound: a proof with many samples treats them apart from all others."""

import numpy as np

from certpca.bounds.l0_level.aim import one_component
from certpca.bounds.l0_level.model import Levels, Model
from certpca.bounds.l0_level.search import Found
from certpca.bounds.l0_level.space import Space
from certpca.runtime.arrays import Array, Vector


def leading_of(found: Found, space: Space, sparsity: int, count: int) -> Vector:
    """Return eigenvectors of the bound's matrix within the known directions, the last one leading; it takes no walk."""
    inside, _, _, vectors = _spectrum(found, space, sparsity)
    return np.asarray(space.basis @ (inside @ vectors[:, space.known - count :]))


def sharpen(found: Found, space: Space, sparsity: int, count: int) -> None:
    """Know what the leading eigenvectors are multiplied into as well, which takes two walks.

    A proof has to bound what the matrix does between them and all other directions, and the eigenvalues of these: with
    eigenvectors that are nearly those of the whole matrix both are small, and few random products show it.
    """
    _, rows, other, vectors = _spectrum(found, space, sparsity)
    along = rows @ space.there(vectors[:, max(space.known - count, 0) :])
    space.add(space.combined(along * space.xp.astype(other, rows.dtype)[:, None]))


def _spectrum(found: Found, space: Space, sparsity: int) -> tuple[Vector, Array, Array, Vector]:
    """Return coordinates with those of the level first, dual vectors along these and of others, and eigenvectors."""
    inside = space.inside(found.directions)
    model: Model = space.model(1.0, space.along @ space.there(inside))
    levels: Levels = found.levels.times(1 / space.scale)
    _, _, z, other, _, _ = model.factors(levels)
    rows = model.rows(levels, z, other)
    spectra = model.spectra(levels, one_component(sparsity), rows, other)
    return inside, rows, other, spectra[0].vectors
