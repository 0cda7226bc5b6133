import json

import numpy as np
import pytest
import scipy.sparse

import certpca
from certpca.runtime.errors import InvalidProblemError


def spread(rng, rows=40, size=60):
    """Make data whose relaxation is loose: several competing directions."""
    blocks = [rng.standard_normal((rows, 1)) + 0.5 * rng.standard_normal((rows, size // 4)) for _ in range(4)]
    return np.concatenate(blocks, axis=1) + 0.5 * rng.standard_normal((rows, size))


@pytest.mark.parametrize("sparsity", [4, 5, 6, 7, 8, 9, 10])
def test_root_bounds_of_pit_props_are_the_published_ones(sparsity, shared):
    """Li & Xie, "Exact and Approximation Algorithms for Sparse PCA", table 5, column rel8 (per cent of the optimum)."""
    published = json.loads((shared / "reference" / "published_values.json").read_text())
    gap = published["relaxation_gaps_pitprops_percent"][str(sparsity)]["rel8"]
    certificate = certpca.certify(certpca.pitprops(), sparsity, target_gap=0.0, branching=False)
    found = 100 * (certificate.upper_bound / certificate.objective - 1)
    assert found == pytest.approx(gap, abs=0.01)


@pytest.mark.parametrize("sparsity", [1, 7, 9, 11, 12, 13])
def test_pit_props_are_proved_optimal(sparsity):
    certificate = certpca.certify(certpca.pitprops(), sparsity, target_gap=1e-6)
    assert certificate.gap <= 1e-6


def test_proved_features_of_pit_props_determine_the_optimum():
    certificate = certpca.certify(certpca.pitprops(), 7, target_gap=1e-6)
    assert (certificate.outside, certificate.inside) == (6, 7)


def test_published_optima_are_never_above_the_bound(shared):
    published = json.loads((shared / "reference" / "published_values.json").read_text())
    folder = shared / "data" / "covariances"
    seen = 0
    for instance in published["instances"]:
        names = [folder / f"{instance['dataset']}.npz", folder / f"INFORMS_{instance['dataset']}.npz"]
        file = next((name for name in names if name.exists()), None)
        if file is None:
            continue
        matrix = np.load(file)["A"]
        certificate = certpca.certify(matrix, instance["k"], covariance=True, branching=False, target_gap=1e-3)
        # published values are rounded to eight digits
        assert certificate.upper_bound >= instance["objective"] * (1 - 2e-8), instance
        seen += 1
    assert seen >= 25


def test_branching_tightens_and_its_tree_is_checked(rng):
    data = spread(rng)
    plain = certpca.certify(data, 12, target_gap=0.0, branching=False)
    budget = certpca.Budget(steps=100)
    branched = certpca.certify(data, 12, target_gap=0.0, branching="directions", budget=budget)
    assert branched.kind == "l0-tree"
    assert branched.upper_bound < plain.upper_bound
    assert certpca.verify(branched, data).upper_bound <= branched.upper_bound


def test_screening_shrinks_the_problem_and_stays_valid(rng):
    data = rng.standard_normal((60, 80))
    data[:, :6] += 3 * rng.standard_normal((60, 1))
    data[:, 0] *= 1.5
    certificate = certpca.certify(data, 5, target_gap=0.0, budget=certpca.Budget(steps=150))
    assert certificate.outside > 40
    assert certpca.verify(certificate, data).upper_bound <= certificate.upper_bound


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"center": False}, {"ddof": 0}])
def test_bounds_are_in_the_units_of_the_matrix(options, rng):
    data = rng.standard_normal((30, 10)) * np.arange(1.0, 11.0) + 3
    certificate = certpca.certify(data, 10, target_gap=1e-6, **options)
    largest = certpca.solve(data, 10, **options).objective
    assert certificate.upper_bound == pytest.approx(largest, rel=1e-6)
    assert certpca.verify(certificate, data).objective == pytest.approx(largest, rel=1e-6)


def test_missing_values_and_sparse_data_are_certified(rng):
    counts = rng.integers(0, 3, size=(40, 15)).astype(np.int8)
    counts[rng.random(counts.shape) < 0.1] = -9
    certificate = certpca.certify(counts, 4, missing="mean", target_gap=1e-3)
    assert certpca.verify(certificate, counts).gap < 0.2
    dense = np.where(rng.random((40, 15)) < 0.3, rng.standard_normal((40, 15)), 0.0)
    dense[3, 4] = np.nan
    held = scipy.sparse.csr_array(dense)
    certificate = certpca.certify(held, 4, missing="mean", target_gap=1e-3)
    certpca.verify(certificate, held)


