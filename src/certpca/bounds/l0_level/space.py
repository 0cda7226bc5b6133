"""The directions of sample space that are known: an orthonormal basis, and what every feature has along it."""

import numpy as np

from certpca.bounds.l0_level.features import Features
from certpca.bounds.l0_level.model import Levels, Model
from certpca.runtime.arrays import Array, Vector, to_vector

FRESH = 1e-4  # share of a direction that must be new
ENTRIES = 1 << 28  # of what features have along known directions
MOST = 256  # known directions


class Space:
    """A basis B on the host and C = FᵀB where the data are, both divided so that values are near one.

    The first columns of B are those with levels of their own, once `lead` has put them there.
    """

    def __init__(self, features: Features, scale: float) -> None:
        self.features, self._scale = features, scale
        self.xp = features.operator.xp
        self.lengths = features.lengths() / scale
        self.basis: Vector = np.empty((features.depth, 0))
        self.along: Array = None
        self.most = max(32, min(MOST, ENTRIES // features.size))

    @property
    def known(self) -> int:
        """How many directions are known."""
        return int(self.basis.shape[1])

    @property
    def whole(self) -> bool:
        """Whether they are all there are."""
        return self.known == self.features.depth

    def add(self, directions: Vector) -> int:
        """Append what is new in some directions and return how many that are."""
        directions = directions[:, : self.features.depth - self.known]
        fresh = directions / np.maximum(np.linalg.norm(directions, axis=0), np.finfo(float).tiny)
        for _ in range(2):
            fresh = fresh - self.basis @ (self.basis.T @ fresh)
        fresh = fresh[:, np.abs(np.diagonal(np.linalg.qr(fresh, mode="r"))) > FRESH]  # those before it do not span it
        fresh = np.linalg.qr(fresh - self.basis @ (self.basis.T @ fresh))[0]
        if fresh.shape[1] == 0:
            return 0
        images = self.features.along(fresh) / self._scale**0.5
        self.basis = np.concatenate([self.basis, fresh], axis=1)
        self.along = images if self.along is None else self.xp.concat([self.along, images], axis=1)
        return int(fresh.shape[1])

    def combined(self, panel: Array) -> Vector:
        """Return F panel."""
        return self.features.combined(panel) / self._scale**0.5

    def turn(self, rotation: Vector, first: int = 0) -> None:
        """Turn the basis from its column `first` on; a rotation with fewer columns than rows forgets directions."""
        xp = self.xp
        there = xp.asarray(rotation, dtype=self.along.dtype, device=self.features.operator.device)
        self.basis = np.concatenate([self.basis[:, :first], self.basis[:, first:] @ rotation], axis=1)
        self.along = xp.concat([self.along[:, :first], self.along[:, first:] @ there], axis=1)

    def lead(self, coordinates: Vector, width: int) -> int:
        """Put directions, given by their coordinates, right after the first `width`; return how many are new there."""
        left, sizes, _ = np.linalg.svd(coordinates[width:], full_matrices=False)
        chosen = left[:, sizes > 0.05]
        count = int(chosen.shape[1])
        if count:
            whole = np.linalg.qr(np.concatenate([chosen, np.eye(self.known - width)], axis=1))[0]
            self.turn(whole, width)
        return count

    def model(self, unevenness: float) -> Model:
        """Return the bound on what is known."""
        return Model(self.along, self.lengths, self.features.depth, unevenness)


def leading_space(features: Features, scale: float, first: Vector, width: int, rounds: int) -> Space:
    """Begin with given directions and those along which the features vary most, by block Krylov steps."""
    space = Space(features, scale)
    if features.depth <= max(width, first.shape[1]):
        space.add(np.linalg.qr(first, mode="complete")[0])
        return space
    fresh = np.random.default_rng(0).standard_normal((features.depth, width))
    space.add(np.concatenate([first, fresh], axis=1)[:, : features.depth])
    for _ in range(rounds):
        if space.whole:
            break
        values, vectors = _spread(space)
        del values
        panel = space.along @ space.xp.asarray(
            vectors[:, -width:], dtype=space.along.dtype, device=features.operator.device
        )
        space.add(space.combined(panel))
    return space


def spread_axes(space: Space, width: int) -> tuple[Vector, Vector]:
    """Return variances, largest first, and their directions in coordinates of the basis, outside its first `width`."""
    values, vectors = _spread(space, width)
    return values[::-1], vectors[:, ::-1]


def _spread(space: Space, width: int = 0) -> tuple[Vector, Vector]:
    part = space.along[:, width:]
    total = to_vector(space.xp.matrix_transpose(part) @ part)
    values, vectors = np.linalg.eigh((total + total.T) / 2)
    return values, vectors


def trimmed(space: Space, levels: Levels, model: Model, room: int) -> None:
    """Forget directions, so that `room` more fit: keep those with levels, and those with most of the bound's matrix."""
    width = levels.width
    keep = space.most - room - width
    if space.known + room <= space.most or keep < 1:
        return
    _, _, z, other, _, _ = model.factors(levels)
    rows = model.rows(levels, z, other)[:, width:]
    total = to_vector(space.xp.matrix_transpose(rows) @ rows)
    _, vectors = np.linalg.eigh((total + total.T) / 2)
    space.turn(vectors[:, ::-1][:, :keep], width)
