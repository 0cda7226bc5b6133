"""The samples behind an operator, to be fitted and judged in parts."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from certpca.intake.data import from_rows
from certpca.operators import Operator
from certpca.results.certificate import Source
from certpca.results.component_set import as_columns
from certpca.results.solution import Solution
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import Indices, Vector, namespace, to_numpy, to_vector
from certpca.runtime.errors import InvalidProblemError

BLOCK_BYTES = 64 << 20  # of columns that are standardised at a time


class SampleRows:
    """The samples behind an operator, to be fitted and judged in parts; `instead` is what needs no rows."""

    def __init__(self, operator: Operator, method: str, parts: int, instead: str = "") -> None:
        self._names = operator.names
        self._source: Source = operator.source()
        if self._source.kind != "data":
            msg = (
                f"{method} needs the rows of the data, but the {operator.description} has none; "
                f"give samples x features{f', or use {instead}' if instead else ''}"
            )
            raise InvalidProblemError(msg)
        if self._source.weights is not None:
            msg = f"{method} takes rows apart and does not know sample_weight; leave it out, or use method='elbow'"
            raise InvalidProblemError(msg)
        if operator.cost.given_in_file:
            msg = f"{method} takes rows apart, but the data stay in a file that is read by columns; "
            msg += f"use {instead}" if instead else "load them into memory"
            raise InvalidProblemError(msg)
        self.count = int(self._source.values.shape[0])
        if self.count < 2 * parts:
            msg = f"{method} needs at least two rows in each of {parts} parts, got {self.count} rows"
            raise InvalidProblemError(msg)

    def _take(self, chosen: Indices) -> Any:
        values = self._source.values
        if is_sparse(values):
            return values[chosen]
        xp = namespace(values)
        return xp.take(values, xp.asarray(chosen), axis=0)

    def operator(self, chosen: Indices) -> Operator:
        """Stand for some of the rows, prepared as all of them are."""
        return from_rows(self._take(chosen), self._source, self._names)

    def permuted(self, mixed: Callable[[Any], Any]) -> Operator:
        """Stand for rows whose values were mixed up, prepared as they are."""
        values = self._source.values
        return from_rows(mixed(values if is_sparse(values) else to_numpy(values)), self._source, self._names)

    def explained(self, chosen: Indices, fitted: Operator, solutions: Sequence[Solution]) -> Vector:
        """Return the share of some rows' variance that regression on the score of each component explains.

        Coefficients come from the rows that the components do: a feature's is its covariance with the score, divided by
        the score's variance. Along an eigenvector these are the loadings.
        """
        part = self._take(chosen)
        part = part.tocsc() if is_sparse(part) else to_vector(part)
        made = fitted.standardisation()
        assert made is not None  # operators of data have it
        centre, spread = made
        loadings = as_columns(fitted.size, solutions)
        covariances, variances = score_covariances(fitted, loadings)
        coefficients = covariances / np.where(variances > 0, variances, 1.0)
        scores, images = (self._product(part, panel, centre, spread) for panel in (loadings, coefficients))
        lengths = (scores**2).sum(axis=0) * (coefficients**2).sum(axis=0)
        gained = 2 * (scores * images).sum(axis=0) - lengths
        return np.asarray(gained / (self._total(part, centre, spread) or 1.0))

    def _product(self, part: Any, panel: Vector, centre: Vector, spread: Vector) -> Vector:
        """Multiply standardised rows by a panel."""
        if is_sparse(part):
            column = np.repeat(np.arange(part.shape[1]), np.diff(part.indptr))
            filled = part.astype(np.float64)  # a copy
            filled.data = np.where(np.isnan(filled.data), centre[column], filled.data)
            scaled = panel / spread[:, None]
            return np.asarray(filled @ scaled - centre @ scaled)
        product = np.zeros((part.shape[0], panel.shape[1]))
        for columns in self._blocks(part):
            product += self._standardised(part, columns, centre, spread) @ panel[columns]
        return product

    def _total(self, part: Any, centre: Vector, spread: Vector) -> float:
        """Return the sum of squares of all standardised values."""
        if is_sparse(part):
            column = np.repeat(np.arange(part.shape[1]), np.diff(part.indptr))
            there = np.where(np.isnan(part.data), centre[column], part.data) - centre[column]
            zeros = part.shape[0] - np.diff(part.indptr)
            return float(((there / spread[column]) ** 2).sum() + (zeros * (centre / spread) ** 2).sum())
        squares = ((self._standardised(part, columns, centre, spread) ** 2).sum() for columns in self._blocks(part))
        return float(sum(squares))

    @staticmethod
    def _blocks(part: Any) -> Iterator[Indices]:
        width = max(1, BLOCK_BYTES // (8 * part.shape[0]))
        for start in range(0, part.shape[1], width):
            yield np.arange(start, min(start + width, part.shape[1]))

    def _standardised(self, part: Any, columns: Indices, centre: Vector, spread: Vector) -> Vector:
        values = part[:, columns]
        values = np.array(values.toarray() if is_sparse(values) else values, dtype=np.float64)
        if self._source.fill_missing:
            hole = np.isnan(values) if self._source.missing is None else values == self._source.missing
            values = np.where(hole, centre[columns], values)
        return np.asarray((values - centre[columns]) / spread[columns])


def score_covariances(operator: Operator, loadings: Vector) -> tuple[Vector, Vector]:
    """Return the covariances of all features with the scores along columns of loadings, and the scores' variances.

    Both are in units of 2 to the same power, so that their ratio is what it is.
    """
    near = operator.near_one()
    covariances = to_vector(near.matmat(near.xp.asarray(loadings, dtype=near.xp.float64, device=near.device)))
    return covariances, np.asarray((loadings * covariances).sum(axis=0))


def explained_by_scores(operator: Operator, solutions: Sequence[Solution]) -> Vector:
    """Return the variance of all features that regression on each component's score explains.

    With A the matrix that is ‖Av‖² / vᵀAv, at most its largest eigenvalue, which a dense component reaches.
    """
    covariances, variances = score_covariances(operator, as_columns(operator.size, solutions))
    explained = (covariances**2).sum(axis=0) / np.where(variances > 0, variances, 1.0)
    return np.asarray(np.ldexp(explained, operator.near_one().power - operator.power))
