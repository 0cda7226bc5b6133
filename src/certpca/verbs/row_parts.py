"""Paths on parts of the rows, for as long as there is time."""

import os
from pathlib import Path as Folder
from typing import Any

from certpca.operators import Operator
from certpca.results.path import Path
from certpca.runtime.budget import Progress
from certpca.solvers import Solver
from certpca.verbs.path import path

FEWEST_PARTS = 2  # of the rows that are looked at, whatever the limit


class RowParts:
    """Fits paths to parts of the rows for as long as there is time, in equal shares, and to two parts in any case."""

    def __init__(
        self,
        progress: Progress,
        count: int,
        grid: list[int],
        solver: str | Solver,
        searches: list[Any],
        checkpoint: str | os.PathLike[str] | None,
    ) -> None:
        self._progress, self._grid, self._solver = progress, grid, solver
        self._searches, self._folder = iter(searches), checkpoint
        self._paths = 0
        self.count, self.done = count, 0

    def path(self, some: Operator, share: Progress, grid: list[int] | None = None, **more: Any) -> Path:
        """Find a path, with a folder for its own states inside that of the run."""
        states = None if self._folder is None else Folder(self._folder) / f"path-{self._paths}"
        self._paths += 1
        grid = self._grid if grid is None else grid
        return path(some, grid, self._solver, rng=next(self._searches), budget=share, checkpoint=states, **more)

    @property
    def enough(self) -> bool:
        """Whether no more parts can be fitted."""
        return self.done >= FEWEST_PARTS and self._progress.late()

    def fit(self, some: Operator) -> Path:
        """Fit one part."""
        share = self._progress.part(1 / max(self.count - self.done, 1))
        self.done += 1
        return self.path(some, share)

    def told(self, what: str) -> str:
        """Say how many parts there were, and how many there should have been."""
        return f"{self.count} {what}" if self.done == self.count else f"{self.done} of {self.count} {what}"

    @property
    def note(self) -> str:
        """Say why there were fewer parts than asked for."""
        return "" if self.done == self.count else " The limit was reached before the others."
