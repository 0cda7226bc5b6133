"""What every solver is given: samples x features whose columns have mean zero, or a sparse matrix and its means."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.floating[Any]]
BLOCK = 1024  # rows converted at a time


@dataclass(frozen=True)
class Problem:
    """The matrix XᵀX, X given by `values`: dense and centred already, or sparse with `means` still to be subtracted."""

    values: Any
    means: Matrix | None = None

    @property
    def rows(self) -> int:
        """Number of samples."""
        return int(self.values.shape[0])

    @property
    def size(self) -> int:
        """Number of features."""
        return int(self.values.shape[1])

    def dense(self) -> Matrix:
        """Return the centred matrix, for those who cannot keep a sparse one sparse."""
        if self.means is None:
            centred: Matrix = self.values
            return centred
        made = np.empty((self.rows, self.size), dtype=np.float32)
        shift, values = self.means.astype(np.float32), self.values.tocsr()
        for start in range(0, self.rows, BLOCK):
            made[start : start + BLOCK] = values[start : start + BLOCK].toarray() - shift
        return made

    def columns(self, indices: NDArray[np.intp]) -> Matrix:
        """Return centred columns in float64."""
        if self.means is None:
            return np.asarray(self.values[:, indices], dtype=np.float64)
        return np.asarray(self.values[:, indices].toarray().astype(np.float64) - self.means[indices])

    def matrix(self) -> Matrix:
        """Return XᵀX in float64."""
        exact = self.columns(np.arange(self.size))
        return np.asarray(exact.T @ exact)

    def leading(self, tolerance: float = 1e-6) -> tuple[float, Matrix]:
        """Return λ₁ of XᵀX and Xᵀu for the leading left singular vector u, in float64."""
        from scipy.sparse.linalg import LinearOperator, eigsh

        exact = self.values.astype(np.float64)
        across = exact.T.tocsr() if self.means is not None else exact.T
        shift = np.zeros(self.size) if self.means is None else self.means

        def back(left: Matrix) -> Matrix:
            return np.asarray(across @ left - shift * left.sum())

        def forth(left: Matrix) -> Matrix:
            right = back(left.ravel())
            return np.asarray(exact @ right - shift @ right)

        gram = LinearOperator((self.rows, self.rows), matvec=forth, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(self.rows)
        found, vectors = eigsh(gram, 1, v0=start, tol=tolerance)
        return float(found[0]), back(vectors[:, 0])

    def save(self, path: Path) -> None:
        """Write a file for `load`."""
        with path.open("wb") as stream:  # to a path, NumPy would add an ending
            if self.means is None:
                np.save(stream, self.values)
                return
            kept = self.values.tocsc()
            parts = {"data": kept.data, "indices": kept.indices, "indptr": kept.indptr}
            np.savez(stream, **parts, shape=np.array(kept.shape), means=self.means)


def load(path: Path) -> Problem:
    """Read what `Problem.save` wrote."""
    from scipy.sparse import csc_array

    found = np.load(path)
    if isinstance(found, np.ndarray):
        return Problem(found)
    parts = (found["data"], found["indices"], found["indptr"])
    return Problem(csc_array(parts, shape=tuple(found["shape"])), found["means"])


def centred(data: Matrix) -> Problem:
    """Subtract the column means."""
    return Problem(data - data.mean(axis=0, dtype=np.float64).astype(data.dtype))


def sparse(matrix: Any) -> Problem:
    """Keep a sparse matrix and remember its column means."""
    return Problem(matrix.tocsc(), np.asarray(matrix.mean(axis=0, dtype=np.float64)).ravel())


def uncentred(data: Matrix) -> Problem:
    """Return data with the same XᵀX, one row more, and column means of zero.

    Several peers subtract means whether asked to or not. The rows are multiplied by Helmert's contrasts, orthonormal
    columns that each sum to zero, so that there is nothing left to subtract.
    """
    from scipy.linalg import helmert

    contrasts = helmert(data.shape[0] + 1)
    return Problem(np.asarray(contrasts.T @ data))


def from_matrix(matrix: Matrix) -> Problem:
    """Return data whose XᵀX is a given matrix: its symmetric square root, without means."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return uncentred(np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T))


@dataclass(frozen=True)
class Case:
    """A problem with its sparsity; `quick` ones are part of the quick profile, `optimum` is known from elsewhere."""

    name: str
    features: int
    sparsity: int
    load: Callable[[], Problem]
    quick: bool = False
    optimum: float | None = None
