"""The default: a quick answer first, then many cheap starts, alternating thresholding, swaps.

All starts (`search/starts.py`) are thresholded together. What each captures is half a product with the data; the most
promising then have a few rounds of products, fewer after each (`search/thresholding.py`), among the features whose
variance lets them carry a share. The best few supports are refitted, thresholded again and improved by swaps until
nothing helps, all with the same products; nearly the same ones go on as one. `effort` says how many there are of all.
The search does not begin where a bound by the spectrum says that the leading eigenvector leaves next to nothing. Of
sparse data only two eigenvectors are found where few features turn out to have the variance to be raced.

Small matrices are formed, and searched from every feature and two eigenvectors. There it is calls that cost and not
products, so two rounds are enough, and a search for few loadings is compiled, all of it (`search/narrow`).

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
from certpca.operators.views import Precise
from certpca.operators.within import asked_of
from certpca.results.solution import Candidate, ending
from certpca.results.status import Status
from certpca.runtime.arrays import Indices, Vector, to_vector, top_k
from certpca.runtime.budget import Progress
from certpca.runtime.errors import InvalidProblemError
from certpca.runtime.limits import limits
from certpca.search.constrained import ConstrainedSearch, Fitted, fitted_on
from certpca.search.krylov import FEWER, ROUGH, Eigenpairs, leading_eigenpairs, leading_on_support
from certpca.search.narrow import NarrowSearch
from certpca.search.starts import EVERY_COLUMN, near_copies, scaled_columns, starting_images
from certpca.search.swaps import SwapSearch, polished
from certpca.search.thresholding import Arrival, Race
from certpca.solvers.base import ALL_CONSTRAINTS, register

ACCURACY = 1e-2  # of eigenvectors to start from,
ACCURACY_OF_FIRST = 1e-5  # and of the first, so that its eigenvalue need not be found again
SOLVED_EXACTLY, FEW_SAMPLES = 128, 160  # features, or samples, up to which LAPACK is quicker
FOLLOWED = 32  # starts that have a product, after what all of them capture was compared
STARTS_FROM_FILES = 48
FEWEST_STARTS, STARTS_FOR_EACH = 64, 16  # at least, and at most for each of the disjoint supports that there can be
FINALISTS_FROM_FILES = 3
CUT_FROM_FILES = 4  # one start in so many is followed after each round over files
WORTH_LOOKING = 1e-2  # what might be left beyond the leading eigenvector's support before it is improved,
NOTHING_LEFT = 1e-5  # and once it is
COLUMNS = 128  # starts of a small matrix in a panel, which stays in the cache
LEADING = 2  # eigenvectors of a small matrix, which is searched from every feature:
ROUNDS_OF_SMALL, CUT_OF_SMALL = 2, 4  # rounds, and one start in so many goes on, as refits of few lead further soon
NARROW = 32  # loadings up to which supports of small matrices are improved all together,
ONE_MORE_FOR, FEATURES_FOR_ONE = 3, 32  # so that there is one more for each so many, and for so many features
ROUNDED = 1e-5  # share of what is captured that a matrix in single precision leaves in doubt
LITTLE_DATA, MORE_STARTS = 2**18, 4  # numbers up to which products cost next to nothing, and how many times more start
SHARING = 0.5  # variance of features that are raced, in units of what each of k captures
THIN = 256  # numbers for each feature up to which a product takes no longer than what is done with its vectors
COPIES = 6  # one start more for each so many, of features that have near-copies
ALIKE = 64  # supports that differ in fewer than one feature in so many go on as one
WORTH_A_WALK = 1e-5  # relative gain below which supports are improved no further where walks are dear
CONTENDERS = 2  # features among which supports are improved, as a multiple of the sparsity
FEWEST_CONTENDERS = 1000


@register
@dataclass(frozen=True, slots=True)
class Auto:
    """Start from many places, threshold, swap, keep the best (recommended).

    Parameters
    ----------
    eigenvectors
        Leading eigenvectors to start from and to mix; two, of small matrices.
    starts
        Number of starts; small matrices have one for each feature instead.
    rounds
        Thresholding rounds, at most.
    finalists
        Supports that are refitted and improved by swaps, at most. One step is one round or one improvement.
    effort
        How often as much is tried: starts, those that are followed, finalists, and how alike these may be.
    """

    eigenvectors: int = 8
    starts: int = 192
    rounds: int = 12
    finalists: int = 6
    effort: int = 1
    name: ClassVar[str] = "auto"
    paper_name: ClassVar[str] = ""
    runs_on_device: ClassVar[bool] = False
    honours: ClassVar[tuple[str, ...]] = ALL_CONSTRAINTS

    def __post_init__(self) -> None:
        """Check the settings."""
        if min(self.eigenvectors, self.starts, self.rounds, self.finalists, self.effort) < 1:
            msg = "eigenvectors, starts, rounds, finalists and effort must be positive"
            raise InvalidProblemError(msg)

    def propose(self, operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Candidate:
        """Search from many starts."""
        return (_constrained if asked_of(operator) else self._free)(operator, sparsity, progress, rng)

    def _free(self, operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Candidate:
        """Search among all supports."""
        diagonal = to_vector(operator.diagonal())
        if sparsity in (1, operator.size):
            return Candidate(top_k(diagonal, sparsity), Status.CONVERGED)
        if progress.late():
            return Candidate(_of_a_column(operator, sparsity), Status.OUT_OF_BUDGET, largest_eigenvalue=math.nan)
        if _small(operator) and sparsity <= NARROW:
            return self._narrow(operator, sparsity, progress, rng)
        frugal = operator.cost.dear
        few_samples = _few_samples(operator)
        operator = operator if few_samples else _formed(operator)
        few = not few_samples and _few_are_raced(operator, sparsity, diagonal)
        pairs = self._eigenpairs(operator, rng, progress, frugal=frugal, few=few)
        value = float(pairs.values[0])
        if value <= 0.0:
            return Candidate(np.arange(sparsity), Status.CONVERGED, largest_eigenvalue=0.0)
        early = self._early(operator, sparsity, pairs, diagonal, progress)
        if early is not None:
            return early
        operator = _formed(operator) if few_samples else operator
        among = np.arange(operator.size) if frugal else _sharing(operator, sparsity, pairs, diagonal)
        if few and among.size > EVERY_COLUMN:
            pairs = self._eigenpairs(operator, rng, progress, frugal=frugal, start=pairs.vectors[:, 0])
        finalists = self._raced(operator, sparsity, pairs, diagonal, among, progress, rng, frugal=frugal)
        status = Status.OUT_OF_BUDGET if progress.exhausted else Status.CONVERGED
        winner, loadings, winning = finalists[0].support, None, -np.inf
        for search in self._improved(operator, finalists, diagonal, progress, frugal=frugal):
            if search.objective > winning * (1 + 1e-12):
                winning, winner, loadings = search.objective, search.support, search.loadings
        status = Status.OUT_OF_BUDGET if progress.exhausted else status
        rough = (frugal or progress.late()) and pairs.residual <= ROUGH
        accurate = value if rough or pairs.largest_is_accurate else None
        return Candidate(winner, status, loadings, accurate, fitted=loadings is not None)

    def _narrow(self, operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Candidate:
        """Search a small matrix for few loadings."""
        matrix, rough = _narrow_matrix(operator)
        search = NarrowSearch(matrix, sparsity)
        pairs = search.leading(rng)
        value = float(pairs.values[0])
        if value <= 0.0:
            return Candidate(np.arange(sparsity), Status.CONVERGED, largest_eigenvalue=0.0)
        ends = self._climbed(search, operator.size, pairs, progress)
        best = ends[0]
        if rough:  # which of the ends is the best, and what it captures, needs all digits
            near = [end for end in ends if end.objective > best.objective * (1 - ROUNDED)]
            best = max((fitted_on(operator, end.support) for end in near), key=lambda end: end.objective)
            first = pairs.vectors[:, 0] / np.linalg.norm(pairs.vectors[:, 0])
            precise = Precise(operator)
            value = float(to_vector(precise.matmat(precise.adopt(first[:, None])))[:, 0] @ first)
        accurate = value if pairs.largest_is_accurate else None
        return Candidate(best.support, ending(progress, Status.CONVERGED), best.loadings, accurate, fitted=True)

    def _climbed(self, search: NarrowSearch, size: int, pairs: Eigenpairs, progress: Progress) -> list[Fitted]:
        """Start from every feature of a small matrix; return where the best starts end, the best end first."""
        finalists = self.finalists * self.effort
        finalists += finalists // ONE_MORE_FOR + size // FEATURES_FOR_ONE
        following = FOLLOWED * MORE_STARTS * self.effort
        vectors, rounds = pairs.vectors[:, : min(self.eigenvectors, LEADING)], min(self.rounds, ROUNDS_OF_SMALL)
        found = search.raced(vectors, following, finalists, CUT_OF_SMALL, rounds, progress)
        return sorted(search.climbed(found, progress), key=lambda end: -end.objective)

    def _eigenpairs(
        self,
        operator: Operator,
        rng: np.random.Generator,
        progress: Progress,
        *,
        frugal: bool,
        few: bool = False,
        start: Vector | None = None,
    ) -> Eigenpairs:
        """Find leading eigenvectors; where few features are raced only those that this takes, a vector at a time."""
        first, width = ACCURACY if frugal else ACCURACY_OF_FIRST, 1 if few else None
        count = min(self.eigenvectors, LEADING) if few or _small(operator) else self.eigenvectors
        exact = operator.size <= SOLVED_EXACTLY or (_few_samples(operator) and count < (operator.rows or 0))
        if exact and not operator.cost.reads:
            return leading_eigenpairs(operator, count, method="exact")
        return leading_eigenpairs(
            operator,
            count,
            accuracy=ACCURACY,
            accuracy_of_first=first,
            rng=rng,
            start=start,
            width=width,
            late=progress.late,
        )

    def _early(
        self, operator: Operator, sparsity: int, pairs: Eigenpairs, diagonal: Vector, progress: Progress
    ) -> Candidate | None:
        """Return what the leading eigenvector leads to, where next to nothing better is left or the time is over.

        With μ the largest sum of k squares in the leading eigenvector v, (vᵀx)² ≤ μ for every x of k loadings, so
        that xᵀAx ≤ λ₂ + (λ₁ − λ₂)μ; keeping these entries of v captures at least λ₁μ.
        """
        if progress.late():
            return _without_rounds(operator, sparsity, pairs, progress)
        if pairs.values.size < 2 or not pairs.largest_is_accurate or operator.cost.dear:  # improving it takes walks
            return None
        leading, (largest, second) = np.abs(pairs.vectors[:, 0]), pairs.values[:2]
        support = top_k(leading, sparsity)
        share = float((leading[support] ** 2).sum())
        ceiling = second + (largest - second) * share
        if ceiling > largest * share * (1 + WORTH_LOOKING):
            return None
        start = pairs.vectors[support, 0]
        found = polished(SwapSearch(operator, support, diagonal, progress.late, start), progress)
        if found.objective < ceiling * (1 - NOTHING_LEFT / self.effort**2):
            return None
        return Candidate(found.support, ending(progress, Status.CONVERGED), found.loadings, float(largest), fitted=True)

    def _raced(
        self,
        operator: Operator,
        sparsity: int,
        pairs: Eigenpairs,
        diagonal: Vector,
        among: Indices,
        progress: Progress,
        rng: np.random.Generator,
        *,
        frugal: bool,
    ) -> list[Arrival]:
        """Return what the best starts come to among some features; those left out can still be swapped in."""
        whole = operator.size
        if among.size < whole:
            operator, diagonal = _formed(operator.restrict(among)), diagonal[among]
            pairs = replace(pairs, vectors=pairs.vectors[among])
            if _small(operator) and sparsity <= NARROW:
                search = NarrowSearch(operator.submatrix(np.arange(among.size)), sparsity)
                ends = self._climbed(search, among.size, pairs, progress)
                return [Arrival(end.objective, among[end.support], end.loadings) for end in ends]
        rough = operator.in_single_precision() if _small(operator) and operator.size > SOLVED_EXACTLY else operator
        race = self._race(rough, sparsity, frugal=frugal)
        rounds = min(self.rounds, ROUNDS_OF_SMALL) if _small(operator) else self.rounds
        race.run(self._starts(rough, sparsity, pairs, diagonal, rng, frugal=frugal), rounds, progress)
        found = race.best
        if among.size < whole and _small(operator):  # most of the way costs next to nothing here
            improved = self._improved(operator, found, diagonal, progress, frugal=frugal)
            found = [Arrival(search.objective, search.support, search.loadings) for search in improved]
        return [replace(arrival, support=among[arrival.support]) for arrival in found]

    def _starts(
        self,
        operator: Operator,
        sparsity: int,
        pairs: Eigenpairs,
        diagonal: Vector,
        rng: np.random.Generator,
        *,
        frugal: bool,
    ) -> Iterator[Vector]:
        if _small(operator):
            for first in range(0, operator.size, COLUMNS):
                columns = scaled_columns(operator, np.arange(first, min(first + COLUMNS, operator.size)), diagonal)
                vectors = pairs.vectors[:, : 0 if first else LEADING].astype(columns.dtype, copy=False)
                yield np.concatenate([vectors.T, columns.T]).T
            return
        many = operator.size > EVERY_COLUMN
        enough = max(FEWEST_STARTS, STARTS_FOR_EACH * operator.size // sparsity) if many else self.starts
        starts = self.effort * min(self.starts, STARTS_FROM_FILES if frugal else enough)
        starts *= _times_more(operator) if many and not frugal else 1
        yield from starting_images(operator, pairs, diagonal, starts, rng)
        if many and not frugal:
            copies = near_copies(operator, pairs, diagonal, sparsity, starts // COPIES, rng)
            yield scaled_columns(operator, copies, diagonal)

    def _race(self, operator: Operator, sparsity: int, *, frugal: bool) -> Race:
        """Say how many starts are followed."""
        if frugal:
            few = min(self.finalists, FINALISTS_FROM_FILES)
            return Race(operator, sparsity, few * self.effort, operator.size, CUT_FROM_FILES)
        following, finalists = FOLLOWED * self.effort * _times_more(operator), self.finalists * self.effort
        if not _small(operator):
            return Race(operator, sparsity, finalists, following)
        return Race(operator, sparsity, finalists, following, CUT_OF_SMALL)

    def _improved(
        self, operator: Operator, arrivals: list[Arrival], diagonal: Vector, progress: Progress, *, frugal: bool
    ) -> Iterator[SwapSearch]:
        """Improve supports in the way that suits them."""
        if frugal or operator.cost.reads:
            return self._polished_together(operator, arrivals, diagonal, progress)
        return self._polished(operator, arrivals, diagonal, progress)

    def _polished(
        self, operator: Operator, arrivals: list[Arrival], diagonal: Vector, progress: Progress
    ) -> Iterator[SwapSearch]:
        """Improve supports together, one product for all at a time; those that meet go on as one."""
        seen: set[bytes] = set()
        active: list[tuple[SwapSearch, int]] = []
        alike = ALIKE * self.effort
        for place in _apart([arrival.support for arrival in arrivals], alike):
            if active and progress.exhausted:
                break
            arrival = arrivals[place]
            search = SwapSearch(operator, arrival.support, diagonal, progress.late, fitted=arrival.fitted)
            active.append((search, search.at_once))
        while active and not progress.exhausted:
            images = _images(operator, [search for search, _ in active])
            going = []
            for (search, together), image in zip(active, images, strict=True):
                search.look(image)
                together = search.move(together)  # noqa: PLW2901
                key = search.support.tobytes()
                if together and progress.tick(search.objective) and key not in seen:
                    going.append((search, together))
                else:
                    yield search
                seen.add(key)
            best_first = sorted(going, key=lambda item: -item[0].objective)
            active = [best_first[place] for place in _apart([search.support for search, _ in best_first], alike)]
        yield from (search for search, _ in active)

    def _polished_together(
        self, operator: Operator, arrivals: list[Arrival], diagonal: Vector, progress: Progress
    ) -> Iterator[SwapSearch]:
        """Improve supports among the features that come closest to being chosen, one product for all at a time."""
        active: list[SwapSearch] = []
        least = WORTH_A_WALK if operator.cost.dear else 1e-9
        for arrival in arrivals:
            if progress.exhausted:
                break
            active.append(SwapSearch(operator, arrival.support, diagonal, progress.late, fitted=arrival.fitted))
        while active:
            images = _images(operator, active)
            going = []
            for search, image in zip(active, images, strict=True):
                before = search.objective
                found = search if progress.exhausted else self._moved(operator, search, image, diagonal, progress)
                if found.objective > before * (1 + least) and progress.tick(found.objective):
                    going.append(found)
                else:
                    yield max(search, found, key=lambda item: item.objective)
            active = going

    def _moved(
        self, operator: Operator, search: SwapSearch, image: Vector, diagonal: Vector, progress: Progress
    ) -> SwapSearch:
        """Improve a support on the matrix of features with large entries in its image, or by one move."""
        count = min(operator.size, max(CONTENDERS * search.width, FEWEST_CONTENDERS))
        if count > min(limits().largest_factored, operator.cost.held):
            search.look(image)
            search.move(search.at_once)
            return search
        image = np.abs(image)
        image[search.support] = np.inf
        near = top_k(image, count)
        matrix, places = ExplicitOperator(operator.submatrix(near), None), np.searchsorted(near, search.support)
        inside = polished(SwapSearch(matrix, places, diagonal[near], progress.late), progress)
        return SwapSearch(operator, near[inside.support], diagonal, progress.late)


def _images(operator: Operator, searches: list[SwapSearch]) -> Vector:
    """Multiply the matrix by the loadings of all."""
    loadings = np.array([search.loadings for search in searches])
    return operator.images(np.array([search.support for search in searches]), loadings)


def _times_more(operator: Operator) -> int:
    """Return how many times as many starts there are where products cost little."""
    return MORE_STARTS if operator.size * (operator.rows or operator.size) <= LITTLE_DATA else 1


def _apart(supports: list[Indices], alike: int) -> list[int]:
    """Return the places of those that differ from all before them in more than one feature in so many."""
    kept: dict[int, set[int]] = {}
    for place, support in enumerate(supports):
        near, own = support.size - support.size // alike, set(support.tolist())
        if all(len(own & other) < near for other in kept.values()):
            kept[place] = own
    return list(kept)


def _few_are_raced(operator: Operator, sparsity: int, diagonal: Vector) -> bool:
    """Whether so few features may have the variance it takes that the matrix of these will be formed, of thin data."""
    if operator.size <= EVERY_COLUMN or operator.cost.reads or operator.numbers > THIN * operator.size:
        return False
    most = float(diagonal[top_k(diagonal, sparsity)].mean())  # of what any support captures, for each feature
    return int(np.count_nonzero(diagonal >= SHARING * most)) <= EVERY_COLUMN


def _sharing(operator: Operator, sparsity: int, pairs: Eigenpairs, diagonal: Vector) -> Indices:
    """Return the features whose variance lets them take part, unless they are most.

    Loadings of the optimum λ are at most σ_i / √λ, so that what has a variance far below λ / k hardly takes part;
    the features of a support have λ / k or more on the average.
    """
    among = np.arange(operator.size)
    if operator.size > EVERY_COLUMN:
        known = float(pairs.values[0]) * float(np.sort(pairs.vectors[:, 0] ** 2)[-sparsity:].sum())
        among = np.flatnonzero(diagonal >= SHARING * max(known, diagonal.max()) / sparsity)
    if 2 * max(among.size, sparsity) > operator.size:
        return np.arange(operator.size)
    return among if among.size > sparsity else top_k(diagonal, 2 * sparsity)


def _narrow_matrix(operator: Operator) -> tuple[Vector, bool]:
    """Form a small matrix; in single precision, and say so, where that takes most of the time of a search."""
    every = np.arange(operator.size)
    if operator.size > SOLVED_EXACTLY:
        rough = operator.rough_submatrix(every)
        if rough is not None:
            return rough, True
    return operator.submatrix(every), False


def _formed(operator: Operator) -> Operator:
    """Form a small matrix, unless it comes from a file."""
    return ExplicitOperator(operator.submatrix(np.arange(operator.size))) if _small(operator) else operator


def _few_samples(operator: Operator) -> bool:
    return (operator.rows or operator.size) <= min(FEW_SAMPLES, operator.size // FEWER)


def _small(operator: Operator) -> bool:
    return operator.size <= EVERY_COLUMN and not operator.cost.reads


class _Untold:
    """The progress of a search whose answers are not allowed as they are, so that nobody is told of them."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self.late = progress, progress.late

    @property
    def exhausted(self) -> bool:
        """Whether to end."""
        return self._progress.exhausted

    @property
    def steps_left(self) -> float:
        """How many steps there may still be."""
        return self._progress.steps_left

    @property
    def cut_short(self) -> bool:
        """Whether somebody ended the run."""
        return self._progress.cut_short

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
