"""Leading eigenpairs of an operator, three ways.

``krylov`` is the randomised block Krylov method of Musco & Musco (NeurIPS 2015), run until the
residuals are as small as asked for instead of for a fixed number of rounds; ``lanczos`` is
ARPACK; ``exact`` is LAPACK on the smaller of the matrix and its factor's Gram matrix.
All three are deterministic for a given generator. `KrylovSpace` is the one code that grows such a space; estimates of
leading directions and of the ends of a spectrum use it too.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from certpca.operators.base import Operator
from certpca.operators.factor import Factor
from certpca.operators.views import Precise
from certpca.runtime.arrays import Array, Indices, Vector, device_of, to_vector
from certpca.runtime.errors import InvalidProblemError
from certpca.runtime.lateness import Late, OutOfTimeError, never, require_time

Method = Literal["krylov", "lanczos", "exact"]
METHODS: tuple[Method, ...] = ("krylov", "lanczos", "exact")

EXACT_LIMIT = 8192  # LAPACK on a larger symmetric matrix takes minutes
REFIT_ACCURACY = 1e-7  # residual of refitted loadings; the objective is then accurate to its square
VALUE_ACCURACY = 1e-9  # of the largest eigenvalue where a share of it is told
ROUGH = 1e-2  # residual of an answer that may be told: its eigenvalue is then accurate to far less than that
WALK_WIDTH = 4  # vectors of a block where reading costs more than multiplying
FEW = 4  # vectors up to which a product costs little more than one with one
PRODUCTS = 8  # from which leading directions of sample space are found,
SPARE = 2.0  # and vectors multiplied for each of them
FAR_APART = 1e-2  # smallest angle, about, of directions that a Cholesky factor makes orthonormal in single precision
LOST = 1e-6  # length of what is left of a unit vector below which nothing is,
ENOUGH_LEFT = 0.7  # and above which rounding is no larger than what was taken off,
ROUNDS = 3  # after as many rounds as this
FEWER = 4  # times as many features as samples, from which exact eigenvectors are found by these
TINY = 32  # order up to which all eigenvectors are found sooner than some
DENSE_SUPPORT = 512  # up to here the eigenvector on a support comes from LAPACK


@dataclass(frozen=True, slots=True, eq=False)
class Eigenpairs:
    """Leading eigenvalues, largest first, eigenvectors as columns, and relative residuals, of all and of the first."""

    values: Vector
    vectors: Vector
    residual: float
    first_residual: float = np.inf

    @property
    def largest_is_accurate(self) -> bool:
        """Whether the largest eigenvalue is known well enough: its error is the residual's square over the gap."""
        value, residual = max(float(self.values[0]), np.finfo(float).tiny), min(self.first_residual, self.residual)
        gap = 1.0 - float(self.values[1]) / value if self.values.size > 1 else 0.0
        return residual * min(1.0, residual / max(gap, np.finfo(float).tiny)) <= VALUE_ACCURACY


def default_accuracy(operator: Operator) -> float:
    """Residual, relative to the largest eigenvalue, that is safely above rounding."""
    return 1e-5 if operator.xp.finfo(operator.dtype).bits < 64 else 1e-8


def leading_eigenpairs(
    operator: Operator,
    count: int,
    *,
    method: Method = "krylov",
    accuracy: float | None = None,
    accuracy_of_first: float | None = None,
    rng: np.random.Generator | int = 0,
    start: Vector | None = None,
    width: int | None = None,
    late: Late = never,
) -> Eigenpairs:
    """Return the leading eigenpairs with residuals ‖Av − λv‖ ≤ accuracy · λ₁, the first perhaps more accurate.

    The Krylov method begins with `start`, a guess of the first eigenvector, and multiplies `width` vectors at a time:
    no more of several equal eigenvalues are found. Where it gets `late` the best pairs so far are returned, with their
    residual, after one product at least; LAPACK cannot be cut short.

    By the residual bound the returned values are within accuracy · λ₁ of eigenvalues.
    """
    count = min(count, operator.size)
    goal = default_accuracy(operator) if accuracy is None else accuracy
    if method == "exact":
        return _exact(operator, count)
    if method == "lanczos" and count < operator.size - 1:
        try:
            return _lanczos(operator, count, goal, rng, late)
        except OutOfTimeError:
            pass  # ARPACK keeps what it has to itself
    generator = np.random.default_rng(rng)
    goals = goal, goal if accuracy_of_first is None else accuracy_of_first
    if operator.cost.less_in_samples:
        return _through_samples(operator, count, goals, generator, start, late)
    return _block_krylov(operator, count, goals, generator, start, late, width)


