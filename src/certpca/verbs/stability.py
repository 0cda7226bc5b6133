"""Which features are found again: stability selection beside the proof."""

import os
from typing import Any, Unpack

import numpy as np

from certpca.intake import DataOptions, as_operator
from certpca.results.path import Path
from certpca.results.solution import Solution
from certpca.runtime.budget import Budget, Listener, Progress
from certpca.runtime.checkpoint import opened
from certpca.runtime.errors import InvalidProblemError
from certpca.solvers import Solver
from certpca.verbs.half_samples import HALF, errors_expected, selection_frequencies, share_for
from certpca.verbs.row_parts import RowParts
from certpca.verbs.run_facts import described, run_facts
from certpca.verbs.sample_rows import SampleRows
from certpca.verbs.stable_features import Stability
from certpca.verbs.validation import (
    checked_folder,
    checked_halves,
    checked_limits,
    checked_positive,
    checked_proof,
    checked_share,
    checked_solution,
    checked_solver,
    checked_sparsity,
    generator,
    named_arguments,
    refuse_without_effect,
    seeds,
)

SUBSAMPLES, STABLE = 50, 0.8  # unless they are given
CERTIFIED = 0.5  # share of a limit for the component of all rows where it is proved


@named_arguments
def stability(
    data: Any,
    sparsity: int,
    solver: str | Solver = "auto",
    *,
    subsamples: int = SUBSAMPLES,
    stable: float | None = None,
    expected_errors: float | None = None,
    solution: Solution | None = None,
    certify: bool = False,
    target_gap: float | None = None,
    rng: int | np.random.Generator = 0,
    time_limit: float | None = None,
    budget: Budget | Progress | None = None,
    listener: Listener | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Unpack[DataOptions],
) -> Stability:
    """Ask which features of a component other samples would give, beside what is proved of it in this one.

    A proof says that no other choice of features captures more in these rows. It does not say that other rows of the
    same kind would give the same features: nearly equal features can take each other's place. The search is therefore
    repeated on random halves of the rows, in complementary pairs.

    Parameters
    ----------
    data : array_like, DataFrame, reader or Operator
        As in `solve`: samples x features in memory.
    sparsity : int
        Largest number of nonzero loadings, in the component and in every half.
    solver : str or Solver
        What searches, as in `solve`.
    subsamples : int
        Number of halves, an even number.
    stable : float, optional
        The share of the halves from which a feature counts as stable, above one half; by default 0.8.
    expected_errors : float, optional
        In place of `stable`: how many features that are no better than chance may be expected among the stable ones.
        The share follows from it.
    solution : Solution, optional
        The component of all rows, where it is known, with its certificate; by default it is searched for.
    certify : bool
        Also prove how far from the optimum the component of all rows can be.
    target_gap : float, optional
        The proof ends when the component is within this share of the optimum; by default 0.01.
    rng : int or numpy.random.Generator
        Seed or generator of the halves and of all searches.
    time_limit : float, optional
        Seconds for all of it; where time is short there are fewer halves, two at least. By default ten minutes where
        there is a proof and no checkpoint, else none.
    budget : Budget, optional
        Limits steps of each part of the work too, in place of `time_limit`.
    listener : callable, optional
        Called with a `Step` after each step; returning False ends the run.
    checkpoint : path_like, optional
        A folder, new or left by the same call: what was found is not searched for again.
    **options : DataOptions
        How data become a matrix, as in `solve`.

    Returns
    -------
    Stability
        How often each feature was selected, the component, and two sentences about two questions.

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
    choose_sparsity : How many features are found again, and other answers to how many.
    certify : What is proved of this sample.

    Notes
    -----
    With q features of p selected in each half and a share τ, at most q² / ((2τ − 1) p) features that are selected with
    a probability of q / p or less are expected to be stable (Shah & Samworth, JRSS B 75, 2013, theorem 1). Where
    features without signal are exchangeable and selection is no worse than random, that bounds all false selections
    (Meinshausen & Bühlmann, JRSS B 72, 2010).

    Examples
    --------
    >>> import numpy as np, certpca
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 30))
    >>> X[:, :4] += 2 * rng.standard_normal((60, 1))
    >>> print(certpca.stability(X, 4, subsamples=10, certify=True, target_gap=1e-6))
    Best in this sample: no choice of 4 of the 30 features captures more, proved (to one part in a million).
    Found again in 100% of 10 half-samples, on average over its features; 4 of 4 in at least 80%. Of features selected \
no more often than by chance, at most 0.89 are expected among the stable ones.
    """
    subsamples = checked_halves(subsamples)
    gap = checked_proof(certify, target_gap)
    if solution is not None:
        refuse_without_effect("the solution given has its own certificate, or none", certify=certify or None)
    searching = checked_solver(solver)
    proving = gap is not None and checked_folder(checkpoint) is None
    progress = checked_limits(time_limit, budget, listener, proving=proving)
    operator = as_operator(data, **options)
    wanted = checked_sparsity(sparsity, operator.size)
    threshold = _threshold(stable, expected_errors, wanted, operator.size)
    known = checked_solution(solution, operator.size, wanted)
    rows = SampleRows(operator, "stability", 2)

    def facts() -> dict[str, Any]:
        asked = {"sparsity": wanted, "solver": described(searching), "parts": subsamples, "known": known is not None}
        return {**run_facts("stability", operator, rng), **asked, "target_gap": gap}

    splitting, *searches = seeds(rng, 2 + subsamples)
    with opened(checkpoint, facts), progress.until_interrupted():
        parts = RowParts(progress, subsamples, [wanted], solver, searches, checkpoint)
        if known is None:
            share = progress.part(1 / (1 + subsamples) if gap is None else CERTIFIED)
            known = parts.path(operator, share, certify=certify, target_gap=gap).solutions[0]
        frequencies = selection_frequencies(rows, parts, Path((known,)), generator(splitting))[0]
    expected = errors_expected(wanted, operator.size, threshold)
    return Stability(known, frequencies, parts.done, threshold, expected, progress.seconds, operator.names)


def _threshold(stable: float | None, errors: float | None, sparsity: int, size: int) -> float:
    """Return the share of the halves from which features count as stable."""
    if errors is None:
        share = checked_share(STABLE if stable is None else stable, "stable")
        if share <= HALF:
            msg = f"stable must lie in (0.5, 1]: below, nothing limits what chance finds; got {stable!r}"
            raise InvalidProblemError(msg)
        return share
    refuse_without_effect("it follows from expected_errors; give one of the two", stable=stable)
    share = share_for(checked_positive(errors, "expected_errors"), sparsity, size)
    if share > 1:
        fits = int(np.sqrt(errors * size))
        advice = f"choose a sparsity of at most {fits}, or allow more errors" if fits else "allow more errors"
        least = errors_expected(sparsity, size, 1.0)
        msg = (
            f"at sparsity {sparsity} of {size} features no share keeps the expected errors below {least:.3g}; {advice}"
        )
        raise InvalidProblemError(msg)
    return share
