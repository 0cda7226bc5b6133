"""How often features are selected in random halves of the rows, and how many may be there by chance.

Halves come in complementary pairs (Shah & Samworth, JRSS B 75, 2013). Where each half selects at most q of p features,
features that are selected with a probability of at most q / p, which is that of a random choice, are expected to be
among those found in a share τ > 1/2 of the halves at most

    q² / ((2τ − 1) p)

times. Their theorem 1 needs no assumption for that. It is the bound of Meinshausen & Bühlmann (JRSS B 72, 2010) on all
false selections, if features without signal are exchangeable and selection is no worse than a random one.
"""

from collections.abc import Iterator

import numpy as np

from certpca.results.path import Path
from certpca.runtime.arrays import Indices, Vector
from certpca.verbs.row_parts import RowParts
from certpca.verbs.sample_rows import SampleRows

HALF = 0.5  # a share above which the bound has a meaning


def halves(rows: int, count: int, rng: np.random.Generator) -> Iterator[Indices]:
    """Return halves of the rows, each two of which have no row in common."""
    for _ in range(0, count, 2):
        order = rng.permutation(rows)
        for start in (0, rows // 2):
            yield np.sort(order[start : start + rows // 2])


def selection_frequencies(rows: SampleRows, parts: RowParts, whole: Path, rng: np.random.Generator) -> Vector:
    """Return in which share of the halves each feature (column) is selected at each sparsity (row)."""
    counts = np.zeros((len(whole.solutions), whole.solutions[0].size))
    for half in halves(rows.count, parts.count, rng):
        if parts.done == parts.count or parts.enough:
            break
        for row, solution in zip(counts, parts.fit(rows.operator(half)).solutions, strict=True):
            row[solution.support] += 1
    return np.asarray(counts / parts.done)


def errors_expected(sparsity: int, size: int, stable: float) -> float:
    """Return the most features no better than chance that are expected among the stable ones."""
    return min(sparsity**2 / ((2 * stable - 1) * size), float(size))


def share_for(errors: float, sparsity: int, size: int) -> float:
    """Return the share of the halves from which at most so many errors are expected; above 1 where none is enough."""
    return (1 + sparsity**2 / (errors * size)) / 2
