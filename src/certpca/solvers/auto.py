"""The default: many cheap starts, alternating thresholding, swaps.

At small sparsity on real data the support of the leading eigenvector can miss half of the
attainable variance, because small groups of strongly correlated features (linkage blocks, gene
modules) are not what the leading eigenvector is about. So the search starts from many
places at once: leading eigenvectors, random mixtures of them, features of large variance, and
randomly drawn features. All starts are improved together, in panels, by
multiplying and keeping the largest entries; since (Fᵀξ)_i with ξ ∝ Fx is (Ax)_i, this is
alternating thresholding in sample space. The best few supports are then refitted, thresholded
again and improved by swaps until nothing helps.

Large data that stay in a file are walked over by every product, so there the search starts from fewer places, only the
better quarter goes on after each round, and supports are improved on the matrix of those features that come closest to
being chosen; one more product, for all of them together, then says whether any other feature should have been.

Under constraints `search/constrained` does all this, among the supports that are allowed.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from certpca.operators.base import Operator
from certpca.operators.explicit import ExplicitOperator
from certpca.operators.within import asked_of
from certpca.results.solution import Candidate
from certpca.results.status import Status
from certpca.runtime.arrays import Indices, Vector, to_vector, top_k
from certpca.runtime.budget import Progress
from certpca.runtime.errors import InvalidProblemError
from certpca.runtime.limits import limits
from certpca.search.constrained import ConstrainedSearch
from certpca.search.krylov import ROUGH, Eigenpairs, leading_eigenpairs, leading_on_support
from certpca.search.swaps import SwapSearch
from certpca.solvers.base import ALL_CONSTRAINTS, register

EVERY_COLUMN = 512  # up to this size every single feature is a start
PANEL = 64
STARTS_FROM_FILES = 48
FINALISTS_FROM_FILES = 3
GOING_ON = 4  # one start in so many is followed after each round over files,
FLAT = 1e-4  # and none once the best of so few gains less than that: what follows improves it by more
CONTENDERS = 2  # features among which supports are improved, as a multiple of the sparsity
FEWEST_CONTENDERS = 1000


@register
@dataclass(frozen=True, slots=True)
class Auto:
    """Start from many places, threshold, swap, keep the best (recommended).

    Parameters
    ----------
    eigenvectors
        Leading eigenvectors to start from and to mix.
    starts
        Number of starts; small problems add every single feature.
    rounds
        Thresholding rounds for all starts together.
    finalists
        Supports that are refitted and improved by swaps. One step is one round or one improvement.
    """

    eigenvectors: int = 8
    starts: int = 192
    rounds: int = 12
    finalists: int = 6
    name: ClassVar[str] = "auto"
    paper_name: ClassVar[str] = ""
    runs_on_device: ClassVar[bool] = False
    honours: ClassVar[tuple[str, ...]] = ALL_CONSTRAINTS

    def __post_init__(self) -> None:
        """Check the settings."""
        if min(self.eigenvectors, self.starts, self.rounds, self.finalists) < 1:
            msg = "eigenvectors, starts, rounds and finalists must be positive"
            raise InvalidProblemError(msg)

    def propose(self, operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Candidate:
        """Search from many starts."""
        return (_constrained if asked_of(operator) else self._free)(operator, sparsity, progress, rng)

    def _free(self, operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Candidate:
        """Search among all supports."""
        diagonal = to_vector(operator.diagonal())
        if sparsity == 1:
            return Candidate(top_k(diagonal, 1), Status.CONVERGED)
        if sparsity == operator.size:
            return Candidate(np.arange(operator.size), Status.CONVERGED)
        if progress.late():
            return Candidate(_of_a_column(operator, sparsity), Status.OUT_OF_BUDGET, largest_eigenvalue=math.nan)
        frugal = operator.cost.dear
        accuracy = 1e-2 if frugal else 1e-4
        pairs = leading_eigenpairs(operator, self.eigenvectors, accuracy=accuracy, rng=rng, late=progress.late)
        value = float(pairs.values[0])
        if value <= 0.0:
            return Candidate(np.arange(sparsity), Status.CONVERGED, largest_eigenvalue=0.0)
        best: dict[bytes, tuple[float, Indices]] = {}
        method = self
        if frugal:
            few = min(self.starts, STARTS_FROM_FILES), min(self.finalists, FINALISTS_FROM_FILES)
            method = replace(self, starts=few[0], finalists=few[1])
        starts = method.starting_images(operator, pairs.vectors, np.sqrt(np.maximum(pairs.values, 0.0)), diagonal, rng)
        status = Status.CONVERGED
        for panel in [np.concatenate(list(starts), axis=1)] if frugal else starts:
            if not best and progress.late():
                return _without_rounds(operator, sparsity, pairs, progress)
            method._threshold_together(operator, panel, sparsity, best, progress, frugal=frugal)
            if progress.exhausted:
                status = Status.OUT_OF_BUDGET
                break
        finalists = sorted(best.values(), key=lambda item: -item[0])[: method.finalists]
        winner, loadings, winning = finalists[0][1], None, -np.inf
        polished = self._polished_together if frugal else self._polished
        for search in polished(operator, [support for _, support in finalists], diagonal, progress):
            if search.objective > winning * (1 + 1e-12):
                winning, winner, loadings = search.objective, search.support, search.loadings
        status = Status.OUT_OF_BUDGET if progress.exhausted else status
        enough = ROUGH if frugal or progress.late() else 1e-8
        accurate = value if pairs.residual <= enough else None
        return Candidate(winner, status, loadings, accurate, fitted=loadings is not None)

    def starting_images(
        self, operator: Operator, vectors: Vector, weights: Vector, diagonal: Vector, rng: np.random.Generator
    ) -> Iterator[Vector]:
        """Lay out panels of starting images; the largest entries of each choose a support."""
        size = operator.size
        mixing = rng.standard_normal((vectors.shape[1], max(1, self.starts // 3)))
        leading = np.concatenate([vectors, vectors @ (weights[:, None] * mixing)], axis=1)
        columns = max(1, self.starts - leading.shape[1])
        yield leading
        if size <= EVERY_COLUMN:
            chosen = np.arange(size)
        else:
            large = top_k(diagonal, columns // 2)
            others = np.setdiff1d(np.flatnonzero(diagonal > 0), large)
            share = diagonal[others] / diagonal[others].sum() if others.size else None
            count = min(others.size, columns - large.size)
            drawn = rng.choice(others, size=count, replace=False, p=share) if count else others
            chosen = np.concatenate([large, drawn])
        scale = np.sqrt(np.maximum(diagonal, 1e-12 * diagonal.max()))  # rounding can make variances negative
        for first in range(0, chosen.size, PANEL):
            part = chosen[first : first + PANEL]
            yield to_vector(operator.columns(part)) / scale[part]

    def _threshold_together(
        self,
        operator: Operator,
        images: Vector,
        sparsity: int,
        best: dict[bytes, tuple[float, Indices]],
        progress: Progress,
        *,
        frugal: bool = False,
    ) -> None:
        """Multiply and keep the largest entries, for a whole panel of starts or, after each round, the best of them."""
        active, top = images, 0.0
        previous: list[bytes] = []
        for _ in range(self.rounds):
            panel = np.zeros_like(active)
            keys: list[bytes] = []
            supports: list[Indices] = []
            for column in range(active.shape[1]):
                support = top_k(np.abs(active[:, column]), sparsity)
                part = active[support, column]
                panel[support, column] = part / max(float(np.linalg.norm(part)), np.finfo(float).tiny)
                supports.append(support)
                keys.append(support.tobytes())
            # Starts that met are followed once.
            _, first = np.unique(np.array([hash(key) for key in keys]), return_index=True)
            first = np.sort(first)
            panel, keys, supports = panel[:, first], [keys[i] for i in first], [supports[i] for i in first]
            active = to_vector(operator.matmat(operator.adopt(panel)))
            values = np.einsum("ij,ij->j", panel, active)
            for value, key, support in zip(values, keys, supports, strict=True):
                if key not in best or value > best[key][0]:
                    best[key] = (float(value), support)
            moving = [i for i, key in enumerate(keys) if key not in previous]
            if len(best) > 16 * self.finalists:
                for key in sorted(best, key=lambda item: -best[item][0])[8 * self.finalists :]:
                    del best[key]
            before, top = top, max(item[0] for item in best.values())
            flat = frugal and len(keys) <= self.finalists and top <= before * (1 + FLAT)
            if not progress.tick(top) or not moving or flat:
                return
            if frugal and len(keys) > self.finalists:
                ahead = np.sort(np.argsort(-values, kind="stable")[: max(self.finalists, len(keys) // GOING_ON)])
                active, keys = active[:, ahead], [keys[i] for i in ahead]
            previous = keys

    def _polished(
        self, operator: Operator, supports: list[Indices], diagonal: Vector, progress: Progress
    ) -> Iterator[SwapSearch]:
        for support in supports:
            if progress.exhausted:
                return
            yield self.polish(SwapSearch(operator, support, diagonal, progress.late), progress)

    def _polished_together(
        self, operator: Operator, supports: list[Indices], diagonal: Vector, progress: Progress
    ) -> Iterator[SwapSearch]:
        """Improve supports among the features that come closest to being chosen, one product for all at a time."""
        active: list[SwapSearch] = []
        for support in supports:
            if progress.exhausted:
                break
            active.append(SwapSearch(operator, support, diagonal, progress.late))
        while active:
            panel = np.zeros((operator.size, len(active)))
            for column, search in enumerate(active):
                panel[search.support, column] = search.loadings
            images = np.abs(to_vector(operator.matmat(operator.adopt(panel))))
            going = []
            for search, image in zip(active, images.T, strict=True):
                found = search if progress.exhausted else self._moved(operator, search, image, diagonal, progress)
                if found.objective > search.objective * (1 + 1e-9) and progress.tick(found.objective):
                    going.append(found)
                else:
                    yield max(search, found, key=lambda item: item.objective)
            active = going

    def _moved(
        self, operator: Operator, search: SwapSearch, image: Vector, diagonal: Vector, progress: Progress
    ) -> SwapSearch:
        """Improve a support on the matrix of features with large entries in its image, or go to the largest."""
        count = min(operator.size, max(CONTENDERS * search.width, FEWEST_CONTENDERS))
        if count > limits().largest_factored:
            return SwapSearch(operator, top_k(image, search.width), diagonal, progress.late)
        image[search.support] = np.inf
        near = top_k(image, count)
        matrix, places = ExplicitOperator(operator.submatrix(near), None), np.searchsorted(near, search.support)
        inside = self.polish(SwapSearch(matrix, places, diagonal[near], progress.late), progress)
        return SwapSearch(operator, near[inside.support], diagonal, progress.late)

    @staticmethod
    def polish(search: SwapSearch, progress: Progress) -> SwapSearch:
        """Threshold while that helps, then swap; several swaps at a time while that works."""
        together = max(1, search.width // 8)
        while True:
            while search.threshold():
                if not progress.tick(search.objective):
                    return search
            swaps = search.improving_swaps()
            if swaps.positions.size == 0:
                return search
            together = min(together, swaps.positions.size)
            while not search.apply(swaps, together):
                if together == 1:
                    return search
                together = max(1, together // 4)
            if not progress.tick(search.objective):
                return search


class _Untold:
    """The progress of a search whose answers are not allowed as they are, so that nobody is told of them."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self.late = progress, progress.late

    @property
    def exhausted(self) -> bool:
        """Whether to end."""
        return self._progress.exhausted

    def tick(self, objective: float) -> bool:
        """Say whether to go on."""
        del objective
        return not self._progress.late()


