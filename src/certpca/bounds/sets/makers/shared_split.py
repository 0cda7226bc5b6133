"""Components on one support: some of their directions apart, and prices of features for the rest."""

from typing import Any

import numpy as np

from certpca.bounds.l0_dual.features import too_deep
from certpca.bounds.sets.search import SetSearch
from certpca.bounds.sets.split.search import PATIENCE, Found, OnSplit, SplitSearch
from certpca.runtime.arrays import Vector
from certpca.runtime.budget import Progress
from certpca.runtime.resumable import resumable

ORDER = 3  # before levels, which let every feature lean on a direction of its own
KINDS = ("shared-split",)
SHARE = 0.6  # of what time is left, for each number of directions apart


def applies(search: SetSearch) -> bool:
    """Whether components share their features, and there is time for a few steps and the proof."""
    if search.problem != "shared" or len(search.sparsities) < 2 or too_deep(search.operator, None):
        return False
    return search.progress.remaining > search.shared.costs.split(steps=3)


def make(search: SetSearch) -> None:
    """Set as many directions apart as are far above the next, then one more and one fewer."""
    features = search.shared.features
    panel = np.zeros((search.operator.size, len(search.components)))
    for number, component in enumerate(search.components):
        panel[component.support, number] = component.loadings
    directions, sizes, _ = np.linalg.svd(features.combined(search.operator.adopt(panel)), full_matrices=False)
    best: Found | None = None
    for count in _counts(sizes, features.depth):
        with search.progress.setting_aside(search.shared.costs.split()):
            if search.progress.exhausted or search.progress.remaining < search.shared.costs.split(steps=2):
                break
            found = _searched(search, directions[:, :count], search.progress.part(SHARE), best)
        if best is None or found.bound < best.bound:
            best = found
        if search.goal.reached(search.objective, best.bound):
            break
    if best is not None and search.improves(best.bound):
        search.offer(search.proved(KINDS[0], _evidence(best)))


def _searched(search: SetSearch, directions: Vector, progress: Progress, known: Found | None) -> Found:
    """Let the density move until that does not help, or cannot help beyond what is known."""
    count, goal = directions.shape[1], search.goal
    splits = SplitSearch(search.shared.features, directions, len(search.sparsities), max(search.sparsities))
    best = np.inf if known is None else known.bound
    at: OnSplit = resumable(
        splits.step,
        splits.start,
        progress,
        f"split-{count}",
        OnSplit,
        enough=lambda at: at.idle >= PATIENCE or at.least > best or goal.reached(search.objective, at.best.bound),
        tell=lambda at: (search.objective, min(at.best.bound, best), f"{count} directions apart"),
    )
    return at.best


def _counts(sizes: Vector, depth: int) -> list[int]:
    """Order the numbers of directions that may be apart, by how far they are above the next."""
    present = int((sizes > 1e-6 * sizes[0]).sum())
    most = min(present, depth - 1)
    drops = np.append(sizes[1:present], sizes[present - 1])
    first = int(np.argmax(sizes[:most] / drops[:most])) + 1 if most else 0
    return sorted(range(1, most + 1), key=lambda count: (abs(count - first), -count))


def _evidence(found: Found) -> dict[str, Any]:
    priced = np.flatnonzero(found.prices > 0)
    return {
        "frame": found.frame,
        "weights": found.weights.astype(np.float32),
        "roots": found.roots.astype(np.float32),
        "priced": priced,
        "prices": found.prices[priced],
        "lifted": found.lifted.astype(np.float32),
    }
