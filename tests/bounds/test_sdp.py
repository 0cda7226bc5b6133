"""The semidefinite relaxation: published values, an interior-point solver and brute force judge it."""

import json
from itertools import pairwise

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
from certpca import Budget, Status
from certpca.runtime.errors import CertpcaError, InvalidProblemError
from tests.brute_force import brute_force

CLOSE = 1e-5  # relative; what two solvers may differ by


def solved(matrix, sparsity, **options):
    return certpca.solve_sdp(matrix, sparsity, covariance=True, **options)


def interior_point(matrix, sparsities):
    """Solve with Clarabel for several sparsities, in units of the largest eigenvalue."""
    cp = pytest.importorskip("cvxpy")
    size, scale = matrix.shape[0], float(np.linalg.eigvalsh(matrix)[-1])
    z, sparsity = cp.Variable((size, size), PSD=True), cp.Parameter(pos=True)
    captured = cp.sum(cp.multiply(matrix / scale, z))
    problem = cp.Problem(cp.Maximize(captured), [cp.trace(z) <= 1, cp.sum(cp.abs(z)) <= sparsity])
    for count in sparsities:
        sparsity.value = count
        problem.solve(solver=cp.CLARABEL)
        yield problem.value * scale


def toeplitz(size, decay):
    places = np.arange(size)
    return decay ** np.abs(places[:, None] - places)


def blocks(size, width, inside):
    member = np.arange(size) // width
    return inside * (member[:, None] == member) + (1 - inside) * np.eye(size)


def spiked(rng, size, width, strength):
    spike = np.zeros(size)
    spike[:width] = rng.standard_normal(width)
    return np.cov(rng.standard_normal((3 * size, size)).T) + strength * np.outer(spike, spike)


def random_covariance(rng, rows, size):
    return np.cov(rng.standard_normal((rows, size)).T)