def _constrained(operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Candidate:
    """Search among the supports that are allowed, from what is best among all as well."""
    any_other = Auto()._free(operator, sparsity, cast(Progress, _Untold(progress)), rng)
    image = np.zeros(operator.size)
    image[any_other.support] = 1.0 if any_other.loadings is None else any_other.loadings
    found = ConstrainedSearch(operator, sparsity, progress.late).searched(rng, [image, -image])
    progress.tick(found.objective)
    status = Status.OUT_OF_BUDGET if progress.exhausted else Status.CONVERGED
    return Candidate(found.support, status, found.loadings, fitted=True)


def _without_rounds(operator: Operator, sparsity: int, pairs: Eigenpairs, progress: Progress) -> Candidate:
    """Threshold the leading eigenvector, which after few products can be worse than a column, or that."""
    offers = [top_k(np.abs(pairs.vectors[:, 0]), sparsity), _of_a_column(operator, sparsity)]
    found = [(support, *leading_on_support(operator, support, late=progress.late)) for support in offers]
    support, _, loadings = max(found, key=lambda item: item[1])
    largest = float(pairs.values[0]) if pairs.residual <= ROUGH else math.nan
    return Candidate(support, Status.OUT_OF_BUDGET, loadings, largest, fitted=True)


def _of_a_column(operator: Operator, sparsity: int) -> Indices:
    """Return what the feature of largest variance goes with most: no product with the data is cheaper."""
    column = to_vector(operator.columns(top_k(to_vector(operator.diagonal()), 1)))[:, 0]
    return top_k(np.abs(column), sparsity)