def _largest_pairs(matrix: Vector, count: int) -> tuple[Vector, Vector]:
    """Return the largest eigenvalues of a dense matrix, largest first, and their vectors."""
    last = matrix.shape[0] - 1
    if last < TINY:
        values, vectors = np.linalg.eigh(matrix)
        return values[::-1][:count].copy(), vectors[:, ::-1][:, :count].copy()
    from scipy.linalg import eigh

    values, vectors = eigh(matrix, subset_by_index=[last - count + 1, last], check_finite=False)
    if values.size < count:  # LAPACK's routine for a part of the spectrum can find none of several equal eigenvalues
        values, vectors = np.linalg.eigh(matrix)
    return values[::-1][:count].copy(), vectors[:, ::-1][:, :count].copy()


def _exact(operator: Operator, count: int, limit: int = EXACT_LIMIT) -> Eigenpairs:
    if operator.rows is not None and count < operator.rows <= min(limit, operator.size // FEWER):
        found = _exact_by_samples(operator, count)
        if operator.size > limit or found.values[-1] > found.values[0] * math.sqrt(np.finfo(float).eps):
            return found
    if operator.size <= limit:
        matrix = operator.submatrix(np.arange(operator.size))
        return Eigenpairs(*_largest_pairs(matrix, count), np.finfo(float).eps)
    if operator.factor().depth > limit:
        msg = f"exact eigenvectors need a size or a depth up to {limit}; use method='krylov'"
        raise InvalidProblemError(msg)
    return _exact_by_samples(operator, count)


def _exact_by_samples(operator: Operator, count: int) -> Eigenpairs:
    """Find eigenvectors through FFᵀ; those of eigenvalue zero are left at zero."""
    factor = operator.factor()
    gram, width = _gram(operator, factor)
    count = min(count, factor.depth)
    values, left = _largest_pairs(gram, count)
    vectors = np.concatenate([to_vector(block).T @ left for _, block in factor.blocks(width, operator.xp.float64)])
    lengths = np.linalg.norm(vectors, axis=0)
    vectors /= np.where(lengths > 0, lengths, 1.0)
    return Eigenpairs(np.maximum(values, 0.0), vectors, np.finfo(float).eps)


def _gram(operator: Operator, factor: Factor) -> tuple[Vector, int]:
    """Return FFᵀ, which has the nonzero eigenvalues of FᵀF, and how many columns of F were taken at a time."""
    gram = np.zeros((factor.depth, factor.depth))
    width = max(1, (32 << 20) // (8 * factor.depth))
    for _, block in factor.blocks(width, operator.xp.float64):
        part = to_vector(block)
        gram += part @ part.T
    return gram, width


def whole_spectrum(operator: Operator) -> Vector:
    """Return all eigenvalues, the largest first, or as many as there are samples where these are fewer."""
    if operator.rows is not None and operator.rows < operator.size:
        matrix = _gram(operator, operator.factor())[0]
    else:
        matrix = operator.submatrix(np.arange(operator.size))
    return np.asarray(np.maximum(np.linalg.eigvalsh(matrix)[::-1], 0.0))


def _lanczos(operator: Operator, count: int, goal: float, rng: np.random.Generator | int, late: Late) -> Eigenpairs:
    from scipy.sparse.linalg import LinearOperator, eigsh

    def multiply(vector: Vector) -> Vector:
        require_time(late)
        panel = operator.adopt(np.asarray(vector).reshape(operator.size, -1))
        return to_vector(operator.matmat(panel))

    matrix = LinearOperator((operator.size, operator.size), matvec=multiply, matmat=multiply, dtype=np.float64)
    start = np.random.default_rng(rng).standard_normal(operator.size)
    values, vectors = eigsh(matrix, count, which="LA", v0=start, tol=goal)
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    residual = np.linalg.norm(multiply(vectors) - vectors * values, axis=0).max()
    return Eigenpairs(values, vectors, float(residual / max(values[0], np.finfo(float).tiny)))


class KrylovSpace:
    """An orthonormal basis that grows by blocks, and the images of its vectors under a symmetric matrix.

    Parameters
    ----------
    size, multiply
        The order of the matrix, and what multiplies it by a panel.
    xp, adopt
        The array library of panels, and what places host numbers among them.
    rng
        Where new directions come from when a block holds none.
    """

    def __init__(
        self,
        size: int,
        multiply: Callable[[Array], Array],
        rng: np.random.Generator,
        xp: Any = np,
        adopt: Callable[[Any], Array] = np.asarray,
    ) -> None:
        self._size, self._multiply, self._rng, self._xp, self._adopt = size, multiply, rng, xp, adopt
        self._basis: Array = None
        self._images: Array = None

    @property
    def width(self) -> int:
        """The number of vectors in the basis."""
        return 0 if self._basis is None else int(self._basis.shape[1])

    def grow(self, fresh: Array) -> Array:
        """Add the directions of a block that the basis lacks, as many as there is room for; return their images."""
        fresh = self._orthonormal(fresh[:, : min(self._size - self.width, fresh.shape[1])])
        image = self._multiply(fresh)
        first = self._basis is None
        self._basis = fresh if first else self._xp.concat([self._basis, fresh], axis=1)
        self._images = image if first else self._xp.concat([self._images, image], axis=1)
        return image

    def ritz(self) -> tuple[Vector, Vector]:
        """Return the Ritz values, largest first, and their vectors in the basis."""
        small = to_vector(self._xp.matrix_transpose(self._basis) @ self._images)
        values, rotation = np.linalg.eigh((small + small.T) / 2)
        return values[::-1], rotation[:, ::-1]

    def turned(self, rotation: Vector) -> tuple[Array, Array]:
        """Return combinations of the basis, and their images."""
        there = self._adopt(np.ascontiguousarray(rotation))
        return self._basis @ there, self._images @ there

    def keep(self, rotation: Vector) -> None:
        """Go on with combinations of the basis that are orthonormal."""
        self._basis, self._images = self.turned(rotation)

    def _orthonormal(self, fresh: Array) -> Array:
        """Orthonormalise new directions against the basis, again where much was taken off them."""
        lengths = _lengths(self._xp, fresh)
        if not (lengths > 0).all() or not np.isfinite(lengths).all():
            fresh = self._adopt(self._rng.standard_normal((self._size, fresh.shape[1])))
            lengths = _lengths(self._xp, fresh)
        fresh = fresh / self._adopt(lengths)[None, :]
        for _ in range(ROUNDS):
            if self._basis is not None:
                fresh = fresh - self._basis @ (self._xp.matrix_transpose(self._basis) @ fresh)
            fresh, left = self._turned_apart(fresh)
            if left > ENOUGH_LEFT:
                break
        return fresh

    def _turned_apart(self, fresh: Array) -> tuple[Array, float]:
        """Orthonormalise a block, and say how much was left of the direction of which least was.

        By a Cholesky factor, two thin products, where directions are far enough apart, else by QR.
        """
        xp, adopt = self._xp, self._adopt
        products = to_vector(xp.matrix_transpose(fresh) @ fresh)
        lengths = np.sqrt(np.maximum(np.diag(products), 0.0))
        lost = lengths < LOST
        if lost.any():  # directions already in the basis: put random ones in their place
            noise = self._rng.standard_normal((self._size, fresh.shape[1])) * lost / np.sqrt(self._size)
            fresh = fresh * adopt(~lost)[None, :] + adopt(noise)
            products = to_vector(xp.matrix_transpose(fresh) @ fresh)
        try:
            lower = np.linalg.cholesky((products + products.T) / 2)
        except np.linalg.LinAlgError:
            return xp.linalg.qr(fresh)[0], 0.0
        sides = np.diag(lower)
        if not sides.min() > FAR_APART * sides.max():
            return xp.linalg.qr(fresh)[0], 0.0
        turned = fresh @ adopt(np.ascontiguousarray(np.linalg.inv(lower).T))
        return turned, 0.0 if lost.any() else float(sides.min())


def _lengths(xp: Any, panel: Array) -> Vector:
    """Return the lengths of columns: a product with ones is several times as fast as a sum of short rows."""
    ones = xp.ones(panel.shape[0], dtype=panel.dtype, device=device_of(panel))
    return np.asarray(np.sqrt(to_vector(ones @ (panel * panel))))


class _SampleSpace:
    """The matrix FFᵀ in place of FᵀF: where columns lie together in a file, a product takes one walk and not two."""

    def __init__(self, operator: Operator) -> None:
        self.factor = operator.factor()
        self.size = self.factor.depth
        self.xp, self.dtype, self.device = operator.xp, operator.dtype, operator.device
        self.matmat = self.factor.sample_product

    adopt = Operator.adopt


def _through_samples(
    operator: Operator,
    count: int,
    goals: tuple[float, float],
    rng: np.random.Generator,
    start: Vector | None,
    late: Late,
) -> Eigenpairs:
    """Find eigenvectors u of FFᵀ and return those of FᵀF, Fᵀu; a residual of u is one of Fᵀu but for √(λ₁/λ)."""
    space: Any = _SampleSpace(operator)
    begin = None if start is None else to_vector(space.factor.times(operator.adopt(start[:, None])))[:, 0]
    found = _block_krylov(space, min(count, space.size), goals, rng, begin, late, max(WALK_WIDTH, count + 2))
    vectors = to_vector(space.factor.transposed_times(operator.adopt(found.vectors)))
    lengths = np.linalg.norm(vectors, axis=0)
    vectors /= np.where(lengths > 0, lengths, 1.0)
    return Eigenpairs(found.values, vectors, found.residual, found.first_residual)


def _block_krylov(
    operator: Operator,
    count: int,
    goals: tuple[float, float],
    rng: np.random.Generator,
    start: Vector | None,
    late: Late,
    width: int | None = None,
) -> Eigenpairs:
    """Grow an orthonormal Krylov basis block by block, restarting when it is large; the first pair has its own goal."""
    xp, size = operator.xp, operator.size
    if width is None:
        width = count + 2 if count > 1 else 1  # one vector: a wider block would only cost more per pass
    width = min(size, width)
    largest = min(size, max(12 * width, 40))
    first = rng.standard_normal((size, width))
    if start is not None:
        first[:, 0] = start
    fresh = operator.adopt(first)
    space = KrylovSpace(size, operator.matmat, rng, xp, operator.adopt)
    best, pairs, stalled = Eigenpairs(np.zeros(count), np.eye(size, count), np.inf), None, 0
    for _ in range(400):
        image = space.grow(fresh)
        values, rotation = space.ritz()
        shown, wanted = max(width, count), min(count, space.width)
        ritz, ritz_image = space.turned(rotation[:, :shown])
        defect = ritz_image - ritz * operator.adopt(values[None, :shown])
        top = max(float(np.abs(values).max()), np.finfo(float).tiny)
        residuals = _lengths(xp, defect[:, :wanted]) / top
        residual, first_one = float(residuals.max()), float(residuals[0])
        stalled = 0 if residual < 0.7 * best.residual else stalled + 1
        all_good = max(residual, best.residual) <= goals[0]
        better = first_one < best.first_residual if all_good else residual < best.residual
        if better or best.residual == np.inf:
            best = replace(best, residual=residual, first_residual=first_one)
            pairs = ritz[:, :wanted], ritz_image[:, :wanted]
        full = space.width >= size
        done = wanted == count and residual <= goals[0] and first_one <= goals[1]
        if done or full or (stalled >= 12 and residual < 1e3 * goals[0]) or late():
            break
        if space.width + width > largest:
            space.keep(rotation[:, : 2 * shown])
        # The defects of the Ritz pairs span the new directions of the Krylov space.
        ahead = image if space.width <= width else defect
        if residual <= goals[0] and not count <= width <= FEW:  # the first alone is still wanted
            fresh = ahead[:, :1]
        else:  # later ones take longer
            begin = max(0, wanted - width)
            fresh = ahead[:, begin : begin + width]
    return best if pairs is None else _with_quotients(best, *pairs)


def _with_quotients(best: Eigenpairs, vectors: Array, images: Array) -> Eigenpairs:
    """Return eigenpairs with Rayleigh quotients in float64: vectors in single precision are not quite unit vectors."""
    found = to_vector(vectors)
    lengths = np.linalg.norm(found, axis=0)
    found = found / lengths
    values = np.einsum("ij,ij->j", found, to_vector(images)) / lengths
    return replace(best, values=values, vectors=found)


def leading_directions(operator: Operator, count: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    """Return directions of sample space along which data vary most, and about the variances along them and the next.

    The directions are orthonormal, shape (samples, count): Ritz vectors of a Krylov space of FFᵀ, without a matrix of
    samples x samples. Each product is one walk over the factor F. For the same number of multiplications that is more
    accurate than multiplying all directions again and again.
    """
    factor, xp = operator.factor(), operator.xp

    def multiply(panel: Vector) -> Vector:
        return to_vector(factor.sample_product(xp.asarray(panel, dtype=xp.float32, device=operator.device)))

    width = min(math.ceil(SPARE * count / PRODUCTS) + 2, factor.depth)
    space = KrylovSpace(factor.depth, multiply, rng)
    fresh: Vector = rng.standard_normal((factor.depth, width))
    for _ in range(PRODUCTS):
        if space.width == factor.depth:
            break
        fresh = space.grow(fresh)
    values, rotation = space.ritz()
    return np.asarray(space.turned(rotation[:, :count])[0]), values


def ends_of_spectrum(xp: Any, matrix: Array, steps: int) -> tuple[float, float]:
    """Estimate, from within, the smallest and the largest eigenvalue of a symmetric matrix on any device."""
    size, rng = int(matrix.shape[0]), np.random.default_rng(0)

    def adopt(panel: Any) -> Array:
        return xp.asarray(np.asarray(panel), dtype=matrix.dtype, device=device_of(matrix))

    space = KrylovSpace(size, lambda panel: matrix @ panel, rng, xp, adopt)
    fresh = adopt(rng.standard_normal((size, 1)))
    for _ in range(min(steps, size)):
        fresh = space.grow(fresh)
    values, _ = space.ritz()
    return float(values[-1]), float(values[0])


def leading_on_support(
    operator: Operator, support: Indices, *, start: Vector | None = None, late: Late = never
) -> tuple[float, Vector]:
    """Return the largest eigenvalue of a principal submatrix and its vector, in float64."""
    if support.size == 1:
        return float(operator.submatrix(support)[0, 0]), np.ones(1)
    # Columns of a file are best read once.
    if support.size <= DENSE_SUPPORT * (4 if operator.cost.reads else 1):
        values, vectors = _largest_pairs(operator.submatrix(support), 1)
        return float(values[0]), vectors[:, 0]
    # In float64, so that int8 or float32 data still give an accurate vector.
    restricted = Precise(operator.restrict(support))
    if not restricted.trace() > 0:
        return 0.0, np.full(support.size, support.size**-0.5)
    if start is None and late():  # one product will be all, so it had better begin somewhere
        largest = int(np.argmax(to_vector(restricted.diagonal())))
        start = to_vector(restricted.columns(np.array([largest])))[:, 0]
    pairs = leading_eigenpairs(restricted, 1, accuracy=REFIT_ACCURACY, start=start, late=late)
    vector = pairs.vectors[:, 0]
    return float(pairs.values[0]), np.asarray(vector / np.linalg.norm(vector))
