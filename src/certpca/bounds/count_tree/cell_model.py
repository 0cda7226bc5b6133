"""The bound of a cell as a function of its levels: one for each group, and one matrix for each vertex of counts.

With the notation of `l0_level.model`, the matrix of a vertex n is Σ_b n_b R_b + QᵀQ, where the rows of Q are the dual
vectors of all features, each by the level of its group. The eigenvalues of all vertices are smoothed together.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from certpca.bounds.count_tree.cells import Vertex
from certpca.bounds.l0_level.aim import leading_sum
from certpca.bounds.l0_level.model import Density, Levels, Model
from certpca.bounds.l0_level.space import Space
from certpca.runtime.arrays import Array, Indices, Vector, to_vector

Spectrum = tuple[Vector, Vector, float]  # eigenvalues, eigenvectors, and what stands for unknown directions
LEADING = 12  # eigenvectors that are multiplied by the whole matrix


class CellValue(NamedTuple):
    """The smoothed bound, its gradient by a step, and the bound itself."""

    value: float
    gradient: Vector
    largest: float


class CellModel:
    """The features of a space, by groups."""

    def __init__(self, space: Space, members: Sequence[Indices], unevenness: float) -> None:
        self._space, self.members, self._unevenness = space, members, unevenness
        depth, xp = space.features.depth, space.xp
        self._parts = [
            Model(
                xp.take(space.along, xp.asarray(mine, device=space.device), axis=0),
                space.lengths[mine],
                depth,
                unevenness,
            )
            for mine in members
        ]

    def evaluate(
        self, bases: Sequence[Levels], step: Vector, vertices: Sequence[Vertex], smoothing: float
    ) -> CellValue:
        """Evaluate the smoothed bound and its gradient at a step away from some levels."""
        levels = moved(bases, step)
        solved, rows, spectra = self._solved(levels, vertices)
        value, largest, shares = _smoothed(spectra, smoothing)
        density, paid, width = Density(), [Density() for _ in levels], levels[0].width
        for vertex, (_, vectors, _), mine in zip(vertices, spectra, shares, strict=True):
            density.add(vectors, mine)
            for own, count in zip(paid, vertex, strict=True):
                own.add(vectors[:width], count * mine)
        gradients = [
            part.gradient(base, own, found, row, density, level)
            for part, base, own, found, row, level in zip(self._parts, bases, levels, solved, rows, paid, strict=True)
        ]
        return CellValue(value, np.concatenate(gradients), largest)

    def density(self, levels: Sequence[Levels], vertices: Sequence[Vertex], smoothing: float) -> Vector:
        """Return the density over the known directions at which the relaxation has about its value."""
        _, _, spectra = self._solved(levels, vertices)
        shares = _smoothed(spectra, smoothing)[2]
        whole = np.zeros((self._space.known, self._space.known))
        for (_, vectors, _), mine in zip(spectra, shares, strict=True):
            whole += (vectors * mine[:-1]) @ vectors.T
        return whole

    def bound(self, levels: Sequence[Levels], vertices: Sequence[Vertex]) -> tuple[float, Vector]:
        """Return about the bound, and what the leading eigenvectors of its worst vertex are multiplied into.

        That is Σ zzᵀ times the vectors but for a walk over the features, which `Space.combined` makes.
        """
        xp, space = self._space.xp, self._space
        solved, rows, spectra = self._solved(levels, vertices)
        worst = max(spectra, key=lambda spectrum: float(spectrum[0][-1]))
        leading = space.there(worst[1][:, -LEADING:])
        panel = np.zeros((space.features.size, leading.shape[1]))
        for mine, row, found in zip(self.members, rows, solved, strict=True):
            panel[mine] = to_vector(row @ leading * xp.astype(found[3], row.dtype)[:, None])
        return max(max(float(values[-1]), beyond) for values, _, beyond in spectra), panel

    def _solved(
        self, levels: Sequence[Levels], vertices: Sequence[Vertex]
    ) -> tuple[list[tuple[Array, ...]], list[Array], list[Spectrum]]:
        """Return the dual vectors of every level, along the known directions too, and the spectrum of every vertex."""
        solved = [part.factors(own) for part, own in zip(self._parts, levels, strict=True)]
        parts = zip(self._parts, levels, solved, strict=True)
        rows = [part.rows(own, found[2], found[3]) for part, own, found in parts]
        return solved, rows, self._spectra(levels, vertices, rows, [found[3] for found in solved])

    def _spectra(
        self, levels: Sequence[Levels], vertices: Sequence[Vertex], rows: Sequence[Array], others: Sequence[Array]
    ) -> list[Spectrum]:
        """Return eigenvalues, eigenvectors and what stands for unknown directions, for each vertex."""
        xp, width, known = self._space.xp, levels[0].width, self._space.known
        total = np.zeros((known, known))
        for row in rows:
            total += to_vector(xp.matrix_transpose(row) @ row)
        mean = 0.0
        if not self._space.whole:
            left = sum(part.unknown(other) for part, other in zip(self._parts, others, strict=True))
            mean = self._unevenness * left / (self._space.features.depth - known)
        matrices, found = [own.matrix() for own in levels], []
        for vertex in vertices:
            number = sum(count * own.level for count, own in zip(vertex, levels, strict=True))
            matrix = total.copy()
            for count, own in zip(vertex, matrices, strict=True):
                matrix[:width, :width] += count * own
            matrix[range(width, known), range(width, known)] += number
            values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
            found.append((values, vectors, -math.inf if self._space.whole else number + mean))
        return found


def moved(bases: Sequence[Levels], step: Vector) -> list[Levels]:
    """Return the levels after a step, which holds that of each one after the other."""
    found, at = [], 0
    for base in bases:
        found.append(base.moved(step[at : at + base.steps()]))
        at += base.steps()
    return found


def _smoothed(spectra: Sequence[Spectrum], smoothing: float) -> tuple[float, float, list[Vector]]:
    """Return the softmax of all eigenvalues, the largest, and the share of each, by vertex."""
    every = np.array([np.append(values, beyond) for values, _, beyond in spectra])
    value, shares = leading_sum(every.ravel(), 1, smoothing)
    return value, float(every.max()), list(shares.reshape(every.shape))
