"""The criteria by which a sparsity is read off a path."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from certpca.operators import Operator
from certpca.results.path import Path
from certpca.runtime.arrays import Vector
from certpca.runtime.rounded import percent_up
from certpca.search.krylov import leading_eigenpairs
from certpca.verbs.half_samples import selection_frequencies
from certpca.verbs.row_parts import RowParts
from certpca.verbs.sample_rows import SampleRows, explained_by_scores

REFINED = 16  # sparsities that are tried between two others
LABELS: dict[str, str] = {
    "elbow": "height above the chord",
    "share": "share of the dense component",
    "cross-validation": "variance explained in rows left out",
    "stability": "share of features found again, beyond chance",
}
MEASURES = ("explained", "captured")
RULES = ("one-standard-error", "paired", "best")


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A path with a score for each of its sparsities, the one chosen and why."""

    path: Path
    scores: Vector
    chosen: int
    reason: str
    errors: Vector | None = None
    frequencies: Vector | None = None


def elbow(whole: Path) -> Judged:
    """Find where the objective is farthest above the straight line between its ends."""
    sparsities, objectives = whole.sparsities.astype(np.float64), whole.objectives
    width, height = np.ptp(sparsities) or 1.0, np.ptp(objectives) or 1.0
    scores = (objectives - objectives[0]) / height - (sparsities - sparsities[0]) / width
    best = int(np.argmax(scores))
    sparsity, share = int(whole.sparsities[best]), objectives[best] / (objectives[-1] or 1.0)
    reason = (
        f"{sparsity} features: the objective bends most there, at {share:.0%} of what "
        f"{whole.sparsities[-1]} features capture"
    )
    return Judged(whole, scores, best, f"{reason}{_proved(whole, best)}.")


def share_of_dense(
    whole: Path, operator: Operator, measure: str, share: float, between: Callable[[list[int]], Path] | None
) -> Judged:
    """Find the fewest features that reach a share of the dense component, looking `between` sparsities if that may be.

    What is captured rises with the sparsity; what a score explains need not, so that fewer features than these could
    reach as much by chance. Both are those of the components on the path.
    """
    near = operator.near_one()
    largest = math.ldexp(float(leading_eigenpairs(near, 1, rng=0).values[0]), near.power - operator.power)
    scores = _shares(whole, operator, measure, largest)
    while between is not None:
        first = int(np.argmax(scores >= share))
        if scores[first] < share or first == 0 or whole.sparsities[first] - whole.sparsities[first - 1] == 1:
            break
        whole = _merged(whole, between(_inside(int(whole.sparsities[first - 1]), int(whole.sparsities[first]))))
        scores = _shares(whole, operator, measure, largest)
    reached = bool((scores >= share).any())
    chosen = int(np.argmax(scores >= share)) if reached else int(np.argmax(scores))
    sparsity = int(whole.sparsities[chosen])
    few = "the fewest of those tried that reach" if reached else "none of those tried reaches"
    what = "captures" if measure == "captured" else "explains of all features, by regression on its score"
    noun = "feature" if sparsity == 1 else "features"
    reason = f"{sparsity} {noun}, with {scores[chosen]:.1%} of what the dense component {what}: {few} {share:.0%}"
    if measure == "captured":
        below = np.flatnonzero(whole.upper_bounds < share * largest)  # a Ritz value is not above the eigenvalue
        if below.size:
            most = int(whole.sparsities[below[-1]])
            reason += f"; no choice of {most} captures as much, proved"
    return Judged(whole, scores, chosen, f"{reason}{_proved(whole, chosen)}.")


def cross_validated(
    whole: Path, rows: SampleRows, parts: RowParts, folds: int, rule: str, rng: np.random.Generator
) -> Judged:
    """Ask which component explains rows it has not seen."""
    explained = []
    for left_out in np.array_split(rng.permutation(rows.count), folds):
        if parts.enough:
            break
        fitted = rows.operator(np.setdiff1d(np.arange(rows.count), left_out))
        explained.append(rows.explained(np.sort(left_out), fitted, parts.fit(fitted).solutions))
    table = np.array(explained)
    scores = table.mean(axis=0)
    best = int(np.argmax(scores))
    if rule == "paired":  # differences within a fold: folds differ more from each other than sparsities do
        errors = (table - table[:, [best]]).std(axis=0, ddof=1) / np.sqrt(len(table))
        close = scores + errors >= scores[best]
    else:
        errors = table.std(axis=0, ddof=1) / np.sqrt(len(table))
        close = scores >= scores[best] - (errors[best] if rule == "one-standard-error" else 0.0)
    chosen = int(np.argmax(close))
    sparsity = int(whole.sparsities[chosen])
    within = {
        "one-standard-error": "the fewest within one standard error of the best",
        "paired": "the fewest whose difference to the best is within one standard error of it",
        "best": "the best",
    }[rule]
    rivals = f"{whole.sparsities[best]} do best ({scores[best]:.2%}), and this is" if chosen != best else "this is"
    reason = (
        f"{sparsity} features explain {scores[chosen]:.2%} of the variance of rows left out, by regression on their "
        f"score; {rivals} {within} over {parts.told('folds')}.{parts.note}"
    )
    return Judged(whole, scores, chosen, reason, errors)


def found_again(whole: Path, rows: SampleRows, parts: RowParts, stable: float, rng: np.random.Generator) -> Judged:
    """Ask which features are found again in random halves of the rows."""
    size = whole.solutions[0].size
    frequencies = selection_frequencies(rows, parts, whole, rng)
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
    return Judged(whole, scores, chosen, reason, frequencies=frequencies)


def _proved(whole: Path, chosen: int) -> str:
    if not np.isfinite(whole.upper_bounds[chosen]):
        return ""
    return f", and is proved to be within {percent_up(whole.gaps[chosen])} of the best choice of that many"


def _shares(whole: Path, operator: Operator, measure: str, largest: float) -> Vector:
    gained = whole.objectives if measure == "captured" else explained_by_scores(operator, whole.solutions)
    return np.minimum(gained / (largest or 1.0), 1.0)


def _inside(low: int, high: int) -> list[int]:
    """Return sparsities between two others, in equal ratios."""
    return [int(k) for k in np.unique(np.geomspace(low + 1, high - 1, REFINED).round())]


def _merged(first: Path, second: Path) -> Path:
    """Put two paths together; a smaller support that captures more than a larger one stands for that one too."""
    found = sorted([*first.solutions, *second.solutions], key=lambda solution: solution.sparsity)
    for j in range(1, len(found)):
        if found[j].objective < found[j - 1].objective:
            found[j] = replace(found[j - 1], sparsity=found[j].sparsity, certificate=found[j].certificate)
    return Path(tuple(found), first.seconds + second.seconds)
