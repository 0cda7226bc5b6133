"""Constraints as users give them: by name or index, followed by solvers and proofs, and refused with advice."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca import Constraints, InvalidProblemError, solve
from certpca.operators import Operator
from tests.brute_force import constrained_brute_force

NAMES = ["age", "mass", "height", "pulse", "iron", "zinc"]


@pytest.fixture
def data(rng: np.random.Generator) -> np.ndarray:
    values = rng.standard_normal((40, 6))
    values[:, 3] -= values[:, 1]
    return values


@pytest.mark.parametrize("solver", sorted(certpca.available_solvers()))
def test_every_solver_leaves_features_out(data: np.ndarray, solver: str) -> None:
    found = solve(data, 2, solver, exclude=["pulse", 1], names=NAMES)
    assert found.names is not None
    assert not {"pulse", "mass"} & set(found.names)
    assert found.size == 6
    assert found.names == tuple(NAMES[i] for i in found.support)
    assert found.explained_variance_ratio == pytest.approx(found.objective / np.cov(data.T).trace())
    largest = np.linalg.eigvalsh(np.cov(data.T))[-1]
    assert found.relative_objective == pytest.approx(found.objective / largest, rel=1e-3)


@pytest.mark.parametrize("solver", ["auto", "branch-and-bound"])
@pytest.mark.parametrize(
    "given",
    [
        {"include": "iron"},
        {"include": ["iron", 5]},
        {"groups": [["age", "mass"], ["pulse", "iron"]]},
        {"groups": {"vital": ["age", "pulse"]}, "include": 3},
        {"nonnegative": True},
        {"nonnegative": True, "include": [1, 3], "exclude": "zinc"},
    ],
    ids=str,
)
def test_constraints_are_followed(data: np.ndarray, solver: str, given: dict[str, Any]) -> None:
    found = solve(data, 3, solver, names=NAMES, certify=True, **given)
    best = constrained_brute_force(np.cov(data.T), 3, found.constraints)
    assert found.objective == pytest.approx(best, rel=1e-9)
    assert found.upper_bound >= best
    assert found.status is certpca.Status.OPTIMAL
    assert str(found.constraints) in str(found)
    assert found.certificate is not None
    assert found.certificate.constraints == found.constraints
    if found.constraints.nonnegative:
        assert (found.loadings >= 0).all()


def test_large_variance_that_is_left_out_costs_no_digits(data: np.ndarray) -> None:
    wild = np.column_stack([data, 1e9 * np.arange(40.0)])
    found = solve(wild, 3, exclude=6, certify=True)
    plain = solve(data, 3, certify=True)
    assert found.support.tolist() == plain.support.tolist()
    assert found.certificate is not None
    assert certpca.verify(found.certificate, wild).gap < 1e-9


def test_truncated_power_with_non_negative_loadings_is_refitted(data: np.ndarray) -> None:
    found = solve(data, 3, "truncated-power", nonnegative=True)
    assert (found.loadings >= 0).all()
    assert found.refitted


def test_an_operator_stays_as_it_was(data: np.ndarray) -> None:
    operator: Operator = certpca.from_data(data)
    solve(operator, 3, include=0)
    assert operator.within is None
    assert solve(operator, 3).constraints == Constraints()


def test_history_tells_of_allowed_components_alone(data: np.ndarray) -> None:
    found = solve(data, 3, include=[4, 5], exclude=3)
    assert all(step.objective <= found.objective * (1 + 1e-9) for step in found.history)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"include": "hight"}, r"include names 'hight', and no feature is called that; did you mean 'height'\?"),
        ({"exclude": ["age", 6]}, r"index in 0\.\.5, got 6"),
        ({"exclude": [-1]}, "index in 0..5"),
        ({"include": [True]}, "index in 0..5"),
        ({"include": 1.5}, "by name or index"),
        ({"include": "age", "exclude": "age"}, r"column 0 \('age'\) is both included and excluded; take it out of one"),
        ({"include": 0, "exclude": 1, "groups": [[0, 1]]}, "as its group is"),
        ({"include": [0, 1, 2, 3]}, "raise the sparsity to at least 4"),
        ({"include": [0, 2], "groups": [[0, 1], [2, 3]]}, "with the groups they belong to"),
        ({"exclude": [0, 1, 2, 3]}, "more than the 2 of 6 features that exclude leaves"),
        ({"groups": [[0, 1], [1, 2]]}, r"column 1 \('mass'\) is in two groups, 0 and 1"),
        ({"groups": [[0, 1, 2, 3]]}, "more than sparsity=3 allows"),
        ({"groups": [[]]}, "group 0 has no features"),
        ({"groups": [0, 1]}, "lists of features"),
        ({"groups": "age"}, "lists of features"),
        ({"groups": {"a": ["agee"]}}, "group 'a' names 'agee'.*did you mean 'age'"),
        ({"nonnegative": 1}, "nonnegative must be True or False"),
        ({"include": 0, "solver": "spannogram"}, "'spannogram' does not follow include; use 'auto' or"),
        ({"nonnegative": True, "solver": "coordinatewise"}, "does not follow nonnegative; use .*'truncated-power'"),
        ({"nonnegative": True, "include": 0, "solver": "truncated-power"}, "does not follow include"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said(data: np.ndarray, given: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidProblemError, match=why):
        solve(data, 3, **{"names": NAMES, **given})


def test_names_that_are_not_there_or_not_unique(data: np.ndarray) -> None:
    with pytest.raises(InvalidProblemError, match="have no names; give indices"):
        solve(data, 3, include="age")
    with pytest.raises(InvalidProblemError, match="2 features are called; give indices"):
        solve(data, 3, include="age", names=["age", "age", "c", "d", "e", "f"])


def test_certify_compares_with_allowed_components_alone(data: np.ndarray) -> None:
    free, bound = solve(data, 3), solve(data, 3, exclude=3)
    with pytest.raises(InvalidProblemError, match="not allowed: feature 3 left out"):
        certpca.certify(data, 3, exclude=3, solution=free)
    certificate = certpca.certify(data, 3, exclude=3, solution=bound)
    assert certificate.support.tolist() == bound.support.tolist()
    with pytest.raises(InvalidProblemError, match="other constraints"):
        certpca.certify(data, 3, warm=certificate)
    assert certpca.certify(data, 3, exclude=3, warm=certificate).gap <= 0.01


def test_a_checkpoint_belongs_to_its_constraints(data: np.ndarray, tmp_path: Path) -> None:
    first = solve(data, 3, nonnegative=True, certify=True, checkpoint=tmp_path / "run")
    again = solve(data, 3, nonnegative=True, certify=True, checkpoint=tmp_path / "run")
    assert again.upper_bound == first.upper_bound < np.inf
    with pytest.raises(certpca.CertpcaError, match="constraints"):
        solve(data, 3, certify=True, checkpoint=tmp_path / "run")


def test_components_under_constraints(data: np.ndarray) -> None:
    found = certpca.decompose(data, 2, 3, exclude=0, nonnegative=True, certify=True)
    assert all((part.loadings >= 0).all() and 0 not in part.support for part in found.components)
    second = found.certificates[1]
    assert second is not None
    assert second.constraints == Constraints(exclude=(0,), nonnegative=True)
    with pytest.raises(InvalidProblemError, match="would have no effect"):
        certpca.decompose(data, 2, 3, together="disjoint", nonnegative=True)


def test_solutions_come_back_from_files(data: np.ndarray, tmp_path: Path) -> None:
    found = solve(data, 3, include=2, groups=[[0, 1]], certify=True)
    certpca.save_solution(found, tmp_path / "a.json")
    again = certpca.load_solution(tmp_path / "a.json")
    assert again.certificate is not None
    assert again.constraints == found.constraints == again.certificate.constraints
    alone = replace(found, certificate=None)
    certpca.save_solution(alone, tmp_path / "b.json")
    assert "certpca solution 2" in (tmp_path / "b.json").read_text()


def test_expectations(data: np.ndarray) -> None:
    certificate = certpca.certify(data, 3, exclude=3)
    certpca.verify(certificate, data, constraints=Constraints(exclude=(3,)))
    for wrong in (Constraints(), Constraints(exclude=(2,))):
        with pytest.raises(certpca.CertificateError, match="expected components"):
            certpca.verify(certificate, data, constraints=wrong)
