"""No tree of counts, however absurd, makes the checker claim too little: every support is tried."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certpca import CertificateError
from certpca.checker.data import Prepared, prepare
from certpca.checker.level_points import largest_of, level_of, sum_of_duals
from certpca.checker.rules import count_tree
from certpca.results.certificate import Certificate, Source
from certpca.results.evidence_forms import parts_of
from tests.attacks.exact_arithmetic import FORMS, KINDS, Exact, exact, sources
from tests.attacks.test_l0_level import definite, evidence_for, exact_level, rational

CLOSE = 1e-9  # nearer than this to the optimum, floating point does not decide
DEEPEST = 5
STACKED = ("matrix", "level", "frame", "weights")
Support = tuple[int, ...]
Groups = list[np.ndarray]


# --- trees and evidence -----------------------------------------------------------------------------------------------


def groups_for(rng: np.random.Generator, size: int) -> Groups:
    """Draw sets of features; single ones make cells of one support, which can be bounded exactly."""
    if rng.random() < 0.5:
        return [np.array([feature]) for feature in range(size)]
    count = int(rng.integers(1, 6))
    return [np.sort(rng.choice(size, int(rng.integers(1, size + 1)), replace=False)) for _ in range(count)]


def tree_for(rng: np.random.Generator, groups: Groups, numbers: Iterator[int], depth: int = 0) -> dict[str, Any]:
    if depth >= DEEPEST or rng.random() < 0.15 + 0.1 * depth:
        return {"cell": next(numbers)}
    group = depth if groups[0].size == 1 and depth < len(groups) else int(rng.integers(len(groups)))
    most = int(rng.integers(0, groups[group].size + int(rng.random() < 0.2)))
    return {"group": group, "most": most, "children": [tree_for(rng, groups, numbers, depth + 1) for _ in range(2)]}


def leaves(tree: dict[str, Any], path: tuple[tuple[int, int, int], ...] = ()) -> Iterator[tuple[int, tuple]]:
    """Walk over the cells with the splits that lead to each: group, most, and the side taken."""
    if "cell" in tree:
        yield tree["cell"], path
        return
    for side, child in enumerate(tree["children"]):
        yield from leaves(child, (*path, (tree["group"], tree["most"], side)))


def holds(path: tuple, groups: Groups, support: Support) -> bool:
    """Say whether a support goes down that path; the checker's counts have no part in it."""
    return all((len(set(groups[group].tolist()) & set(support)) > most) == side for group, most, side in path)


