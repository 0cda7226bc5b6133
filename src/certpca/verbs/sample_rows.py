"""The samples behind an operator, to be fitted and judged in parts."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from certpca.intake.data import from_rows
from certpca.operators import Operator
from certpca.results.certificate import Source
from certpca.results.solution import Solution
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import Indices, Vector, namespace, to_vector
from certpca.runtime.errors import InvalidProblemError

BLOCK_BYTES = 64 << 20  # of columns that are standardised at a time


class SampleRows:
    """The samples behind an operator, to be fitted and judged in parts."""

    def __init__(self, operator: Operator, method: str, parts: int) -> None:
        self._names = operator.names
        self._source: Source = operator.source()
        if self._source.kind != "data":
            msg = (
                f"{method} needs the rows of the data, but the {operator.description} has none; "
                'give samples x features, or use method="elbow"'
            )
            raise InvalidProblemError(msg)
        if self._source.weights is not None:
            msg = f"{method} takes rows apart and does not know sample_weight; leave it out, or use method='elbow'"
            raise InvalidProblemError(msg)
        if operator.cost.given_in_file:
            msg = f"{method} takes rows apart, but the data stay in a file that is read by columns; use method='elbow'"
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

    def explained(self, chosen: Indices, fitted: Operator, solutions: Iterable[Solution]) -> Vector:
        """Return the share of some rows' variance that components explain, in the units of the rows they come from."""
        part = self._take(chosen)
        part = part.tocsc() if is_sparse(part) else to_vector(part)
        made = fitted.standardisation()
        assert made is not None  # operators of data have it
        centre, spread = made
        found = list(solutions)
        used = np.unique(np.concatenate([solution.support for solution in found]))
        place = np.searchsorted(used, np.arange(part.shape[1] + 1))
        scaled = self._standardised(part, used, centre, spread)
        scores = [scaled[:, place[solution.support]] @ solution.loadings for solution in found]
        return np.array([float(score @ score) for score in scores]) / (self._total(part, centre, spread) or 1.0)

    def _total(self, part: Any, centre: Vector, spread: Vector) -> float:
        """Return the sum of squares of all standardised values."""
        if is_sparse(part):
            column = np.repeat(np.arange(part.shape[1]), np.diff(part.indptr))
            there = np.where(np.isnan(part.data), centre[column], part.data) - centre[column]
            zeros = part.shape[0] - np.diff(part.indptr)
            return float(((there / spread[column]) ** 2).sum() + (zeros * (centre / spread) ** 2).sum())
        width, total = max(1, BLOCK_BYTES // (8 * part.shape[0])), 0.0
        for start in range(0, part.shape[1], width):
            columns = np.arange(start, min(start + width, part.shape[1]))
            total += float((self._standardised(part, columns, centre, spread) ** 2).sum())
        return total

    def _standardised(self, part: Any, columns: Indices, centre: Vector, spread: Vector) -> Vector:
        values = part[:, columns]
        values = np.array(values.toarray() if is_sparse(values) else values, dtype=np.float64)
        if self._source.fill_missing:
            hole = np.isnan(values) if self._source.missing is None else values == self._source.missing
            values = np.where(hole, centre[columns], values)
        return np.asarray((values - centre[columns]) / spread[columns])
