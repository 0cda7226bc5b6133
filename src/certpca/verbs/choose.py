"""How many features: three answers read off the path over sparsities.

The elbow needs no rows and uses the path alone. Cross-validation asks which component explains rows it has not seen:
features without signal dilute the loadings, so the curve has a top. Stability selection (Meinshausen & Bühlmann,
JRSS B 2010) asks which features are found again in random halves of the rows.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Unpack

import numpy as np

from certpca.intake import DataOptions, as_operator
from certpca.intake.build import from_rows
from certpca.operators import Operator
from certpca.results.certificate import Source
from certpca.results.path import Path
from certpca.results.solution import Solution
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import Indices, Vector, namespace, to_vector
from certpca.runtime.budget import Budget, Listener, Progress, begun
from certpca.runtime.errors import InvalidProblemError
from certpca.runtime.rounded import percent_up
from certpca.verbs.path import path
from certpca.verbs.validation import (
    checked_budget,
    checked_flag,
    checked_gap,
    checked_listener,
    checked_share,
    checked_sparsities,
    checked_whole,
    generator,
)

Method = Literal["elbow", "cross-validation", "stability"]
BLOCK_BYTES = 64 << 20  # of columns that are standardised at a time
FEWEST_PARTS = 2  # of the rows that are looked at, whatever the limit
CERTIFIED = 0.5  # share of a limit for the path on all rows where it is proved
GRID = 16  # sparsities that are tried where none are given


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A recommended sparsity and what speaks for it.

    Parameters
    ----------
    sparsity
        The recommendation, one of `path.sparsities`.
    reason
        Why, in one sentence.
    method
        How it was chosen.
    path
        The solutions on all rows.
    scores
        The criterion at each sparsity: distance to the chord, share of variance explained in rows left out, or
        stability.
    errors
        Standard errors of the scores below the best one, where there are folds; zeros elsewhere.
    frequencies
        For stability: how often each feature (column) was selected at each sparsity (row).
    """

    sparsity: int
    reason: str
    method: Method
    path: Path
    scores: Vector
    errors: Vector
    frequencies: Vector | None = field(default=None, repr=False)

    @property
    def solution(self) -> Solution:
        """The component of the recommended sparsity."""
        return self.path.solutions[int(np.searchsorted(self.path.sparsities, self.sparsity))]

    def plot(self, ax: Any = None) -> Any:
        """Draw what is captured and proved at each sparsity, the criterion, and the recommendation; return the axes."""
        from certpca.plots import draw

        return draw("choice", self.path, self.scores, self.errors, LABELS[self.method], self.sparsity, ax=ax)

    def __str__(self) -> str:
        """Give the reason."""
        return self.reason


def choose_sparsity(
    data: Any,
    sparsities: Iterable[int] | None = None,
    *,
    method: Method = "elbow",
    folds: int = 5,
    subsamples: int = 20,
    stable: float = 0.8,
    certify: bool = False,
    target_gap: float = 0.01,
    rng: int = 0,
    budget: Budget | Progress | None = None,
    listener: Listener | None = None,
    **options: Unpack[DataOptions],
) -> Choice:
    """Recommend how many features a component should use.

    Parameters
    ----------
    data, options
        As in `solve`. All methods but the elbow need samples x features, not a covariance matrix.
    sparsities
        What to choose from; by default 16 sizes from 1 to all features, in equal ratios.
    method
        ``"elbow"``: where the objective is farthest above the straight line between its ends, against the sparsity
        itself, not its logarithm: the objective is close to concave in the sparsity, so that its excess has one top;
        against the logarithm a curve that is still rising at the right end looks steepest there.
        ``"cross-validation"``: the smallest sparsity within one standard error of the best at explaining rows left
        out; the error is that of the difference to the best, fold by fold.
        ``"stability"``: the largest sparsity whose features are found again in at least a share `stable` of random
        halves of the rows, after taking off what chance would find.
    folds, subsamples, stable
        Number of folds, number of halves, and the share that counts as stable.
    certify, target_gap
        Also prove bounds for the path on all rows; see `path`.
    rng
        Seed of the splits and of all searches.
    budget
        Seconds for all of it together, in equal shares for the path on all rows and those on parts of them; steps for
        each part of the work. Where time is short, fewer parts are looked at, two at least, and the reason says so.
    listener
        As in `path`.

    Examples
    --------
    >>> import certpca
    >>> choice = certpca.choose_sparsity(certpca.pitprops(), range(1, 14))
    >>> choice.sparsity
    6
    """
    if method not in LABELS:
        msg = f"method must be one of {', '.join(LABELS)}, got {method!r}"
        raise InvalidProblemError(msg)
    checked_whole(folds, "folds", 2)
    checked_whole(subsamples, "subsamples", 2)
    checked_share(stable, "stable")
    checked_gap(target_gap)
    proving = checked_flag(certify, "certify")
    progress = begun(checked_budget(budget), checked_listener(listener), proving=proving)
    operator = as_operator(data, **options)
    grid = _grid(operator.size) if sparsities is None else checked_sparsities(sparsities, operator.size)
    rows = None if method == "elbow" else _Rows(operator, method, folds if method == "cross-validation" else 2)

    seeded = generator(rng)
    repeats = 0 if rows is None else folds if method == "cross-validation" else subsamples
    with progress.until_interrupted():
        share = progress.part(1 / (1 + repeats) if not certify or not repeats else CERTIFIED)
        whole = path(operator, grid, certify=certify, target_gap=target_gap, rng=rng, budget=share)
        if rows is None:
            return _elbow(whole)
        parts = _Parts(progress, repeats, grid, rng)
        if method == "cross-validation":
            return _cross_validation(whole, rows, parts, folds, seeded)
        return _stability(whole, rows, parts, subsamples, stable, seeded)