def duplicated(rng, rows, size):
    half = rng.standard_normal((rows, (size + 1) // 2))
    return np.cov(np.concatenate([half, half], axis=1)[:, :size].T)


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparsity", range(2, 11))
def test_pit_props_values_of_the_literature(sparsity, shared):
    """Equation (2) of Chowdhury et al. on the pit props, solved elsewhere by interior points (see the file)."""
    published = json.loads((shared / "reference" / "published_values.json").read_text())
    value = published["pitprops_sdp_eq2"][str(sparsity)]
    relaxation = certpca.solve_sdp(certpca.pitprops(), sparsity, target_gap=1e-6)
    assert relaxation.status is Status.CONVERGED
    assert value * (1 - CLOSE) <= relaxation.lower <= value + 1e-6  # six decimals are published
    assert value - 1e-6 <= relaxation.upper <= value * (1 + CLOSE)


@pytest.mark.parametrize(
    ("name", "matrix", "sparsities"),
    [
        ("spiked, small", lambda rng: spiked(rng, 10, 3, 1.0), range(1, 11)),
        ("spiked", lambda rng: spiked(rng, 25, 6, 0.5), (1, 4, 6, 12)),
        ("spiked, large", lambda rng: spiked(rng, 40, 8, 0.5), (8,)),
        ("Toeplitz", lambda rng: toeplitz(8, 0.8), (1, 2, 4, 8)),
        ("blocks", lambda rng: blocks(12, 4, 0.7), range(1, 13)),
        ("blocks, large", lambda rng: blocks(40, 7, 0.3), (5,)),
        ("more features than samples", lambda rng: random_covariance(rng, 6, 16), (1, 2, 3, 5, 8, 13)),
        ("rank three of forty", lambda rng: random_covariance(rng, 4, 40), (6,)),
        ("duplicated features", lambda rng: duplicated(rng, 5, 14), (1, 2, 3, 4, 7)),
        ("noise alone", lambda rng: random_covariance(rng, 40, 12), (2, 3, 4, 6, 9)),
    ],
)
def test_agrees_with_an_interior_point_solver(name, matrix, sparsities):
    values = matrix(np.random.default_rng(len(name)))
    for sparsity, expected in zip(sparsities, interior_point(values, sparsities), strict=True):
        relaxation = solved(values, sparsity, target_gap=1e-6)
        assert relaxation.status is Status.CONVERGED, sparsity
        assert relaxation.lower == pytest.approx(expected, rel=CLOSE), sparsity
        assert relaxation.upper == pytest.approx(expected, rel=CLOSE), sparsity
        assert relaxation.lower <= relaxation.upper * (1 + 1e-9)


@pytest.mark.parametrize(("size", "decay", "sparsity"), [(12, 0.5, 5), (20, 0.9, 4), (30, 0.8, 4)])
def test_slow_cases_are_bracketed(size, decay, sparsity):
    """Features that are alike but for their place have many near-solutions: steps are small there."""
    matrix = toeplitz(size, decay)
    (expected,) = interior_point(matrix, [sparsity])
    relaxation = solved(matrix, sparsity, target_gap=1e-6)
    assert relaxation.lower <= expected * (1 + 1e-6)
    assert relaxation.upper >= expected * (1 - 1e-6)
    assert relaxation.gap <= 1e-4
    assert (relaxation.status is Status.CONVERGED) == (relaxation.gap <= 1e-6)


# --- both solutions ---------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 14), rows=st.integers(2, 20), share=st.floats(0, 1))
def test_both_solutions_are_feasible_and_have_the_stated_values(seed, size, rows, share):
    rng = np.random.default_rng(seed)
    matrix = random_covariance(rng, rows, size).reshape(size, size) + 1e-12 * np.eye(size)
    sparsity = 1 + round(share * (size - 1))
    operator = certpca.from_matrix(matrix)
    relaxation = certpca.solve_sdp(operator, sparsity, target_gap=1e-4)
    check_solutions(matrix, operator, sparsity, relaxation)


def check_solutions(matrix, operator, sparsity, relaxation):
    vectors, weights = relaxation.vectors, relaxation.weights
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(weights.size), atol=1e-6)
    assert (weights >= 0).all()
    z = relaxation.shrink * (vectors * weights) @ vectors.T
    assert np.trace(z) <= 1 + 1e-6
    assert np.abs(z).sum() <= sparsity * (1 + 1e-6)
    assert (matrix * z).sum() == pytest.approx(relaxation.lower, rel=1e-6)
    u, level = relaxation.dual.dense(operator), relaxation.dual.level
    np.testing.assert_allclose(u, u.T, atol=1e-12 * max(level, 1e-300))
    assert np.abs(u).max() <= level * (1 + 1e-6)
    dual = max(float(np.linalg.eigvalsh(matrix - u)[-1]), 0.0) + sparsity * level
    assert relaxation.lower * (1 - 1e-6) <= dual <= relaxation.upper * (1 + 1e-6)
    assert relaxation.upper == relaxation.dual.bound
    assert relaxation.gap == pytest.approx(1 - relaxation.lower / relaxation.upper, abs=1e-12)


@pytest.mark.parametrize(
    "matrix",
    [toeplitz(15, 0.8), blocks(15, 4, 0.6), np.diag([1e-9, 1e-9, 1.0, 2.0, 3.0]), blocks(15, 15, 0.5)],
    ids=["Toeplitz", "blocks", "two tiny variances", "one block"],
)
def test_dense_steps_give_feasible_solutions(matrix):
    operator = certpca.from_matrix(matrix)
    for sparsity in (2, 4):
        check_solutions(matrix, operator, sparsity, certpca.solve_sdp(operator, sparsity))


def test_features_left_out_of_the_dense_steps_stay_below_the_level(rng):
    small = np.full(10, 1e-3)
    matrix = np.zeros((20, 20))
    matrix[:10, :10] = toeplitz(10, 0.9)
    matrix[10:, 10:] = np.diag(small) + 1e-4 * random_covariance(rng, 30, 10)
    operator = certpca.from_matrix(matrix)
    relaxation = certpca.solve_sdp(operator, 3, target_gap=1e-6)
    assert relaxation.method == "alternating directions"
    assert relaxation.dual.evidence()["features"].tolist() == list(range(10))
    check_solutions(matrix, operator, 3, relaxation)
    (expected,) = interior_point(matrix, [3])
    assert relaxation.upper == pytest.approx(expected, rel=CLOSE)


# --- hard cases -------------------------------------------------------------------------------------------------------


def repeated_eigenvalue(size):
    axes = np.linalg.qr(np.random.default_rng(7).standard_normal((size, size)))[0]
    return (axes * np.where(np.arange(size) < size // 2, 2.0, 1.0)) @ axes.T


HARD = {
    "zero": np.zeros((5, 5)),
    "identity": np.eye(6),
    "all ones": np.ones((7, 7)),
    "one feature": np.array([[3.0]]),
    "one feature of variance zero": np.array([[0.0]]),
    "two features": np.array([[2.0, -1.0], [-1.0, 2.0]]),
    "repeated eigenvalue": repeated_eigenvalue(8),
    "equal correlations": blocks(8, 8, 0.5),
    "negative correlations": 1.2 * np.eye(6) - 0.2 * np.ones((6, 6)),
    "diagonal": np.diag(10.0 ** np.arange(-9, 0)),
    "duplicated features": duplicated(np.random.default_rng(3), 5, 9),
    "constant features": np.pad(toeplitz(4, 0.7), (0, 4)),
    "rank one": np.outer(np.arange(-3.0, 4.0), np.arange(-3.0, 4.0)),
    "nearly rank one": np.ones((8, 8)) + 1e-9 * toeplitz(8, 0.3),
    "tiny": 1e-150 * toeplitz(7, 0.8),
    "huge": 1e150 * toeplitz(7, 0.8),
    "mixed scales": np.outer(10.0 ** np.arange(-4, 3), 10.0 ** np.arange(-4, 3)) * toeplitz(7, 0.5),
    "single precision": toeplitz(8, 0.8).astype(np.float32),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_cases_have_a_status_and_a_valid_bound(name):
    matrix = HARD[name]
    size = matrix.shape[0]
    for sparsity in {1, (size + 1) // 2, size}:
        optimum = brute_force(matrix.astype(np.float64), sparsity)[0]
        relaxation = solved(matrix, sparsity)
        assert relaxation.status in (Status.CONVERGED, Status.STALLED), sparsity
        assert relaxation.gap <= 1e-3
        assert relaxation.upper >= optimum * (1 - 1e-9)
        assert relaxation.lower <= relaxation.upper * (1 + 1e-9)
        solution = certpca.solve(matrix, sparsity, "sdp-threshold", covariance=True)
        assert solution.upper_bound >= optimum * (1 - 1e-12)
        assert solution.certificate is not None
        assert certpca.verify(solution.certificate, matrix).upper_bound <= solution.upper_bound


@pytest.mark.parametrize("factor", [1e-150, 1e-12, 1e12, 1e150])
def test_scaled_input_gives_scaled_values(factor, rng):
    matrix = random_covariance(rng, 30, 9)
    for sparsity in (2, 4):
        plain, scaled = solved(matrix, sparsity), solved(matrix * factor, sparsity)
        assert scaled.status is plain.status
        assert scaled.upper == pytest.approx(plain.upper * factor, rel=1e-4)
        assert scaled.lower == pytest.approx(plain.lower * factor, rel=1e-4)


def test_values_do_not_fall_with_the_sparsity_and_end_at_the_largest_eigenvalue(rng):
    matrix = random_covariance(rng, 30, 10)
    found = [solved(matrix, sparsity, target_gap=1e-6) for sparsity in range(1, 11)]
    for narrow, wide in pairwise(found):
        assert wide.upper >= narrow.lower * (1 - 1e-9)
    assert found[0].upper == pytest.approx(np.diagonal(matrix).max(), rel=CLOSE)
    assert found[-1].upper == pytest.approx(np.linalg.eigvalsh(matrix)[-1], rel=CLOSE)


def test_single_precision_data(rng):
    data = rng.standard_normal((20, 12)).astype(np.float32)
    expected = certpca.solve_sdp(data.astype(np.float64), 4)
    relaxation = certpca.solve_sdp(data, 4)
    assert relaxation.upper == pytest.approx(expected.upper, rel=1e-4)
    assert relaxation.upper >= brute_force(np.cov(data.T.astype(np.float64)), 4)[0] * (1 - 1e-6)


def test_runs_on_any_array_library(rng):
    data = rng.standard_normal((15, 20))
    for sparsity in (3, 8):
        plain = certpca.solve_sdp(data, sparsity)
        strict = certpca.solve_sdp(array_api_strict.asarray(data), sparsity)
        assert strict.status is plain.status
        assert strict.upper == pytest.approx(plain.upper, rel=2e-4)


@pytest.mark.parametrize("matrix", [np.diag([1.0, -1.0]), -np.eye(3), np.array([[0.0, 1.0], [1.0, 0.0]])])
def test_indefinite_matrices_are_refused(matrix):
    with pytest.raises(CertpcaError):
        solved(matrix, 1)


@pytest.mark.parametrize(
    "options",
    [
        {"target_gap": 0},
        {"target_gap": -1e-3},
        {"target_gap": 1},
        {"target_gap": np.nan},
        {"memory": 0},
        {"memory": -1},
    ],
)
def test_bad_settings_are_refused(options):
    with pytest.raises(InvalidProblemError, match=r"gap must lie|memory must be"):
        solved(np.eye(3), 1, **options)


@pytest.mark.parametrize("sparsity", [0, 4, -1, 1.0, True])
def test_bad_sparsities_are_refused(sparsity):
    with pytest.raises(InvalidProblemError, match="sparsity"):
        solved(np.eye(3), sparsity)


# --- limits and warm starts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 2, 13, 14, 20, 40])
@pytest.mark.parametrize("name", ["Toeplitz", "spiked", "noise"])
def test_small_budgets_leave_a_valid_bound(name, steps, rng):
    matrices = {
        "Toeplitz": toeplitz(12, 0.9),
        "spiked": spiked(rng, 12, 3, 9.0),
        "noise": random_covariance(rng, 30, 12),
    }
    matrix = matrices[name]
    optimum = brute_force(matrix, 3)[0]
    relaxation = solved(matrix, 3, target_gap=1e-9, budget=Budget(steps=steps))
    assert relaxation.status in (Status.OUT_OF_BUDGET, Status.CONVERGED)
    assert relaxation.upper >= optimum * (1 - 1e-9)
    solver = certpca.solver_named("sdp-threshold", target_gap=1e-9)
    solution = certpca.solve(matrix, 3, solver, covariance=True, budget=Budget(steps=steps))
    assert solution.upper_bound >= optimum
    assert solution.certificate is not None
    assert certpca.verify(solution.certificate, matrix).upper_bound >= optimum * (1 - 1e-12)


def test_a_listener_ends_the_steps():
    seen = []

    def after_five(step):
        seen.append(step.upper_bound)
        return len(seen) < 5

    relaxation = solved(toeplitz(12, 0.9), 3, target_gap=1e-9, listener=after_five)
    assert relaxation.status is Status.INTERRUPTED
    assert relaxation.upper >= brute_force(toeplitz(12, 0.9), 3)[0]


def test_too_little_memory_is_a_status(rng):
    matrix = random_covariance(rng, 60, 12)
    relaxation = solved(matrix, 3, target_gap=1e-6, memory=1e-9)
    assert relaxation.status is Status.TOO_LARGE
    assert relaxation.needed_memory > 1e-9 * 2**30
    assert relaxation.upper >= brute_force(matrix, 3)[0]
    solver = certpca.solver_named("sdp-threshold", target_gap=1e-6, memory=1e-9)
    solution = certpca.solve(matrix, 3, solver, covariance=True)
    assert solution.status is Status.TOO_LARGE
    assert solution.certificate is not None
    assert certpca.verify(solution.certificate, matrix).upper_bound >= brute_force(matrix, 3)[0]


def test_too_little_memory_does_not_matter_to_rank_one_solutions(rng):
    relaxation = solved(spiked(rng, 20, 4, 9.0), 4, memory=1e-9)
    assert relaxation.status is Status.CONVERGED
    assert relaxation.method == "rank-one"


@pytest.mark.parametrize("upwards", [True, False])
def test_warm_starts_along_the_sparsity_give_the_same_values(upwards, rng):
    matrix = random_covariance(rng, 20, 15)
    warm = None
    for sparsity in range(1, 16) if upwards else range(15, 0, -1):
        cold = solved(matrix, sparsity, target_gap=1e-6)
        warm = solved(matrix, sparsity, target_gap=1e-6, warm=warm)
        assert warm.upper == pytest.approx(cold.upper, rel=CLOSE)
        assert warm.lower == pytest.approx(cold.lower, rel=CLOSE)


def test_a_warm_start_of_another_size_is_ignored(rng):
    matrix = random_covariance(rng, 20, 8)
    other = solved(random_covariance(rng, 20, 9), 3)
    assert solved(matrix, 3, warm=other).upper == solved(matrix, 3).upper
