"""Sums of the largest shares, where it is counted how many features of each block a support has."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from certpca import CertificateError
from certpca.checker import examine
from certpca.checker.component_parts import Block, Kind, Part, blocks_of, counted, whole
from certpca.checker.counted_sums import Counts, largest_counted, largest_counted_total
from certpca.checker.pair_shares import largest_total
from certpca.results.certificate import Source
from tests.attacks.test_set_certificates import certificate_of


def supports_of(size: int, most: int, counts: Counts) -> list[tuple[int, ...]]:
    """List the supports of up to so many features that have as many of each block as they must, and may."""
    found = []
    for count in range(most + 1):
        for support in itertools.combinations(range(size), count):
            held = np.bincount(counts.labels[list(support)], minlength=counts.least.size)
            if (counts.least <= held).all() and (held <= counts.most).all():
                found.append(support)
    return found


def drawn(seed: int) -> tuple[np.random.Generator, int, Counts, int]:
    rng = np.random.default_rng(seed)
    size, blocks = int(rng.integers(2, 8)), int(rng.integers(1, 4))
    least = rng.integers(0, 2, blocks)
    counts = Counts(rng.integers(0, blocks, size), least, least + rng.integers(0, 4, blocks))
    return rng, size, counts, int(rng.integers(1, size + 1))


@pytest.mark.parametrize("seed", range(60))
def test_sums_are_those_of_the_best_choice(seed: int) -> None:
    rng, size, counts, budget = drawn(seed)
    values = rng.standard_normal((3, size))
    supports = supports_of(size, budget, counts)
    if not supports:
        return
    expected = [max(sum(max(row[i], 0.0) for i in support) for support in supports) for row in values]
    assert largest_counted(values, budget, counts) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_no_support_with_these_counts_has_a_larger_sum(seed: int) -> None:
    rng, size, counts, budget = drawn(seed)
    fixed = int(rng.integers(0, min(2, budget)))
    shares = rng.standard_normal((size, size)) + rng.choice([0.0, 1.0])
    total = largest_counted_total(
        shares, fixed, budget - fixed, counts.less(np.arange(fixed)).on(np.arange(fixed, size))
    )
    for support in supports_of(size, budget, counts):
        if set(range(fixed)) <= set(support):
            assert shares[np.ix_(support, support)].sum() <= total + 1e-12


def test_without_limits_it_is_the_sum_without_blocks() -> None:
    shares = np.random.default_rng(0).standard_normal((9, 9))
    counts = Counts(np.zeros(7, dtype=np.intp), np.array([0]), np.array([3]))
    assert largest_counted_total(shares, 2, 3, counts) == pytest.approx(largest_total(shares, 2, 3, fewer=True))


def test_counts_make_sums_smaller() -> None:
    """Two features of the first block, at most, where four are wanted."""
    shares = np.ones((8, 8)) + np.diag(np.zeros(8))
    shares[:4, :4] = 5.0
    counts = Counts(np.repeat([0, 1], 4), np.array([0, 0]), np.array([2, 4]))
    assert largest_total(shares, 0, 4, fewer=True) == pytest.approx(80.0)
    assert largest_counted_total(shares, 0, 4, counts) == pytest.approx(2 * 12 + 2 * 4)


BLOCKS = [Block({0, 1, 2, 3, 4}), Block({5, 6})]
WHOLE = whole((3, 3, 3), 9, 2)


def test_components_that_are_alike_are_split_by_how_many_have_more() -> None:
    parts = counted(WHOLE, {"block": 0, "of": 0, "above": 1, "into": [4, 5, 6]}, BLOCKS)  # six are too many
    assert [part.number for part in parts] == [4, 5, 6]
    assert [[kind.counts[0] for kind in part.kinds] for part in parts] == [
        [(0, 1)] * 3,
        [(2, 3), (0, 1), (0, 1)],
        [(2, 3), (2, 3), (0, 1)],
    ]
    needed = parts[2].needed(BLOCKS)
    assert needed == [4, 0]
    assert parts[2].kinds[2].limits(needed, BLOCKS) == [(0, 1), (0, 2)]
    assert parts[2].kinds[0].limits(needed, BLOCKS) == [(2, 3), (0, 1)]
    assert parts[2].possible(BLOCKS)


def test_what_others_must_have_is_left_to_none() -> None:
    part = counted(WHOLE, {"block": 0, "of": 0, "above": 1, "into": [1, 2, 3]}, BLOCKS)[2]
    nested = counted(part, {"block": 0, "of": 0, "above": 2, "into": [1, 2]}, BLOCKS)  # two times three are six of five
    assert nested[1].kinds[2].limits(nested[1].needed(BLOCKS), BLOCKS)[0] == (0, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"into": [4, 5]}, "leaves out a number of components"),
        ({"into": []}, "leaves out a number of components"),
        ({"into": [4, 5, 6, 7, 8]}, "malformed"),
        ({"into": "45"}, "malformed"),
        ({"into": {}}, "malformed"),
        ({"above": 3}, "not between"),
        ({"above": -1}, "not between"),
        ({"above": 1.0}, "not between"),
        ({"above": True}, "not between"),
        ({"block": 2}, "names no block"),
        ({"block": "0"}, "names no block"),
        ({"of": 3}, "names no component"),
        ({"of": -1}, "names no component"),
    ],
)
def test_splits_by_counts_that_do_not_cover_are_refused(change: dict[str, object], message: str) -> None:
    record = {"block": 0, "of": 0, "above": 1, "into": [4, 5, 6]}
    with pytest.raises(CertificateError, match=message):
        counted(WHOLE, {**record, **change}, BLOCKS)


def test_impossible_parts_are_known() -> None:
    kinds = (Kind(3, Block(), Block(range(9)), ((2, 3), (2, 2))),)
    assert not Part(0, kinds).possible(BLOCKS)  # four features of three
    pair = (Kind(3, Block(), Block(range(9)), ((0, 3), (2, 2))),) * 2
    assert not Part(0, pair).possible(BLOCKS)  # four of two


def test_blocks_share_no_feature_and_are_numbered() -> None:
    first, second = {"features": np.array([0, 1])}, {"features": np.array([2])}
    assert blocks_of({"block0": first, "block1": second}, 3) == [Block({0, 1}), Block({2})]
    with pytest.raises(CertificateError, match="in common"):
        blocks_of({"block0": first, "block1": {"features": np.array([1, 2])}}, 3)
    with pytest.raises(CertificateError, match="numbered from zero"):
        blocks_of({"block1": first}, 3)


def test_blocks_are_not_too_many() -> None:
    many = {f"block{number}": {"features": np.array([number])} for number in range(65)}
    with pytest.raises(CertificateError, match="more than 64 blocks"):
        blocks_of(many, 100)


def test_parts_that_are_impossible_need_no_evidence() -> None:
    """Two components have two features each of a block of three: nobody need say what that costs."""
    matrix = np.diag([3.0, 2.0, 2.0, 1.0])
    source = Source("matrix", matrix)
    leaf = {"leaf": 0, "slots": [[[{"leaf": "list"}]]] * 2}
    tree: list[dict[str, object]] = [
        {"block": 0, "of": 0, "above": 1, "into": [1, 2, 3]},
        {"leaf": 0, "slots": [[[{"leaf": "list"}]]]},
        leaf,
        {"leaf": 9},
    ]
    evidence = {
        "block0_features": np.array([0, 1, 2]),
        "leaf0_prices": np.zeros(4),
        **{f"leaf0_slot{slot}_scale": np.float64(1.0) for slot in range(2)},
    }
    draft = certificate_of(source, "priced-trees", "disjoint", (2, 2), tree, evidence)
    assert examine(draft, source).upper_bound >= 5.0
    with pytest.raises(CertificateError):
        examine(replace(draft, tree=[*tree[:2], {"leaf": 9}, tree[3]]), source)
