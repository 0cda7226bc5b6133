"""Solutions by increasing sparsity."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from certpca.results.certificate import share_lost
from certpca.results.solution import Solution
from certpca.results.tidy import loadings_frame, summary_frame, summary_row
from certpca.runtime.arrays import Indices, Vector
from certpca.runtime.rounded import down, percent_down, percent_up

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Path:
    """Solutions by increasing sparsity.

    Parameters
    ----------
    solutions : tuple of Solution
        One for each sparsity, with its certificate where one was asked for. Objectives never fall along the path.
    seconds : float
        Time that all of them took together.

    See Also
    --------
    path : What returns it.
    choose_sparsity : Which of its sparsities.
    save_path : Write it to a file.

    Examples
    --------
    >>> import certpca
    >>> found = certpca.path(certpca.pitprops(), [3, 5])
    >>> found.sparsities.tolist(), found.entering(1).size
    ([3, 5], 2)
    """

    solutions: tuple[Solution, ...]
    seconds: float = 0.0

    @cached_property
    def sparsities(self) -> Indices:
        """The sparsities, increasing."""
        return np.array([solution.sparsity for solution in self.solutions], dtype=np.intp)

    @cached_property
    def objectives(self) -> Vector:
        """Variance captured at each sparsity."""
        return np.array([solution.objective for solution in self.solutions])

    @cached_property
    def upper_bounds(self) -> Vector:
        """What no component of each sparsity exceeds; infinite where nothing is proved.

        The smallest bound of this and all larger sparsities, so it can be less than the `upper_bound` of the
        solution, whose certificate is about its own sparsity alone.
        """
        own = np.array([solution.upper_bound for solution in self.solutions])
        return np.asarray(np.minimum.accumulate(own[::-1])[::-1])

    @cached_property
    def gaps(self) -> Vector:
        """Largest possible loss at each sparsity: 1 - objective / upper bound. NaN where nothing is proved."""
        return np.array([share_lost(*pair) for pair in zip(self.objectives, self.upper_bounds, strict=True)])

    @property
    def nested(self) -> float:
        """Share of steps at which every feature stays when the sparsity grows."""
        steps = [self.leaving(j).size == 0 for j in range(1, len(self.solutions))]
        return float(np.mean(steps)) if steps else 1.0

    def entering(self, j: int) -> Indices:
        """Return the features of solution `j` that the one before it does not have.

        Parameters
        ----------
        j : int
            Position on the path.

        Returns
        -------
        ndarray of int
            Sorted indices of the features that enter.
        """
        return np.setdiff1d(self.solutions[j].support, self._before(j))

    def leaving(self, j: int) -> Indices:
        """Return the features that solution `j` does not have but the one before it has.

        Parameters
        ----------
        j : int
            Position on the path.

        Returns
        -------
        ndarray of int
            Sorted indices of the features that leave.
        """
        return np.setdiff1d(self._before(j), self.solutions[j].support)

    def _before(self, j: int) -> Indices:
        first = range(len(self.solutions))[j] == 0
        return np.empty(0, dtype=np.intp) if first else self.solutions[j - 1].support

    def to_frame(self) -> "pandas.DataFrame":
        """Return the loadings as a table with a row for each that is not zero.

        Returns
        -------
        pandas.DataFrame
            Columns sparsity, feature (its name), position (from 1), loading and sign, the largest loadings first.
        """
        return loadings_frame(((part.sparsity, part) for part in self.solutions), "sparsity")

    def summary_frame(self) -> "pandas.DataFrame":
        """Return what is captured and proved as a table with a row for each sparsity.

        Returns
        -------
        pandas.DataFrame
            Among others objective, variance_ratio, upper_bound and gap; empty where nothing is proved.
        """
        return summary_frame(self._summary_rows())

    def _summary_rows(self) -> Iterator[dict[str, Any]]:
        for part, bound, gap in zip(self.solutions, self.upper_bounds, self.gaps, strict=True):
            yield {**summary_row(part), "upper_bound": bound, "gap": gap}

    def __str__(self) -> str:
        """Lay the path out as a table."""
        proved = bool(np.isfinite(self.upper_bounds).any())
        lines = [f"{'sparsity':>9}{'objective':>14}{'explained':>11}{'in':>7}{'out':>7}" + proved * f"{'gap':>9}"]
        for j, (solution, gap) in enumerate(zip(self.solutions, self.gaps, strict=True)):
            lines.append(
                f"{solution.sparsity:>9}{down(solution.objective):>14}{percent_down(solution.explained_variance_ratio):>11}"
                f"{self.entering(j).size:>7}{self.leaving(j).size:>7}" + proved * f"{percent_up(gap):>9}"
            )
        return "\n".join(lines)
