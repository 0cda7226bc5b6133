"""Features shared out among components that may have none in common."""

from collections.abc import Sequence

import numpy as np

from certpca.runtime.arrays import Indices, Vector, top_k

LARGEST_ASSIGNMENT = 200  # features beyond which sharing them out exactly takes too long


def shared_out(profits: Vector, counts: Sequence[int]) -> list[Indices]:
    """Give each feature to at most one component, as many as it may have, so that the sum of profits is large."""
    from scipy.optimize import linear_sum_assignment

    wanted = int(sum(counts))
    if wanted > LARGEST_ASSIGNMENT:
        return _roughly_shared_out(profits, counts)
    useful = np.unique(np.concatenate([top_k(column, min(wanted, column.size)) for column in profits.T]))
    slots = np.repeat(np.arange(len(counts)), counts)
    rows, columns = linear_sum_assignment(profits[useful][:, slots], maximize=True)
    owner = slots[columns]
    return [np.sort(useful[rows[owner == t]]) for t in range(len(counts))]


def _roughly_shared_out(profits: Vector, counts: Sequence[int]) -> list[Indices]:
    """Let each feature go where it is worth most; what is left over fills up those that got too few."""
    owner = profits.argmax(axis=1)
    supports = []
    for t, count in enumerate(counts):
        own = np.flatnonzero(owner == t)
        supports.append(own[top_k(profits[own, t], min(count, own.size))])
    free = np.ones(profits.shape[0], dtype=bool)
    for support in supports:
        free[support] = False
    for t, count in enumerate(counts):
        left, missing = np.flatnonzero(free), count - supports[t].size
        if missing > 0:
            more = left[top_k(profits[left, t], min(missing, left.size))]
            supports[t], free[more] = np.union1d(supports[t], more), False
    return supports
