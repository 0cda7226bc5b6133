"""The pair bound holds for every U, K and α; its sums are those of the definition; its smoothing is what it says."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certpca.bounds.pair_bound.points import PairPoint, bound_at, first_point, largest_eigenvalue, stored, tightened
from certpca.bounds.pair_bound.sums import pack, slopes, smooth_row_sums, smooth_top_sum, top_sum, totals, unpack

seeds = st.integers(0, 2**32 - 1)


def node(rng):
    """Draw a matrix with the features fixed in first, their number, and the budget."""
    free, fixed = int(rng.integers(2, 7)), int(rng.integers(0, 3))
    size = fixed + free
    data = rng.standard_normal((int(rng.integers(1, 10)), size))
    match rng.integers(5):
        case 0:
            data = np.round(data)
        case 1:
            data = np.eye(max(data.shape))[: data.shape[0], :size]
        case 2:
            data[:, rng.integers(size)] = data[:, rng.integers(size)]
        case 3:
            data *= 10.0 ** rng.uniform(-3, 3, size)
    return data.T @ data, fixed, int(rng.integers(1, free))


def any_point(rng, matrix):
    """Draw U, K and α: near the useful ones, or arbitrary."""
    size, unit = matrix.shape[0], float(np.linalg.norm(matrix)) or 1.0
    noise, turn = rng.standard_normal((2, size, size))
    u = matrix - rng.choice([0.0, 0.1, 1.0, -1.0]) * unit * np.eye(size)
    u = u + rng.choice([0.0, 0.01, 1.0, 100.0]) * unit * (noise + noise.T)
    k = rng.choice([0.0, 0.01, 1.0, 100.0]) * unit * (turn - turn.T)
    alpha = unit * rng.choice([0.01, 0.5, 10.0]) * rng.lognormal(0, rng.choice([0.0, 1.0, 4.0]), size)
    return PairPoint(np.arange(size), u, k, alpha)


def judged(matrix, fixed, budget):
    """Return the best value of the node, and those with each free feature in and out."""
    size = matrix.shape[0]
    best, inside, outside = -math.inf, np.full(size - fixed, -math.inf), np.full(size - fixed, -math.inf)
    for chosen in combinations(range(fixed, size), budget):
        support = np.array([*range(fixed), *chosen])
        value = float(np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-1])
        taken = np.isin(np.arange(fixed, size), chosen)
        best = max(best, value)
        inside[taken] = np.maximum(inside[taken], value)
        outside[~taken] = np.maximum(outside[~taken], value)
    return best, inside, outside


# --- the inequality ---------------------------------------------------------------------------------------------------


@settings(max_examples=400, deadline=None)
@given(seed=seeds)
def test_the_bound_holds_for_every_point_at_every_node(seed):
    rng = np.random.default_rng(seed)
    matrix, fixed, budget = node(rng)
    point = any_point(rng, matrix)
    leading, total, forced_in, forced_out = bound_at(matrix, point, fixed, budget)
    best, inside, outside = judged(matrix, fixed, budget)
    # K cancels in T up to roundings of its own size.
    slack = 1e-12 * (float(np.linalg.norm(matrix)) + abs(leading) + float(np.abs(point.shares()).sum()))
    assert leading + total >= best - slack
    assert (leading + forced_in >= inside - slack).all()
    assert (leading + forced_out >= outside - slack).all()
    assert max(forced_in.max(), forced_out.max()) <= total + slack  # forcing never weakens a bound


def judged_at(matrix, fixed, budget, prices):
    """Return what the best support is worth at prices, smaller ones included, and with each free feature in and out."""
    size = matrix.shape[0]
    best, inside, outside = -math.inf, np.full(size - fixed, -math.inf), np.full(size - fixed, -math.inf)
    for count in range(min(budget, size - fixed) + 1):
        for chosen in combinations(range(fixed, size), count):
            support = np.array([*range(fixed), *chosen], dtype=int)
            value = float(np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-1]) if support.size else 0.0
            value -= prices[support].sum()
            taken = np.isin(np.arange(fixed, size), chosen)
            best = max(best, value)
            inside[taken] = np.maximum(inside[taken], value)
            outside[~taken] = np.maximum(outside[~taken], value)
    return best, inside, outside


@settings(max_examples=300, deadline=None)
@given(seed=seeds, share=st.sampled_from([0.0, 0.1, 0.5, 2.0]))
def test_with_prices_the_bound_holds_for_smaller_supports_too(seed, share):
    rng = np.random.default_rng(seed)
    matrix, fixed, budget = node(rng)
    size = matrix.shape[0]
    budget = int(rng.choice([budget, size - fixed, size]))  # a budget may be more than there are
    prices = rng.random(size) * rng.integers(0, 2, size) * share * np.diagonal(matrix).max()
    point = any_point(rng, matrix)
    leading, total, forced_in, forced_out = bound_at(matrix, point, fixed, budget, prices)
    best, inside, outside = judged_at(matrix, fixed, budget, prices)
    slack = 1e-12 * (float(np.linalg.norm(matrix)) + abs(leading) + float(np.abs(point.shares(prices)).sum()))
    # λ_max of what is left is at least that of a support only where there is one.
    if fixed or leading >= 0:
        assert leading + total >= best - slack
    assert (leading + forced_in >= inside - slack).all()
    if fixed or leading >= 0:
        assert (leading + forced_out >= outside - slack).all()
    assert max(forced_in.max(), forced_out.max()) <= total + slack


@pytest.mark.parametrize("seed", range(5))
def test_with_prices_the_descent_gives_bounds_and_improves(seed):
    rng = np.random.default_rng(seed)
    matrix = np.cov(rng.standard_normal((15, 8)).T)
    matrix /= np.linalg.eigvalsh(matrix)[-1]
    prices = 0.2 * rng.random(8)
    best, _, _ = judged_at(matrix, 0, 3, prices)
    start = first_point(np.arange(8), matrix, 0.1, 0, 3, prices)
    begin = sum(bound_at(matrix, start, 0, 3, prices)[:2])
    point = start
    for smoothing in (0.01, 0.001):
        point, _, _ = tightened(
            matrix, point, 0, 3, smoothing=smoothing, steps=60, target=0.0, late=lambda: False, worth_fixing=2.0,
            prices=prices,
        )  # fmt: skip
    end = sum(bound_at(matrix, point, 0, 3, prices)[:2])
    assert best - 1e-12 <= end < begin


@settings(max_examples=200, deadline=None)
@given(seed=seeds, smoothing=st.sampled_from([1e-6, 1e-3, 0.1, 10.0]), start=st.sampled_from([math.nan, 0.0, 1e9]))
def test_smoothed_sums_with_a_floor_are_above_the_exact_ones_and_near(seed, smoothing, start):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 9))
    count = int(rng.integers(0, size + 3))
    values = rng.choice([rng.standard_normal(size), np.round(rng.standard_normal(size)), np.zeros(size)])
    weights = np.empty(size)
    value, level = smooth_top_sum(values, count, smoothing, weights, start, 0.0)
    exact = sum(sorted((max(entry, 0.0) for entry in values), reverse=True)[:count])
    assert top_sum(values, count, 0.0) == pytest.approx(exact, rel=1e-15)
    assert exact - 1e-12 * (1 + exact) <= value <= exact + 1.001 * smoothing * size * math.log(2) + 1e-9
    assert count == 0 or level >= 0
    assert weights.sum() <= count * (1 + 1e-5) + 1e-9


@settings(max_examples=100, deadline=None)
@given(seed=seeds)
def test_squares_of_a_matrix_of_rank_one_are_tight(seed):
    rng = np.random.default_rng(seed)
    free, budget = 6, int(rng.integers(1, 6))
    x = rng.standard_normal(free)
    matrix = np.outer(x, x)
    best, inside, outside = judged(matrix, 0, budget)
    total, forced_in, forced_out = totals(matrix**2, 0, budget)
    assert math.sqrt(total) == pytest.approx(best)
    np.testing.assert_allclose(np.sqrt(forced_in), inside)
    np.testing.assert_allclose(np.sqrt(forced_out), outside)


def test_restricting_a_point_keeps_the_bound_of_a_child(rng):
    matrix, size = np.cov(rng.standard_normal((20, 7)).T), 7
    point = any_point(rng, matrix)
    features = np.array([4, 0, 6, 2])  # 4 fixed in, 1, 3 and 5 out
    here = matrix[np.ix_(features, features)]
    part = point.on(features)
    assert part.features.tolist() == features.tolist()
    np.testing.assert_array_equal(part.u, point.u[np.ix_(features, features)])
    np.testing.assert_array_equal(part.k, point.k[np.ix_(features, features)])
    leading, total, _, _ = bound_at(here, part, 1, 2)
    assert leading + total >= judged(here, 1, 2)[0] * (1 - 1e-12)
    assert point.on(np.arange(size)) is point
    assert part.on(features[[2, 0]]).alpha.tolist() == point.alpha[[6, 4]].tolist()


def test_stored_points_are_what_single_precision_keeps(rng):
    point = any_point(rng, np.cov(rng.standard_normal((20, 7)).T))
    kept = stored(point.features, point.u, point.k, point.alpha).unpacked()
    np.testing.assert_array_equal(kept.u, kept.u.astype(np.float32))
    np.testing.assert_array_equal(kept.k, kept.k.astype(np.float32))
    np.testing.assert_array_equal(kept.u, kept.u.T)
    np.testing.assert_array_equal(kept.k, -kept.k.T)
    np.testing.assert_allclose(kept.u, point.u, rtol=1e-6)


@pytest.mark.parametrize("size", [0, 1, 5, 60, 61, 90])
def test_largest_eigenvalue_at_every_size(size, rng):
    matrix = np.cov(rng.standard_normal((30, size + 2)).T)[:size, :size]
    expected = np.linalg.eigvalsh(matrix)[-1] if size else 0.0
    assert largest_eigenvalue(matrix) == pytest.approx(expected, rel=1e-12)


# --- sums -------------------------------------------------------------------------------------------------------------


def naive_total(shares, inside, free, budget):
    def row(i):
        others = sorted((shares[i, j] for j in free if j != i), reverse=True)
        own = shares[i, i] if i in free else 0.0
        return sum(shares[i, j] for j in inside) + own + sum(others[: budget - (i in free)])

    return sum(row(i) for i in inside) + sum(sorted((row(i) for i in free), reverse=True)[:budget])


@settings(max_examples=400, deadline=None)
@given(seed=seeds, reach=st.sampled_from([1, 3, 1000]))
def test_totals_are_those_of_the_definition(seed, reach):
    """Whole numbers: sums are exact, and ties are many."""
    rng = np.random.default_rng(seed)
    free, fixed = int(rng.integers(2, 8)), int(rng.integers(0, 5))
    budget = int(rng.integers(1, free))
    shares = rng.integers(-reach, reach + 1, (fixed + free, fixed + free)).astype(np.float64)
    inside, rest = list(range(fixed)), list(range(fixed, fixed + free))
    total, forced_in, forced_out = totals(shares, fixed, budget)
    assert total == naive_total(shares, inside, rest, budget)
    for place, i in enumerate(rest):
        others = [j for j in rest if j != i]
        assert forced_in[place] == naive_total(shares, [*inside, i], others, budget - 1)
        assert forced_out[place] == naive_total(shares, inside, others, budget)


@pytest.mark.parametrize("count", range(-1, 8))
def test_top_sum(count, rng):
    values = rng.integers(-3, 4, 6).astype(np.float64)
    assert top_sum(values, count) == sum(sorted(values, reverse=True)[: max(count, 0)])


# --- smoothing --------------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(
    seed=seeds,
    smoothing=st.sampled_from([1e-6, 1e-3, 0.1, 10.0]),
    start=st.sampled_from([math.nan, 0.0, 1e9, -1e9]),
)
def test_smoothed_sums_are_above_the_exact_ones_and_near(seed, smoothing, start):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 9))
    count = int(rng.integers(0, size + 2))
    values = rng.choice([rng.standard_normal(size), np.round(rng.standard_normal(size)), np.zeros(size)])
    weights = np.empty(size)
    value, _ = smooth_top_sum(values, count, smoothing, weights, start)
    exact = top_sum(values, count)
    assert value >= exact - 1e-12 * (1 + abs(exact))
    assert value <= exact + 1.001 * smoothing * size * math.log(2) + 1e-9
    assert ((weights >= 0) & (weights <= 1)).all()
    assert weights.sum() == pytest.approx(min(count, size), rel=1e-5, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(seed=seeds, smoothing=st.sampled_from([0.05, 0.5, 5.0]))
def test_weights_are_the_derivatives_of_the_smoothed_sum(seed, smoothing):
    rng = np.random.default_rng(seed)
    values, count, step = rng.standard_normal(7), int(rng.integers(1, 7)), 1e-5
    weights, unused = np.empty(7), np.empty(7)
    _, level = smooth_top_sum(values, count, smoothing, weights, math.nan)
    for place in range(7):
        ends = []
        for sign in (1, -1):
            moved = values.copy()
            moved[place] += sign * step
            ends.append(smooth_top_sum(moved, count, smoothing, unused, level)[0])
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(weights[place], abs=2e-5)


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_smoothed_row_sums_are_above_the_exact_total(seed):
    rng = np.random.default_rng(seed)
    matrix, fixed, budget = node(rng)
    point, size = any_point(rng, matrix), matrix.shape[0]
    shares, weights = np.empty((size, size)), np.empty((size, size))
    unit = float(np.abs(point.shares()).max())
    sums = smooth_row_sums(
        point.u,
        point.k,
        point.alpha,
        fixed,
        budget,
        0.01 * unit,
        np.full(size, np.nan),
        shares,
        weights,
        np.zeros(size),
    )
    np.testing.assert_allclose(shares, point.shares())
    outer = np.empty(size - fixed)
    top, _ = smooth_top_sum(sums[fixed:], budget, 0.01 * unit, outer, math.nan)
    assert sums[:fixed].sum() + top >= totals(shares, fixed, budget)[0] - 1e-9 * unit
    np.testing.assert_allclose(weights.sum(axis=1), fixed + budget, rtol=1e-4)


def smoothed(packed, matrix, fixed, budget, smoothing):
    """The function that `tightened` descends on, by its definition, and its gradient from `slopes`."""
    size = matrix.shape[0]
    u, k = unpack(np.ascontiguousarray(packed[: size * size].reshape(size, size)), 0.5)
    alpha = np.exp(packed[size * size :])
    shares, weights, gradient = (np.empty((size, size)) for _ in range(3))
    sums = smooth_row_sums(
        u, k, alpha, fixed, budget, smoothing, np.full(size, np.nan), shares, weights, np.zeros(size)
    )
    values, vectors = np.linalg.eigh(matrix - u + np.diag(alpha))
    share = np.exp((values - values[-1]) / smoothing)
    outer = np.ones(size)
    top, _ = smooth_top_sum(sums[fixed:], budget, smoothing, outer[fixed:], math.nan)
    value = values[-1] + smoothing * math.log(share.sum()) + sums[:fixed].sum() + top
    density = (vectors * share / share.sum()) @ vectors.T
    by_alpha = slopes(u, alpha, density, weights, outer, 0.5, gradient)
    return value, np.concatenate([gradient.ravel(), by_alpha])


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_slopes_match_finite_differences(seed):
    rng = np.random.default_rng(seed)
    free, fixed = int(rng.integers(2, 5)), int(rng.integers(0, 3))
    size, budget = free + fixed, int(rng.integers(1, free))
    matrix = np.cov(rng.standard_normal((12, size)).T)
    packed = np.concatenate([rng.standard_normal(size * size), 0.5 * rng.standard_normal(size)])
    _, gradient = smoothed(packed, matrix, fixed, budget, 0.5)
    for place in range(packed.size):
        step = np.zeros(packed.size)
        step[place] = 1e-4
        ends = [smoothed(packed + sign * step, matrix, fixed, budget, 0.5)[0] for sign in (1, -1)]
        assert (ends[0] - ends[1]) / 2e-4 == pytest.approx(gradient[place], abs=1e-4, rel=1e-4)


def test_packing_is_undone_by_unpacking(rng):
    point = any_point(rng, np.cov(rng.standard_normal((20, 6)).T))
    u, k = unpack(pack(point.u, point.k, 0.7), 0.7)
    np.testing.assert_allclose(u, point.u, rtol=1e-14)
    np.testing.assert_allclose(k, point.k, rtol=1e-14, atol=1e-15)


# --- descent ----------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(seed=seeds, smoothing=st.sampled_from([0.03, 0.003, 0.0003]), steps=st.sampled_from([1, 20, 80]))
def test_tightened_points_bound_every_support(seed, smoothing, steps):
    rng = np.random.default_rng(seed)
    matrix, fixed, budget = node(rng)
    matrix = matrix / (judged(matrix, fixed, budget)[0] or 1.0)
    size = matrix.shape[0]
    start = first_point(np.arange(size), matrix, 0.3 * float(rng.random()), fixed, budget)
    found, weights, evaluations = tightened(
        matrix, start, fixed, budget, smoothing=smoothing, steps=steps, target=0.0, late=lambda: False
    )
    assert evaluations >= 1
    np.testing.assert_array_equal(found.u, found.u.T)
    np.testing.assert_array_equal(found.k, -found.k.T)
    assert (found.alpha > 0).all()
    assert weights.shape == (size,)
    kept = stored(found.features, found.u, found.k, found.alpha).unpacked()
    best, inside, outside = judged(matrix, fixed, budget)
    for point in (found, kept):
        leading, total, forced_in, forced_out = bound_at(matrix, point, fixed, budget)
        assert leading + total >= best * (1 - 1e-12)
        assert (leading + forced_in >= inside * (1 - 1e-12) - 1e-12).all()
        assert (leading + forced_out >= outside * (1 - 1e-12) - 1e-12).all()


def test_the_descent_improves_and_stops_early(rng):
    """It stops at its target, or when the bounds with a feature forced reach it for a fifth of the features."""
    matrix = np.cov(rng.standard_normal((40, 24)).T)
    matrix = matrix / matrix.max()
    start = first_point(np.arange(24), matrix, 0.5, 0, 8)
    before = sum(bound_at(matrix, start, 0, 8)[:2])
    common: dict[str, Any] = {"smoothing": 0.003, "steps": 60, "late": lambda: False}
    found, weights, evaluations = tightened(matrix, start, 0, 8, target=0.0, **common)
    after = sum(bound_at(matrix, found, 0, 8)[:2])
    assert after < before
    assert weights.sum() == pytest.approx(8, rel=1e-3)
    halfway = (before + after) / 2
    early, _, fewer = tightened(matrix, start, 0, 8, target=halfway, **common)
    assert fewer < evaluations
    leading, total, forced_in, forced_out = bound_at(matrix, early, 0, 8)
    decided = (leading + forced_in <= halfway).sum() + (leading + forced_out <= halfway).sum()
    assert leading + total <= halfway or decided >= 0.2 * 24


def test_the_descent_stops_when_time_is_up(rng):
    matrix = np.cov(rng.standard_normal((10, 30)).T)
    matrix = matrix / matrix.max()
    start = first_point(np.arange(30), matrix, 0.1, 0, 8)
    late: dict[str, Any] = {"smoothing": 0.03, "target": 0.0, "late": lambda: True}
    assert tightened(matrix, start, 0, 8, steps=500, **late)[2] <= 40
