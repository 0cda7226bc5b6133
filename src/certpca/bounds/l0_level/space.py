"""The directions of sample space that are known: an orthonormal basis, and what every feature has along it."""

import numpy as np

from certpca.bounds.l0_level.features import Features
from certpca.bounds.l0_level.model import Levels, Model
from certpca.runtime.arrays import Array, Vector, to_vector

FRESH = 1e-4  # share of a direction that must be new to be known,
APART = 0.1  # and to get a level of its own
ENTRIES = 1 << 28  # of what features have along known directions,
MOST = 256  # known directions,
MOST_SQUARED = 6e8  # and of these squared, times the features: what an evaluation multiplies


class Space:
    """A basis B on the host and C = FᵀB where the data are, both divided so that values are near one.

    The first columns of B are those with levels of their own, once `lead` has put them there.
    """

    def __init__(self, features: Features, scale: float) -> None:
        self.features, self.scale = features, scale
        self.xp, self.device = features.operator.xp, features.operator.device
        self.lengths = features.lengths() / scale
        self.basis: Vector = np.empty((features.depth, 0))
        self.along: Array = None
        most = min(MOST, ENTRIES // features.size, int((MOST_SQUARED / features.size) ** 0.5))
        self.most = max(128, most)

    @property
    def known(self) -> int:
        """How many directions are known."""
        return int(self.basis.shape[1])

    @property
    def work(self) -> float:
        """The multiplications of the largest product in an evaluation."""
        return float(self.features.size) * self.known**2

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
        images = self.features.along(fresh) / self.scale**0.5
        self.basis = np.concatenate([self.basis, fresh], axis=1)
        self.along = images if self.along is None else self.xp.concat([self.along, images], axis=1)
        return int(fresh.shape[1])

    def there(self, panel: Vector) -> Array:
        """Place a host panel where the features are, in the type of what is known of them."""
        host = np.ascontiguousarray(panel)  # not every library takes arrays that run backwards
        return self.xp.asarray(host, dtype=self.along.dtype, device=self.device)

    def take_up(self, basis: Vector) -> None:
        """Go on with a basis that was left, after one walk."""
        self.basis = basis
        self.along = self.features.along(basis) / self.scale**0.5

    def combined(self, panel: Array) -> Vector:
        """Return F panel."""
        product: Vector = self.features.combined(panel) / self.scale**0.5
        return product

    def turn(self, rotation: Vector, first: int = 0) -> None:
        """Turn the basis from its column `first` on; a rotation with fewer columns than rows forgets directions."""
        self.basis = np.concatenate([self.basis[:, :first], self.basis[:, first:] @ rotation], axis=1)
        turned = self.along[:, first:] @ self.there(rotation)
        self.along = self.xp.concat([self.along[:, :first], turned], axis=1)

    def lead(self, coordinates: Vector, width: int) -> int:
        """Put directions, given by their coordinates, right after the first `width`; return how many are new there."""
        left, sizes, _ = np.linalg.svd(coordinates[width:], full_matrices=False)
        chosen = left[:, sizes > APART]
        count = int(chosen.shape[1])
        if count:
            whole = np.linalg.qr(np.concatenate([chosen, np.eye(self.known - width)], axis=1))[0]
            self.turn(whole, width)
        return count

    def inside(self, directions: Vector) -> Vector:
        """Return an orthonormal basis of all that is known, in coordinates, that begins with given directions."""
        inside, triangle = np.linalg.qr(np.concatenate([self.basis.T @ directions, np.eye(self.known)], axis=1))
        width = directions.shape[1]
        inside[:, :width] *= np.where(np.diagonal(triangle)[:width] < 0, -1.0, 1.0)  # levels are for them as they are
        return np.asarray(inside)

    def model(self, unevenness: float, along: Array | None = None) -> Model:
        """Return the bound on what is known, or on that in other coordinates."""
        return Model(self.along if along is None else along, self.lengths, self.features.depth, unevenness)


def lead_space(space: Space, first: Vector, width: int, rounds: int) -> None:
    """Begin with given directions and those along which the features vary most, by block Krylov steps."""
    depth = space.features.depth
    if depth <= max(width, first.shape[1]):
        space.add(np.linalg.qr(first, mode="complete")[0])
        return
    start = np.concatenate([first, np.random.default_rng(0).standard_normal((depth, width))], axis=1)
    if space.features.operator.cost.reads:
        # What is multiplied there and back needs one walk each time, and all of it together one more in the end.
        blocks = [np.linalg.qr(start)[0]]
        for _ in range(rounds):
            known = np.concatenate(blocks, axis=1)
            image = space.features.spread(blocks[-1])
            blocks.append(np.linalg.qr(image - known @ (known.T @ image))[0])
        space.add(np.concatenate(blocks, axis=1))
        return
    space.add(start)
    for _ in range(rounds):
        if space.whole:
            break
        space.add(space.combined(space.along @ space.there(spread_axes(space)[:, :width])))


def spread_axes(space: Space, first: int = 0) -> Vector:
    """Return the axes of what features have along the basis from its column `first` on, the longest first."""
    part = space.along[:, first:]
    total = to_vector(space.xp.matrix_transpose(part) @ part)
    axes: Vector = np.linalg.eigh((total + total.T) / 2)[1][:, ::-1]
    return axes


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
