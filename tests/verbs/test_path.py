"""The path over sparsities: as good as separate searches, monotone, and proved."""

import numpy as np
import pytest

import certpca
from certpca.runtime.errors import InvalidProblemError
from tests.brute_force import brute_force

SPARSITIES = (2, 3, 5, 8, 13, 21)


@pytest.fixture(params=["noise", "factors"])
def operator(request, rng):
    data = rng.standard_normal((40, 90)) * rng.uniform(0.5, 2.0, 90)
    if request.param == "factors":
        loaded = rng.random((3, 90)) < 0.2
        data += rng.standard_normal((40, 3)) @ (loaded * rng.standard_normal((3, 90)))
    return certpca.from_data(data)


def monotone(values):
    return bool((np.diff(values) >= 0).all())


def test_objectives_are_those_of_separate_searches(operator):
    found = certpca.path(operator, SPARSITIES)
    apart = np.array([certpca.solve(operator, sparsity).objective for sparsity in SPARSITIES])
    close = found.objectives >= apart * (1 - 1e-6)
    assert close.mean() >= 0.8
    assert (found.objectives >= apart * 0.99).all()


def test_never_worse_than_the_refitted_threshold(operator):
    found = certpca.path(operator, SPARSITIES)
    paper = [certpca.solve(operator, sparsity, "svd-threshold").objective for sparsity in SPARSITIES]
    assert (found.objectives >= np.array(paper) * (1 - 1e-9)).all()


def test_small_cases_are_optimal_and_proved(rng):
    factor = rng.standard_normal((15, 9))
    matrix = factor.T @ factor
    found = certpca.path(matrix, range(1, 10), covariance=True, certify=True, target_gap=1e-6)
    best = [brute_force(matrix, sparsity)[0] for sparsity in range(1, 10)]
    np.testing.assert_allclose(found.objectives, best, rtol=1e-9)
    assert (found.upper_bounds >= np.array(best)).all()
    assert (found.gaps <= 1e-6).all()
    assert all(solution.status is certpca.Status.OPTIMAL for solution in found.solutions)


def test_objectives_and_bounds_never_fall(operator):
    found = certpca.path(operator, range(1, 91, 22), certify=True, target_gap=0.2, budget=certpca.Budget(steps=4))
    assert monotone(found.objectives)
    assert monotone(found.upper_bounds)
    own = np.array([solution.upper_bound for solution in found.solutions])
    assert (found.upper_bounds <= own).all()
    assert (found.upper_bounds >= found.objectives).all()
    np.testing.assert_allclose(found.gaps, 1 - found.objectives / found.upper_bounds, atol=1e-12)


def test_objectives_never_fall_even_where_the_budget_is_nothing(operator):
    found = certpca.path(operator, [1, 2, 3, 40, 89, 90], budget=certpca.Budget(seconds=1e-9))
    assert monotone(found.objectives)
    assert all(solution.status is certpca.Status.OUT_OF_BUDGET for solution in found.solutions)


def test_warm_certificates_of_large_data_hold(rng):
    data = certpca.balding_nichols(60, 1500, populations=3, fst=0.2, rng=1).data
    operator = certpca.from_data(data)
    budget = certpca.Budget(steps=25)
    found = certpca.path(operator, [20, 40, 60], certify=True, target_gap=0.05, budget=budget)
    for solution in found.solutions:
        assert solution.certificate is not None
        assert solution.certificate.sparsity == solution.sparsity
        assert certpca.verify(solution.certificate, data).upper_bound <= solution.certificate.upper_bound
    cold = certpca.certify(operator, 20, solution=found.solutions[0], target_gap=0.05, budget=budget)
    assert found.solutions[0].gap <= max(0.05, 1.2 * cold.gap)


def test_without_certificates_nothing_is_proved(operator):
    found = certpca.path(operator, [3, 4])
    assert np.isinf(found.upper_bounds).all()
    assert np.isnan(found.gaps).all()
    assert np.isnan(found.solutions[0].gap)
    assert "gap" not in str(found)


