import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from certpca.bounds.count_tree.branching import cut
from certpca.bounds.count_tree.cells import Cell, members, vertices_of


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_both_sides_of_a_cut_hold_less_than_the_cell(seed):
    rng = np.random.default_rng(seed)
    size, depth = int(rng.integers(6, 30)), int(rng.integers(2, 6))
    k = int(rng.integers(1, size))
    order = rng.permutation(size)
    ends = np.sort(rng.choice(np.arange(1, size), 2, replace=False))
    groups = tuple(np.sort(part) for part in np.split(order, ends)[: int(rng.integers(0, 3))])
    counts = []
    for group in groups:
        low = int(rng.integers(0, min(group.size, k) + 1))
        high = min(group.size, k)
        counts.append((low, min(high, low + int(rng.integers(0, 3)))))  # narrow ones are where it is easy to go wrong
    cell = Cell(tuple(range(len(groups))), tuple(counts), (), 1.0)
    parts = members(cell, groups, size)
    if not vertices_of(cell, [part.size for part in parts], k):
        return
    along = rng.standard_normal((size, depth)) * np.exp(rng.standard_normal(size))[:, None]
    # Two directions with exactly one half each disagree by as much as two directions can.
    density = np.diag(np.r_[0.5, 0.5, np.zeros(depth - 2)]) if rng.random() < 0.5 else np.diag(rng.random(depth))
    found = cut(cell, parts, along, density / np.trace(density), k)
    if found is None:
        return
    low, high = (0, min(found.fresh.size, k)) if found.fresh is not None else counts[found.position or 0]
    assert low <= found.most < high
