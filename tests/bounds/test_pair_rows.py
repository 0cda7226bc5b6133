"""Rows of pairs: the descent has the right slopes, the bound is that of the checker, and pairs suggest supports."""

import math
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.bounds.goals import Goal, Incumbent, Known
from certpca.bounds.l0_level.features import much_larger
from certpca.bounds.makers import count_tree, pair_rows, pair_rows_later
from certpca.bounds.pair_bound.points import first_point
from certpca.bounds.pair_rows import columns, strongest
from certpca.bounds.pair_rows.columns import Columns
from certpca.bounds.pair_rows.descent import Descent
from certpca.bounds.pair_rows.search import by_one_number, search
from certpca.bounds.pair_rows.strongest import Strongest
from certpca.bounds.pair_rows.suggested import improved_by_pairs
from certpca.bounds.pair_rows.wide_point import RowsPoint, WidePoint, widened
from certpca.bounds.proof_search import ProofSearch
from certpca.operators import on_host
from certpca.runtime.budget import Budget, Progress
from tests.brute_force import brute_force

K = 4


def never() -> bool:
    return False


@pytest.fixture
def data(rng: np.random.Generator) -> np.ndarray:
    data = rng.standard_normal((30, 14))
    data[:, :6] += 1.5 * rng.standard_normal((30, 1))
    return np.asarray(data - data.mean(axis=0))


def pairs_of(data: np.ndarray) -> Strongest:
    found = strongest.among(Columns.held(data.astype(np.float32)), K - 1, never)
    assert found is not None
    return found


def point_of(data: np.ndarray, captured: float, rng: np.random.Generator) -> RowsPoint:
    matrix = data.T @ data / captured
    own, partners = np.array([0, 1, 2, 3, 7]), np.array([4, 5, 9, 12])
    point = first_point(own, matrix[np.ix_(own, own)], 0.1, 0, K)
    across = matrix[np.ix_(own, partners)] * rng.uniform(0.3, 1.0, (own.size, partners.size))
    return RowsPoint(point, partners, across, 0.05, 0.4, 0.2)


def test_slopes_are_those_of_the_bound(data, rng):
    matrix, point = data.T @ data / 100, point_of(data, 100.0, rng)
    own = point.own.features
    descent = Descent(matrix[np.ix_(own, own)], matrix[np.ix_(own, point.partners)], np.array([0.02, 0.01]), K)
    start = descent.packed(point)
    value, gradient = descent.smoothed(start, point, 0.01)
    for place in [*rng.choice(start.size, 25, replace=False), start.size - 2, start.size - 1]:
        step = np.zeros(start.size)
        step[place] = 1e-5
        up, down = (descent.smoothed(start + sign * step, point, 0.01)[0] for sign in (1, -1))
        assert (up - down) / 2e-5 == pytest.approx(gradient[place], rel=2e-4, abs=2e-5), place
    assert math.isfinite(value)


def test_a_descent_makes_the_bound_smaller(data, rng):
    captured = brute_force(data.T @ data, K)[0]
    matrix, point, pairs = data.T @ data / captured, point_of(data, captured, rng), pairs_of(data)
    own = point.own.features
    before = widened(pairs, point, K, captured)
    others = np.delete(before.sums, own) * before.rest / captured**2
    descent = Descent(matrix[np.ix_(own, own)], matrix[np.ix_(own, point.partners)], others, K)
    after, weights = descent.tightened(point, smoothing=0.003, steps=60, target=0.0, late=never)
    assert captured * (1 - 1e-6) < widened(pairs, after, K, captured).bound < before.bound
    assert weights.shape == own.shape


def forced_by_force(point: WidePoint, data: np.ndarray) -> tuple[float, np.ndarray]:
    """Evaluate the inequality entry by entry."""
    matrix, size = data.T @ data, data.shape[1]
    u, alpha, k = matrix - point.shift * np.eye(size), np.full(size, point.rest), np.zeros((size, size))
    own, stored = point.own.features, point.own.unpacked()
    u[np.ix_(own, own)], k[np.ix_(own, own)], alpha[own] = stored.u, stored.k, stored.alpha
    u[np.ix_(own, point.partners)], u[np.ix_(point.partners, own)] = point.across, point.across.T
    shares = u**2 / (2 * (alpha[:, None] + alpha)) + k
    sums = [shares[i, i] + np.sort(np.delete(shares[i], i))[::-1][: K - 1].sum() for i in range(size)]
    leading = np.linalg.eigvalsh(matrix - u + np.diag(alpha))[-1]
    return leading + np.sort(sums)[::-1][:K].sum(), np.array(sums)


