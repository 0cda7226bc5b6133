"""Supports that the pairs suggest: a feature with those it goes together with most.

A search from leading directions does not see a small group of features that are nearly copies of each other, however
much they capture together; every one of their rows names the others.
"""

import numpy as np
from numpy.typing import NDArray

from certpca.bounds.goals import Incumbent
from certpca.bounds.pair_rows.strongest import Strongest
from certpca.runtime.arrays import Indices
from certpca.runtime.lateness import Late

PRODUCTS = 1 << 27  # multiplications for a look at the groups
STARTS = 3  # groups from which a local search begins


def improved_by_pairs(pairs: Strongest, incumbent: Incumbent, late: Late) -> None:
    """Look at the groups of the strongest rows, and search from the best of them."""
    depth, count = pairs.columns.depth, pairs.squares.shape[1] + 1
    most = max(64, PRODUCTS // (4 * depth * count))
    strength = pairs.squares.sum(axis=1, dtype=np.float64) + pairs.diagonal**2
    rows = np.argsort(-strength, kind="stable")[:most]
    values, groups, seen = list[float](), list[tuple[Indices, NDArray[np.float32]]](), set[bytes]()
    for row in rows:
        if late():
            return
        group: Indices = np.sort(np.append(pairs.partners[row], row)).astype(np.intp)
        if (name := group.tobytes()) in seen:
            continue
        seen.add(name)
        weights = pairs.between(group, np.array([row]))[:, 0].astype(np.float32)
        if not weights.any():  # features without variance
            continue
        values.append(pairs.captured(group, weights) / float(weights @ weights))
        groups.append((group, weights))
    best = np.argsort(-np.array(values), kind="stable")[:STARTS]
    incumbent.best = incumbent.improved(incumbent.best, [pairs.image(*groups[place]) for place in best])
