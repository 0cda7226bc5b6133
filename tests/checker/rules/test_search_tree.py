"""Whatever a search tree says, the checker refuses it or its bound holds: exact arithmetic is the judge."""

import copy
import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import certpca
from certpca import Certificate, CertificateError, load_certificate, save_certificate, verify
from certpca.bounds.support_tree.search import TreeSearch
from certpca.bounds.support_tree.visit import Effort
from certpca.checker import examine, fingerprint
from certpca.checker.pair_shares import forced_totals, largest_total
from certpca.results.certificate import Source
from certpca.results.proof import Proof
from tests.attacks.exact_arithmetic import FORMS, KINDS, Exact, exact, sources
from tests.attacks.random_trees import RandomTree, Tree, flat
from tests.brute_force import brute_force

CLOSE = 1e-9  # nearer than this to the optimum, floating point does not decide
SIZE, SPARSITY = 8, 3


def grown(nodes: list[Tree], number: int = 0) -> Tree:
    """Undo `flat`."""
    return [
        operation | {name: grown(nodes, operation[name]) for name in ("in", "out")}
        if "split" in operation
        else operation
        for operation in nodes[number]
    ]


def certificate_of(
    source: Source, sparsity: int, tree: Any, evidence: dict[str, Any], support: Any = (), loadings: Any = ()
) -> Certificate:
    return Certificate(
        kind="search-tree",
        size=source.values.shape[1],
        sparsity=sparsity,
        upper_bound=0.0,
        matrix="",
        normalisation=source.normalisation(),
        fingerprint=fingerprint(source),
        support=np.array(support, dtype=np.intp),
        loadings=np.array(loadings, dtype=np.float64),
        evidence=evidence,
        tree=flat(tree),
    )


# --- sums of shares ---------------------------------------------------------------------------------------------------


def naive_total(shares: np.ndarray, inside: tuple[int, ...], free: tuple[int, ...], budget: int) -> float:
    """T by its definition."""

    def row(i: int) -> float:
        others = sorted((shares[i, j] for j in free if j != i), reverse=True)
        own = shares[i, i] if i in free else 0.0
        return float(sum(shares[i, j] for j in inside) + own + sum(others[: budget - (i in free)]))

    rows = sorted((row(i) for i in free), reverse=True)
    return float(sum(row(i) for i in inside) + sum(rows[:budget]))


@st.composite
def nodes(draw: st.DrawFn) -> tuple[np.ndarray, int, int]:
    """Shares in whole numbers, so that sums are exact and ties are many."""
    free, fixed = draw(st.integers(2, 6)), draw(st.integers(0, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    reach = draw(st.sampled_from([1, 3, 100]))
    return rng.integers(-reach, reach + 1, (fixed + free, fixed + free)) * 1.0, fixed, draw(st.integers(1, free - 1))


@settings(max_examples=300, deadline=None)
@given(node=nodes())
def test_totals_are_those_of_the_definition(node: tuple[np.ndarray, int, int]) -> None:
    shares, fixed, budget = node
    inside, free = tuple(range(fixed)), tuple(range(fixed, shares.shape[0]))
    everyone = np.ones(len(free), dtype=bool)
    assert largest_total(shares, fixed, budget) == naive_total(shares, inside, free, budget)
    forced_in, forced_out = forced_totals(shares, fixed, budget, everyone, everyone)
    for place, i in enumerate(free):
        others = tuple(j for j in free if j != i)
        assert forced_in[place] == naive_total(shares, (*inside, i), others, budget - 1)
        assert forced_out[place] == naive_total(shares, inside, others, budget)


# --- random trees -----------------------------------------------------------------------------------------------------


def optimal_loadings(judge: Exact, best: tuple[int, ...]) -> np.ndarray:
    part = judge.floats()[np.ix_(best, best)]
    return np.asarray(np.linalg.eigh(part)[1][:, -1])


def assert_true(proof: Proof, judge: Exact) -> None:
    """The bound is at least the optimum, and features are decided as every optimal support has it."""
    bound, optimum = Fraction(proof.upper_bound), judge.optimum
    near = CLOSE * abs(optimum) + 1e-12
    if bound <= judge.unit * Fraction(optimum + near):
        for support, value in judge.values.items():
            if value >= optimum - near:
                assert judge.within(support, bound), (support, value, float(bound / judge.unit))
    for feature in proof.outside:
        assert max(v for s, v in judge.values.items() if feature in s) < optimum
    for feature in proof.inside:
        assert max(v for s, v in judge.values.items() if feature not in s) < optimum


def try_tree(seed: int, kind: str, form: str) -> str:
    """Check one random tree, and say how that went."""
    rng = np.random.default_rng(seed)
    source = sources(rng, kind, form)
    sparsity = int(rng.integers(1, source.values.shape[1] + 1))
    judge = exact(source, sparsity)
    if judge is None:
        return "no correlation"
    best = max(judge.values, key=lambda support: judge.values[support])
    with np.errstate(all="ignore"):
        matrix = np.nan_to_num(judge.floats() * float(min(judge.unit, Fraction(10) ** 300)))
        made = RandomTree(rng, matrix, sparsity, best)
        loadings = optimal_loadings(judge, best)
    try:
        proof = examine(certificate_of(source, sparsity, made.tree, made.evidence, best, loadings), source)
    except CertificateError as error:
        return str(error)
    assert_true(proof, judge)
    near = proof.upper_bound <= float(judge.unit) * judge.optimum * (1 + 1e-9)
    return "close" if near else "loose"


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), form=st.sampled_from(FORMS))
def test_no_tree_proves_too_much(seed: int, kind: str, form: str) -> None:
    try_tree(seed, kind, form)


