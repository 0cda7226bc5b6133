"""Swaps are found where there are some, and only there."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
from certpca.search.swaps import SwapSearch


def values_of_swaps(matrix, support):
    """Return for every position and outsider the value of the best vector in the plane of the rest and the outsider."""
    outsiders = np.setdiff1d(np.arange(len(matrix)), support)
    x = np.zeros(len(matrix))
    x[support] = np.linalg.eigh(matrix[np.ix_(support, support)])[1][:, -1]
    values = {}
    for position, leaving in enumerate(support):
        rest = np.where(np.arange(len(matrix)) == leaving, 0.0, x)
        for entering in outsiders:
            plane = np.stack([rest / np.linalg.norm(rest), np.eye(len(matrix))[entering]], axis=1)
            values[position, int(entering)] = np.linalg.eigvalsh(plane.T @ matrix @ plane)[-1]
    return values


@given(seed=st.integers(0, 10_000), sparsity=st.integers(2, 6))
@settings(max_examples=80, deadline=None)
def test_pruned_search_finds_exactly_the_improving_swaps(seed, sparsity):
    rng = np.random.default_rng(seed)
    matrix = np.cov(rng.standard_normal((9, 12)).T)
    support = np.sort(rng.choice(12, sparsity, replace=False))
    search = SwapSearch(certpca.from_matrix(matrix), support, np.diag(matrix))
    swaps = search.improving_swaps()
    values, now = values_of_swaps(matrix, support), search.objective
    found = list(zip(swaps.positions.tolist(), swaps.outsiders.tolist(), strict=True))
    assert [position for position, _ in sorted(found)] == sorted(
        {p for (p, _), v in values.items() if v > now * (1 + 1e-9)}
    )
    # Each pair improves by itself, and the first by most.
    gains = [values[pair] for pair in found]
    assert all(gain > now for gain in gains)
    assert gains == sorted(gains, reverse=True) or np.allclose(gains, sorted(gains, reverse=True), rtol=1e-12)


def test_applied_swaps_raise_the_objective(rng):
    matrix = np.cov(rng.standard_normal((15, 30)).T)
    search = SwapSearch(certpca.from_matrix(matrix), np.arange(6), np.diag(matrix))
    before = search.objective
    while (swaps := search.improving_swaps()).positions.size and search.apply(swaps, 1):
        assert search.objective > before
        before = search.objective
        block = matrix[np.ix_(search.support, search.support)]
        assert search.objective == pytest.approx(np.linalg.eigvalsh(block)[-1])
