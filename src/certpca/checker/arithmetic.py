"""Whether the linear algebra library here can be trusted, and its name: products that are known exactly come first.

All allowances of the checker assume sums of products whose errors are those of IEEE arithmetic in some order. Libraries
have been wrong in more than their last digits, for some shapes and processors. Here whole numbers are multiplied whose
products and sums fit a float64 exactly, in every order and with fused operations, in the forms the checker uses; large
ones are compared after multiplication by whole numbers, modulo 2⁶⁴. A factorisation must come out exactly where it
can, and must stop where the matrix is not positive definite, because that is what bounds eigenvalues.
"""

import contextlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.checker.numbers import require

# Rows, inner length and columns; odd ones leave rests in every blocking, and the last is worth several threads.
SHAPES = ((1, 7, 1), (3, 2, 5), (17, 33, 9), (65, 127, 31), (130, 257, 67), (300, 520, 270))
ORDERS = (1, 5, 33, 70, 150)  # of matrices that are factored
SPELLED = {"openblas": "OpenBLAS", "scipy-openblas": "OpenBLAS", "mkl": "MKL", "mkl-sdl": "MKL", "blis": "BLIS"}
LARGEST = 1 << 20  # of the whole numbers: sums of 2¹³ products stay below 2⁵³

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Multiply = Callable[[Any, Any], Any]


@cache
def require_trusted() -> None:
    """Refuse to check anything with arithmetic that is wrong. Tried once in a process, in milliseconds."""
    wrong = wrong_products() or wrong_factorisations() or wrong_eigenvalues()
    require(not wrong, f"the arithmetic here cannot be trusted ({names()}): {wrong}")


def wrong_products(multiply: Multiply = np.matmul) -> str:
    """Say which product is wrong, if any is."""
    rng = np.random.default_rng(0)
    for rows, inner, columns in SHAPES:
        left = rng.integers(-LARGEST, LARGEST, (rows, inner), endpoint=True)
        right = rng.integers(-LARGEST, LARGEST, (inner, columns), endpoint=True)
        a, b = left.astype(np.float64), right.astype(np.float64)
        wide = np.zeros((rows, 2 * inner))
        wide[:, ::2] = a
        trials = {
            "A @ B": (left, right, multiply(a, b)),
            "A' @ B": (left, right, multiply(np.ascontiguousarray(a.T).T, b)),
            "A @ B'": (left, right, multiply(a, np.ascontiguousarray(b.T).T)),
            "A' @ B'": (left, right, multiply(np.asfortranarray(a), np.asfortranarray(b))),
            "(B' A')": (right.T, left.T, multiply(b.T, a.T)),
            "A @ A'": (left, left.T, multiply(a, a.T)),
            "A' @ A": (left.T, left, multiply(a.T, a)),
            "every other column": (left, right, multiply(wide[:, ::2], b)),
            "A @ x": (left, right[:, :1], multiply(a, b[:, 0])[:, None]),
            "A' @ y": (left.T, left[:, :1], multiply(a.T, a[:, 0])[:, None]),
            "x @ y": (right[:, :1].T, right[:, :1], np.reshape(multiply(b[:, 0], b[:, 0]), (1, 1))),
        }
        for name, (first, second, product) in trials.items():
            if not _is_product(first, second, product, rng):
                return f"{name} is wrong for {rows} x {inner} times {inner} x {columns}"
    return ""


def _is_product(left: Ints, right: Ints, product: Floats, rng: np.random.Generator) -> bool:
    """Compare with exact whole numbers: entry by entry where that is quick, else after random combinations."""
    if product.shape != (left.shape[0], right.shape[1]) or not np.isfinite(product).all():
        return False
    if left.size * right.shape[1] <= 1 << 16:
        return bool((left @ right == product).all())
    if (np.abs(product) > 2.0**53).any() or (product != np.rint(product)).any():
        return False
    weights = rng.integers(-(1 << 62), 1 << 62, (right.shape[1], 4))
    return bool((product.astype(np.int64) @ weights == left @ (right @ weights)).all())


def wrong_factorisations() -> str:
    """Say which factorisation is wrong, if any is."""
    rng = np.random.default_rng(1)
    for order in ORDERS:
        lower = np.tril(rng.integers(-8, 8, (order, order)))
        np.fill_diagonal(lower, 1 << rng.integers(0, 4, order))  # powers of two: their reciprocals are exact
        matrix = (lower @ lower.T).astype(np.float64)
        found = None
        with contextlib.suppress(np.linalg.LinAlgError):
            found = np.linalg.cholesky(matrix)
        if found is None or not (found == lower).all():
            return f"a Cholesky factorisation of order {order} is wrong"
        # One less than zero is left of the pivot.
        for place in {0, order // 2, order - 1}:
            indefinite = matrix.copy()
            indefinite[place, place] -= float(lower[place, place]) ** 2 + 1
            with contextlib.suppress(np.linalg.LinAlgError):
                if np.isfinite(np.linalg.cholesky(indefinite)).all():
                    return f"a Cholesky factorisation of order {order} does not see a negative eigenvalue"
    return ""


def wrong_eigenvalues() -> str:
    """Say whether eigenvalues that are known come out far off; they only suggest where to try a factorisation."""
    for order in ORDERS:
        matrix = np.ones((order, order)) - 2 * np.eye(order)
        off = np.abs(np.linalg.eigvalsh(matrix)[-1] - (order - 2))
        if not off <= 1e-10 * order:
            return f"the largest eigenvalue of a matrix of order {order} is wrong"
    return ""


@cache
def names() -> str:
    """Name NumPy and the library that multiplies for it, as NumPy says that it was built."""
    library = "unknown BLAS"
    with contextlib.suppress(Exception):  # a name is not worth a failure, whatever a library does
        built = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        library = f"{SPELLED.get(built['name'], built['name'])} {built['version']}"
    return f"NumPy {np.__version__}, {library}"
