import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
from certpca.search.swaps import SwapSearch


@given(seed=st.integers(0, 10_000), sparsity=st.integers(2, 6), cached=st.booleans())
@settings(max_examples=80, deadline=None)
def test_pruned_search_finds_exactly_the_improving_swaps(seed, sparsity, cached):
    rng = np.random.default_rng(seed)
    matrix = np.cov(rng.standard_normal((9, 12)).T)
    support = np.sort(rng.choice(12, sparsity, replace=False))
    limit = pytest.MonkeyPatch()
    limit.setattr("certpca.search.swaps.CACHE_BYTES", 1 << 30 if cached else 0)
    try:
        search = SwapSearch(certpca.from_matrix(matrix), support, np.diag(matrix))
        swaps = search.improving_swaps()
    finally:
        limit.undo()
    values, vectors = np.linalg.eigh(matrix[np.ix_(support, support)])
    x = np.zeros(12)
    x[support] = vectors[:, -1]
    expected = set()
    for position, leaving in enumerate(support):
        rest = x.copy()
        rest[leaving] = 0.0
        rest /= np.linalg.norm(rest)
        for entering in np.setdiff1d(np.arange(12), support):
            plane = np.stack([rest, np.eye(12)[entering]], axis=1)
            if np.linalg.eigvalsh(plane.T @ matrix @ plane)[-1] > values[-1] * (1 + 1e-8):
                expected.add(position)
    assert set(swaps.positions.tolist()) >= expected
    assert not set(swaps.outsiders.tolist()) & set(support.tolist())


def test_applied_swaps_raise_the_objective(rng):
    matrix = np.cov(rng.standard_normal((15, 30)).T)
    search = SwapSearch(certpca.from_matrix(matrix), np.arange(6), np.diag(matrix))
    before = search.objective
    while (swaps := search.improving_swaps()).positions.size and search.apply(swaps, 1):
        assert search.objective > before
        before = search.objective
        block = matrix[np.ix_(search.support, search.support)]
        assert search.objective == pytest.approx(np.linalg.eigvalsh(block)[-1])
