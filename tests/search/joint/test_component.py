"""One component among others: fits are feasible and best, and exchanges are never promised more than they give."""

import numpy as np
import pytest

from certpca.search.joint.component import addition_values, exchange_values, filled, fitted, improved

SIZE, WIDTH = 12, 5


def _problem(rng: np.random.Generator, normals: int, share: float) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    data = rng.standard_normal((20, SIZE))
    kept = rng.random((SIZE, 1)) < share
    basis = np.linalg.qr(rng.standard_normal((SIZE, normals)) * kept)[0] if normals else None
    return data.T @ data / 20, basis, np.sort(rng.permutation(SIZE)[:WIDTH])


@pytest.mark.parametrize("normals", [0, 1, 2, 3])
@pytest.mark.parametrize("share", [0.4, 1.0])
def test_exchanges_and_additions_are_bounded_from_below(rng: np.random.Generator, normals: int, share: float) -> None:
    compared = 0
    for _ in range(5):
        matrix, basis, support = _problem(rng, normals, share)
        member = fitted(matrix, support, basis)
        assert member is not None
        table, additions = exchange_values(matrix, member, basis), addition_values(matrix, member, basis)
        for feature in np.setdiff1d(np.arange(SIZE), support):
            more = fitted(matrix, np.append(support, feature), basis)
            assert more is not None
            assert additions[feature] <= more.value + 1e-9
            for slot in range(WIDTH):
                other = fitted(matrix, np.append(np.delete(support, slot), feature), basis)
                if other is not None:
                    assert table[slot, feature] <= other.value + 1e-9
                    compared += table[slot, feature] > 0.9 * other.value
    assert compared > 20  # not because they promise nothing


@pytest.mark.parametrize("normals", [1, 2, 3])
def test_a_fit_is_orthogonal_and_best(rng: np.random.Generator, normals: int) -> None:
    matrix, basis, support = _problem(rng, normals, 1.0)
    member = fitted(matrix, support, basis)
    assert basis is not None
    assert member is not None
    assert np.abs(member.loadings @ basis[support]).max() < 1e-14
    assert member.loadings @ matrix[np.ix_(support, support)] @ member.loadings == pytest.approx(member.value)
    free = np.linalg.svd(basis[support].T)[2][normals:].T  # another way to the null space
    largest = np.linalg.eigvalsh(free.T @ matrix[np.ix_(support, support)] @ free)[-1]
    assert member.value == pytest.approx(largest)


def test_no_room_for_all_conditions(rng: np.random.Generator) -> None:
    matrix, basis, support = _problem(rng, 3, 1.0)
    assert fitted(matrix, support[:3], basis) is None


def test_improving_never_loses_and_keeps_to_what_is_allowed(rng: np.random.Generator) -> None:
    matrix, basis, support = _problem(rng, 2, 1.0)
    allowed = np.ones(SIZE, dtype=bool)
    allowed[np.setdiff1d(np.arange(SIZE), support)[:4]] = False
    begin = fitted(matrix, support, basis)
    assert begin is not None
    better = improved(matrix, begin, WIDTH + 1, allowed, basis)
    assert better.value >= filled(matrix, begin, WIDTH + 1, allowed, basis).value
    assert better.support.size == WIDTH + 1
    assert allowed[better.support].all()
    assert basis is not None
    assert np.abs(better.loadings @ basis[better.support]).max() < 1e-13


def test_values_below_zero_do_not_go_round_in_circles(rng: np.random.Generator) -> None:
    """Matrices with prices need not be semidefinite."""
    matrix, _, support = _problem(rng, 0, 1.0)
    below, allowed = matrix - 100 * np.eye(SIZE), np.ones(SIZE, dtype=bool)
    for count in (1, WIDTH):
        begin = fitted(below, support[:count], None)
        assert begin is not None
        asked = iter(range(200))
        found = improved(below, begin, count, allowed, None, late=lambda asked=asked: next(asked, None) is None)
        assert next(asked, None) is not None  # it ended by itself
        assert found.value >= begin.value
