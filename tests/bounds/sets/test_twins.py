"""Features that are copies of each other: a component has some number of them; proofs count what exchanges lose."""

from pathlib import Path

import numpy as np
import pytest

import certpca
from certpca import CertificateError
from certpca.bounds.sets.prices.assignments import Assignment, twins_of
from certpca.bounds.sets.prices.branching import AssignmentSearch
from certpca.checker import examine
from certpca.results.certificate import Source
from tests.attacks.test_set_certificates import certificate_of
from tests.bounds.sets.test_disjoint import brute_force

SPARSITIES = (3, 3, 3)


def with_twins(off: float = 0.0) -> np.ndarray:
    """Return a matrix whose features 2 to 6 are copies, of which three components cannot all have three."""
    shared = np.cov(np.random.default_rng(5).standard_normal((20, 6)).T)
    which = [0, 1, 2, 2, 2, 2, 2, 3, 4, 5]
    matrix = shared[np.ix_(which, which)] * np.outer(*[np.where(np.arange(10) // 2 == 4, 0.5, 1.0)] * 2)
    matrix[3, 3] += off
    return matrix


def searched(matrix: np.ndarray) -> AssignmentSearch:
    begin = [np.array([number]) for number in range(3)]
    search = AssignmentSearch(matrix, SPARSITIES, begin, 1e-7, lambda: False)
    while search.step() and search.bound > search.target:
        pass
    return search


def test_twins_are_found() -> None:
    assert twins_of(with_twins()).tolist() == [0, 1, 2, 2, 2, 2, 2, 7, 8, 9]
    assert twins_of(with_twins(0.1)).tolist() == [0, 1, 2, 3, 2, 2, 2, 7, 8, 9]


def test_sets_with_twins_are_proved_by_how_many_a_component_has() -> None:
    matrix = with_twins()
    search = searched(matrix)
    optimum = brute_force(matrix, SPARSITIES)
    assert search.value == pytest.approx(optimum, rel=1e-9)
    tree, evidence = search.certificate()
    assert any("twins" in record for record in tree)
    source = Source("matrix", matrix)
    proof = examine(certificate_of(source, "priced-trees", "disjoint", SPARSITIES, tree, evidence), source)
    assert optimum <= proof.upper_bound <= optimum * (1 + 1e-6)


def test_twins_that_differ_cost_what_they_differ_by() -> None:
    """The same tree says nothing too small of a matrix in which one of the copies is better."""
    tree, evidence = searched(with_twins()).certificate()
    other = with_twins(1.0)
    source = Source("matrix", other)
    proof = examine(certificate_of(source, "priced-trees", "disjoint", SPARSITIES, tree, evidence), source)
    assert proof.upper_bound >= brute_force(other, SPARSITIES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"twins": [2, 99]}, "not on free features"),
        ({"twins": "3"}, "malformed"),
        ({"into": []}, "one component"),
        ({"into": [[0, 1], [1, 2]]}, "one component"),
    ],
)
def test_splits_of_twins_that_do_not_cover_are_refused(change: dict[str, object], message: str) -> None:
    tree, evidence = searched(with_twins()).certificate()
    record = next(record for record in tree if "twins" in record)
    record.update(change)
    source = Source("matrix", with_twins())
    with pytest.raises(CertificateError, match=message):
        examine(certificate_of(source, "priced-trees", "disjoint", SPARSITIES, tree, evidence), source)


def test_twins_are_barred_from_components_that_are_alike() -> None:
    whole = Assignment.of((2, 2, 1))
    none, into = whole.split_twins((3, 4), 0)
    assert none.barred == (frozenset({3, 4}), frozenset({3, 4}), frozenset())
    assert none.blocks(np.array([0, 1, 2, 3, 3])) == [(0,), (1,), (2,), (3, 4)]
    assert [(number, part.inside) for number, part in into] == [(0, ((3,), (), ()))]
    assert none.split_twins((3, 4), 2)[0].gone == {3, 4}


def test_the_exact_checker_agrees(tmp_path: Path) -> None:
    from certpca.exact import certpca_exact

    matrix = with_twins()
    found = certpca.decompose(
        certpca.from_matrix(matrix), 3, [3, 3, 3], together="disjoint", certify=True, target_gap=1e-6
    )
    assert found.certificate is not None
    assert any("twins" in record for record in found.certificate.tree)
    np.save(tmp_path / "matrix.npy", matrix)
    certpca.save_certificate(found.certificate, tmp_path / "certificate.json")
    assert certpca_exact.main([str(tmp_path / "certificate.json"), str(tmp_path / "matrix.npy")]) == 0
