"""Sets of components in memory: brute force and published values judge them, and a larger budget never has less."""

import json
from collections.abc import Callable
from itertools import combinations, pairwise, permutations
from pathlib import Path

import numpy as np
import pytest

import certpca
from certpca.search.joint.problems import as_columns
from certpca.search.joint.set_problem import total
from certpca.search.joint.stages import Budgets, rungs, searched

REFERENCE = Path(__file__).parents[4] / "shared" / "reference" / "joint_components.json"
PIT_PROPS = certpca.pitprops().submatrix(np.arange(13))


def _matrix(rng: np.random.Generator, size: int) -> np.ndarray:
    data = rng.standard_normal((15, size)) @ np.diag(1 + rng.random(size))
    return data.T @ data / 15


def _soon() -> Callable[[], bool]:
    """End a search after it asked a while."""
    asked = iter(range(2000))
    return lambda: next(asked, None) is None


def _largest(matrix: np.ndarray, support: tuple[int, ...], count: int = 1) -> float:
    return float(np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-count:].sum())


def _best_disjoint(matrix: np.ndarray, counts: tuple[int, ...]) -> float:
    """Try all pairs of disjoint supports."""
    values = {k: {s: _largest(matrix, s) for s in combinations(range(len(matrix)), k)} for k in set(counts)}
    first, second = (values[count] for count in counts)
    return max(a + b for s, a in first.items() for t, b in second.items() if not set(s) & set(t))


@pytest.mark.parametrize("counts", [(2, 2), (3, 2), (2, 4), (1, 3)])
def test_disjoint_pairs_against_brute_force(rng: np.random.Generator, counts: tuple[int, int]) -> None:
    for _ in range(3):
        matrix = _matrix(rng, 9)
        found = searched(matrix, "disjoint", Budgets(counts))
        assert total(found) == pytest.approx(_best_disjoint(matrix, counts), rel=1e-9)
        assert [member.support.size for member in found] == list(counts)
        assert not set(found[0].support) & set(found[1].support)


@pytest.mark.parametrize(("count", "sparsity"), [(2, 3), (3, 4), (2, 5)])
def test_shared_supports_against_brute_force(rng: np.random.Generator, count: int, sparsity: int) -> None:
    for _ in range(3):
        matrix = _matrix(rng, 10)
        found = searched(matrix, "shared", Budgets((sparsity,) * count))
        best = max(_largest(matrix, support, count) for support in combinations(range(10), sparsity))
        assert total(found) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("problem", ["disjoint", "orthogonal"])
def test_a_total_is_split_at_least_as_well_as_by_hand(problem: str) -> None:
    found = searched(PIT_PROPS, problem, Budgets((1, 1), 5))
    assert sum(member.support.size for member in found) == 5
    by_hand = [total(searched(PIT_PROPS, "disjoint", Budgets((k, 5 - k)))) for k in range(1, 5)]
    assert total(found) >= max(by_hand) * (1 - 1e-9)


@pytest.mark.skipif(not REFERENCE.exists(), reason="needs the reference values beside the checkout")
def test_all_published_splits_of_pit_props() -> None:
    values = json.loads(REFERENCE.read_text())["pitprops_disjoint_optimum"]
    for counts, best in values.items():
        if counts != "how":
            found = searched(PIT_PROPS, "disjoint", Budgets(tuple(map(int, counts.split(",")))))
            assert total(found) == pytest.approx(best, abs=1e-6), counts


@pytest.mark.parametrize("problem", ["orthogonal", "uncorrelated"])
def test_constraints_hold_to_rounding(rng: np.random.Generator, problem: str) -> None:
    matrix = _matrix(rng, 12)
    found = searched(matrix, problem, Budgets((4, 4, 5)), late=_soon())
    loadings = as_columns(12, found)
    products = loadings.T @ loadings if problem == "orthogonal" else loadings.T @ matrix @ loadings
    assert np.abs(products - np.diag(np.diag(products))).max() < 1e-12
    np.testing.assert_allclose(np.linalg.norm(loadings, axis=0), 1.0)
    assert total(found) == pytest.approx(np.trace(loadings.T @ matrix @ loadings))
    assert ((loadings != 0).sum(axis=0) <= (4, 4, 5)).all()


def test_orthogonal_components_capture_no_less_than_disjoint_ones() -> None:
    for counts in ((3, 3), (2, 2, 3)):
        apart = total(searched(PIT_PROPS, "disjoint", Budgets(counts)))
        assert total(searched(PIT_PROPS, "orthogonal", Budgets(counts))) >= apart * (1 - 1e-12)


@pytest.mark.parametrize("problem", ["disjoint", "orthogonal", "uncorrelated", "shared"])
def test_a_larger_budget_never_captures_less(rng: np.random.Generator, problem: str) -> None:
    matrix = _matrix(rng, 10)
    heard: list[float] = []
    values = [total(searched(matrix, problem, Budgets((k, k)), tell=heard.append)) for k in range(2, 5)]
    assert all(small <= large * (1 + 1e-12) for small, large in pairwise(values))
    # By construction: the stages of a smaller budget are among those of a larger one.
    longest = heard[-len(list(Budgets((4, 4)).stages(problem))) :]
    assert longest[-len(values) :] == pytest.approx(values, rel=1e-12)


def test_a_larger_total_never_captures_less(rng: np.random.Generator) -> None:
    matrix = _matrix(rng, 12)
    values = [total(searched(matrix, "disjoint", Budgets((1, 1), whole))) for whole in range(2, 10)]
    assert all(small <= large * (1 + 1e-12) for small, large in pairwise(values))


def test_never_worse_than_one_after_the_other(rng: np.random.Generator) -> None:
    """The best component, then the best on what is left of the features, whatever the order of sparsities."""
    for counts in permutations((2, 3, 4)):
        matrix = _matrix(rng, 12)
        left, greedy = np.arange(12), 0.0
        for count in counts:
            part = certpca.solve(certpca.from_matrix(matrix).restrict(left), count, "branch-and-bound")
            greedy += part.objective
            left = np.delete(left, part.support)
        assert total(searched(matrix, "disjoint", Budgets(counts))) >= greedy * (1 - 1e-9)


def test_late_searches_return_a_whole_set(rng: np.random.Generator) -> None:
    matrix = _matrix(rng, 20)
    for problem in ("disjoint", "orthogonal", "uncorrelated", "shared"):
        found = searched(matrix, problem, Budgets((5, 5, 5)), late=lambda: True)
        assert [member.support.size for member in found] == [5, 5, 5]


def test_rungs() -> None:
    assert list(rungs(2, 6)) == [2, 3, 4, 5, 6]
    assert list(rungs(1, 200))[62:66] == [63, 64, 70, 77]
    assert list(rungs(5, 5)) == [5]
