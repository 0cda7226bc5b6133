"""The factor F of a positive semidefinite matrix FᵀF, by blocks of columns."""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

from certpca.runtime.arrays import Array, namespace
from certpca.runtime.limits import limits

WIDEST = 8192  # columns of a block: few enough to keep several workers busy
MODERATE_BYTES = 32 << 20  # of a block, counted in float64, that is made for one product


def column_bounds(depth: int, size: int, block_bytes: int | None = None) -> tuple[slice, ...]:
    """Cut the columns of a factor into the runs that are worked on at a time, whoever does it."""
    width = max(1, min(WIDEST, (block_bytes or limits().block_bytes) // (8 * depth)))
    return tuple(slice(start, min(start + width, size)) for start in range(0, size, width))


@dataclass(frozen=True, slots=True)
class Factor:
    """A matrix F, by blocks of columns, with FᵀF equal to the operator.

    Parameters
    ----------
    depth : int
        Number of rows of F.
    size : int
        Number of columns of F, that of the operator.
    block : callable
        Returns the columns of F in a slice, shape (depth, width), in the dtype asked for.
    forth : callable, optional
        Returns F·panel where there is a faster way than by such blocks.
    back : callable, optional
        Returns Fᵀ·scores likewise.
    around : callable, optional
        Returns FFᵀ·scores where that takes one walk over the data, so less than FᵀF·panel does.

    See Also
    --------
    Operator.factor : What returns it.

    Examples
    --------
    >>> import certpca
    >>> certpca.pitprops().factor().size
    13
    """

    depth: int
    size: int
    block: Callable[[slice, Any], Array]
    forth: Callable[[Array], Array] | None = None
    back: Callable[[Array], Array] | None = None
    around: Callable[[Array], Array] | None = None

    def blocks(self, width: int, dtype: Any) -> Iterator[tuple[slice, Array]]:
        """Walk through F from left to right, at most `width` columns at a time.

        Parameters
        ----------
        width : int
            Largest number of columns.
        dtype : dtype
            Of the blocks.

        Yields
        ------
        tuple of slice and array
            Which columns, and these.
        """
        for start in range(0, self.size, width):
            columns = slice(start, min(start + width, self.size))
            yield columns, self.block(columns, dtype)

    def times(self, panel: Array) -> Array:
        """Return F·panel, in the panel's type.

        Parameters
        ----------
        panel : array of shape (size, r)
            Where the factor lives.

        Returns
        -------
        array of shape (depth, r)
            The product.
        """
        if self.forth is not None:
            return self.forth(panel)
        parts = (block @ panel[columns, :] for columns, block in self._moderate(panel.dtype))
        return reduce(operator.add, parts)

    def transposed_times(self, scores: Array) -> Array:
        """Return Fᵀ·scores, in their type.

        Parameters
        ----------
        scores : array of shape (depth, r)
            Where the factor lives.

        Returns
        -------
        array of shape (size, r)
            The product.
        """
        if self.back is not None:
            return self.back(scores)
        xp = namespace(scores)
        return xp.concat([xp.matrix_transpose(block) @ scores for _, block in self._moderate(scores.dtype)], axis=0)

    def sample_product(self, scores: Array) -> Array:
        """Return FFᵀ·scores, in their type.

        Parameters
        ----------
        scores : array of shape (depth, r)
            Where the factor lives.

        Returns
        -------
        array of shape (depth, r)
            The product.
        """
        if self.around is not None:
            return self.around(scores)
        if self.forth is not None:
            return self.times(self.transposed_times(scores))
        parts = (
            block @ (namespace(block).matrix_transpose(block) @ scores) for _, block in self._moderate(scores.dtype)
        )
        return reduce(operator.add, parts)

    def _moderate(self, dtype: Any) -> Iterator[tuple[slice, Array]]:
        bounds = column_bounds(self.depth, self.size, min(MODERATE_BYTES, limits().block_bytes))
        return ((columns, self.block(columns, dtype)) for columns in bounds)
