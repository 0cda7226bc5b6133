"""Prices and search trees prove disjoint supports jointly optimal, whatever the components they begin with."""

from itertools import combinations

import numpy as np
import pytest

import certpca
from certpca.bounds.near_one import in_data_units
from certpca.bounds.sets.find import find_set_certificate
from certpca.bounds.sets.prices.assignments import Assignment
from certpca.bounds.sets.prices.branching import AssignmentSearch, Effort
from certpca.bounds.sets.prices.generation import Generation
from certpca.bounds.sets.prices.master import Pool
from certpca.results.set_certificate import SetCertificate
from certpca.runtime.budget import Budget, Progress
from tests.bounds.sets.cars import CARS

PITPROPS = {
    (1, 3): 3.475331,
    (2, 2): 3.836,
    (1, 5): 4.406155,
    (2, 4): 4.819479,
    (3, 3): 4.678844,
    (1, 7): 4.99619,
    (2, 6): 5.65296,
    (3, 5): 5.42938,
    (4, 4): 5.255158,
    (1, 9): 5.138647,
    (2, 8): 5.936223,
    (3, 7): 5.956995,
    (4, 6): 5.859007,
    (5, 5): 5.710358,
    (1, 1, 4): 4.937479,
    (1, 2, 3): 5.357331,
    (2, 2, 2): 5.649,
    (1, 1, 7): 5.99619,
    (1, 2, 6): 6.65296,
    (1, 3, 5): 6.42938,
    (1, 4, 4): 6.255158,
    (2, 2, 5): 7.006546,
    (2, 3, 4): 6.896335,
    (3, 3, 3): 6.639649,
    (4, 4, 4): 7.250149,
    (5, 4, 4): 7.58663,
}


def first_features(size: int, sparsities: tuple[int, ...]) -> np.ndarray:
    """Return components of one feature each, as bad as can be."""
    return np.eye(size)[:, : len(sparsities)]


def proved(
    operator: certpca.Operator, problem: str, sparsities: tuple[int, ...], gap: float, seconds: float = 60.0
) -> SetCertificate:
    near = operator.near_one()
    progress = Progress(Budget(seconds=seconds))
    begin = first_features(operator.size, sparsities)
    certificate = find_set_certificate(near, problem, sparsities, begin, gap, progress)
    return in_data_units(certificate, near.power - operator.power)


@pytest.mark.parametrize("sparsities", PITPROPS, ids=str)
def test_pit_props_are_proved_jointly_optimal(sparsities: tuple[int, ...]) -> None:
    operator = certpca.pitprops()
    certificate = proved(operator, "disjoint", sparsities, 1e-6)
    assert certificate.objective == pytest.approx(PITPROPS[sparsities], abs=2e-6)
    assert certificate.gap <= 1e-6
    proof = certpca.verify(certificate, operator, together="disjoint", sparsities=sparsities, max_gap=1e-6)
    assert proof.upper_bound <= certificate.upper_bound


@pytest.mark.parametrize(("sparsities", "optimum"), [((4, 4), 6.648253), ((3, 4, 4), 9.119984)], ids=str)
def test_cars_are_proved_jointly_optimal(sparsities: tuple[int, ...], optimum: float) -> None:
    operator = certpca.from_data(CARS, scale=True)
    certificate = proved(operator, "disjoint", sparsities, 1e-6)
    assert certificate.objective == pytest.approx(optimum, abs=2e-6)
    assert certificate.gap <= 1e-6
    assert certpca.verify(certificate, CARS).gap <= 1e-6


def brute_force(matrix: np.ndarray, sparsities: tuple[int, ...]) -> float:
    """Try all disjoint supports of these sizes."""

    def best(left: tuple[int, ...], counts: tuple[int, ...]) -> float:
        if not counts:
            return 0.0
        return max(
            float(np.linalg.eigvalsh(matrix[np.ix_(chosen, chosen)])[-1])
            + best(tuple(i for i in left if i not in chosen), counts[1:])
            for chosen in combinations(left, min(counts[0], len(left) - len(counts) + 1))
        )

    return best(tuple(range(matrix.shape[0])), sparsities)


@pytest.mark.parametrize("hurried", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_a_gap_of_the_prices_is_closed_by_giving_features_away(seed: int, hurried: bool) -> None:
    """Where fractions of supports are better than whole ones, parts are needed; their bound is that of brute force."""
    rng = np.random.default_rng(seed)
    block = np.full((5, 5), 0.9) + 0.1 * np.eye(5)
    noise = np.cov(rng.standard_normal((6, 9)).T)
    matrix = 0.2 * noise
    matrix[:5, :5] += block
    sparsities = [(3, 3), (3, 3, 2), (4, 3)][seed % 3]
    begin = [np.array([number]) for number in range(len(sparsities))]
    search = AssignmentSearch(matrix, sparsities, begin, 1e-7, lambda: False, Effort(nodes=5), lambda: hurried)
    while search.step() and search.bound > search.target:
        pass
    assert search.value == pytest.approx(brute_force(matrix, sparsities), rel=1e-9)
    assert search.value <= search.bound <= search.value * (1 + 2e-7)


def test_a_feature_dearer_than_a_component_is_worth_is_given_away_first() -> None:
    """One variance above all others: at prices that make components alike nothing could be proved."""
    rng = np.random.default_rng(3)
    matrix = np.cov(rng.standard_normal((30, 12)).T)
    matrix[0, 0] += 60.0
    begin = [np.array([number]) for number in range(3)]
    search = AssignmentSearch(matrix, (3, 3, 3), begin, 1e-4, lambda: False)
    while search.step() and search.bound > search.target:
        pass
    assert search.root.split == ((0,), None)
    assert search.value == pytest.approx(brute_force(matrix, (3, 3, 3)), rel=1e-9)
    assert search.value <= search.bound <= search.target * (1 + 1e-12)


def test_some_of_these_have_a_gap() -> None:
    """Else the test above would say nothing about parts."""
    block = np.full((5, 5), 0.9) + 0.1 * np.eye(5)
    matrix = 0.2 * np.cov(np.random.default_rng(0).standard_normal((6, 9)).T)
    matrix[:5, :5] += block
    pool = Pool(matrix)
    value = Generation(pool, lambda: False).run(Assignment.of((3, 3))).value
    assert value > brute_force(matrix, (3, 3)) * 1.001


def test_what_runs_out_of_time_is_proved_as_far_as_it_is() -> None:
    rng = np.random.default_rng(0)
    operator = certpca.from_matrix(np.cov(rng.standard_normal((40, 60)).T))
    certificate = proved(operator, "disjoint", (6, 6, 6), 1e-9, seconds=1.0)
    assert certificate.upper_bound >= certificate.objective
    assert certpca.verify(certificate, operator).upper_bound <= certificate.upper_bound


def test_alike_components_are_told_apart_once() -> None:
    whole = Assignment.of((3, 3, 2))
    assert [(slot.sparsity, slot.copies) for slot in whole.slots()] == [(3, 2), (2, 1)]
    none, into = whole.split(4)
    assert none.gone == {4}
    assert [component for component, _ in into] == [0, 2]
    assert into[0][1].inside == ((4,), (), ())
    assert into[0][1].free(6).tolist() == [0, 1, 2, 3, 5]
    full = Assignment.of((1, 1), ((0,), ()))
    assert [component for component, _ in full.split(1)[1]] == [1]
