"""How many features: three answers read off the path over sparsities.

The elbow needs no rows and uses the path alone. Cross-validation asks which component explains rows it has not seen:
features without signal dilute the loadings, so the curve has a top. Stability selection (Meinshausen & Bühlmann,
JRSS B 2010) asks which features are found again in random halves of the rows.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path as Folder
from typing import Any, Literal, Unpack

import numpy as np

from certpca.intake import DataOptions, as_operator
from certpca.operators import Operator
from certpca.results.path import Path
from certpca.results.solution import Solution
from certpca.runtime.arrays import Vector
from certpca.runtime.budget import Budget, Listener, Progress
from certpca.runtime.checkpoint import opened
from certpca.runtime.rounded import percent_up
from certpca.solvers import Solver
from certpca.verbs.path import path
from certpca.verbs.run_facts import described, run_facts
from certpca.verbs.sample_rows import SampleRows
from certpca.verbs.validation import (
    checked_choice,
    checked_folder,
    checked_limits,
    checked_proof,
    checked_share,
    checked_solver,
    checked_sparsities,
    checked_whole,
    generator,
    named_arguments,
    refuse_without_effect,
    seeds,
)

Method = Literal["elbow", "cross-validation", "stability"]
FEWEST_PARTS = 2  # of the rows that are looked at, whatever the limit
CERTIFIED = 0.5  # share of a limit for the path on all rows where it is proved
GRID = 16  # sparsities that are tried where none are given
FOLDS, SUBSAMPLES, STABLE = 5, 20, 0.8  # unless they are given


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A recommended sparsity and what speaks for it.

    Parameters
    ----------
    sparsity : int
        The recommendation, one of `path.sparsities`.
    reason : str
        Why, in one sentence.
    method : str
        How it was chosen.
    path : Path
        The solutions on all rows.
    scores : ndarray
        The criterion at each sparsity: distance to the chord, share of variance explained in rows left out, or
        stability.
    errors : ndarray
        Standard errors of the scores below the best one, where there are folds; zeros elsewhere.
    frequencies : ndarray, optional
        For stability: how often each feature (column) was selected at each sparsity (row).

    See Also
    --------
    choose_sparsity : What returns it.

    Examples
    --------
    >>> import certpca
    >>> choice = certpca.choose_sparsity(certpca.pitprops(), range(1, 14))
    >>> choice.sparsity == choice.solution.sparsity
    True
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
        """Draw what is captured and proved at each sparsity, the criterion, and the recommendation.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default new axes.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on.
        """
        from certpca.plots import draw

        return draw("choice", self.path, self.scores, self.errors, LABELS[self.method], self.sparsity, ax=ax)

    def __str__(self) -> str:
        """Give the reason."""
        return self.reason


@named_arguments
def choose_sparsity(
    data: Any,
    sparsities: Iterable[int] | None = None,
    solver: str | Solver = "auto",
    *,
    method: Method = "elbow",
    folds: int | None = None,
    subsamples: int | None = None,
    stable: float | None = None,
    certify: bool = False,
    target_gap: float | None = None,
    rng: int | np.random.Generator = 0,
    time_limit: float | None = None,
    budget: Budget | Progress | None = None,
    listener: Listener | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Unpack[DataOptions],
) -> Choice:
    """Recommend how many features a component should use.

    Parameters
    ----------
    data : array_like, DataFrame, reader or Operator
        As in `solve`. All methods but the elbow need samples x features, not a covariance matrix.
    sparsities : iterable of int, optional
        What to choose from; by default 16 sizes from 1 to all features, in equal ratios.
    solver : str or Solver
        What searches, as in `path`.
    method : {"elbow", "cross-validation", "stability"}
        ``"elbow"``: where the objective is farthest above the straight line between its ends, against the sparsity
        itself, not its logarithm: the objective is close to concave in the sparsity, so that its excess has one top;
        against the logarithm a curve that is still rising at the right end looks steepest there.
        ``"cross-validation"``: the smallest sparsity within one standard error of the best at explaining rows left
        out; the error is that of the difference to the best, fold by fold.
        ``"stability"``: the largest sparsity whose features are found again in at least a share `stable` of random
        halves of the rows, after taking off what chance would find.
    folds : int, optional
        Number of folds of a cross-validation; by default 5.
    subsamples : int, optional
        Number of halves for stability; by default 20.
    stable : float, optional
        The share that counts as stable; by default 0.8.
    certify : bool
        Also prove bounds for the path on all rows; see `path`.
    target_gap : float, optional
        Each proof ends when its component is within this share of the optimum; by default 0.01.
    rng : int or numpy.random.Generator
        Seed or generator of the splits and of all searches.
    time_limit : float, optional
        Seconds for all of it together, in equal shares for the path on all rows and those on parts of them; where time
        is short, fewer parts are looked at, two at least, and the reason says so. By default ten minutes where there
        are proofs and no checkpoint, else none.
    budget : Budget, optional
        Limits steps of each part of the work too, in place of `time_limit`; ``Budget()`` has no limits.
    listener : callable, optional
        Called with a `Step` after each step, whatever it is about; returning False ends the run.
    checkpoint : path_like, optional
        A folder, new or left by the same call: paths that were found are not searched for again.
    **options : DataOptions
        How data become a matrix, as in `solve`.

    Returns
    -------
    Choice
        The sparsity, the reason, and the path it was read off.

    Raises
    ------
    InvalidProblemError
        Where an argument has no meaning for these data, or would have no effect.
    InvalidDataError
        Where the data cannot be used as they are.
    UnknownArgumentError
        Where an argument has no such name.

    See Also
    --------
    path : The solutions that are chosen from.

    Examples
    --------
    >>> import certpca
    >>> choice = certpca.choose_sparsity(certpca.pitprops(), range(1, 14))
    >>> choice.sparsity
    6
    """
    checked_choice(method, "method", LABELS)
    if method != "cross-validation":
        refuse_without_effect('it is for method="cross-validation"', folds=folds)
    if method != "stability":
        refuse_without_effect('it is for method="stability"', subsamples=subsamples, stable=stable)
    folds = checked_whole(FOLDS if folds is None else folds, "folds", 2)
    subsamples = checked_whole(SUBSAMPLES if subsamples is None else subsamples, "subsamples", 2)
    stable = checked_share(STABLE if stable is None else stable, "stable")
    gap = checked_proof(certify, target_gap)
    searching = checked_solver(solver)
    proving = gap is not None and checked_folder(checkpoint) is None
    progress = checked_limits(time_limit, budget, listener, proving=proving)
    operator = as_operator(data, **options)
    grid = _grid(operator.size) if sparsities is None else checked_sparsities(sparsities, operator.size)
    rows = None if method == "elbow" else SampleRows(operator, method, folds if method == "cross-validation" else 2)
    repeats = 0 if rows is None else folds if method == "cross-validation" else subsamples

    def facts() -> dict[str, Any]:
        asked = {"sparsities": grid, "solver": described(searching), "method": method, "parts": repeats}
        return {**run_facts("choose", operator, rng), **asked, "target_gap": gap}

    splitting, *searches = seeds(rng, 2 + repeats)
    with opened(checkpoint, facts), progress.until_interrupted():
        parts = _Parts(progress, repeats, grid, solver, searches, checkpoint)
        share = progress.part(1 / (1 + repeats) if gap is None or not repeats else CERTIFIED)
        whole = parts.path(operator, share, certify=certify, target_gap=gap)
        if rows is None:
            return _elbow(whole)
        if method == "cross-validation":
            return _cross_validation(whole, rows, parts, folds, generator(splitting))
        return _stability(whole, rows, parts, subsamples, stable, generator(splitting))


def _grid(size: int) -> list[int]:
    return [int(sparsity) for sparsity in np.unique(np.geomspace(1, size, GRID).round())]


class _Parts:
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
        self._progress, self._count, self._grid, self._solver = progress, count, grid, solver
        self._searches, self._folder = iter(searches), checkpoint
        self._paths = 0
        self.done = 0

    def path(self, some: Operator, share: Progress, **more: Any) -> Path:
        """Find a path, with a folder for its own states inside that of the run."""
        states = None if self._folder is None else Folder(self._folder) / f"path-{self._paths}"
        self._paths += 1
        return path(some, self._grid, self._solver, rng=next(self._searches), budget=share, checkpoint=states, **more)

    @property
    def enough(self) -> bool:
        """Whether no more parts can be fitted."""
        return self.done >= FEWEST_PARTS and self._progress.late()

    def fit(self, some: Operator) -> Path:
        """Fit one part."""
        share = self._progress.part(1 / max(self._count - self.done, 1))
        self.done += 1
        return self.path(some, share)

    def told(self, what: str) -> str:
        """Say how many parts there were, and how many there should have been."""
        return f"{self._count} {what}" if self.done == self._count else f"{self.done} of {self._count} {what}"

    @property
    def note(self) -> str:
        """Say why there were fewer parts than asked for."""
        return "" if self.done == self._count else " The limit was reached before the others."


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


def _cross_validation(whole: Path, rows: SampleRows, parts: _Parts, folds: int, rng: np.random.Generator) -> Choice:
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
    rows: SampleRows,
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