def test_more_samples_than_features(rng):
    data = rng.standard_normal((500, 12)) * np.linspace(1, 2, 12)
    certificate = certpca.certify(data, 4, target_gap=1e-4)
    assert certpca.verify(certificate, data).upper_bound <= certificate.upper_bound


def test_warm_start_from_a_neighbouring_sparsity_helps(rng):
    data = rng.standard_normal((80, 300))
    data[:, :40] += rng.standard_normal((80, 1))
    first = certpca.certify(data, 20, branching=False, target_gap=0.0)
    cold = certpca.certify(data, 22, branching=False, target_gap=0.0, budget=certpca.Budget(steps=3))
    warm = certpca.certify(data, 22, branching=False, target_gap=0.0, budget=certpca.Budget(steps=3), warm=first)
    assert warm.upper_bound < cold.upper_bound


def test_solve_with_a_certificate(rng):
    solution = certpca.solve(certpca.pitprops(), 7, certify=True, target_gap=1e-6)
    assert solution.gap <= 1e-6
    assert solution.certificate is not None
    assert solution.upper_bound == solution.certificate.upper_bound
    assert [step.upper_bound for step in solution.history] == sorted(
        (step.upper_bound for step in solution.history), reverse=True
    )


def test_a_wider_support_is_not_certified_for_fewer_loadings(rng):
    wide = certpca.solver_named("svd-threshold", epsilon=0.3)
    with pytest.raises(InvalidProblemError, match="leave epsilon unset"):
        certpca.certify(rng.standard_normal((30, 40)), 2, wide)


def test_one_interrupt_ends_the_solver_and_the_proof(rng):
    data = spread(rng, 60, 200)
    seen = []

    def stop_at_once(step):
        seen.append(step)
        return False

    solution = certpca.solve(data, 20, certify=True, target_gap=0.0, listener=stop_at_once)
    assert solution.status is certpca.Status.INTERRUPTED
    assert len(seen) <= 2
    assert solution.certificate is not None
    certpca.verify(solution.certificate, data)


def test_time_limit_and_interrupt_leave_a_valid_bound(rng):
    data = spread(rng, 60, 200)
    optimum_at_least = certpca.solve(data, 20).objective
    for budget in (certpca.Budget(seconds=1e-3), certpca.Budget(steps=1)):
        certificate = certpca.certify(data, 20, target_gap=0.0, budget=budget)
        assert certificate.upper_bound >= optimum_at_least
        certpca.verify(certificate, data)
    calls = 0

    def stop_soon(step):
        nonlocal calls
        calls += 1
        return calls < 30

    stopped = certpca.certify(data, 20, target_gap=0.0, listener=stop_soon)
    certpca.verify(stopped, data)


def test_a_solution_for_other_data_is_refused(rng):
    solution = certpca.solve(rng.standard_normal((20, 9)), 3)
    with pytest.raises(InvalidProblemError, match="other data"):
        certpca.certify(rng.standard_normal((20, 8)), 3, solution=solution)
    with pytest.raises(InvalidProblemError, match="target_gap"):
        certpca.certify(rng.standard_normal((20, 8)), 3, target_gap=1.0)


def test_zero_and_identity_matrices():
    zero = certpca.certify(np.zeros((4, 4)), 2, covariance=True)
    assert zero.upper_bound == pytest.approx(0.0, abs=1e-300)
    identity = certpca.certify(np.eye(5), 3, covariance=True)
    assert identity.upper_bound == pytest.approx(1.0, rel=1e-6)


def test_files_come_back_and_still_hold(tmp_path, rng):
    data = spread(rng)
    certificate = certpca.certify(data, 8, budget=certpca.Budget(steps=30), target_gap=0.0)
    certpca.save_certificate(certificate, tmp_path / "c.json")
    back = certpca.load_certificate(tmp_path / "c.json")
    assert back.upper_bound == certificate.upper_bound
    assert certpca.verify(back, data).upper_bound <= back.upper_bound
    solution = certpca.solve(data, 8, certify=True)
    certpca.save_solution(solution, tmp_path / "s.json")
    assert certpca.load_solution(tmp_path / "s.json").upper_bound == solution.upper_bound