def test_features_that_enter_and_leave(operator):
    found = certpca.path(operator, SPARSITIES)
    assert found.entering(0).tolist() == found.solutions[0].support.tolist()
    assert found.leaving(0).size == 0
    for j in range(1, len(SPARSITIES)):
        before, after = found.solutions[j - 1].support, found.solutions[j].support
        assert set(after) == (set(before) | set(found.entering(j))) - set(found.leaving(j))
    assert found.entering(-1).tolist() == found.entering(len(SPARSITIES) - 1).tolist()
    contained = [found.leaving(j).size == 0 for j in range(1, len(SPARSITIES))]
    assert found.nested == pytest.approx(np.mean(contained))


def test_sparsities_are_sorted_and_solved_once():
    found = certpca.path(certpca.pitprops(), [7, 3, 7])
    assert found.sparsities.tolist() == [3, 7]
    assert found.solutions[1].names is not None
    assert str(found).splitlines()[1].split()[0] == "3"


def test_one_sparsity_is_a_solve():
    found = certpca.path(certpca.pitprops(), [7])
    assert found.objectives[0] == certpca.solve(certpca.pitprops(), 7).objective
    assert found.nested == 1.0


def test_zero_matrix():
    found = certpca.path(np.zeros((4, 4)), [1, 2, 4], covariance=True)
    assert found.objectives.tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(found.gaps).all()
    assert certpca.path(np.zeros((4, 4)), [1, 2], covariance=True, certify=True).gaps.tolist() == [0.0, 0.0]


def test_same_seed_same_path(operator):
    first, second = (certpca.path(operator, SPARSITIES, rng=3) for _ in range(2))
    assert first.objectives.tolist() == second.objectives.tolist()


def test_listener_ends_the_run(operator):
    steps = []

    def listener(step):
        steps.append(step)
        return len(steps) < 3

    found = certpca.path(operator, SPARSITIES, listener=listener)
    assert len(steps) < 20
    assert all(solution.status is certpca.Status.INTERRUPTED for solution in found.solutions)
    assert monotone(found.objectives)


@pytest.mark.parametrize(
    ("sparsities", "settings", "message"),
    [
        ([], {}, "at least one"),
        ([0, 2], {}, "whole number in 1..13"),
        ([2, 14], {}, "whole number in 1..13"),
        ([2.5], {}, "whole number"),
        ([2], {"target_gap": 1.0}, "target_gap"),
        ([2], {"rng": "seven"}, "rng"),
    ],
)
def test_questions_without_meaning_are_refused(sparsities, settings, message):
    with pytest.raises(InvalidProblemError, match=message):
        certpca.path(certpca.pitprops(), sparsities, **settings)


def test_time_is_shared_and_no_bound_exceeds_the_largest_eigenvalue():
    """Levels for one sparsity serve the others, so that none is left with a bound in closed form."""
    operator = certpca.from_data(certpca.balding_nichols(120, 2000, populations=3, fst=0.1, rng=1).data)
    wanted = [33, 100, 167, 233, 300, 500]
    found = certpca.path(operator, wanted, certify=True, target_gap=0.3, time_limit=60)
    largest = found.solutions[0].objective / found.solutions[0].relative_objective
    assert (found.upper_bounds <= largest * (1 + 1e-6)).all()
    assert found.gaps.max() <= 0.3
    certificates = [solution.certificate for solution in found.solutions if solution.certificate is not None]
    assert [made.sparsity for made in certificates] == wanted
    assert {made.status for made in certificates} == {certpca.Status.CONVERGED}
    assert [made.kind for made in certificates].count("l0-level") >= 4
    for made in certificates:
        certpca.verify(made, operator)


def test_a_bound_in_closed_form_is_kept_where_there_is_no_time():
    operator = certpca.from_data(certpca.balding_nichols(60, 900, populations=3, fst=0.1, rng=1).data)
    found = certpca.path(operator, [10, 50, 800], certify=True, time_limit=1e-6)
    assert np.isfinite(found.upper_bounds).all()
    assert (found.upper_bounds >= found.objectives).all()
    assert found.solutions[2].status is certpca.Status.OUT_OF_BUDGET
