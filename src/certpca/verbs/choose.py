"""How many features: four answers read off the path over sparsities.

The elbow needs no rows and uses the path alone, and so does the share of the dense component that few features reach.
Cross-validation asks which component explains rows it has not seen. Stability selection (Meinshausen & Bühlmann, JRSS B
2010) asks which features are found again in random halves of the rows.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Unpack

import numpy as np

from certpca.intake import DataOptions, as_operator
from certpca.results.path import Path
from certpca.results.solution import Solution
from certpca.runtime.arrays import Vector
from certpca.runtime.budget import Budget, Listener, Progress
from certpca.runtime.checkpoint import opened
from certpca.solvers import Solver
from certpca.verbs.choosing import LABELS, MEASURES, RULES, Judged, cross_validated, elbow, found_again, share_of_dense
from certpca.verbs.row_parts import RowParts
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

Method = Literal["elbow", "share", "cross-validation", "stability"]
Measure = Literal["explained", "captured"]
Rule = Literal["one-standard-error", "paired", "best"]
CERTIFIED = 0.5  # share of a limit for the path on all rows where it is proved
GRID = 16  # sparsities that are tried where none are given
FOLDS, SUBSAMPLES, STABLE, SHARE = 5, 20, 0.8, 0.8  # unless they are given
ROUNDS = 8  # in which the gaps of a grid are narrowed


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
        The criterion at each sparsity: distance to the chord, share of the dense component, share of variance
        explained in rows left out, or stability.
    errors : ndarray
        Standard errors of the scores where there are folds, with ``rule="paired"`` of their differences to the best
        one; zeros elsewhere.
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
    share: float | None = None,
    measure: Measure | None = None,
    folds: int | None = None,
    rule: Rule | None = None,
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
        As in `solve`. Cross-validation and stability need samples x features, not a covariance matrix.
    sparsities : iterable of int, optional
        What to choose from; by default 16 sizes from 1 to all features, in equal ratios, and for a share those
        between two of them too, until the fewest are found.
    solver : str or Solver
        What searches, as in `path`.
    method : {"elbow", "share", "cross-validation", "stability"}
        ``"elbow"``: where the objective is farthest above the straight line between its ends, against the sparsity
        itself, not its logarithm: the objective is close to concave in the sparsity, so that its excess has one top;
        against the logarithm a curve that is still rising at the right end looks steepest there.
        ``"share"``: the fewest features that reach a `share` of the dense component.
        ``"cross-validation"``: which component explains rows left out, by regression of all features on its score, and
        of these the fewest features by a `rule`.
        ``"stability"``: the largest sparsity whose features are found again in at least a share `stable` of random
        halves of the rows, after taking off what chance would find.
    share : float, optional
        What share of the dense component is enough; by default 0.8.
    measure : {"explained", "captured"}, optional
        Of what a share is: of the variance of all features that regression on the component's score explains, or of the
        variance captured along the component. By default the former: few features can tell what a component says about
        all, but capture no more than their own variance. Of the latter, bounds (`certify`) also prove how many features
        are too few.
    folds : int, optional
        Number of folds of a cross-validation; by default 5.
    rule : {"one-standard-error", "paired", "best"}, optional
        Which sparsity a cross-validation chooses: the smallest within one standard error of the best, that of the best
        over the folds, by default; the smallest whose difference to the best, fold by fold, is within one standard
        error of that difference, which is stricter; or the best.
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
    if method != "share":
        refuse_without_effect('it is for method="share"', share=share, measure=measure)
    if method != "cross-validation":
        refuse_without_effect('it is for method="cross-validation"', folds=folds, rule=rule)
    if method != "stability":
        refuse_without_effect('it is for method="stability"', subsamples=subsamples, stable=stable)
    share = checked_share(SHARE if share is None else share, "share")
    checked_choice(measure or MEASURES[0], "measure", MEASURES)
    checked_choice(rule or RULES[0], "rule", RULES)
    folds = checked_whole(FOLDS if folds is None else folds, "folds", 2)
    subsamples = checked_whole(SUBSAMPLES if subsamples is None else subsamples, "subsamples", 2)
    stable = checked_share(STABLE if stable is None else stable, "stable")
    gap = checked_proof(certify, target_gap)
    searching = checked_solver(solver)
    proving = gap is not None and checked_folder(checkpoint) is None
    progress = checked_limits(time_limit, budget, listener, proving=proving)
    operator = as_operator(data, **options)
    grid = _grid(operator.size) if sparsities is None else checked_sparsities(sparsities, operator.size)
    needed = {"cross-validation": folds, "stability": 2}.get(method)
    rows = None if needed is None else SampleRows(operator, method, needed, 'method="elbow"')
    repeats = 0 if rows is None else folds if method == "cross-validation" else subsamples
    rounds = ROUNDS if method == "share" and sparsities is None else 0

    def facts() -> dict[str, Any]:
        asked = {"sparsities": grid, "solver": described(searching), "method": method, "parts": repeats}
        return {**run_facts("choose", operator, rng), **asked, "share": share, "measure": measure, "target_gap": gap}

    splitting, *searches = seeds(rng, 2 + repeats + rounds)
    with opened(checkpoint, facts), progress.until_interrupted():
        parts = RowParts(progress, repeats, grid, solver, searches, checkpoint)
        at_once = 1 / (1 + repeats) if gap is None and not rounds else CERTIFIED if repeats or rounds else 1.0
        proofs: dict[str, Any] = {"certify": certify, "target_gap": gap}
        whole = parts.path(operator, progress.part(at_once), **proofs)

        def between(closer: list[int]) -> Path:
            return parts.path(operator, progress.part(CERTIFIED), closer, **proofs)

        if method == "elbow":
            judged = elbow(whole)
        elif method == "share":
            judged = share_of_dense(whole, operator, measure or MEASURES[0], share, between if rounds else None)
        elif method == "cross-validation":
            assert rows is not None
            judged = cross_validated(whole, rows, parts, folds, rule or RULES[0], generator(splitting))
        else:
            assert rows is not None
            judged = found_again(whole, rows, parts, stable, generator(splitting))
    return _choice(method, judged)


def _choice(method: Method, judged: Judged) -> Choice:
    errors = np.zeros_like(judged.scores) if judged.errors is None else judged.errors
    sparsity = int(judged.path.sparsities[judged.chosen])
    return Choice(sparsity, judged.reason, method, judged.path, judged.scores, errors, judged.frequencies)


def _grid(size: int) -> list[int]:
    return [int(sparsity) for sparsity in np.unique(np.geomspace(1, size, GRID).round())]
