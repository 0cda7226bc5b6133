"""Parts by how many features of a contested block each component has: they cover all, and make bounds smaller."""

import numpy as np
import pytest

import certpca
from certpca.bounds.pair_bound.counted_sums import Counts, counted_total, smooth_counted_sum
from certpca.bounds.sets.counts.blocks import contested_blocks
from certpca.bounds.sets.counts.parts import Blocks, Part
from certpca.bounds.sets.counts.search import CountSearch
from certpca.bounds.sets.makers import paired_prices, priced_trees, priced_trees_at_a_glance
from certpca.bounds.sets.paired.descent import Prices
from certpca.bounds.sets.paired.search import PairedSearch
from certpca.checker import examine
from certpca.checker.counted_sums import Counts as Counted
from certpca.checker.counted_sums import largest_counted_total
from certpca.results.certificate import Source
from tests.attacks.test_set_certificates import certificate_of
from tests.bounds.sets.test_disjoint import brute_force

SPARSITIES = (4, 4)


def contested(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix in which two components want six alike features, and the best loadings."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((60, 10)) * 0.5
    noise[:, :6] += rng.standard_normal((60, 1))
    noise[:, 6:] += 0.6 * rng.standard_normal((60, 1))
    matrix = np.cov(noise.T)
    loadings = np.zeros((10, 2))
    for column, support in zip(loadings.T, ([0, 1, 2, 3], [6, 7, 8, 9]), strict=True):
        column[support] = np.linalg.eigh(matrix[np.ix_(support, support)])[1][:, -1]
    return matrix, loadings


def searched(seed: int, target: float = 0.0, most: int = 40) -> tuple[np.ndarray, PairedSearch, CountSearch]:
    matrix, loadings = contested(seed)
    whole = PairedSearch(matrix, SPARSITIES, loadings, lambda: False, apart=True)
    whole.run(0.0)
    search = CountSearch(whole, SPARSITIES, [np.arange(6)], target, lambda trees: trees > most)
    search.run(lambda bound: None)
    return matrix, whole, search


@pytest.mark.parametrize("seed", range(4))
def test_counts_make_the_bound_smaller_and_never_too_small(seed: int) -> None:
    matrix, whole, search = searched(seed)
    optimum = brute_force(matrix, SPARSITIES)
    assert optimum <= search.bound * (1 + 1e-9)
    assert search.bound - optimum < 0.5 * (whole.bound - optimum)
    tree, evidence = search.certificate()
    source = Source("matrix", matrix)
    proof = examine(certificate_of(source, "priced-trees", "disjoint", SPARSITIES, tree, evidence), source)
    assert optimum <= proof.upper_bound
    assert proof.upper_bound == pytest.approx(search.bound, rel=1e-6)


def test_it_stops_at_the_target_and_when_time_is_over() -> None:
    _, whole, search = searched(0, target=np.inf)
    assert search.bound == whole.bound
    assert len(search.tree) == 1
    _, _, search = searched(0, most=0)
    assert len(search.tree) == 1
    assert search.certificate()[0][0]["leaf"] == 0


def test_a_block_is_contested_where_it_is_too_large_for_the_component_that_it_draws() -> None:
    matrix, loadings = contested()
    (block,) = contested_blocks(matrix, loadings)
    assert block.tolist() == [0, 1, 2, 3, 4, 5]
    loadings[:, 1] = 0.0
    loadings[[4, 5, 9], 1] = 0.7, 0.7, 0.1  # what is left of the block makes no other
    assert [block.tolist() for block in contested_blocks(matrix, loadings)] == [[0, 1, 2, 3, 4, 5]]


def test_components_that_are_alike_are_divided_by_how_many_have_more() -> None:
    blocks = Blocks.of(10, [np.arange(5), np.array([7, 8])])
    point = PairedSearch(np.eye(10), (3, 3, 3), np.eye(10)[:, :3], lambda: False, apart=True).at.kinds[0]
    at = Prices(np.zeros((10, 1)), np.zeros(10), (point,), 1.0)
    whole = Part(0, ((3, ((0, 3), (0, 3))),) * 3, at, 1.0)
    none, one, two = whole.divided(whole.kinds[0], 0, 1, blocks)
    assert [len(part.kinds) for part in (none, one, two)] == [1, 2, 2]
    assert [kind.copies for kind in two.at.kinds] == [2, 1]
    assert two.at.kinds[1].counts.most.tolist() == [1, 2, 3]
    assert two.at.kinds[0].counts.least.tolist() == [2, 0, 0]
    assert two.at.kinds[0].counts.most.tolist() == [3, 1, 1]
    three = list(two.divided(two.kinds[0], 0, 2, blocks))
    assert [part.components[0][1][0] for part in three] == [(2, 2), (3, 3)]  # two of three are six of five


@pytest.mark.parametrize("seed", range(20))
def test_sums_are_those_of_the_checker_and_smoothed_ones_follow(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels, least = rng.integers(0, 3, 12), np.array([1, 0, 0])
    most = np.array([2, 2, 5])
    while (np.bincount(labels, minlength=3) < 3).any():
        labels = rng.integers(0, 3, 12)
    shares = rng.standard_normal((12, 12))
    expected = largest_counted_total(shares, 0, 5, Counted(labels, least, most))
    assert counted_total(shares, 5, labels, least, most, 0.0) == pytest.approx(expected)
    values, weights = rng.standard_normal(12), np.empty(12)
    sharp = smooth_counted_sum(values, labels, 5, least, most, 1e-6, weights, np.nan, 0.0)[0]
    chosen = sum(sorted(np.maximum(values[labels == 0], 0.0))[::-1][:1])
    assert sharp >= chosen
    smooth = smooth_counted_sum(values, labels, 5, least, most, 0.1, weights, np.nan, 0.0)[0]
    assert smooth >= sharp
    step, moved = 1e-5, values.copy()
    for place in range(12):
        moved[place] += step
        up = smooth_counted_sum(moved, labels, 5, least, most, 0.1, np.empty(12), np.nan, 0.0)[0]
        moved[place] -= step
        assert (up - smooth) / step == pytest.approx(weights[place], abs=2e-3)


def test_free_counts_are_no_counts() -> None:
    counts = Counts.free(7, 3)
    shares = np.random.default_rng(1).standard_normal((7, 7))
    unlimited = counted_total(shares, 3, counts.labels, counts.least, counts.most)
    rows = [shares[i, i] + np.sort(np.delete(shares[i], i))[::-1][:2].sum() for i in range(7)]
    assert unlimited == pytest.approx(np.sort(rows)[::-1][:3].sum())


def test_decompose_counts_where_prices_leave_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired_prices, "FROM", 0)
    for other in (priced_trees, priced_trees_at_a_glance):
        monkeypatch.setattr(other, "applies", lambda search: False)
    matrix, _ = contested()
    operator = certpca.from_matrix(matrix)
    found = certpca.decompose(operator, 2, 4, together="disjoint", certify=True, target_gap=0.05)
    assert found.certificate is not None
    assert any("block" in part for part in found.certificate.tree)
    assert certpca.verify(found.certificate, operator).gap <= 0.05