def levels_for(
    rng: np.random.Generator, first: dict[str, Any], ends: list[tuple[int, int, int]], scale: float, largest: float
) -> dict[str, np.ndarray]:
    """Draw a level for each group: nothing for features that all are chosen, much where none is, or anything."""
    width = first["directions"].shape[1]
    stacked: dict[str, list] = {name: [] for name in STACKED}
    for fewest, most, count in ends:
        own = dict(first)
        informed = rng.random() < 0.8
        if informed:
            share = float(rng.choice([0.0, 0.3, 1.0, 1.0, 1.1])) * scale
            level = 0.0 if fewest >= count else 2.0 * largest if most <= 0 else share
            own |= {"matrix": np.zeros(width * (width + 1) // 2), "level": np.float64(min(level, 1e307))}
        elif rng.random() < 0.5:
            own |= {name: first[name] * rng.choice([0.0, 0.5, 1.0, 2.0]) for name in ("matrix", "level")}
        for name in STACKED:
            stacked[name].append(np.nan_to_num(np.asarray(own[name], dtype=np.float64)))
    return {name: np.array(values) for name, values in stacked.items()}


def cell_for(
    rng: np.random.Generator,
    groups: Groups,
    path: tuple,
    size: int,
    sparsity: int,
) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Choose groups without common features, rather those of the path; return them with their ends and sizes."""
    order = list(dict.fromkeys([group for group, _, _ in path]))
    order += [int(group) for group in rng.permutation(len(groups)) if group not in order and rng.random() < 0.2]
    chosen, taken = list[int](), set[int]()
    for group in order:
        mine = set(groups[group].tolist())
        if len(chosen) < count_tree.MOST_GROUPS and not mine & taken and rng.random() < 0.95:
            chosen.append(group)
            taken |= mine
    ends = []
    for group in chosen:
        low = max([most + 1 for other, most, side in path if other == group and side], default=0)
        high = min([most for other, most, side in path if other == group and not side], default=size)
        ends.append((low, min(high, sparsity), groups[group].size))
    rest = size - len(taken)
    high = sparsity - sum(low for low, _, _ in ends)
    low = sparsity - sum(min(high_, count) for _, high_, count in ends)
    return chosen, [(low, min(high, rest), rest), *ends]


@dataclass
class Case:
    """A problem small enough for every support to be tried, and evidence of any kind for it."""

    source: Source
    judge: Exact
    prepared: Prepared
    sparsity: int
    groups: Groups
    tree: Any
    evidence: dict[str, Any]

    def certificate(self) -> Certificate:
        nothing, size = np.empty(0, dtype=np.intp), self.prepared.size
        return Certificate(
            kind="count-tree",
            size=size,
            sparsity=self.sparsity,
            upper_bound=0.0,
            matrix="",
            normalisation=self.source.normalisation(),
            fingerprint="",
            support=nothing,
            loadings=np.empty(0),
            evidence=self.evidence,
            tree=self.tree,
        )

    def members(self, group: int) -> np.ndarray:
        return self.groups[group]

    def bound(self) -> Fraction | None:
        """Return what all cells together prove, None where that is refused or nothing."""
        try:
            with np.errstate(all="ignore"):
                bound = count_tree.prove(self.prepared, self.certificate(), 0.0).bound
        except CertificateError:
            return None
        return Fraction(bound) * Fraction(self.prepared.unit) if np.isfinite(bound) else None

    def cell_bounds(self) -> dict[int, Fraction]:
        """Return what each cell proves by itself."""
        parts, found = parts_of(self.evidence), {}
        for number, counts in count_tree._cells(self.tree, {}, set()):
            cell = {"directions": self.evidence["directions"], **parts.get(f"cell{number}", {})}
            try:
                with np.errstate(all="ignore"):
                    bound = count_tree._bound(self.prepared, self.members, cell, counts, self.sparsity)
            except CertificateError:
                continue
            if np.isfinite(bound):
                found[number] = Fraction(bound) * Fraction(self.prepared.unit)
        return found

    def assert_above(self, bound: Fraction, supports: list[Support]) -> None:
        """Compare with every support, in rational numbers where floating point does not decide."""
        for support in supports:
            value = self.judge.values[support]
            if bound <= self.judge.unit * Fraction(value + CLOSE * abs(value) + 1e-12):
                assert self.judge.within(support, bound), (support, float(bound / self.judge.unit), value)

    def assert_valid(self) -> str:
        """Compare all cells and their maximum with all supports; tell how that went."""
        supports = list(self.judge.values)
        bounds = self.cell_bounds()
        for number, path in leaves(self.tree):
            if number in bounds:
                self.assert_above(bounds[number], [s for s in supports if holds(path, self.groups, s)])
        bound = self.bound()
        if bound is None:
            return "refused"
        self.assert_above(bound, supports)
        optimum = self.judge.unit * Fraction(self.judge.optimum)
        return "tight" if 0 < bound <= Fraction(13, 10) * optimum else "accepted"


def case_for(rng: np.random.Generator, kind: str, form: str) -> Case | None:
    source = sources(rng, kind, form)
    size = source.values.shape[1]
    sparsity = int(rng.integers(1, size + 1))
    judge = exact(source, sparsity)
    if judge is None:
        return None
    try:
        with np.errstate(all="ignore"):
            prepared = prepare(source)
    except CertificateError:
        return None
    unit = float(min(judge.unit, Fraction(10) ** 300))
    scale = max(unit * abs(judge.optimum) / sparsity, 0.0)
    largest = unit * float(np.abs(np.diagonal(judge.matrix)).max())
    groups = groups_for(rng, size)
    numbers = iter(rng.permutation(1000).tolist())
    tree = tree_for(rng, groups, numbers)
    with np.errstate(all="ignore"):
        first = evidence_for(rng, prepared.depth, scale)
        evidence: dict[str, Any] = {"directions": first["directions"]}
        evidence |= {f"group{number}_features": members for number, members in enumerate(groups)}
        for number, path in leaves(tree):
            chosen, ends = cell_for(rng, groups, path, size, sparsity)
            own = levels_for(rng, first, ends, scale, largest)
            evidence |= {f"cell{number}_{name}": values for name, values in own.items()}
            evidence[f"cell{number}_groups"] = np.array(chosen, dtype=np.int64)
    return Case(source, judge, prepared, sparsity, groups, tree, evidence)


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


def one_sample(rng: np.random.Generator) -> Case:
    """Draw a case whose cells are all bounded exactly: features are numbers, and levels are their squares."""
    size = int(rng.integers(1, 8))
    sparsity = int(rng.integers(1, size + 1))
    parts = np.sort(
        rng.integers(0, int(rng.integers(1, 5)), size)
    )  # features of a part are alike; part 0 is in no group
    numbers = rng.integers(0, 6, 5)
    source = Source("data", numbers[parts][None, :].astype(np.float64))
    used = [part for part in range(1, 5) if (parts == part).any()]
    groups = [np.flatnonzero(parts == part) for part in used]
    tree = tree_for(rng, groups, iter(range(1000))) if groups else {"cell": 0}
    evidence: dict[str, Any] = {"directions": np.ones((1, 1))}
    evidence |= {f"group{number}_features": members for number, members in enumerate(groups)}
    count = len(groups) + 1
    for number, _ in leaves(tree):
        own = {
            "groups": np.arange(len(groups)),
            "matrix": np.zeros((count, 1)),
            "level": numbers[[0, *used]].astype(np.float64) ** 2,
            "frame": np.ones((count, 1, 1)),
            "weights": np.ones((count, 2)),
        }
        evidence |= {f"cell{number}_{name}": values for name, values in own.items()}
    judge = exact(source, sparsity)
    assert judge is not None
    return Case(source, judge, prepare(source), sparsity, groups, tree, evidence)


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
