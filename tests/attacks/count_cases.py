"""Random trees of counts with random evidence, on problems small enough for every support to be tried."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certpca import CertificateError
from certpca.checker.data import Prepared, prepare
from certpca.checker.rules import count_tree
from certpca.results.certificate import Certificate, Source
from certpca.results.evidence_forms import parts_of
from tests.attacks.exact_arithmetic import Exact, exact, sources
from tests.attacks.test_l0_level import evidence_for

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


def counts_for(
    rng: np.random.Generator, depth: int, size: int, sparsity: int, scale: float, largest: float
) -> tuple[Groups, Any, dict[str, Any]]:
    """Draw groups, a tree of counts in them, and evidence for its cells."""
    groups = groups_for(rng, size)
    numbers = iter(rng.permutation(1000).tolist())
    tree = tree_for(rng, groups, numbers)
    with np.errstate(all="ignore"):
        first = evidence_for(rng, depth, scale)
        evidence: dict[str, Any] = {"directions": first["directions"]}
        evidence |= {f"group{number}_features": members for number, members in enumerate(groups)}
        for number, path in leaves(tree):
            chosen, ends = cell_for(rng, groups, path, size, sparsity)
            own = levels_for(rng, first, ends, scale, largest)
            evidence |= {f"cell{number}_{name}": values for name, values in own.items()}
            evidence[f"cell{number}_groups"] = np.array(chosen, dtype=np.int64)
    return groups, tree, evidence


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
    groups, tree, evidence = counts_for(rng, prepared.depth, size, sparsity, scale, largest)
    return Case(source, judge, prepared, sparsity, groups, tree, evidence)


def one_sample(rng: np.random.Generator) -> Case:
    """Draw a case whose cells are all bounded exactly: features are numbers, and levels are their squares."""
    size = int(rng.integers(4, 8))
    sparsity = int(rng.integers(1, size + 1))
    parts = np.sort(
        rng.integers(0, int(rng.integers(1, 5)), size)
    )  # features of a part are alike; part 0 is in no group
    numbers = rng.permutation(6)[:5]
    source = Source("data", numbers[parts][None, :].astype(np.float64))
    used = [part for part in range(1, 5) if (parts == part).any()]
    groups = [np.flatnonzero(parts == part) for part in used]
    tree = tree_for(rng, groups, iter(range(1000)), DEEPEST - 2) if groups else {"cell": 0}
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
