"""Solve the cell with the largest bound more closely, or split it, for as long as that helps."""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certpca.bounds.count_tree.branching import Cut, cut
from certpca.bounds.count_tree.cell_model import CellModel, CellValue, moved
from certpca.bounds.count_tree.cells import Cell, CountTree, Split, members, vertices_of
from certpca.bounds.goals import Known
from certpca.bounds.l0_level.descent import descended
from certpca.bounds.l0_level.model import Levels
from certpca.bounds.l0_level.space import Space, trimmed
from certpca.runtime import budget
from certpca.runtime.arrays import Indices, Vector, to_vector
from certpca.runtime.threads import at_most_threads, one_thread_each, threads_allowed

STAGES = ((1e-3, 50), (2e-4, 60))  # smoothing relative to the bound, and steps of a descent
COMPETING = 2e-3  # of the bound: eigenvectors within that are looked at where a cell is split
MEMORY = 30
ENDED = 1e-4  # of the smoothing: decreases below that end a descent
FEWEST, MOST = 128, 208  # known directions that are kept: as few until there are more than the most
SURPRISE = 0.2  # of the gain: where new directions take more of it, a descent is made again with them,
TRIES = 3  # so often at most


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """Levels to be improved for a cell, from a stage on."""

    cell: Cell
    model: CellModel
    stage: int