@settings(max_examples=300, deadline=None)
@given(node=nodes(), more=st.integers(0, 5))
def test_totals_with_empty_places_are_those_of_the_definition(node: tuple[np.ndarray, int, int], more: int) -> None:
    """Features that share nothing stand for places that stay empty."""
    shares, fixed, budget = node
    budget += more
    size = shares.shape[0]
    wide = np.zeros((size + budget + 1, size + budget + 1))
    wide[:size, :size] = shares
    inside, free = tuple(range(fixed)), tuple(range(fixed, wide.shape[0]))
    everyone = np.ones(size - fixed, dtype=bool)
    assert largest_total(shares, fixed, budget, fewer=True) == naive_total(wide, inside, free, budget)
    forced_in, forced_out = forced_totals(shares, fixed, budget, everyone, everyone, fewer=True)
    for place, i in enumerate(range(fixed, size)):
        others = tuple(j for j in free if j != i)
        assert forced_in[place] == naive_total(wide, (*inside, i), others, budget - 1)
        assert forced_out[place] == naive_total(wide, inside, others, budget)


# --- trees of the search, tampered ------------------------------------------------------------------------------------


def operations_of(tree: Tree) -> list[dict[str, Any]]:
    found = []
    for operation in tree:
        found.append(operation)
        if "split" in operation:
            found += operations_of(operation["in"]) + operations_of(operation["out"])
    return found


def tamper(rng: np.random.Generator, tree: Tree, evidence: dict[str, Any], size: int) -> None:
    """Change one thing of a tree whose bounds are tight."""
    operations = operations_of(tree)
    operation = operations[rng.integers(len(operations))]
    feature = int(rng.integers(size))
    match int(rng.integers(8)):
        case 0 if "fix" in operation:
            operation["out"], operation["in"] = operation["in"], operation["out"]
        case 1 if "fix" in operation:
            operation["out" if rng.random() < 0.5 else "in"].append(feature)
        case 2 if "fix" in operation:
            listed = operation["out"] or operation["in"]
            listed[rng.integers(len(listed))] = feature
        case 3 if "split" in operation:
            operation["split"] = feature
        case 4 if "split" in operation:
            operation["in"], operation["out"] = operation["out"], operation["in"]
        case 5 if "leaf" in operation:
            operation["leaf"] = ["list", "trace", "eigenvalue", "squares", "pairs", "cheapest"][rng.integers(6)]
        case 6:
            name = list(evidence)[rng.integers(len(evidence))]
            if not name.endswith("features"):
                values = np.asarray(evidence[name], dtype=np.float64)
                evidence[name] = np.asarray(values * rng.lognormal(0, 10.0 ** rng.integers(-9, 2), values.shape))
        case _:
            for other in operations:
                if "shift" in other:
                    other["shift"] = float(other["shift"] + rng.choice([-1e-9, 1e-9, -0.1, 0.1, -5.0]))


