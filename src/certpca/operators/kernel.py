"""A kernel matrix over samples, evaluated by blocks of rows: sparse kernel PCA.

Entry (i, j) is k(x_i, x_j). Centring in feature space multiplies by H = I − 11ᵀ/n from both sides.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import partial
from typing import Any, final

import numpy as np

from certpca.operators.base import LARGEST_FORMED_SIZE, Operator, divided, even_power
from certpca.operators.explicit import factor_of_matrix
from certpca.operators.factor import Factor
from certpca.results.certificate import Source
from certpca.runtime.arrays import Array, Indices, Vector, namespace
from certpca.runtime.errors import InvalidDataError, InvalidProblemError

KernelFunction = Callable[[Any, Any], Any]

# Kernels that are positive semidefinite for every choice of their (valid) parameters.
NAMED_KERNELS = {"linear": (), "rbf": ("gamma",), "polynomial": ("gamma", "degree", "coef0")}

BLOCK_BYTES = 64 << 20


def named_kernel(name: str, parameters: Mapping[str, float]) -> KernelFunction:
    """Return scikit-learn's kernel of that name as a function of two blocks of samples."""
    if name not in NAMED_KERNELS:
        msg = f"kernel must be one of {', '.join(NAMED_KERNELS)} or a function of two blocks of rows, got {name!r}"
        raise InvalidProblemError(msg)
    from sklearn.metrics.pairwise import pairwise_kernels

    unknown = sorted(set(parameters) - set(NAMED_KERNELS[name]))
    if unknown:
        msg = f"the {name} kernel takes {', '.join(NAMED_KERNELS[name]) or 'no parameters'}, got {', '.join(unknown)}"
        raise InvalidProblemError(msg)
    if parameters.get("gamma", 1.0) <= 0:
        msg = f"gamma must be positive, got {parameters['gamma']}"
        raise InvalidProblemError(msg)
    if parameters.get("degree", 1) < 1 or parameters.get("degree", 1) % 1 != 0:
        msg = f"degree must be a positive whole number, got {parameters['degree']}"
        raise InvalidProblemError(msg)
    if name == "polynomial" and parameters.get("coef0", 1.0) < 0:
        msg = f"the polynomial kernel is positive semidefinite only for coef0 >= 0, got {parameters['coef0']}"
        raise InvalidProblemError(msg)

    return partial(pairwise_kernels, metric=name, **parameters)  # unlike a local function it can be pickled


@final
class KernelOperator(Operator):
    """A kernel matrix that is held whole only where one block does that. Use `from_kernel`, which checks its input."""

    def __init__(
        self,
        samples: Any,
        kernel: KernelFunction,
        *,
        centred: bool,
        names: tuple[str, ...] | None = None,
        description: str = "kernel matrix",
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        self._samples, self._block_bytes = samples, block_bytes
        self._kernel = kernel
        self._undivided: KernelOperator | None = None  # where this is that one divided by a power of two
        self.size = int(samples.shape[0])
        self.xp, self.dtype, self.device = namespace(np.empty(0)), np.dtype(np.float64), "cpu"
        self.names = names
        self.description = description
        self._held: Vector | None = None  # where one block holds it
        self.row_means = np.zeros(self.size)
        raw_diagonal = np.empty(self.size)
        for rows, block in self._row_blocks():
            raw_diagonal[rows] = block[np.arange(block.shape[0]), np.arange(rows.start, rows.stop)]
            if centred:
                self.row_means[rows] = block.mean(axis=1)
        self.mean = float(self.row_means.mean())
        self._diagonal = raw_diagonal - 2 * self.row_means + self.mean

    def _evaluate(self, rows: Any, columns: Any) -> Vector:
        left, right = self._samples[rows], self._samples[columns]
        block = np.asarray(self._kernel(left, right), dtype=np.float64)
        if block.shape != (left.shape[0], right.shape[0]):
            msg = (
                f"the kernel must return a matrix of shape {(left.shape[0], right.shape[0])} for blocks of that "
                f"many rows, got shape {block.shape}"
            )
            raise InvalidDataError(msg)
        if not np.isfinite(block).all():
            msg = "the kernel returned values that are not finite; check its parameters and the scale of the data"
            raise InvalidDataError(msg)
        return block if self._undivided is None else np.asarray(divided(block, self.power))

    def near_one(self) -> Operator:
        """Divide kernel values as soon as they are there."""
        power = even_power(float(self._diagonal.max()))
        if power == 0 or self._undivided is not None:
            return self
        made = copy(self)
        made._undivided, made._held, made.power = self, None, power
        made.row_means, made.mean = divided(self.row_means, power), float(divided(self.mean, power))
        made._diagonal = divided(self._diagonal, power)
        return made

    def source(self) -> Source:
        """Form the matrix as it is."""
        return super().source() if self._undivided is None else self._undivided.source()

    def _row_blocks(self, columns: Indices | None = None) -> Iterator[tuple[slice, Vector]]:
        """Walk over the rows of the matrix, or of some of its columns."""
        width = self.size if columns is None else columns.size
        height = max(1, self._block_bytes // (8 * max(width, 1)))
        if height >= self.size and columns is None:
            if self._held is None:
                self._held = self._evaluate(slice(None), slice(None))
            yield slice(0, self.size), self._held
            return
        for start in range(0, self.size, height):
            rows = slice(start, min(start + height, self.size))
            yield rows, self._evaluate(rows, slice(None) if columns is None else columns)

    def matmat(self, panel: Array) -> Array:
        """Evaluate the kernel block by block, only against samples that are not multiplied by zero, and multiply."""
        product = np.zeros(panel.shape, dtype=panel.dtype)
        used = np.flatnonzero(np.asarray(panel).any(axis=1))
        if used.size == self.size or self._held is not None:
            for rows, block in self._row_blocks():
                product[rows] = block @ panel
        elif used.size:
            for rows, block in self._row_blocks(used):
                product[rows] = block @ panel[used]
        # H K H p = K p − r (1ᵀp) − 1 (rᵀp) + mean 1 (1ᵀp), with r the row means.
        total = panel.sum(axis=0)
        shift = self.mean * total - self.row_means @ panel
        return product - np.outer(self.row_means, total).astype(panel.dtype) + shift.astype(panel.dtype)

    def columns(self, indices: Indices) -> Array:
        """Evaluate the kernel against a few samples."""
        block = self._evaluate(slice(None), indices)
        return block - self.row_means[:, None] - self.row_means[indices] + self.mean

    def diagonal(self) -> Array:
        """Return the diagonal found at the start."""
        return self._diagonal

    def submatrix(self, indices: Indices) -> Vector:
        """Evaluate the kernel among a few samples only."""
        block = self._evaluate(indices, indices)
        means = self.row_means[indices]
        return (block + block.T) / 2 - means[:, None] - means + self.mean

    def factor(self) -> Factor:
        """Form the kernel matrix and factor it by an eigendecomposition."""
        if self.size > LARGEST_FORMED_SIZE:
            msg = (
                f"factoring a kernel matrix of size {self.size} means an eigendecomposition of that size, "
                f"allowed up to {LARGEST_FORMED_SIZE}; use fewer samples"
            )
            raise InvalidProblemError(msg)
        return factor_of_matrix(self.submatrix(np.arange(self.size)), self.xp, self.description)