def _grid(size: int) -> list[int]:
    return [int(sparsity) for sparsity in np.unique(np.geomspace(1, size, GRID).round())]


class _Parts:
    """Fits paths to parts of the rows for as long as there is time, in equal shares, and to two parts in any case."""

    def __init__(self, progress: Progress, count: int, grid: list[int], rng: int) -> None:
        self._progress, self._count, self._grid, self._rng = progress, count, grid, rng
        self.done = 0

    @property
    def enough(self) -> bool:
        """Whether no more parts can be fitted."""
        return self.done >= FEWEST_PARTS and self._progress.late()

    def fit(self, some: Operator) -> Path:
        """Fit one part."""
        share = self._progress.part(1 / max(self._count - self.done, 1))
        self.done += 1
        return path(some, self._grid, rng=self._rng, budget=share)

    def told(self, what: str) -> str:
        """Say how many parts there were, and how many there should have been."""
        return f"{self._count} {what}" if self.done == self._count else f"{self.done} of {self._count} {what}"

    @property
    def note(self) -> str:
        """Say why there were fewer parts than asked for."""
        return "" if self.done == self._count else " The limit was reached before the others."


class _Rows:
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
        centre, spread = fitted.standardisation()  # type: ignore[attr-defined]  # data operators have it
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


def _elbow(whole: Path) -> Choice:
    sparsities, objectives = whole.sparsities.astype(np.float64), whole.objectives
    width, height = np.ptp(sparsities) or 1.0, np.ptp(objectives) or 1.0
    scores = (objectives - objectives[0]) / height - (sparsities - sparsities[0]) / width
    best = int(np.argmax(scores))
    sparsity, share = int(whole.sparsities[best]), objectives[best] / (objectives[-1] or 1.0)
    reason = (
        f"{sparsity} features: the objective bends most there, at {share:.0%} of what "
        f"{whole.sparsities[-1]} features capture"
    )
    if np.isfinite(whole.upper_bounds[best]):
        reason += f", and is proved to be within {percent_up(whole.gaps[best])} of the best choice of {sparsity}"
    return Choice(sparsity, reason + ".", "elbow", whole, scores, np.zeros_like(scores))


def _cross_validation(whole: Path, rows: _Rows, parts: _Parts, folds: int, rng: np.random.Generator) -> Choice:
    explained = []
    for left_out in np.array_split(rng.permutation(rows.count), folds):
        if parts.enough:
            break
        fitted = rows.operator(np.setdiff1d(np.arange(rows.count), left_out))
        explained.append(rows.explained(np.sort(left_out), fitted, parts.fit(fitted).solutions))
    table = np.array(explained)
    scores = table.mean(axis=0)
    best = int(np.argmax(scores))
    # Folds differ more from each other than sparsities do: only differences within a fold tell sparsities apart.
    errors = (table - table[:, [best]]).std(axis=0, ddof=1) / np.sqrt(len(table))
    chosen = int(np.argmax(scores + errors >= scores[best]))
    sparsity = int(whole.sparsities[chosen])
    rivals = (
        f"{whole.sparsities[best]} do best ({scores[best]:.2%}), and this is" if chosen != best else "this is best and"
    )
    reason = (
        f"{sparsity} features explain {scores[chosen]:.2%} of the variance of rows left out; {rivals} the fewest "
        f"within one standard error of the best over {parts.told('folds')}.{parts.note}"
    )
    return Choice(sparsity, reason, "cross-validation", whole, scores, errors)


def _stability(
    whole: Path,
    rows: _Rows,
    parts: _Parts,
    subsamples: int,
    stable: float,
    rng: np.random.Generator,
) -> Choice:
    size = whole.solutions[0].size
    frequencies = np.zeros((len(whole.solutions), size))
    for _ in range(subsamples):
        if parts.enough:
            break
        half = np.sort(rng.choice(rows.count, rows.count // 2, replace=False))
        for frequency, solution in zip(frequencies, parts.fit(rows.operator(half)).solutions, strict=True):
            frequency[solution.support] += 1
    frequencies /= parts.done
    found = [
        float(frequency[solution.support].mean())
        for frequency, solution in zip(frequencies, whole.solutions, strict=True)
    ]
    # All features are found again always: only what exceeds the share that random choices meet is stability.
    chance = whole.sparsities / size
    scores = np.where(chance < 1, (np.array(found) - chance) / np.where(chance < 1, 1 - chance, 1.0), 0.0)
    enough = np.flatnonzero(scores >= stable)
    chosen = int(enough[-1]) if enough.size else int(np.argmax(scores))
    sparsity = int(whole.sparsities[chosen])
    which = "the most of which" if enough.size else f"no sparsity reaches {stable:.0%}, and of these the most,"
    reason = (
        f"{sparsity} features: {which} {scores[chosen]:.0%} are found again in a random half of the rows"
        f"{', over ' + parts.told('halves') if parts.note else ''}, beyond what chance would find.{parts.note}"
    )
    return Choice(sparsity, reason, "stability", whole, scores, np.zeros_like(scores), frequencies)


LABELS: dict[str, str] = {
    "elbow": "height above the chord",
    "cross-validation": "variance explained in rows left out",
    "stability": "share of features found again, beyond chance",
}
