"""The rule of `count-tree`: which counts there are, which cells, and what is refused with what words."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certpca.checker import examine
from certpca.checker.check import Examiner
from certpca.checker.columns import fingerprint
from certpca.checker.data import prepare
from certpca.checker.level_points import sum_of_duals
from certpca.checker.limits import Limits
from certpca.checker.rules import count_tree
from certpca.results.certificate import Certificate, Source
from certpca.results.errors import CertificateError
from certpca.results.evidence_forms import form_of
from tests.brute_force import brute_force

# --- counts -----------------------------------------------------------------------------------------------------------


@settings(max_examples=400, deadline=None)
@given(
    ends=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=4),
    k=st.integers(1, 9),
    others=st.integers(0, 9),
)
def test_linear_functions_are_largest_at_a_vertex(ends: list[tuple[int, int]], k: int, others: int) -> None:
    """Every vertex is a point, and no whole point has more in any direction than the vertices have."""
    ranges = [range(low, high + 1) for low, high in ends]
    points = np.array([(k - sum(n), *n) for n in product(*ranges) if 0 <= k - sum(n) <= others])
    found = count_tree.vertices(ends, k, others)
    assert len(set(found)) == len(found)
    if not points.size:
        assert found == []
        return
    assert set(found) <= set(map(tuple, points.tolist()))
    rng = np.random.default_rng(k + 10 * others)
    directions = np.concatenate(
        [rng.standard_normal((50, points.shape[1])), rng.integers(-2, 3, (50, points.shape[1]))]
    )
    np.testing.assert_allclose((np.array(found) @ directions.T).max(axis=0), (points @ directions.T).max(axis=0))


def test_very_large_counts_are_whole_numbers() -> None:
    assert count_tree.vertices([(2**62, 2**63)], 2**64, 2**64) == [(2**64 - 2**62, 2**62), (2**63, 2**63)]


def test_a_support_is_in_one_cell_and_only_there() -> None:
    tree: dict[str, Any] = {
        "group": 0,
        "most": 1,
        "children": [
            {"group": 1, "most": 0, "children": [{"cell": 5}, {"cell": 2}]},
            {"group": 0, "most": 2, "children": [{"cell": 7}, {"group": 0, "most": 4, "children": [{"cell": 1}] * 2}]},
        ],
    }
    tree["children"][1]["children"][1]["children"][1] = {"cell": 0}
    cells = dict(count_tree._cells(tree, {}, set()))
    groups = {0: {0, 1, 2, 3, 4}, 1: {4, 5}}
    assert cells[7][0] == (2, 2)
    assert cells[1][0] == (3, 4)
    for support in combinations(range(8), 4):
        inside = [
            number
            for number, counts in cells.items()
            if all(low <= len(groups[group] & set(support)) <= high for group, (low, high) in counts.items())
        ]
        assert len(inside) == 1


# --- certificates -----------------------------------------------------------------------------------------------------

SIZE, K = 9, 4


def stacked(count: int, **changes: Any) -> dict[str, np.ndarray]:
    return {
        "matrix": np.zeros((count, 3)),
        "level": np.full(count, 0.5),
        "frame": np.stack([np.eye(2)] * count),
        "weights": np.ones((count, 3)),
        **changes,
    }


def evidence() -> dict[str, Any]:
    found: dict[str, Any] = {
        "directions": np.eye(4)[:, :2],
        "group0_features": np.array([0, 2, 3]),
        "group1_features": np.array([3, 5]),
        "group2_features": np.array([1, 5]),
    }
    for number, groups in enumerate(([0, 2], [0], [])):
        found[f"cell{number}_groups"] = np.array(groups, dtype=np.int64)
        found |= {f"cell{number}_{name}": values for name, values in stacked(len(groups) + 1).items()}
    return found


def tree() -> dict[str, Any]:
    inner = {"group": 0, "most": 2, "children": [{"cell": 1}, {"cell": 2}]}
    return {"group": 0, "most": 0, "children": [{"cell": 0}, inner]}


@pytest.fixture
def source(rng: np.random.Generator) -> Source:
    return Source("data", np.where(rng.random((4, SIZE)) < 0.5, -0.9, 0.9) * rng.uniform(0.6, 1.0, SIZE))


def certificate(source: Source, k: int = K, **changes: Any) -> Certificate:
    made = Certificate(
        kind="count-tree",
        size=source.values.shape[1],
        sparsity=k,
        upper_bound=0.0,
        matrix="",
        normalisation=source.normalisation(),
        fingerprint=fingerprint(source),
        support=np.empty(0, dtype=np.intp),
        loadings=np.empty(0),
        evidence=evidence(),
        tree=tree(),
    )
    return replace(made, **changes)


def test_a_tree_proves_a_bound(source: Source) -> None:
    optimum, _ = brute_force(source.values.T @ source.values, K)
    assert optimum <= examine(certificate(source), source).upper_bound < 3 * optimum


def test_cells_of_one_support_each_are_exact(rng: np.random.Generator) -> None:
    """Nothing is paid for features that must be chosen, and much for those that must not."""
    source = Source("data", rng.standard_normal((6, 5)))
    chain: Any = {"cell": 5}
    found: dict[str, Any] = {"directions": np.eye(5)[:, :1]}

    def side(number: int, inside: list[int], outside: list[int]) -> None:
        groups = inside + outside
        prices = np.array([50.0] + [0.0] * len(inside) + [50.0] * len(outside))
        found[f"cell{number}_groups"] = np.array(groups, dtype=np.int64)
        found.update({f"cell{number}_{name}": values for name, values in stacked(len(groups) + 1).items()})
        found[f"cell{number}_level"] = prices
        found[f"cell{number}_matrix"] = np.zeros((len(groups) + 1, 1))
        found[f"cell{number}_frame"] = np.ones((len(groups) + 1, 1, 1))
        found[f"cell{number}_weights"] = np.ones((len(groups) + 1, 2))

    for feature in range(5):  # k = 1: the first feature that is there is the only one
        found[f"group{feature}_features"] = np.array([feature])
        side(feature, [feature], [other for other in range(5) if other < feature])
    side(5, [], [0, 1, 2, 3, 4])
    for feature in reversed(range(5)):
        chain = {"group": feature, "most": 0, "children": [chain, {"cell": feature}]}
    optimum = float((source.values**2).sum(axis=0).max())
    bound = examine(certificate(source, k=1, evidence=found, tree=chain), source).upper_bound
    assert optimum <= bound <= optimum * (1 + 1e-9)


@pytest.mark.parametrize("k", [1, SIZE])
def test_the_smallest_and_the_largest_sparsity(source: Source, k: int) -> None:
    optimum, _ = brute_force(source.values.T @ source.values, k)
    assert optimum <= examine(certificate(source, k), source).upper_bound


@pytest.mark.parametrize("values", [np.array([[1.0, 2.0, -0.5]]), np.array([[3.0]])])
def test_one_sample(values: np.ndarray) -> None:
    source, size = Source("data", values), values.shape[1]
    own = stacked(2, matrix=np.zeros((2, 1)), frame=np.ones((2, 1, 1)), weights=np.ones((2, 2)))
    found = {"directions": np.ones((1, 1)), "group0_features": np.array([0])}
    for number in range(2):
        found |= {f"cell{number}_{name}": array for name, array in own.items()}
        found[f"cell{number}_groups"] = np.array([0])
    split = {"group": 0, "most": 0, "children": [{"cell": 0}, {"cell": 1}]}
    for k in range(1, size + 1):
        truth = float(np.sort(values[0] ** 2)[-k:].sum())
        assert truth <= examine(certificate(source, k, evidence=found, tree=split), source).upper_bound


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
@pytest.mark.parametrize("k", range(1, 7))
def test_counts_on_either_plane_are_paid(order: tuple[int, int, int], k: int) -> None:
    """Two features each in two groups and in none, all numbers: bounds are linear in the counts, and exact."""
    source = Source("data", np.repeat(order, 2)[None, :].astype(np.float64))
    own = stacked(3, matrix=np.zeros((3, 1)), frame=np.ones((3, 1, 1)), weights=np.ones((3, 2)))
    own["level"] = np.array(order, dtype=np.float64) ** 2
    found = {"directions": np.ones((1, 1)), "group0_features": np.array([2, 3]), "group1_features": np.array([4, 5])}
    found |= {"cell0_groups": np.array([0, 1]), **{f"cell0_{name}": values for name, values in own.items()}}
    truth = float(np.sort(source.values[0] ** 2)[-k:].sum())
    bound = examine(certificate(source, k, evidence=found, tree={"cell": 0}), source).upper_bound
    assert truth <= bound <= truth * (1 + 1e-9)


@pytest.mark.parametrize("power", [-1000, -300, 300, 960])
def test_units_do_not_matter(rng: np.random.Generator, power: int) -> None:
    matrix = np.cov(rng.standard_normal((30, 4)).T)
    bounds = []
    for unit in (1.0, 2.0**power):
        found = evidence() | {f"group{g}_features": np.array([g]) for g in range(3)}
        for name in found:
            form = form_of(count_tree.EVIDENCE, name)
            assert form is not None
            found[name] = found[name] * unit**form.degree if form.degree else found[name]
        source = Source("matrix", matrix * unit)
        bounds.append(examine(certificate(source, 2, evidence=found), source).upper_bound / unit)
    assert bounds[1] == pytest.approx(bounds[0], rel=1e-12)
    assert bounds[1] >= brute_force(matrix, 2)[0]


def test_cells_without_supports_need_no_levels(source: Source) -> None:
    found = evidence() | {"cell9_groups": np.array([0])}
    small: dict[str, Any] = {
        "group": 0,
        "most": 2,
        "children": [tree(), {"group": 0, "most": 3, "children": [{"cell": 9}] * 2}],
    }
    small["children"][1] = {"group": 0, "most": 3, "children": [{"cell": 10}, {"cell": 9}]}
    found["cell10_groups"] = np.array([0])
    found |= {f"cell10_{name}": values for name, values in stacked(2).items()}
    assert examine(certificate(source, evidence=found, tree=small), source).upper_bound > 0  # nobody has four of three


def test_a_count_that_no_number_holds(source: Source) -> None:
    with pytest.raises(CertificateError, match="malformed"):
        examine(certificate(source, tree=tree() | {"most": 2**62}), source)
    most = tree() | {"most": 2**62 - 1, "children": [{"cell": 0}, {"cell": 1}]}
    assert examine(certificate(source, tree=most), source).upper_bound > 0


def test_what_is_in_doubt_is_added(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    before = examine(certificate(source), source).upper_bound
    unit = prepare(source).unit

    def doubtful(*of: Any) -> tuple[np.ndarray, float]:
        total, doubt = sum_of_duals(*of)
        return total, doubt + 5.0

    monkeypatch.setattr(count_tree, "sum_of_duals", doubtful)
    assert examine(certificate(source), source).upper_bound >= before + 4.99 * unit


@pytest.mark.parametrize(("position", "often"), [(0, 4), (1, 0), (2, 2)])
def test_every_level_is_paid_as_often_as_it_counts(source: Source, position: int, often: int) -> None:
    """Of cell 0: up to four of the other features, none of the three in group 0, up to two in group 2."""
    found = evidence()
    found["cell0_level"][position] = 1e6
    assert examine(certificate(source, evidence=found), source).upper_bound == pytest.approx(often * 1e6, abs=100.0)


def test_deep_trees_are_walked_and_deeper_ones_refused(source: Source) -> None:
    def chain(depth: int) -> Any:
        node: Any = {"cell": 0}
        for number in range(depth):
            node = {"group": 0, "most": 8, "children": [node, {"cell": 1000 + number}]}  # nobody has nine of three
        return node

    found = evidence() | {f"cell{1000 + number}_groups": np.array([0]) for number in range(300)}
    assert examine(certificate(source, evidence=found, tree=chain(count_tree.DEEPEST)), source).upper_bound > 0
    for depth in (count_tree.DEEPEST + 1, 5000):
        with pytest.raises(CertificateError, match="malformed"):
            examine(certificate(source, evidence=found, tree=chain(depth)), source)


def test_cells_cost_work_and_are_counted(source: Source) -> None:
    with pytest.raises(CertificateError, match="more than 2 cells"):
        Examiner(source, Limits(most_nodes=2)).examine(certificate(source))
    with pytest.raises(CertificateError, match="multiplications"):
        Examiner(source, Limits(most_work=500.0)).examine(certificate(source))
    with pytest.raises(CertificateError, match="too large to be factored"):
        Examiner(source, Limits(largest_factored=3)).examine(certificate(source))
    # Cells without supports cost something too: there may be millions.
    rest: Any = {"cell": 0}
    for number in range(150):
        rest = {"group": 0, "most": 8, "children": [rest, {"cell": 1000 + number}]}
    alone = evidence() | {f"cell{1000 + number}_groups": np.array([0]) for number in range(150)}
    with pytest.raises(CertificateError, match="multiplications"):
        Examiner(source, Limits(most_work=1300.0)).examine(certificate(source, evidence=alone, tree=rest))


def test_a_group_is_read_once(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    plain: Any = count_tree.__dict__["indices_of"]

    def counted(*of: Any) -> Any:
        read.append(of)
        return plain(*of)

    monkeypatch.setattr(count_tree, "indices_of", counted)
    examine(certificate(source), source)
    assert len(read) == 2  # the third group is in no cell


def changed(**values: Any) -> Callable[[], dict[str, Any]]:
    return lambda: {"evidence": evidence() | values}


def without(name: str) -> Callable[[], dict[str, Any]]:
    return lambda: {"evidence": {key: value for key, value in evidence().items() if key != name}}


def endless() -> dict[str, Any]:
    node: dict[str, Any] = {"group": 0, "most": 0}
    node["children"] = [node, node]
    return {"tree": node}


def split(**values: Any) -> Callable[[], dict[str, Any]]:
    return lambda: {"tree": tree() | values}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda: {"tree": None}, "its tree is malformed"),
        (lambda: {"tree": [tree()]}, "its tree is malformed"),
        (lambda: {"tree": {}}, "a split is malformed"),
        (endless, "its tree is malformed"),
        (lambda: {"tree": {"cell": True}}, "a cell is named twice or wrongly"),
        (lambda: {"tree": {"cell": "0"}}, "a cell is named twice or wrongly"),
        (lambda: {"tree": {"cell": 77}}, "a cell does not name its groups"),
        (lambda: {"tree": {"cell": 10**5000}}, "refused"),
        (split(children=[{"cell": 0}]), "does not have two sides"),
        (split(children=[{"cell": 0}, {"cell": 1}, {"cell": 2}]), "does not have two sides"),
        (split(children={"0": {"cell": 0}, "1": {"cell": 1}}), "does not have two sides"),
        (split(children=[{"cell": 0}, {"cell": 0}]), "a cell is named twice or wrongly"),
        (split(children=[{"cell": 0}, None]), "its tree is malformed"),
        (split(group=0.0), "a split is malformed"),
        (split(group=True), "a split is malformed"),
        (split(most=-1), "a split is malformed"),
        (split(most=1.0), "a split is malformed"),
        (split(most=None), "a split is malformed"),
        (split(group=8), "lacks 'features'"),
        (split(group=-1), "lacks 'features'"),
        (without("directions"), "'directions' in its evidence has the wrong form"),
        (without("group0_features"), "lacks 'features'"),
        (without("cell0_groups"), "a cell does not name its groups"),
        (without("cell1_level"), "lacks 'level'"),
        (changed(group0_features=np.array([0, 2, SIZE])), "out of range"),
        (changed(group0_features=np.array([-1, 2])), "out of range"),
        (changed(group0_features=np.array([2, 2])), "not sorted"),
        (changed(group0_features=np.empty(0, dtype=np.int64)), "not a list of indices"),
        (changed(group0_features=np.array([0.0, 2.0])), "not a list of indices"),
        (changed(cell0_groups=np.array([0, 1])), "features in common"),
        (changed(cell0_groups=np.array([0, 0])), "features in common"),
        (changed(cell0_groups=np.array([0, 9])), "lacks 'features'"),
        (changed(cell0_groups=np.array([0.0, 2.0])), "too many groups"),
        (changed(cell0_groups=np.array([[0, 2]])), "too many groups"),
        (changed(cell0_groups=np.arange(7)), "too many groups"),
        (changed(cell0_groups=np.array([0])), "does not have a level for each group"),
        (changed(cell0_level=np.array([0.5, 0.5])), "does not have a level for each group"),
        (changed(cell0_level=np.array([0.5, 0.5, -0.1])), "negative"),
        (changed(cell0_level=np.array([0.5, 0.5, np.nan])), "not finite"),
        (changed(cell0_level=np.float64(0.5)), "wrong form"),
        (changed(cell0_matrix=np.zeros((3, 4))), "wrong size"),
        (changed(cell0_matrix=-np.ones((3, 3))), "not positive semidefinite"),
        (changed(cell0_frame=np.stack([np.eye(3)] * 3)), "wrong size"),
        (changed(cell0_weights=np.ones((3, 2))), "wrong size"),
        (changed(directions=np.eye(5)[:, :2]), "wrong form"),
    ],
)
def test_what_is_malformed_is_refused(source: Source, change: Callable[[], dict[str, Any]], why: str) -> None:
    with pytest.raises(CertificateError, match=why):
        examine(certificate(source, **change()), source)
