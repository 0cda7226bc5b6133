"""Random data, weights and constraints, small enough to try every component in exact arithmetic, which is the judge."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import isqrt
from typing import Any

import numpy as np
import pytest

from certpca import CertificateError, Constraints
from certpca.checker import check, examine, fingerprint
from certpca.checker.check import Examiner
from certpca.checker.limits import Limits
from certpca.results.certificate import Certificate, Source
from certpca.results.evidence_forms import within
from certpca.results.proof import Proof
from tests.attacks.count_cases import counts_for
from tests.attacks.exact_arithmetic import FORMS, KINDS, Exact, exact, sources
from tests.attacks.test_l0_level import evidence_for

# --- the judge --------------------------------------------------------------------------------------------------------


def allowed(size: int, sparsity: int, asked: Constraints) -> list[tuple[int, ...]]:
    """List every allowed support, by the words of the definition."""
    return [
        support
        for count in range(sparsity + 1)
        for support in combinations(range(size), count)
        if set(asked.include) <= set(support)
        and not set(asked.exclude) & set(support)
        and all(set(group) <= set(support) or not set(group) & set(support) for group in asked.groups)
    ]


def captured(judge: Exact, support: tuple[int, ...], direction: np.ndarray) -> Fraction:
    """Return exactly what some loadings on a support capture: rounded ones, which are loadings like others."""
    roots = [Fraction(isqrt(q.numerator * q.denominator * 10**60), q.denominator * 10**30) for q in judge.norms]
    y = [(Fraction(float(x)) / roots[i], i) for x, i in zip(direction, support, strict=True)]
    form = sum((a * b * judge.products[i][j] for a, i in y for b, j in y), Fraction(0))
    return form / sum((a * a * judge.norms[i] for a, i in y), Fraction(0))


def optimum(judge: Exact, sparsity: int, asked: Constraints) -> tuple[Fraction, dict[tuple[int, ...], Fraction]]:
    """Return what the best allowed component captures, up to the square of a rounding, and that of each support."""
    found = {}
    for support in allowed(len(judge.norms), sparsity, asked):
        parts = [part for count in range(1, len(support) + 1) for part in combinations(support, count)]
        best = []
        for part in parts if asked.nonnegative else [support] * bool(support):
            leading = np.linalg.eigh(judge.matrix[np.ix_(part, part)])[1][:, -1]
            leading = leading * (np.sign(leading.sum()) or 1.0)
            best.append(captured(judge, part, np.maximum(leading, 0.0) if asked.nonnegative else leading))
        found[support] = max(best, default=Fraction(0))
    return max(found.values(), default=Fraction(0)), found


# --- problems ---------------------------------------------------------------------------------------------------------


def weights(rng: np.random.Generator, rows: int) -> list[float] | None:
    """Draw weights: far apart, some zero, all huge or all tiny."""
    drawn = rng.random(rows) + 0.1
    match rng.integers(7):
        case 0:
            return None
        case 1:
            drawn = drawn * 10.0 ** rng.uniform(-29, 0, rows)
        case 2:
            drawn = rng.integers(0, 3, rows).astype(float)
        case 3:
            drawn = drawn * 1e307 * (rng.random(rows) < 0.7)
        case 4:
            drawn = np.floor(drawn * 9) * 5e-324
        case 5:
            drawn = np.where(rng.random(rows) < 0.5, 1e-30, 1.0) * (rng.random(rows) < 0.9)
    return [float(weight) for weight in drawn] if drawn.any() else [1.0] * rows


def constraints(rng: np.random.Generator, size: int, sparsity: int) -> Constraints:
    """Draw constraints, some of which allow nothing or contradict each other."""
    order = [int(i) for i in rng.permutation(size)]
    include = order[: int(rng.integers(0, 2))]
    exclude = order[1 : 1 + int(rng.integers(0, max(size - sparsity, 0) + 1))] if rng.random() < 0.6 else []
    groups, rest = [], [int(i) for i in rng.permutation(size)]
    while len(rest) >= 2 and rng.random() < 0.6:
        count = int(rng.integers(1, min(len(rest), sparsity + 1) + 1))
        groups.append(tuple(sorted(rest[:count])))
        rest = rest[count:]
    return Constraints(tuple(include), tuple(sorted(exclude)), tuple(groups), bool(rng.random() < 0.4))


def idle_values(rng: np.random.Generator, source: Source) -> Source:
    """Let samples that weigh nothing have values that dwarf, or vanish beside, all others."""
    values = np.asarray(source.values)
    if source.weights is None or values.dtype.kind != "f" or rng.random() < 0.5:
        return source
    values = values.astype(np.float64) / (float(np.nanmax(np.abs(values), initial=0.0)) or 1.0)
    values = values * 10.0 ** rng.integers(-170, -100)
    idle = np.array(source.weights) == 0
    values[idle] = np.where(np.isnan(values[idle]), np.nan, 1.0 + rng.random(values[idle].shape))
    return replace(source, values=values)


def problem(seed: int) -> tuple[Source, int, Constraints, np.random.Generator]:
    rng = np.random.default_rng([seed, 77])
    source = sources(rng, KINDS[seed % len(KINDS)], FORMS[(seed // len(KINDS)) % len(FORMS)])
    rows, size = source.values.shape
    if source.kind == "data":
        divisor = float(rng.integers(1, rows + 1))
        given = weights(rng, rows) if source.scale != "2pq" else None
        source = idle_values(rng, replace(source, divisor=divisor, weights=given))
    sparsity = int(rng.integers(1, size + 1))
    return source, sparsity, constraints(rng, size, sparsity), rng


def trees(rng: np.random.Generator, size: int) -> list[Any]:
    """Draw search trees, some of which say too much."""
    ways: list[dict[str, Any]] = [{"leaf": way} for way in ("list", "eigenvalue", "trace", "empty", "cheapest")]
    ways += [{"leaf": "squares", "shift": float(rng.normal())}, {"leaf": "raised", "raised": 0}]
    some = [ways[int(rng.integers(len(ways)))] for _ in range(3)]
    feature, other = (int(i) for i in rng.integers(0, size, 2))
    split = {"split": other, "in": 1, "out": 2}
    fix = {"fix": "squares", "shift": 0.5, "out": [feature], "in": []}
    return [[[ways[0]]], [some[:1]], [[split], some[:1], some[1:2]], [[fix, split], some[1:2], some[2:]]]


def evidence(
    rng: np.random.Generator, here: np.ndarray, depth: int, sparsity: int, scale: float
) -> list[dict[str, Any]]:
    """Return certificates without evidence, trees that list, raise or fix, levels, cells of counts, and rows."""
    size = here.shape[0]
    drawn = np.abs(rng.standard_normal((size, size))) * (rng.random((size, size)) < 0.5)
    plain = {"scale": np.float64(scale)}
    raised = {"raised": drawn * scale, "raise0_features": np.arange(size), "raise0_entries": np.maximum(-here, 0.0)}
    left = np.sort(rng.choice(size, int(rng.integers(min(sparsity, size), size + 1)), replace=False))
    pairs = np.triu(here) / scale + np.tril(rng.standard_normal((size, size)) * 0.1, -1)
    rows = {
        "scale": np.float64(scale),
        "features": np.arange(size),
        "pairs": pairs,
        "alpha": np.full(size, 0.3),
        "shift": np.float64(0.3),
        "rest": np.float64(0.5),
        "left": left,
    }
    made: list[dict[str, Any]] = [{"kind": kind} for kind in ("trace", "row-sums", "largest-eigenvalue")]
    for tree in trees(rng, size):
        made.append({"kind": "search-tree", "tree": tree, "evidence": plain})
        made.append({"kind": "search-tree", "tree": tree, "evidence": {**plain, **raised}})
    for tree in trees(rng, left.size):
        made.append({"kind": "pair-rows", "tree": tree, "evidence": {**plain, **within("rows0", rows)}})
    largest = float(np.abs(np.diagonal(here)).max())
    for _ in range(2):
        with np.errstate(all="ignore"):
            made.append({"kind": "l0-level", "evidence": evidence_for(rng, depth, largest)})
        _, tree, cells = counts_for(rng, depth, size, sparsity, largest, largest)
        made.append({"kind": "count-tree", "tree": tree, "evidence": cells})
    return made


def draft(source: Source, sparsity: int, asked: Constraints, support: tuple[int, ...], **more: Any) -> Certificate:
    fields: dict[str, Any] = {"matrix": "", "normalisation": source.normalisation(), "fingerprint": fingerprint(source)}
    return Certificate(
        size=int(source.values.shape[1]),
        sparsity=sparsity,
        upper_bound=np.inf,
        support=np.array(support, dtype=np.intp),
        loadings=np.ones(len(support)),
        constraints=asked,
        **fields,
        **more,
    )


def proofs(seed: int) -> list[tuple[Proof, Fraction, dict[tuple[int, ...], Fraction]]]:
    """Return what is proved about one problem, with the judgement; nothing where it makes no sense."""
    source, sparsity, asked, rng = problem(seed)
    with np.errstate(all="ignore"):
        judge = exact(source, sparsity)
    if judge is None:
        return []
    best, supports = optimum(judge, sparsity, asked)
    winner = max(supports, key=lambda support: supports[support], default=())
    scale, kept = float(min(max(judge.unit, Fraction(1, 10**300)), Fraction(10**300))), asked.kept(len(judge.norms))
    if kept.size == 0:
        return []
    rows, here = int(source.values.shape[0]), judge.matrix[np.ix_(kept, kept)] * scale
    depth = kept.size if source.kind == "matrix" else min(rows, kept.size)
    answers = []
    for more in evidence(rng, here, depth, sparsity, scale):
        for support in ((), winner, winner[:1]):
            try:
                answers.append((examine(draft(source, sparsity, asked, support, **more), source), best, supports))
            except CertificateError:
                continue
    return answers


@pytest.mark.parametrize("seed", range(120))
def test_no_certificate_proves_less_than_the_exact_optimum(seed: int) -> None:
    for proof, best, supports in proofs(seed):
        assert Fraction(proof.upper_bound) * (1 + Fraction(1, 10**25)) >= best
        assert not supports or Fraction(proof.objective) <= max(best, Fraction(0)) * (1 + Fraction(1, 10**25))
        reached = [set(support) for support, value in supports.items() if value >= best * (1 - Fraction(1, 10**25))]
        for feature in proof.outside:
            assert not any(int(feature) in support for support in reached)
        for feature in proof.inside:
            assert all(int(feature) in support for support in reached)


def test_samples_without_weight_do_not_hide_the_others() -> None:
    """Next to a value that weighs nothing, squares of all others would vanish: these count, and by their own size."""
    rng = np.random.default_rng(3)
    for power in range(-163, -149, 2):
        data = rng.standard_normal((6, 3)) * 10.0**power
        data[0] = 1.0
        source = Source("data", data, True, True, 6.0, weights=[0.0, 1.0, 1.0, 2.0, 1.0, 1.0])
        judge = exact(source, 3)
        assert judge is not None
        proof = examine(draft(source, 3, Constraints(), (0,), kind="largest-eigenvalue"), source)
        assert judge.within((0, 1, 2), Fraction(proof.upper_bound))
        assert proof.objective <= 1
        assert proof.upper_bound <= judge.optimum * (1 + 1e-12)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_values_without_weight_have_to_be_numbers(value: float) -> None:
    data = np.arange(12.0).reshape(4, 3) ** 2
    data[1, 2] = value
    source = Source("data", data, True, False, 3.0, weights=[1.0, 0.0, 1.0, 1.0])
    with pytest.raises(CertificateError, match=r"not finite|missing values"):
        examine(draft(source, 1, Constraints(), (0,), kind="trace"), source)


def test_groups_in_another_order_are_the_same_groups() -> None:
    source = Source("matrix", np.diag(np.arange(1.0, 7.0)))
    asked, other = (Constraints(groups=groups) for groups in (((0, 1), (2, 3)), ((2, 3), (0, 1))))
    claim = replace(draft(source, 2, asked, (5,), kind="trace"), upper_bound=20.0)
    assert check(claim, source, {"constraints": other}).constraints == asked
    with pytest.raises(CertificateError, match="expected components with"):
        check(claim, source, {"constraints": Constraints(groups=((0, 1),))})


def test_listing_unions_of_groups_counts_as_work() -> None:
    """Trees may have millions of leaves: what one of them costs has to be limited with the others."""
    source = Source("matrix", np.eye(30))
    tree = [[{"leaf": "list"}]]
    claim = draft(source, 8, Constraints(groups=((0, 1),)), (5,), kind="search-tree", tree=tree)
    claim = replace(claim, evidence={"scale": np.float64(1.0)})
    with pytest.raises(CertificateError, match="multiplications"):
        Examiner(source, Limits(most_work=1e8)).examine(claim)
    with pytest.raises(CertificateError, match="lists more than"):
        examine(claim, source)


def test_nothing_is_no_component_where_groups_leave_out_what_captures_something() -> None:
    source = Source("matrix", np.diag([-1.0, -2.0, 5.0, 5.0, 5.0]))
    asked = Constraints(groups=((2, 3, 4),))  # which are too many for two places, so that -1 is the most
    assert examine(draft(source, 2, asked, (0,), kind="row-sums"), source).objective <= -1
    with pytest.raises(CertificateError, match="no loadings"):
        examine(draft(source, 2, asked, (), kind="row-sums"), source)