class CountSearch:
    """Makes steps for one sparsity on the directions that a search for one level knows.

    Parameters
    ----------
    space
        Known directions, those with levels of their own first.
    levels
        For all supports, in the units of the space.
    unevenness
        Of what is not known.
    sparsity
        k of the bound.
    enough
        The bound of a cell, in the units of the matrix, below which nothing is gained.
    improved
        Called with the best loadings known and supports to start from; returns better loadings if there are some.
    late
        Whether to stop; asked between two evaluations. What follows these in a step takes about `correcting` seconds.
    """

    def __init__(
        self,
        space: Space,
        levels: Levels,
        unevenness: float,
        sparsity: int,
        enough: Callable[[Known], float],
        improved: Callable[[Known, Sequence[Indices]], Known],
        late: Callable[[], bool] = lambda: False,
    ) -> None:
        self.space, self._levels, self._unevenness, self._sparsity = space, levels, unevenness, sparsity
        self._enough, self._improved, self._late = enough, improved, late
        self.evaluations = 0
        self.correcting = 0.0

    def start(self, known: Known, direction: Vector, bound: float, forced: Indices) -> CountTree:
        """Begin with all supports, and split them by how many features they share with the best known.

        Where features are forced in, begin with the supports that have all of them.
        """
        cell = Cell((), (), (self._levels.times(self.space.scale),), bound, len(STAGES))
        self._trim(FEWEST)
        first = self.space.basis.T @ direction
        tree = CountTree(self.space.basis, (), (cell,), {}, known)
        first = first / max(float(np.linalg.norm(first)), np.finfo(float).tiny)
        if forced.size:
            tree = _with_all_of(forced, tree, bound)
        with one_thread_each(threads_allowed(), self.space.work):
            return self._advanced(tree, [len(tree.cells) - 1], None if forced.size else first)

    def step(self, tree: CountTree) -> CountTree:
        """Work on the cells with the largest bounds, as many as there are threads."""
        if tree.basis is not self.space.basis:  # as another process left it
            self.space.take_up(tree.basis)
        workers = threads_allowed()
        worst = tree.worst()[:workers]
        enough = self._enough(tree.known)
        chosen = [number for number in worst if tree.cells[number].bound > enough or number == worst[0]]
        with one_thread_each(workers, self.space.work):
            return self._advanced(tree, chosen)

    # --- one step -----------------------------------------------------------------------------------------------------

    def _advanced(self, tree: CountTree, numbers: list[int], first: Vector | None = None) -> CountTree:
        """Solve some cells more closely, and split those for which that was done."""
        groups, splits, cells, known = list(tree.groups), dict(tree.splits), list(tree.cells), tree.known
        places, tasks, stuck = list[int](), list[_Task](), False
        for number in numbers:
            cell = cells[number]
            model = self._model(cell, tuple(groups))
            if cell.stage < len(STAGES):
                places.append(number)
                tasks.append(_Task(cell, model, cell.stage))
                continue
            found = self._cut(cell, model, first)
            if found is None:  # nothing to split: it stays what it is
                stuck = stuck or number == numbers[0]
                continue
            known = self._improved(known, found.suggested)
            if found.fresh is not None:
                groups.append(found.fresh)
            parts = self._parts(cell, found, len(groups) - 1)
            splits[number] = Split(parts[0].groups[_position(found, cell)], found.most, (len(cells), len(cells) + 1))
            model = self._model(parts[0], tuple(groups))
            for part in parts:
                places.append(len(cells))
                cells.append(part)
                tasks.append(_Task(part, model if part is parts[0] else self._model(part, tuple(groups)), 0))
        for place, cell in zip(places, self._solved(tasks), strict=True):
            cells[place] = cell
        return CountTree(self.space.basis, tuple(groups), tuple(cells), splits, known, stuck)

    def _model(self, cell: Cell, groups: tuple[Indices, ...]) -> CellModel:
        return CellModel(self.space, members(cell, groups, self.space.features.size), self._unevenness)

    def _cut(self, cell: Cell, model: CellModel, first: Vector | None) -> Cut | None:
        smoothing = COMPETING * cell.bound / self.space.scale
        density = model.density(self._near(cell), self._vertices(cell, model), smoothing)
        along = to_vector(self.space.along)
        return cut(cell, model.members, along, density, self._sparsity, first)

    def _parts(self, cell: Cell, found: Cut, newest: int) -> tuple[Cell, Cell]:
        """Return the two sides of a cut, with the levels of the cell to begin with."""
        groups, counts, levels = cell.groups, cell.counts, cell.levels
        if found.fresh is not None:
            groups, counts = (*groups, newest), (*counts, (0, min(found.fresh.size, self._sparsity)))
            levels = (*levels, levels[0])
        at = _position(found, cell)
        low, high = counts[at]
        sides = []
        for part in ((low, found.most), (found.most + 1, high)):
            sides.append(Cell(groups, (*counts[:at], part, *counts[at + 1 :]), levels, cell.bound))
        return sides[0], sides[1]

    def _solved(self, tasks: list[_Task]) -> list[Cell]:
        """Improve levels, several cells at a time, then look at them along directions that were not known."""
        if not tasks:
            return []
        workers = min(threads_allowed(), len(tasks))
        with ThreadPoolExecutor(workers) as pool:
            contexts = [copy_context() for _ in tasks]
            jobs = [pool.submit(own.run, self._descended, task) for own, task in zip(contexts, tasks, strict=True)]
            cells = [job.result() for job in jobs]
        begin = budget.clock()
        corrected = self._corrected(tasks, cells)
        self.correcting = budget.clock() - begin
        return corrected

    def _descended(self, task: _Task) -> Cell:
        """Minimise the smoothed bound of a cell."""
        cell, model = task.cell, task.model
        vertices = self._vertices(cell, model)
        if not vertices:
            return replace(cell, levels=(), bound=0.0, stage=len(STAGES))  # no support has such counts
        bases = self._near(cell)
        smoothing, steps = STAGES[task.stage]
        relative = smoothing * cell.bound / self.space.scale

        def evaluate(step: Vector) -> CellValue:
            self.evaluations += 1
            return model.evaluate(bases, step, vertices, relative)

        with at_most_threads(1):
            found = descended(
                evaluate,
                sum(own.steps() for own in bases),
                steps=steps,
                tolerance=ENDED * relative,
                late=self._late,
                memory=MEMORY,
            )
        levels = tuple(own.times(self.space.scale) for own in moved(bases, found.step))
        largest = math.inf if found.best is None else found.best.largest
        return replace(cell, levels=levels, bound=largest * self.space.scale)

    def _corrected(self, tasks: list[_Task], cells: list[Cell]) -> list[Cell]:
        """Know what leading eigenvectors are multiplied into, which takes two walks, and bound the cells with that."""
        space = self.space
        live = [number for number, cell in enumerate(cells) if cell.levels]
        if live and not space.whole:
            panels = [self._bounded(cells[number], tasks[number].model)[1] for number in live]
            self._trim(MOST - sum(panel.shape[1] for panel in panels))
            space.add(space.combined(space.there(np.concatenate(panels, axis=1))))
        for number in live:
            bound = cells[number].bound
            if not space.whole:
                model = CellModel(space, tasks[number].model.members, self._unevenness)
                bound = self._bounded(cells[number], model)[0] * space.scale
            cells[number] = _judged(tasks[number].cell, cells[number], bound)
        return cells

    def _trim(self, most: int) -> None:
        """Forget directions that hardly matter: every evaluation costs their number squared."""
        space, fewest = self.space, max(FEWEST, self._levels.width + FEWEST // 2)
        if space.known > max(most, fewest) and space.features.depth > MOST:
            trimmed(space, self._levels, space.model(self._unevenness), space.most - fewest)

    def _bounded(self, cell: Cell, model: CellModel) -> tuple[float, Any]:
        return model.bound(self._near(cell), self._vertices(cell, model))

    def _near(self, cell: Cell) -> list[Levels]:
        return [own.times(1 / self.space.scale) for own in cell.levels]

    def _vertices(self, cell: Cell, model: CellModel) -> list[tuple[int, ...]]:
        return vertices_of(cell, [mine.size for mine in model.members], self._sparsity)


def _with_all_of(forced: Indices, tree: CountTree, bound: float) -> CountTree:
    """Split all supports by whether they have what is forced in; those that lack some of it are none."""
    root, count = tree.cells[0], int(forced.size)
    none = Cell((0,), ((0, count - 1),), (), 0.0, len(STAGES))
    rest = Cell((0,), ((count, count),), (root.levels[0], root.levels[0]), bound)
    return replace(tree, groups=(forced,), cells=(root, none, rest), splits={0: Split(0, count - 1, (1, 2))})


def _position(found: Cut, cell: Cell) -> int:
    return len(cell.groups) if found.position is None else found.position


def _judged(before: Cell, after: Cell, bound: float) -> Cell:
    """Return a cell after a descent, or as it was where directions that were not known make that worse."""
    gained, taken = before.bound - bound, bound - after.bound
    again = taken > SURPRISE * gained and before.tries + 1 < TRIES
    moved_on = replace(before, stage=before.stage + (not again), tries=before.tries + 1 if again else 0)
    return replace(moved_on, levels=after.levels, bound=bound) if gained > 0 else moved_on