def try_tampered(seed: int, effort: Effort) -> str:
    """Search a small matrix without lists, tamper with the tree, and check it."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 8))
    data = rng.standard_normal((int(rng.integers(1, 10)), size))
    data = [data, np.round(data), np.round(2 * data) * rng.choice([1.0, 4.0], size)][rng.integers(3)]
    source, sparsity = Source("matrix", data.T @ data), int(rng.integers(1, size))
    judge = exact(source, sparsity)
    assert judge is not None
    best = max(judge.values, key=lambda support: judge.values[support])
    search = TreeSearch(source.values, sparsity, 1e-6, effort)
    found = search.start(np.array(best))
    while found.open and found.nodes <= 20:
        found = search.step(found, lambda: False)
    nodes, evidence = search.certificate(found)
    tree = grown(nodes)
    loadings = optimal_loadings(judge, best)
    assert_true(examine(certificate_of(source, sparsity, tree, evidence, best, loadings), source), judge)
    for _ in range(6):
        changed_tree, changed_evidence = copy.deepcopy(tree), dict(evidence)
        for _ in range(int(rng.integers(1, 3))):
            tamper(rng, changed_tree, changed_evidence, size)
        try:
            proof = examine(certificate_of(source, sparsity, changed_tree, changed_evidence, best, loadings), source)
        except CertificateError:
            continue
        assert_true(proof, judge)
    return f"{len(operations_of(tree))} operations"


@pytest.mark.parametrize("block", range(4))
def test_tampered_trees_of_the_search_prove_nothing_wrong(block: int) -> None:
    effort = Effort(listed=0, root=Effort().root[: 1 + block], child=Effort().child[: 1 + block])
    for seed in range(20):
        try_tampered(20 * block + seed, effort)


# --- features decided -------------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), sparsity=st.integers(1, 6))
def test_features_decided_are_those_of_every_optimal_support(seed: int, sparsity: int) -> None:
    """Whole numbers give several optimal supports; features are fixed one at a time, rightly and wrongly."""
    rng = np.random.default_rng(seed)
    data = rng.integers(-1, 2, (6, 7)) * rng.choice([1.0, 1.0, 3.0], 7)
    source = Source("matrix", data.T @ data)
    judge = exact(source, sparsity)
    assert judge is not None
    best = max(judge.values, key=lambda support: judge.values[support])
    with np.errstate(all="ignore"):
        made = RandomTree(rng, source.values, sparsity, best)
    order, tree = rng.permutation(7).tolist(), Tree()
    for feature in order[:4]:
        out, joined = ([feature], []) if feature not in best or rng.random() < 0.1 else ([], [feature])
        if sum(len(operation["in"]) for operation in tree) + len(joined) < sparsity < 7:
            tree.append({"fix": "squares", "out": out, "in": joined, **made._bound("squares")})
    certificate = certificate_of(
        source, sparsity, [*tree, {"leaf": "list"}], made.evidence, best, optimal_loadings(judge, best)
    )
    try:
        proof = examine(certificate, source)
    except CertificateError:
        return
    assert_true(proof, judge)


def test_a_fixing_is_as_good_as_the_worst_before_it() -> None:
    """Leaving 3 out is not proved, so nothing after it is: supports with 3 were never looked at again."""
    source = Source("matrix", np.diag([4.0, 3.0, 2.0, 5.0, 1.0]))
    first = {"fix": "squares", "shift": 0.0, "out": [3], "in": []}
    second = {"fix": "squares", "shift": 0.0, "out": [4], "in": []}
    evidence = {"scale": np.float64(1.0)}
    right = examine(certificate_of(source, 1, [second, {"leaf": "list"}], evidence, [3], [1.0]), source)
    assert right.outside.tolist() == [4]
    wrong = examine(certificate_of(source, 1, [first, second, {"leaf": "list"}], evidence, [3], [1.0]), source)
    assert wrong.outside.tolist() == []
    assert wrong.upper_bound >= 5


def test_a_tie_decides_nothing() -> None:
    source = Source("matrix", np.eye(4))
    tree = [{"fix": "squares", "shift": 1.0, "out": [0, 1], "in": []}, {"leaf": "list"}]
    proof = examine(certificate_of(source, 2, tree, {"scale": np.float64(1.0)}, [2], [1.0]), source)
    assert proof.outside.size == proof.inside.size == 0
    assert 1.0 <= proof.upper_bound <= 1 + 1e-6


# --- attacks ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def source(rng: np.random.Generator) -> Source:
    data = rng.standard_normal((30, SIZE))
    data[:, :SPARSITY] += 1.5 * rng.standard_normal((30, 1))
    return Source("matrix", np.cov(data.T))


@pytest.fixture
def sound(source: Source) -> Certificate:
    """One of each operation; point 1 covers only its node."""
    matrix = source.values
    shift = float(np.linalg.eigvalsh(matrix[:SPARSITY, :SPARSITY])[:-1].mean())
    u, part = matrix - shift * np.eye(SIZE), np.arange(2, SIZE - 1)
    k = np.tril(np.full((SIZE, SIZE), 0.01), -1)
    evidence = {
        "scale": np.float64(1.0),
        "point0_features": np.arange(SIZE),
        "point0_pairs": (np.triu(u) + k).astype(np.float32),
        "point0_alpha": np.full(SIZE, np.linalg.norm(u[:SPARSITY, :SPARSITY]) / 2),
        "point1_features": part,
        "point1_pairs": np.triu(u[np.ix_(part, part)]),
        "point1_alpha": np.ones(part.size),
    }
    chosen: Tree = [{"fix": "squares", "shift": shift, "out": [6], "in": [1]}, {"leaf": "pairs", "point": 0}]
    below = {"split": 1, "in": [{"leaf": "list"}], "out": [{"leaf": "cheapest", "shift": shift, "point": 1}]}
    tree = [{"fix": "pairs", "point": 0, "out": [7], "in": []}, {"split": 0, "in": chosen, "out": [below]}]
    values, vectors = np.linalg.eigh(matrix[:SPARSITY, :SPARSITY])
    draft = certificate_of(source, SPARSITY, tree, evidence, np.arange(SPARSITY), vectors[:, -1])
    assert values[-1] == pytest.approx(brute_force(matrix, SPARSITY)[0])
    return replace(draft, upper_bound=examine(draft, source).upper_bound)


def test_the_sound_one_is_accepted(sound: Certificate, source: Source) -> None:
    assert verify(sound, source.values).upper_bound == sound.upper_bound


Change = Callable[[Tree, dict[str, Any]], Any]


def at(*path: Any, **changes: Any) -> Change:
    """Replace entries of the operation at a path."""

    def change(tree: Tree, evidence: dict[str, Any]) -> None:
        place: Any = tree
        for step in path:
            place = place[step]
        place.update(changes)

    return change


def without(*path: Any) -> Change:
    def change(tree: Tree, evidence: dict[str, Any]) -> None:
        place: Any = tree
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return change


def stored(**changes: Any) -> Change:
    """Replace evidence; what becomes None is left out."""

    def change(tree: Tree, evidence: dict[str, Any]) -> None:
        evidence.update(changes)
        for name in [name for name, value in evidence.items() if value is None]:
            del evidence[name]

    return change


def instead(tree: Any) -> Change:
    return lambda _tree, _evidence: tree


def nested(depth: int) -> Tree:
    tree: Tree = [{"leaf": "list"}]
    for level in range(depth):
        tree = [{"split": level % SIZE, "in": tree, "out": [{"leaf": "list"}]}]
    return tree


FIX, CHOSEN, LEAF = (0,), (1, "in", 0), (1, "in", 1)
LAST = (1, "out", 0, "out", 0)

REFUSED: dict[str, Change] = {
    "no tree": instead(0),
    "empty tree": instead([]),
    "a mapping": instead({"leaf": "list"}),
    "a tuple": instead(({"leaf": "list"},)),
    "text": instead("list"),
    "text in a list": instead(["leaf"]),
    "a list in a list": instead([[{"leaf": "list"}]]),
    "an operation of nothing": instead([{}]),
    "deeper than there are features": instead(nested(SIZE + 1)),
    "the last leaf removed": without(*LAST),
    "a leaf removed": without(*LEAF),
    "a branch without operations": at(1, out=[]),
    "a branch that is nothing": at(1, out=None),
    "a branch missing": without(1, "out"),
    "split on a feature fixed out": at(1, split=7),
    "split on a feature split before": at(1, "out", 0, split=0),
    "split on no feature": at(1, split=SIZE),
    "split on a negative feature": at(1, split=-1),
    "split on a huge feature": at(1, split=10**30),
    "split on a truth value": at(1, split=False),
    "split on a NumPy number": at(1, split=np.int64(0)),
    "split on a fraction": at(1, split=0.0),
    "split on text": at(1, split="0"),
    "fixed out twice": at(*CHOSEN, out=[7]),
    "fixed out after it was split in": at(*CHOSEN, out=[0]),
    "listed twice": at(*CHOSEN, out=[6, 6]),
    "fixed in and out": at(*CHOSEN, out=[1]),
    "more fixed in than there are": at(*CHOSEN, **{"in": list(range(SIZE))}),
    "a truth value among features": at(*CHOSEN, out=[True]),
    "a NumPy number among features": at(*CHOSEN, out=[np.int64(6)]),
    "a fraction among features": at(*CHOSEN, out=[6.0]),
    "a huge number among features": at(*CHOSEN, out=[2**63]),
    "a negative one among features": at(*CHOSEN, out=[-2]),
    "features as text": at(*CHOSEN, out="6"),
    "features as an array": at(*CHOSEN, out=np.array([6])),
    "features as a tuple": at(*CHOSEN, out=(6,)),
    "no list of features": without(*CHOSEN, "out"),
    "shift not a number": at(*CHOSEN, shift=float("nan")),
    "shift infinite": at(*CHOSEN, shift=float("inf")),
    "shift infinitely negative": at(*CHOSEN, shift=-float("inf")),
    "shift whose square overflows": at(*CHOSEN, shift=1e200),
    "shift negative, and its square overflows": at(*CHOSEN, shift=-1e308),
    "shift whole": at(*CHOSEN, shift=0),
    "shift as text": at(*CHOSEN, shift="0.1"),
    "shift of nothing": at(*CHOSEN, shift=None),
    "no shift": without(*CHOSEN, "shift"),
    "unknown way to fix": at(*CHOSEN, fix="hope"),
    "way to fix as a list": at(*CHOSEN, fix=["squares"]),
    "fixed by a leaf's bound": at(*CHOSEN, fix="trace"),
    "unknown leaf": at(*LEAF, leaf="hope"),
    "leaf of nothing": at(*LEAF, leaf=None),
    "leaf as a list": at(*LEAF, leaf=["pairs"]),
    "said to be empty": at(*LAST, leaf="empty"),
    "squares without a shift": at(*LEAF, leaf="squares"),
    "pairs without a point": at(1, "out", 0, "in", 0, leaf="pairs"),
    "point that is not there": at(*LEAF, point=2),
    "point negative": at(*LEAF, point=-1),
    "point as text": at(*LEAF, point="0"),
    "point as truth value": at(*LEAF, point=False),
    "point as NumPy number": at(*LEAF, point=np.int64(0)),
    "point that does not cover its node": at(*FIX, point=1),
    "point with one feature less": stored(
        point1_features=np.arange(2, SIZE - 2), point1_pairs=np.eye(SIZE - 4), point1_alpha=np.ones(SIZE - 4)
    ),
    "features of a point shifted": stored(point1_features=np.arange(3, SIZE)),
    "features of a point unsorted": stored(point0_features=np.arange(SIZE)[::-1]),
    "features of a point repeated": stored(point0_features=np.array([0, 1, 2, 3, 4, 5, 6, 6])),
    "features of a point out of range": stored(point0_features=np.arange(1, SIZE + 1)),
    "features of a point as floats": stored(point0_features=np.arange(SIZE) * 1.0),
    "features of a point empty": stored(point1_features=np.arange(0)),
    "features of a point missing": stored(point0_features=None),
    "pairs missing": stored(point0_pairs=None),
    "pairs of another shape": stored(point0_pairs=np.eye(SIZE + 1)),
    "pairs flat": stored(point0_pairs=np.ones(SIZE * SIZE)),
    "pairs whole": stored(point0_pairs=np.eye(SIZE, dtype=int)),
    "pairs not a number": stored(point0_pairs=np.full((SIZE, SIZE), np.nan)),
    "pairs infinite": stored(point0_pairs=np.full((SIZE, SIZE), np.inf)),
    "pairs infinite below the diagonal": stored(point0_pairs=np.tril(np.full((SIZE, SIZE), np.inf), -1)),
    "alpha missing": stored(point0_alpha=None),
    "alpha of another length": stored(point0_alpha=np.ones(SIZE - 1)),
    "alpha zero": stored(point0_alpha=np.zeros(SIZE)),
    "alpha negative": stored(point0_alpha=np.array([-1.0] + [1.0] * (SIZE - 1))),
    "alpha not a number": stored(point0_alpha=np.full(SIZE, np.nan)),
    "alpha infinite": stored(point0_alpha=np.full(SIZE, np.inf)),
    "scale missing": stored(scale=None),
    "scale zero": stored(scale=np.float64(0.0)),
    "scale negative": stored(scale=np.float64(-1.0)),
    "scale not a number": stored(scale=np.float64("nan")),
    "scale infinite": stored(scale=np.float64("inf")),
    "scale whole": stored(scale=np.int64(1)),
    "scale as a list": stored(scale=np.ones(1)),
}

SIX = np.arange(2, 8)
# Accepted or not, their bound holds: wrong fixings count their own bounds.
STILL_TRUE: dict[str, Change] = {
    "the best features left out": at(*CHOSEN, out=[1, 2], **{"in": []}),
    "all but the best fixed in": at(*CHOSEN, out=[], **{"in": [3, 4]}),
    "everything left out": at(*CHOSEN, out=[1, 2, 3, 4, 5, 6], **{"in": []}),
    "everything fixed in": at(*CHOSEN, out=[], **{"in": [1, 2, 3, 4, 5, 6]}),
    "the best left out at the root": at(*FIX, out=[0], **{"in": []}),
    "branches exchanged": lambda tree, _: tree[1].update({"in": tree[1]["out"], "out": tree[1]["in"]}),
    "both branches the same": lambda tree, _: tree[1].update({"out": tree[1]["in"]}),
    "split on another feature": at(1, split=3),
    "only splits and lists": instead(nested(SIZE)),
    "only a list": instead([{"leaf": "list"}]),
    "only a trace": instead([{"leaf": "trace"}]),
    "only an eigenvalue": instead([{"leaf": "eigenvalue"}]),
    "only the cheapest": instead([{"leaf": "cheapest"}]),
    "operations after a leaf": instead([{"leaf": "list"}, {"leaf": "empty"}]),
    "shift zero": at(*CHOSEN, shift=0.0),
    "shift negative": at(*CHOSEN, shift=-3.0),
    "shift large": at(*CHOSEN, shift=1e100),
    "shift large and negative": at(*CHOSEN, shift=-1e100),
    "shift of a NumPy type": at(*CHOSEN, shift=np.float64(0.2)),
    "leaf by squares with a huge negative shift": at(*LEAF, leaf="squares", shift=-1e150),
    "the other point": at(*LAST, point=0),
    "K huge": stored(point0_pairs=np.tril(np.full((SIZE, SIZE), 1e30), -1) + np.eye(SIZE)),
    "K beyond": stored(point0_pairs=np.tril(np.full((SIZE, SIZE), 1e308), -1)),
    "U huge": stored(point0_pairs=np.full((SIZE, SIZE), 1e150)),
    "U beyond": stored(point0_pairs=np.full((SIZE, SIZE), 1e160)),
    "U zero": stored(point0_pairs=np.zeros((SIZE, SIZE))),
    "U tiny and alpha tinier": stored(point0_pairs=np.eye(SIZE) * 1e-162, point0_alpha=np.full(SIZE, 5e-324)),
    "alpha tiny": stored(point0_alpha=np.full(SIZE, 5e-324)),
    "alpha huge": stored(point0_alpha=np.full(SIZE, 1e308)),
    "alpha mixed": stored(point0_alpha=10.0 ** np.linspace(-300, 300, SIZE)),
    "alpha of half precision": stored(point0_alpha=np.ones(SIZE, dtype=np.float16)),
    "wider numbers than double": stored(point0_pairs=np.eye(SIZE, dtype=np.longdouble) / 3),
    "scale tiny": stored(scale=np.float64(5e-324)),
    "scale huge": stored(scale=np.float64(1e308)),
    "scale ten": stored(scale=np.float64(10.0)),
    "points exchanged": lambda _, evidence: evidence.update(point1_features=SIX, point1_pairs=np.eye(6)),
}


def changed(certificate: Certificate, change: Change) -> Certificate:
    tree, evidence = copy.deepcopy(grown(certificate.tree)), dict(certificate.evidence)
    replaced = change(tree, evidence)
    return replace(certificate, tree=flat(tree if replaced is None else replaced), evidence=evidence)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, sound: Certificate, source: Source) -> None:
    tampered = replace(changed(sound, REFUSED[name]), upper_bound=1e300)
    with pytest.raises(CertificateError, match="refused"):
        verify(tampered, source.values)


@pytest.mark.parametrize("name", STILL_TRUE)
def test_refused_or_still_true(name: str, sound: Certificate, source: Source) -> None:
    tampered = changed(sound, STILL_TRUE[name])
    judge = exact(source, SPARSITY)
    assert judge is not None
    try:
        proof = examine(tampered, source)
    except CertificateError:
        return
    assert_true(proof, judge)


def test_a_feature_left_out_without_a_bound_is_missed_by_nobody(sound: Certificate, source: Source) -> None:
    """Naming the wrong features raises the bound to what they can do."""
    honest = examine(sound, source).upper_bound
    tampered = changed(sound, at(*FIX, out=[0, 1, 2, 7]))
    tampered = replace(tampered, tree=[[tampered.tree[0][0], {"leaf": "list"}]])
    optimum = brute_force(source.values, SPARSITY)[0]
    assert examine(tampered, source).upper_bound >= optimum
    with pytest.raises(CertificateError, match="claims"):
        verify(replace(tampered, upper_bound=min(honest, optimum) * (1 - 1e-9)), source.values)


@pytest.mark.parametrize("sparsity", [1, 2, SIZE - 1, SIZE])
def test_other_sparsities_of_the_same_tree(sparsity: int, sound: Certificate, source: Source) -> None:
    optimum = brute_force(source.values, sparsity)[0]
    small = replace(sound, sparsity=sparsity, support=sound.support[:1], loadings=np.ones(1))
    leaves: list[Tree] = [[{"leaf": "list"}], [{"leaf": "squares", "shift": 0.0}], [{"leaf": "pairs", "point": 0}]]
    for tree in (sound.tree, *map(flat, leaves)):
        try:
            proof = examine(replace(small, tree=tree), source)
        except CertificateError:
            continue
        assert proof.upper_bound >= optimum * (1 - 1e-14)


def test_a_leaf_does_not_list_forever(rng: np.random.Generator) -> None:
    source = Source("matrix", np.cov(rng.standard_normal((60, 40)).T))
    with pytest.raises(CertificateError, match="lists more than"):
        examine(certificate_of(source, 20, [{"leaf": "list"}], {"scale": np.float64(1.0)}), source)


def test_files_keep_the_tree(sound: Certificate, source: Source, tmp_path: Any) -> None:
    save_certificate(sound, tmp_path / "tree.json")
    loaded = load_certificate(tmp_path / "tree.json")
    assert loaded.tree == sound.tree
    assert verify(loaded, source.values).upper_bound == sound.upper_bound


# --- data of every form -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [4, 20])
@pytest.mark.parametrize(
    ("options", "holes"),
    [({}, False), ({"scale": True}, False), ({"center": False}, False), ({}, True), ({"scale": True}, True)],
)
def test_tables_of_every_form(rows: int, options: dict[str, Any], holes: bool, rng: np.random.Generator) -> None:
    table = rng.standard_normal((rows, 7))
    if holes:
        table[rng.integers(rows), 2] = np.nan
        options = {**options, "missing": "mean"}
    operator = certpca.from_data(table, **options)
    judge = exact(operator.source(), 3)
    assert judge is not None
    shift = float(np.trace(operator.submatrix(np.arange(7)))) / 14
    evidence = {"scale": np.float64(1.0)}
    optimum = float(judge.unit) * judge.optimum
    trees: list[Tree] = [
        [{"leaf": "list"}],
        [{"leaf": "trace"}],
        [{"fix": "squares", "shift": shift, "out": [0, 1], "in": []}, {"leaf": "list"}],
        [{"split": 4, "in": [{"leaf": "list"}], "out": [{"leaf": "list"}]}],
    ]
    for tree in trees:
        proof = examine(certificate_of(operator.source(), 3, tree, evidence), operator.source())
        assert_true(proof, judge)
        if "split" in tree[0] or tree[0].get("leaf") == "list":
            assert proof.upper_bound <= optimum * (1 + 1e-10)


def test_all_trees_of_splits_agree_with_brute_force(rng: np.random.Generator) -> None:
    """Splitting down to single supports, in whatever order, gives the optimum itself."""
    matrix = np.cov(rng.standard_normal((9, 6)).T)
    source = Source("matrix", matrix)
    for sparsity, order in itertools.product(range(1, 7), ([0, 1, 2, 3, 4, 5], [3, 5, 1, 0, 4, 2])):
        tree: Tree = [{"leaf": "trace"}]  # of nothing free: the checker takes the eigenvalue instead
        for feature in order:
            tree = [{"split": feature, "in": tree, "out": tree}]
        bound = examine(certificate_of(source, sparsity, tree, {"scale": np.float64(1.0)}), source).upper_bound
        optimum = brute_force(matrix, sparsity)[0]
        assert optimum * (1 - 1e-14) <= bound <= optimum * (1 + 1e-12)


@pytest.mark.parametrize("child", [0, 1, 2, -1, True, 1.0, None, "1"])
def test_nodes_are_numbers_used_once(child: Any, source: Source) -> None:
    tree = [[{"split": 0, "in": 1, "out": child}], [{"leaf": "list"}]]
    with pytest.raises(CertificateError, match="refused"):
        verify(
            replace(certificate_of(source, SPARSITY, [], {"scale": np.float64(1.0)}), tree=tree, upper_bound=1e300),
            source.values,
        )


def test_a_deep_tree_is_walked_and_stored(tmp_path: Any) -> None:
    """A search that goes on for long may have paths longer than Python's stack."""
    depth = 1500
    source, evidence = Source("matrix", np.eye(depth + 2)), {"scale": np.float64(1.0)}
    chain: list[Tree] = [
        [{"split": feature, "in": depth + 1 + feature, "out": feature + 1}] for feature in range(depth)
    ]
    chain += [[{"leaf": "trace"}] for _ in range(depth + 1)]
    draft = replace(certificate_of(source, 2, [], evidence), tree=chain)
    made = replace(draft, upper_bound=examine(draft, source).upper_bound)
    assert made.upper_bound >= 1
    save_certificate(made, tmp_path / "deep.json")
    assert load_certificate(tmp_path / "deep.json").tree == chain