def test_the_bound_is_the_inequality(data, rng):
    captured = brute_force(data.T @ data, K)[0]
    point = widened(pairs_of(data), point_of(data, captured, rng), K, captured)
    least, sums = forced_by_force(point, data)
    own = point.own.features
    np.testing.assert_allclose(point.sums[own], sums[own], rtol=1e-5)
    # Of the others only the strongest pairs are known; all else counts as the last of these.
    assert (point.sums >= sums * (1 - 1e-5)).all()
    assert np.isclose(point.sums, sums, rtol=1e-5).mean() > 0.5
    # λ is bounded by way of s, so it may be larger than the eigenvalue itself.
    assert least * (1 - 1e-6) <= point.bound <= 1.5 * least
    assert (point.forced[own] <= point.bound * (1 + 1e-6)).all()
    assert point.forced.max() >= captured * (1 - 1e-6)


def test_a_point_may_join_and_be_restricted(data, rng):
    captured = brute_force(data.T @ data, K)[0]
    point, pairs, matrix = point_of(data, captured, rng), pairs_of(data), data.T @ data / captured
    whole = point.joined(np.setdiff1d(np.arange(14), point.own.features), matrix[[4, 5, 6, 8, 9, 10, 11, 12, 13]])
    assert whole.own.features.tolist() == list(range(14))
    assert whole.partners.size == 0
    bound = widened(pairs, point, K, captured).bound
    joined = widened(pairs, whole, K, captured)
    assert captured * (1 - 1e-6) <= joined.bound <= bound * (1 + 1e-6)
    fewer = np.array([0, 1, 2, 4, 5, 9, 12])
    part = point.on(fewer)
    assert part.own.features.tolist() == [0, 1, 2]
    assert part.partners.tolist() == [3, 4, 5, 6]
    np.testing.assert_array_equal(part.across, point.across[:3])
    assert widened(pairs_of(data[:, fewer]), part, K, captured).bound <= bound * (1 + 1e-6)


@pytest.mark.parametrize("size", [14, 30, 31])
def test_every_pair_is_looked_at_whatever_the_blocks(rng, monkeypatch, size):
    monkeypatch.setattr(columns, "WIDTH", 10)
    monkeypatch.setattr(strongest, "MATRIX_UP_TO", 0)
    data = rng.standard_normal((5, size)).astype(np.float32)
    found = strongest.among(Columns.held(data), size - 1, never)
    assert found is not None
    assert found.matrix is None
    squares = np.square(data.T @ data)
    np.testing.assert_allclose(
        found.squares, np.take_along_axis(squares, found.partners.astype(int), axis=1), rtol=1e-4, atol=1e-6
    )
    np.testing.assert_array_equal(
        np.sort(found.partners, axis=1), [np.delete(np.arange(size), row) for row in range(size)]
    )
    assert (np.diff(found.squares, axis=1) <= 0).all()
    some = np.array([1, 7, 12])
    np.testing.assert_allclose(found.rows(some), (data.T @ data)[some], rtol=1e-4, atol=1e-5)
    image = found.image(some, np.ones(3, dtype=np.float32))
    np.testing.assert_allclose(image, (data.T @ data)[some].sum(axis=0), rtol=1e-4, atol=1e-5)


def test_columns_of_bytes_are_made_when_they_are_asked_for(rng):
    data = rng.integers(0, 3, (300, 1000)).astype(np.int8)
    operator = on_host(certpca.from_data(data))
    held, made = (columns.columns_of(operator.factor(), held=held) for held in (True, False))
    wanted, among = np.array([3, 500, 999]), np.arange(0, 1000, 7)
    np.testing.assert_allclose(made.take(wanted), held.take(wanted), rtol=1e-6)
    np.testing.assert_array_equal(made.on(among).take(slice(2, 40)), made.take(among[2:40]))
    assert made.depth == held.depth == 300
    assert not much_larger(4 * data.size, on_host(certpca.from_data(data.astype(np.float32))))
    assert much_larger(20 << 20, operator)


