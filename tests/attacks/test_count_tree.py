"""No tree of counts, however absurd, makes the checker claim too little: every support is tried."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certpca import CertificateError
from certpca.checker.data import Prepared, prepare
from certpca.checker.large_eigenvalues import largest_of
from certpca.checker.level_points import sum_of_duals
from certpca.checker.levels import level_of
from certpca.checker.rules import count_tree
from certpca.results.certificate import Source
from tests.attacks.count_cases import STACKED, Case, case_for, holds, leaves, one_sample
from tests.attacks.exact_arithmetic import FORMS, KINDS, exact
from tests.attacks.test_l0_level import definite, evidence_for, exact_level, rational

# --- the property -----------------------------------------------------------------------------------------------------


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), form=st.sampled_from(FORMS))
def test_no_tree_of_counts_proves_too_much(seed: int, kind: str, form: str) -> None:
    case = case_for(np.random.default_rng(seed), kind, form)
    if case is not None:
        case.assert_valid()


def test_the_cases_have_teeth() -> None:
    """Many are accepted, and many of these are so near the optimum that a mistake would show."""
    outcomes = [
        case.assert_valid()
        for seed in range(150)
        if (case := case_for(np.random.default_rng(seed), KINDS[seed % 4], FORMS[seed % 5])) is not None
    ]
    assert outcomes.count("tight") > 30
    assert outcomes.count("tight") + outcomes.count("accepted") > 70


# --- vertices ---------------------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(seed=st.integers(0, 2**32 - 1))
def test_one_sample_is_bounded_exactly(seed: int) -> None:
    """Bounds are linear in the counts here, so that every vertex is needed by some of the cases."""
    case = one_sample(np.random.default_rng(seed))
    bounds = case.cell_bounds()
    for number, path in leaves(case.tree):
        supports = [support for support in case.judge.values if holds(path, case.groups, support)]
        truth = max((case.judge.values[support] for support in supports), default=0.0)
        case.assert_above(bounds[number], supports)
        assert float(bounds[number] / case.judge.unit) <= truth + 1e-9


# --- tampering --------------------------------------------------------------------------------------------------------


def splits(tree: dict[str, Any]) -> list[dict[str, Any]]:
    found = [tree] if "children" in tree else []
    return [*found, *(split for child in tree.get("children", []) for split in splits(child))]


def dropped(rng: np.random.Generator, case: Case) -> None:
    split = splits(case.tree)[int(rng.integers(len(splits(case.tree))))]
    split["children"].pop(int(rng.integers(2)))


def with_other_most(rng: np.random.Generator, case: Case) -> None:
    split = splits(case.tree)[int(rng.integers(len(splits(case.tree))))]
    split["most"] += int(rng.choice([-1, 1, 2]))


def with_sides_exchanged(rng: np.random.Generator, case: Case) -> None:
    splits(case.tree)[int(rng.integers(len(splits(case.tree))))]["children"].reverse()


def with_another_group(rng: np.random.Generator, case: Case) -> None:
    splits(case.tree)[int(rng.integers(len(splits(case.tree))))]["group"] = int(rng.integers(-1, len(case.groups) + 1))


def with_other_features(rng: np.random.Generator, case: Case) -> None:
    number, size = int(rng.integers(len(case.groups))), case.prepared.size
    case.groups[number] = np.sort(rng.choice(size, int(rng.integers(1, size + 1)), replace=False))
    case.evidence[f"group{number}_features"] = case.groups[number]


def with_levels_exchanged(rng: np.random.Generator, case: Case) -> None:
    first, second = rng.choice([number for number, _ in leaves(case.tree)], 2, replace=False)
    names = (*STACKED, "groups") if rng.random() < 0.5 else STACKED
    for name in names:
        one, other = f"cell{first}_{name}", f"cell{second}_{name}"
        case.evidence[one], case.evidence[other] = case.evidence[other], case.evidence[one]


def with_levels_in_another_order(rng: np.random.Generator, case: Case) -> None:
    number = rng.choice([number for number, _ in leaves(case.tree)])
    order = rng.permutation(len(case.evidence[f"cell{number}_level"]))
    for name in STACKED:
        case.evidence[f"cell{number}_{name}"] = case.evidence[f"cell{number}_{name}"][order]


def with_groups_in_another_order(rng: np.random.Generator, case: Case) -> None:
    number = rng.choice([number for number, _ in leaves(case.tree)])
    case.evidence[f"cell{number}_groups"] = rng.permutation(case.evidence[f"cell{number}_groups"])


def with_a_group_forgotten(rng: np.random.Generator, case: Case) -> None:
    number = rng.choice([number for number, _ in leaves(case.tree)])
    case.evidence[f"cell{number}_groups"] = case.evidence[f"cell{number}_groups"][:-1]
    if rng.random() < 0.8:
        for name in STACKED:
            case.evidence[f"cell{number}_{name}"] = case.evidence[f"cell{number}_{name}"][:-1]


def with_another_sparsity(rng: np.random.Generator, case: Case) -> None:
    """The evidence of k is shown for k + 1."""
    if case.sparsity < case.prepared.size:
        case.sparsity += 1
        judge = exact(case.source, case.sparsity)
        assert judge is not None
        case.judge = judge


TAMPERED = [
    dropped,
    with_other_most,
    with_sides_exchanged,
    with_another_group,
    with_other_features,
    with_levels_exchanged,
    with_levels_in_another_order,
    with_groups_in_another_order,
    with_a_group_forgotten,
    with_another_sparsity,
]


@pytest.mark.parametrize("tamper", TAMPERED)
def test_tampering_is_refused_or_of_no_use(tamper: Callable[[np.random.Generator, Case], None]) -> None:
    """Evidence that was near the optimum proves no less than that afterwards."""
    still, tried = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        case = case_for(rng, ("gauss", "whole", "single")[seed % 3], ("matrix", "data", "correlation")[seed % 3])
        if case is None or not splits(case.tree) or case.bound() is None:
            continue
        tried += 1
        tamper(rng, case)
        bound = case.bound()
        if bound is not None:
            still += 1
            case.assert_above(bound, list(case.judge.values))
    assert tried > 12
    assert still == 0 if tamper is dropped else still > 0


# --- roundings --------------------------------------------------------------------------------------------------------


def nearly_cancelling(rng: np.random.Generator, depth: int, unit: float) -> dict[str, np.ndarray]:
    """Return levels WSWᵀ whose products are very large and cancel: W has two columns that are nearly opposite."""
    first = rng.standard_normal((depth, 1))
    directions = np.concatenate([first, 1e-6 * rng.standard_normal((depth, 1)) - first], axis=1)
    return {"directions": directions, "matrix": np.full(3, rng.uniform(1e10, 1e11)) * unit}


@pytest.mark.parametrize("seed", range(40))
def test_sums_of_levels_are_as_near_as_is_said(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Σ n_b R_b + Σ zzᵀ in rational numbers is within the doubt of what is factored."""
    rng = np.random.default_rng(seed)
    prepared = prepare(Source("data", rng.standard_normal((4, 9)) * np.exp(rng.standard_normal(9))))
    group = np.array([1, 4, 5])
    shared = nearly_cancelling(rng, prepared.depth, prepared.unit) if seed % 2 else evidence_for(rng, 4, prepared.unit)
    width = shared["directions"].shape[1]
    cell: dict[str, Any] = {"directions": shared["directions"], "groups": np.array([0])}
    cell["matrix"] = np.array([shared["matrix"], shared["matrix"] * rng.random()])
    cell["level"] = np.array([0.3, 0.1]) * prepared.unit
    cell["frame"], cell["weights"] = np.stack([np.eye(width)] * 2), np.ones((2, width + 1))
    seen: list[tuple[np.ndarray, float]] = []

    def watched(matrix: np.ndarray, doubt: float) -> float:
        seen.append((matrix, doubt))
        return largest_of(matrix, doubt)

    duals: list[np.ndarray] = []

    def kept(_: Prepared, vectors: Callable[..., tuple[np.ndarray, float]]) -> tuple[np.ndarray, float]:
        (columns,) = [vectors(part, block)[0] for part, block in prepared.blocks()]
        duals.append(columns)
        return sum_of_duals(prepared, vectors)

    monkeypatch.setattr(count_tree, "largest_of", watched)
    monkeypatch.setattr(count_tree, "sum_of_duals", kept)
    try:
        with np.errstate(all="ignore"):
            count_tree._bound(prepared, lambda _: group, cell, {0: (1, 2)}, 4)
    except CertificateError:
        return
    assert len(seen) == 2
    levels = [
        exact_level(level_of(prepared, {**cell, **{name: np.asarray(cell[name][at]) for name in STACKED}}))
        for at in range(2)
    ]
    columns = rational(duals[0].T)
    for (matrix, doubt), (rest, mine) in zip(seen, [(3, 1), (2, 2)], strict=True):
        for sign in (1, -1):
            apart = [
                [
                    sign
                    * (
                        Fraction(float(matrix[i, j]))
                        - rest * levels[0][i][j]
                        - mine * levels[1][i][j]
                        - sum((z[i] * z[j] for z in columns), Fraction(0))
                    )
                    + (Fraction(doubt) + Fraction(1, 10**40) if i == j else 0)
                    for j in range(4)
                ]
                for i in range(4)
            ]
            assert definite(apart)
