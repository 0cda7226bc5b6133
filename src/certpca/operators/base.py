"""The one abstraction under every algorithm: a symmetric positive semidefinite matrix."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from certpca.operators.cost import IN_MEMORY, Cost
from certpca.operators.factor import Factor
from certpca.results.certificate import Source
from certpca.runtime.arrays import Array, Indices, Vector, to_numpy, to_vector
from certpca.runtime.errors import InvalidProblemError

if TYPE_CHECKING:
    from certpca.operators.within import Within

ORDINARY_POWER = 64  # of two, up to which numbers count as near one
# Powers of two between which the largest variance must lie to be told in the units of the data. Below, fewer than ten
# digits would be left of it; above, sums of variances could overflow.
SMALLEST_VARIANCE, LARGEST_VARIANCE = -1040, 1000
LARGEST_FORMED_SIZE = 8192  # an eigendecomposition of this size takes minutes on two cores


def even_power(largest: float) -> int:
    """Return the power of two, an even number, that numbers up to `largest` are divided by to be near one.

    It is 0 for ordinary numbers, whose fourth powers neither overflow nor vanish, and for zero.
    """
    power = math.frexp(largest)[1]
    return 0 if abs(power) <= ORDINARY_POWER or not math.isfinite(largest) else power - power % 2


def divided(array: Array, power: int) -> Array:
    """Divide by an even power of two, which may be beyond the range of numbers itself."""
    half = math.ldexp(1.0, -power // 2)
    return array * half * half


class Operator(ABC):
    """A symmetric positive semidefinite matrix, explicit or not.

    Three verbs are abstract; the rest is derived and overridden only for speed. Products are
    computed in the floating type of the panel they are given, so a float64 panel gets
    float64 accuracy from int8 or float32 data; `adopt` gives the type that is fastest.

    Algorithms work on `near_one()`: the same matrix but for a power of two, which rounds nothing. What they find is in
    units of 2 to its `power`; `source` is that of the matrix itself.

    Attributes
    ----------
    size : int
        Number of rows.
    xp : module
        The array library that its panels belong to.
    dtype : dtype
        The type that is fastest.
    device : Any
        Where it lives.
    names : tuple of str or None
        Of the features.
    description : str
        In words, which matrix it is.
    reading : mapping
        How the file behind the numbers was read, as options of `load_table`.
    power : int
        Of two, that it was divided by.
    rows : int or None
        Number of samples, where the matrix is that of data.
    within : Within or None
        Where it is a part of another matrix, under constraints: which, and what is asked.

    See Also
    --------
    from_data, from_matrix, from_kernel : Make one.
    verify_operator : Check one of your own.

    Examples
    --------
    >>> import certpca
    >>> certpca.pitprops().trace()
    13.0
    """

    size: int
    xp: Any
    dtype: Any
    device: Any
    names: tuple[str, ...] | None = None
    description: str = "matrix"
    reading: Mapping[str, Any] = MappingProxyType({})  # how the file behind the numbers was read, for `load_table`
    power: int = 0
    rows: int | None = None  # samples, where the matrix is that of data
    within: "Within | None" = None

    @property
    def cost(self) -> Cost:
        """What asking costs now: files may be copied into a better order meanwhile."""
        return IN_MEMORY

    @property
    def numbers(self) -> int:
        """How many numbers a product goes over: entries of the data, or of the matrix where there are none."""
        return self.size * (self.rows or self.size)

    @property
    def walks(self) -> float:
        """How often the file behind the matrix was read so far, by whoever uses it; 0 where all is in memory."""
        return 0.0

    @property
    def undeflated(self) -> "Operator":
        """The matrix before any component was taken out of it."""
        return self

    @abstractmethod
    def matmat(self, panel: Array) -> Array:
        """Multiply the matrix by a panel.

        Parameters
        ----------
        panel : array of shape (size, r)
            Where the operator lives.

        Returns
        -------
        array of shape (size, r)
            The product, in the floating type of the panel.
        """

    @abstractmethod
    def columns(self, indices: Indices) -> Array:
        """Return columns of the matrix.

        Parameters
        ----------
        indices : ndarray of int
            Which.

        Returns
        -------
        array of shape (size, len(indices))
            The columns, in that order.
        """

    @abstractmethod
    def diagonal(self) -> Array:
        """Return the diagonal.

        Returns
        -------
        array of shape (size,)
            The variances of the features.
        """

    @abstractmethod
    def factor(self) -> Factor:
        """Return F with FᵀF equal to the matrix, or refuse where making it would cost too much.

        Returns
        -------
        Factor
            The matrix F, by blocks of columns.
        """

    def transposed_times(self, scores: Array) -> Array:
        """Return Fᵀ·scores, as fast as the operator can.

        Parameters
        ----------
        scores : array of shape (depth of the factor, r)
            Where the operator lives.

        Returns
        -------
        array of shape (size, r)
            The product, in the floating type of the scores.
        """
        return self.factor().transposed_times(scores)

    def submatrix(self, indices: Indices) -> Vector:
        """Return a principal submatrix on the host in float64.

        Parameters
        ----------
        indices : ndarray of int
            Its rows and columns.

        Returns
        -------
        ndarray
            Symmetric.
        """
        block = to_vector(self.columns(indices))[indices]
        return (block + block.T) / 2

    def rough_submatrix(self, indices: Indices) -> Vector | None:
        """Return a principal submatrix with the digits of single precision, where that takes half of the time.

        Parameters
        ----------
        indices : ndarray of int
            Its rows and columns.

        Returns
        -------
        ndarray or None
            Symmetric, on the host, in float64; nothing where it would be no quicker than all digits.
        """
        del indices
        return None

    def entries(self, rows: Indices, columns: Indices) -> Vector:
        """Return the entries of the matrix in some rows and columns, on the host.

        Parameters
        ----------
        rows, columns : ndarray of int
            Which.

        Returns
        -------
        ndarray of shape (len(rows), len(columns))
            The entries, as accurate as `columns` are or more.
        """
        return to_vector(self.columns(columns))[rows]

    def captured(self, supports: Indices, loadings: Vector) -> Vector:
        """Return about what each of several sparse vectors captures, as fast as the operator can tell.

        Parameters
        ----------
        supports : ndarray of int, shape (r, k)
            Features of each.
        loadings : ndarray of shape (r, k)
            One for each of these.

        Returns
        -------
        ndarray of shape (r,)
            The variances, as accurate as products are.
        """
        return np.asarray(
            np.einsum("ij,ij->i", loadings, np.take_along_axis(self.images(supports, loadings), supports, 1))
        )

    def images(self, supports: Indices, loadings: Vector) -> Vector:
        """Multiply the matrix by several sparse vectors, as fast as the operator can.

        Parameters
        ----------
        supports : ndarray of int, shape (r, k)
            Features of each.
        loadings : ndarray of shape (r, k)
            One for each of these.

        Returns
        -------
        ndarray of shape (r, size)
            The products in rows, on the host, as accurate as `matmat` makes them.
        """
        panel = np.zeros((self.size, supports.shape[0]))
        np.put_along_axis(panel, supports.T, loadings.T, axis=0)
        return np.ascontiguousarray(to_numpy(self.matmat(self.adopt(panel))).T)

    def in_single_precision(self) -> "Operator":
        """Return what is quicker for searches that only choose where to look closer.

        Returns
        -------
        Operator
            A copy in single precision where the matrix is at hand, else this one.
        """
        return self

    def quadratic_form(self, support: Indices, loadings: Vector) -> float:
        """Evaluate the variance captured by sparse loadings, in float64.

        Parameters
        ----------
        support : ndarray of int
            Features of the loadings.
        loadings : ndarray
            One for each of these.

        Returns
        -------
        float
            The variance.
        """
        return float(loadings @ self.submatrix(support) @ loadings)

    def standardisation(self) -> tuple[Vector, Vector] | None:
        """Return what is done to the columns of the data behind the matrix.

        Returns
        -------
        tuple of ndarray, or None
            What is subtracted from each column and what it is then divided by; None where there are no data.
        """
        return None

    def scores(self, support: Indices, loadings: Vector) -> Vector:
        """Return what sparse loadings give for each of `rows` samples, standardised as they are, in float64.

        Parameters
        ----------
        support : ndarray of int
            Features of the loadings.
        loadings : ndarray
            One for each of these.

        Returns
        -------
        ndarray of shape (rows,)
            The scores.

        Raises
        ------
        InvalidProblemError
            Where the matrix is not that of data.
        """
        del support, loadings
        msg = f"scores need samples, but the {self.description} has none"
        raise InvalidProblemError(msg)

    def standardised_by(self, indices: Indices) -> tuple[Vector, Vector]:
        """Return how columns of data are standardised before they give scores.

        Parameters
        ----------
        indices : ndarray of int
            Features.

        Returns
        -------
        tuple of ndarray
            What is subtracted from each, and what it is then multiplied by.

        Raises
        ------
        InvalidProblemError
            Where the matrix is not that of data.
        """
        del indices
        msg = f"scores need samples, but the {self.description} has none"
        raise InvalidProblemError(msg)

    def source(self) -> Source:
        """Return the numbers behind the matrix, for a checker that prepares them itself.

        Returns
        -------
        Source
            The numbers, and how they become the matrix.
        """
        if self.size > LARGEST_FORMED_SIZE:
            msg = f"a certificate needs the {self.description} formed, allowed up to size {LARGEST_FORMED_SIZE}"
            raise InvalidProblemError(msg)
        return Source("matrix", self.submatrix(np.arange(self.size)))

    def trace(self) -> float:
        """Sum the diagonal in float64.

        Returns
        -------
        float
            The total variance.
        """
        return float(to_vector(self.diagonal()).sum())

    def adopt(self, panel: Any) -> Array:
        """Place a host panel where the operator lives, in its dtype.

        Parameters
        ----------
        panel : array_like
            On the host.

        Returns
        -------
        array
            What `matmat` takes.
        """
        panel = np.asarray(panel)
        if min(panel.strides, default=0) < 0:  # not every library takes arrays that run backwards
            panel = panel.copy()
        return self.xp.asarray(panel, dtype=self.dtype, device=self.device)

    def near_one(self) -> "Operator":
        """Return the matrix divided by a power of two that brings its diagonal near one.

        Returns
        -------
        Operator
            Itself where it is near one already.
        """
        from certpca.operators.views import Rescaled

        power = even_power(float(to_vector(self.diagonal()).max()))
        return self if power == 0 else Rescaled(self, power)

    def restrict(self, indices: Indices) -> "Operator":
        """Return a principal submatrix as an operator.

        Parameters
        ----------
        indices : ndarray of int
            Its rows and columns.

        Returns
        -------
        Operator
            A view, not a copy.
        """
        from certpca.operators.views import Restricted

        return Restricted(self, np.asarray(indices, dtype=np.intp))

    def part(self, indices: Indices) -> "Operator":
        """Return a principal submatrix about which certificates can be made: one that a checker of the whole knows.

        Parameters
        ----------
        indices : ndarray of int
            Its rows and columns.

        Returns
        -------
        Operator
            A copy.
        """
        from certpca.operators.explicit import ExplicitOperator

        if indices.size > LARGEST_FORMED_SIZE:
            msg = f"leaving features out needs the {self.description} formed, allowed up to size {LARGEST_FORMED_SIZE}"
            raise InvalidProblemError(msg)
        return ExplicitOperator(self.submatrix(indices), self.names_of(indices), self.description)

    def names_of(self, indices: Indices) -> tuple[str, ...] | None:
        """Return the names of some features, where there are names.

        Parameters
        ----------
        indices : ndarray of int
            Which features.

        Returns
        -------
        tuple of str or None
            Their names.
        """
        if self.names is None:
            return None
        return tuple(self.names[index] for index in indices)