def test_a_group_of_copies_is_found(rng):
    """A search from leading directions sees what many features share, not five that are nearly the same."""
    data = rng.standard_normal((80, 300)) + 0.9 * rng.standard_normal((80, 1))
    data[:, 250:255] = 2.0 * rng.standard_normal((80, 1)) + 0.1 * rng.standard_normal((80, 5))
    operator = on_host(certpca.from_data(data))
    start = np.arange(5)
    incumbent = Incumbent(operator, Known(start, np.full(5, 5**-0.5), 0.0))
    incumbent.best = incumbent.refitted(start)
    centred = data - data.mean(axis=0)
    pairs = strongest.among(Columns.held(centred.astype(np.float32)), 4, never)
    assert pairs is not None
    improved_by_pairs(pairs, incumbent, never)
    assert incumbent.best.support.tolist() == list(range(250, 255))


def stages_of(data: np.ndarray, sparsity: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, float]:
    """Return how many descents a search makes, and the gap it ends with."""
    operator = on_host(certpca.from_data(data))
    support = certpca.solve(operator, sparsity).support
    incumbent = Incumbent(operator, Known(support, np.ones(sparsity), 0.0))
    incumbent.best = incumbent.refitted(support)
    pairs, made = strongest.among(columns.columns_of(operator.factor(), held=True), sparsity - 1, never), list[float]()
    assert pairs is not None
    tightened = Descent.tightened

    def counted(self: Descent, start: RowsPoint, **how: Any) -> Any:
        made.append(how["smoothing"])
        return tightened(self, start, **how)

    monkeypatch.setattr(Descent, "tightened", counted)
    found = search(pairs, sparsity, incumbent, Goal(1e-4), Progress(Budget(seconds=1e6)))
    return len(made), 1 - incumbent.objective / found.bound


def test_what_pairs_do_not_bound_is_left_to_other_bounds(rng, monkeypatch):
    """In noise every feature goes with every other a little, and no row is small."""
    stages, gap = stages_of(rng.standard_normal((25, 520)), 40, monkeypatch)
    assert stages <= 2
    assert gap > 0.05


def test_features_are_left_out_on_the_way(rng, monkeypatch):
    data = rng.standard_normal((60, 520))
    data[:, :12] += rng.standard_normal((60, 1)) * np.linspace(0.9, 1.3, 12)
    _, gap = stages_of(data, 8, monkeypatch)
    assert gap <= 1e-4


def test_one_number_bounds_every_support(data):
    pairs, best = pairs_of(data), brute_force(data.T @ data, K)[0]
    shift, bound = by_one_number(pairs, K)
    squares = np.sort(np.square(data.T @ data - shift * np.eye(data.shape[1])), axis=1)[:, ::-1]
    own = np.square(pairs.diagonal - shift)
    others = pairs.squares.sum(axis=1, dtype=np.float64)
    assert bound == pytest.approx(shift + math.sqrt(np.sort(own + others)[-K:].sum()), rel=1e-6)
    assert (own + others <= squares[:, :K].sum(axis=1) * (1 + 1e-5)).all()
    assert best <= bound <= best * 1.5


def alike(rng: np.random.Generator) -> np.ndarray:
    """Return features of one length, each near one of many directions of a sample space of few."""
    directions = rng.standard_normal((10, 60))
    return np.asarray(np.repeat(directions, 10, axis=1) + 0.3 * rng.standard_normal((10, 600)))


def test_pairs_come_before_counts_where_levels_say_no_more_than_the_trace(rng, monkeypatch):
    data, k = alike(rng), 8
    monkeypatch.setattr(pair_rows, "applies", lambda _: False)
    monkeypatch.setattr(pair_rows_later, "applies", lambda _: False)

    def too_late(_: Any) -> None:
        pytest.fail("cells of counts were tried before pairs")

    with monkeypatch.context() as patch:
        patch.setattr(count_tree, "make", too_late)
        certificate = certpca.certify(data, k, scale=True, target_gap=1e-3)
    assert certificate.kind == "pair-rows"
    assert certificate.gap < 1e-3
    certpca.verify(certificate, data)


def test_pairs_are_not_looked_at_where_the_level_gained_much(rng, monkeypatch):
    data = rng.standard_normal((40, 600)) + 0.8 * rng.standard_normal((40, 1))
    calls = list[str]()
    monkeypatch.setattr(pair_rows, "applies", lambda _: False)
    monkeypatch.setattr(pair_rows_later, "applies", lambda _: False)
    monkeypatch.setattr(pair_rows, "looked_at", lambda search: calls.append("pairs"))

    def counts(search: ProofSearch) -> None:
        calls.append("counts")
        search.over = True  # what would come next takes long

    monkeypatch.setattr(count_tree, "make", counts)
    certpca.certify(data, 100, target_gap=1e-4)
    assert calls == ["counts"]
