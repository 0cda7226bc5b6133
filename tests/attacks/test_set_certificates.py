"""No evidence makes the checker prove less than the best components capture together, or find more in loadings."""

import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import certpca
from certpca import CertificateError, SetCertificate
from certpca.bounds.sets.prices.branching import AssignmentSearch
from certpca.checker import examine, fingerprint
from certpca.results.certificate import Source
from certpca.results.evidence_forms import within
from tests.attacks.exact_arithmetic import FORMS, KINDS, Exact, exact, sources
from tests.attacks.random_trees import RandomTree, flat
from tests.attacks.sets_in_exact_arithmetic import joint_optimum

EVERY: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True}


def judges_of(source: Source, most: int) -> dict[int, Exact] | None:
    """Return the judges of all sizes of supports, or None where there is no such matrix."""
    found = {count: exact(source, count) for count in range(1, most + 1)}
    return None if None in found.values() else found  # type: ignore[return-value]


def certificate_of(
    source: Source, kind: str, problem: str, sparsities: tuple[int, ...], tree: Any, evidence: dict[str, Any]
) -> SetCertificate:
    """Return a certificate with components of one feature each, which are always feasible."""
    count = len(sparsities)
    return SetCertificate(
        kind=kind,
        problem=problem,
        size=source.values.shape[1],
        sparsities=sparsities,
        upper_bound=0.0,
        matrix="",
        normalisation=source.normalisation(),
        fingerprint=fingerprint(source),
        supports=tuple(np.array([number]) for number in range(count)),
        loadings=tuple(np.ones(1) for _ in range(count)),
        evidence=evidence,
        tree=tree,
    )


# How many a component may have, what it has, what it may have, and how many of each block.
Kind = tuple[int, tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...]]


def lost(kinds: tuple[Kind, ...], features: set[int]) -> tuple[Kind, ...]:
    return tuple((k, has, tuple(one for one in may if one not in features), counts) for k, has, may, counts in kinds)


def gained(kinds: tuple[Kind, ...], feature: int, component: int) -> tuple[Kind, ...]:
    k, has, may, counts = kinds[component]
    return (*kinds[:component], (k, tuple(sorted((*has, feature))), may, counts), *kinds[component + 1 :])


class RandomParts:
    """A split of the problem of valid shape, with arbitrary prices and search trees."""

    def __init__(self, rng: np.random.Generator, matrix: np.ndarray, sparsities: tuple[int, ...]) -> None:
        self.rng, self.matrix, self.sparsities = rng, matrix, sparsities
        self.tree: list[dict[str, Any]] = []
        self.evidence: dict[str, Any] = {}
        self.leaves = 0
        everything = tuple(range(matrix.shape[0]))
        self.blocks: list[list[int]] = []
        if rng.random() < 0.5 and matrix.shape[0] > 1:
            labels = np.r_[0, 1, rng.integers(0, 3, matrix.shape[0] - 2)]  # features of the last one are in no block
            self.blocks = [np.flatnonzero(labels == block).tolist() for block in range(2)]
        for number, block in enumerate(self.blocks):
            self.evidence |= within(f"block{number}", {"features": np.array(block, dtype=np.intp)})
        self._part(tuple((k, (), everything, ((0, k),) * len(self.blocks)) for k in sparsities), 0)

    def _part(self, kinds: tuple[Kind, ...], depth: int) -> int:
        number = len(self.tree)
        self.tree.append({})
        free = sorted({feature for kind in kinds for feature in kind[2]})
        if self.blocks and depth < 3 and self.rng.random() < 0.6:
            self.tree[number] = self._counted(kinds, depth + 1) or self._leaf(kinds)
        elif free and depth < 3 and self.rng.random() < 0.5:
            feature = int(self.rng.choice(free))
            self.tree[number] = self._given(kinds, feature, depth + 1)
            if self.rng.random() < 0.5 and not self.blocks:
                self.tree[number] = self._twins(kinds, feature, depth + 1)
        else:
            self.tree[number] = self._leaf(kinds)
        return number

    def _given(self, kinds: tuple[Kind, ...], feature: int, depth: int) -> dict[str, Any]:
        rest = lost(kinds, {feature})
        record: dict[str, Any] = {"split": feature, "none": self._part(rest, depth), "into": []}
        seen = set()
        for component, kind in enumerate(kinds):
            if kind not in seen and len(kind[1]) < kind[0] and feature in kind[2]:
                seen.add(kind)
                record["into"].append([component, self._part(gained(rest, feature, component), depth)])
        return record

    def _twins(self, kinds: tuple[Kind, ...], feature: int, depth: int) -> dict[str, Any]:
        """Say that some features are twins, which they hardly ever are."""
        component = int(self.rng.choice([t for t, kind in enumerate(kinds) if feature in kind[2]]))
        alike = [
            other
            for other in kinds[component][2]
            if other != feature and all((other in kind[2]) == (feature in kind[2]) for kind in kinds)
        ]
        twins = [other for other in alike if self.rng.random() < 0.5]
        shut = lost(kinds, {feature, *twins})
        none = tuple(less if kind == kinds[component] else kind for kind, less in zip(kinds, shut, strict=True))
        into = gained(lost(kinds, {feature}), feature, component)
        record = {"split": feature, "twins": twins, "none": self._part(none, depth)}
        return {**record, "into": [[component, self._part(into, depth)]]}

    def _counted(self, kinds: tuple[Kind, ...], depth: int) -> dict[str, Any] | None:
        """Split by how many of a block some components have; leave out numbers that its size does not allow."""
        one, block = int(self.rng.integers(len(kinds))), int(self.rng.integers(2))
        own = kinds[one]
        least, most = own[3][block]
        if least == most:
            return None
        above = int(self.rng.integers(least, most))
        alike, parts = [place for place, kind in enumerate(kinds) if kind == own], []
        for many in range(len(alike) + 1):
            counts = {place: (above + 1, most) if order < many else (least, above) for order, place in enumerate(alike)}
            own_kinds = tuple(
                (*kind[:3], (*kind[3][:block], counts[place], *kind[3][block + 1 :])) if place in counts else kind
                for place, kind in enumerate(kinds)
            )
            needed = sum(kind[3][block][0] for kind in own_kinds)
            if needed > len(self.blocks[block]) and self.rng.random() < 0.8:
                break
            parts.append(self._part(own_kinds, depth))
        return {"block": block, "of": one, "above": above, "into": parts}

    def _leaf(self, kinds: tuple[Kind, ...]) -> dict[str, Any]:
        rng, size = self.rng, self.matrix.shape[0]
        leaf, self.leaves = self.leaves, self.leaves + 1
        largest = float(np.abs(self.matrix).max()) or 1.0
        share = rng.choice([0.0, 0.1, 0.5, 1.0, 1e-9, 1e-300])
        prices = np.abs(rng.choice([rng.standard_normal(size), rng.integers(0, 2, size) * 1.0])) * largest * share
        own: dict[str, Any] = {"prices": prices}
        matrix = self.matrix
        if rng.random() < 0.4:
            share = rng.choice([1e-3, 0.3])
            directions = rng.standard_normal((size, int(rng.integers(1, 4)))) * np.sqrt(largest) * share
            shift = float(rng.choice([0.0, largest, 3 * largest]))
            own |= {"directions": directions, "shift": np.float64(shift)}
            matrix = np.nan_to_num(matrix - directions @ directions.T + shift * np.eye(size))
        trees = []
        for slot, (sparsity, held, free, _) in enumerate(dict.fromkeys(kinds)):
            best = tuple(sorted({*held, *free[: max(sparsity - len(held), 0)]})) or (0,)
            made = RandomTree(rng, matrix, sparsity, best, inside=held, free=free, fewer=True)
            trees.append(flat(made.tree))
            own |= within(f"slot{slot}", made.evidence)
        self.evidence |= within(f"leaf{leaf}", own)
        return {"leaf": leaf, "slots": trees}


def drawn(
    seed: int, kind: str, form: str
) -> tuple[np.random.Generator, Source, tuple[int, ...], dict[int, Exact]] | None:
    """Draw data, sparsities and their judges."""
    rng = np.random.default_rng(seed)
    source = sources(rng, kind, form)
    if source.kind == "data":  # other divisors are refused before anything is proved
        source = replace(source, divisor=float(max(source.values.shape[0] - int(rng.integers(2)), 1)))
    size = source.values.shape[1]
    sparsities = tuple(int(k) for k in rng.integers(1, min(3, size) + 1, int(rng.integers(1, min(3, size) + 1))))
    judges = judges_of(source, max(sparsities))
    return None if judges is None else (rng, source, sparsities, judges)


def floats(judges: dict[int, Exact]) -> np.ndarray:
    judge = judges[1]
    with np.errstate(all="ignore"):
        return np.nan_to_num(judge.floats() * float(min(judge.unit, Fraction(10) ** 300)))


def try_prices(seed: int, kind: str, form: str) -> str:
    case = drawn(seed, kind, form)
    if case is None:
        return "no correlation"
    rng, source, sparsities, judges = case
    with np.errstate(all="ignore"):
        made = RandomParts(rng, floats(judges), sparsities)
    certificate = certificate_of(source, "priced-trees", "disjoint", sparsities, made.tree, made.evidence)
    try:
        proof = examine(certificate, source)
    except CertificateError as error:
        return str(error)
    optimum = joint_optimum(judges, source.values.shape[1], sparsities, proof.upper_bound)
    assert Fraction(proof.upper_bound) >= optimum
    assert Fraction(proof.objective) <= optimum + (abs(optimum) + judges[1].unit) / 10**15
    return "close" if Fraction(proof.upper_bound) <= optimum * (1 + Fraction(1, 10**6)) else "loose"


@settings(max_examples=200, **EVERY)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), form=st.sampled_from(FORMS))
def test_no_prices_and_trees_prove_too_much(seed: int, kind: str, form: str) -> None:
    try_prices(seed, kind, form)


def test_many_of_these_attacks_are_examined_and_some_are_close() -> None:
    ends = [try_prices(seed, KINDS[seed % len(KINDS)], FORMS[seed % len(FORMS)]) for seed in range(150)]
    assert sum(end in ("close", "loose") for end in ends) > 60
    assert ends.count("close") > 3


@settings(max_examples=200, **EVERY)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), form=st.sampled_from(FORMS))
def test_no_prices_of_directions_prove_too_much(seed: int, kind: str, form: str) -> None:
    """Disjoint supports are orthogonal, so their optimum judges the bound for orthogonal loadings too."""
    case = drawn(seed, kind, form)
    if case is None:
        return
    rng, source, sparsities, judges = case
    matrix = floats(judges)
    size, count = source.values.shape[1], int(rng.integers(1, 4))
    largest = float(np.abs(matrix).max()) or 1.0
    with np.errstate(all="ignore"):
        directions = rng.standard_normal((size, count)) * np.sqrt(largest) * rng.choice([0.0, 1e-3, 0.3, 1.0, 1e100])
        shift = float(rng.choice([0.0, largest, 3 * largest, 1e9 * largest]))
        rest = np.nan_to_num(matrix - directions @ directions.T + shift * np.eye(size))
        evidence: dict[str, Any] = {"directions": directions, "shift": np.float64(shift)}
        trees = []
        for slot, sparsity in enumerate(dict.fromkeys(sparsities)):
            made = RandomTree(rng, rest, sparsity, tuple(range(sparsity)))
            trees.append(flat(made.tree))
            evidence |= within(f"slot{slot}", made.evidence)
    for problem in ("orthogonal", "disjoint"):
        try:
            proof = examine(certificate_of(source, "matrix-prices", problem, sparsities, trees, evidence), source)
        except CertificateError:
            continue
        assert Fraction(proof.upper_bound) >= joint_optimum(judges, size, sparsities, proof.upper_bound)


@settings(max_examples=200, **EVERY)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), form=st.sampled_from(FORMS))
def test_sums_of_single_bounds_are_above_the_joint_optimum(seed: int, kind: str, form: str) -> None:
    case = drawn(seed, kind, form)
    if case is None:
        return
    rng, source, sparsities, judges = case
    wanted = sorted(set(sparsities))
    parts: list[Any] = []
    evidence: dict[str, Any] = {}
    for number, sparsity in enumerate(wanted):
        best = max(judges[sparsity].values, key=lambda support: judges[sparsity].values[support])
        with np.errstate(all="ignore"):
            drawn_tree = RandomTree(rng, floats(judges), sparsity, best)
        entry = {"kind": "search-tree", "sparsity": sparsity, "support": list(best), "loadings": [1.0] * len(best)}
        parts.append({**entry, "tree": flat(drawn_tree.tree)})
        evidence |= within(f"searchtree{number}", drawn_tree.evidence)
    tree = {"parts": parts, "serves": [wanted.index(sparsity) for sparsity in sparsities]}
    for problem in ("disjoint", "orthogonal"):
        try:
            proof = examine(certificate_of(source, "sum-of-singles", problem, sparsities, tree, evidence), source)
        except CertificateError:
            continue
        assert Fraction(proof.upper_bound) >= joint_optimum(
            judges, source.values.shape[1], sparsities, proof.upper_bound
        )


# --- trees of the search, tampered ------------------------------------------------------------------------------------


def found(seed: int) -> tuple[Source, SetCertificate, Fraction]:
    """Search a small matrix for prices that prove disjoint supports optimal."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(4, 7))
    data = rng.standard_normal((int(rng.integers(2, 10)), size))
    source = Source("matrix", data.T @ data)
    sparsities = tuple(int(k) for k in rng.integers(1, 4, int(rng.integers(2, 4))))
    begin = [np.array([number]) for number in range(len(sparsities))]
    search = AssignmentSearch(source.values, sparsities, begin, 1e-9, lambda: False)
    while search.step():
        pass
    tree, evidence = search.certificate()
    judges = judges_of(source, max(sparsities))
    assert judges is not None
    optimum = joint_optimum(judges, size, sparsities)
    certificate = certificate_of(source, "priced-trees", "disjoint", sparsities, tree, evidence)
    return source, certificate, optimum


def tampered(rng: np.random.Generator, certificate: SetCertificate) -> SetCertificate:
    """Change one thing."""
    tree, evidence = copy.deepcopy(certificate.tree), dict(certificate.evidence)
    size = certificate.size
    records = [record for record in tree if "leaf" in record]
    splits = [record for record in tree if "split" in record]
    match int(rng.integers(7)):
        case 0:
            name = str(rng.choice([name for name in evidence if name.endswith("prices")]))
            evidence[name] = evidence[name] * rng.lognormal(0, 10.0 ** rng.integers(-9, 2), size)
        case 1:
            name = str(rng.choice([name for name in evidence if name.endswith("prices")]))
            evidence[name] = evidence[name].copy()
            evidence[name][rng.integers(size)] += rng.choice([-1.0, 1.0, 1e-9, -1e-9])
        case 2:
            name = str(rng.choice(list(evidence)))
            if not name.endswith("features"):
                values = np.asarray(evidence[name], dtype=np.float64)
                evidence[name] = np.asarray(values * rng.lognormal(0, 10.0 ** rng.integers(-9, 2), values.shape))
        case 3:
            record = records[rng.integers(len(records))]
            operations = record["slots"][rng.integers(len(record["slots"]))][0]
            operations[-1]["leaf"] = str(rng.choice(["empty", "list", "trace", "eigenvalue", "cheapest"]))
        case 4 if splits:
            record = splits[rng.integers(len(splits))]
            record["into"] = record["into"][1:]
        case 5 if splits:
            splits[rng.integers(len(splits))]["split"] = int(rng.integers(size))
        case _:
            record = records[rng.integers(len(records))]
            record["slots"] = record["slots"][::-1]
            record["leaf"] = int(rng.integers(len(records)))
    return replace(certificate, tree=tree, evidence=evidence)


@pytest.mark.parametrize("seed", range(25))
def test_tampered_prices_and_trees_prove_nothing_wrong(seed: int) -> None:
    source, certificate, optimum = found(seed)
    sound = examine(certificate, source)
    assert Fraction(sound.upper_bound) >= optimum
    assert Fraction(sound.upper_bound) <= optimum * (1 + Fraction(1, 10**8))
    rng = np.random.default_rng(seed)
    for _ in range(12):
        try:
            proof = examine(tampered(rng, certificate), source)
        except CertificateError:
            continue
        assert Fraction(proof.upper_bound) >= optimum


# --- loadings ---------------------------------------------------------------------------------------------------------


@settings(max_examples=200, **EVERY)
@given(seed=st.integers(0, 2**32 - 1), off=st.sampled_from([0.0, 1e-16, 1e-13, 1e-10, 1e-8, 1e-3]))
def test_nearly_feasible_loadings_capture_no_more_than_feasible_ones(seed: int, off: float) -> None:
    """With all features allowed the optimum is the sum of the leading eigenvalues, whatever is asked beside."""
    rng = np.random.default_rng(seed)
    size, count = int(rng.integers(2, 7)), 2
    data = rng.standard_normal((int(rng.integers(2, 9)), size))
    source = Source("matrix", data.T @ data)
    values, vectors = np.linalg.eigh(data.T @ data)
    columns = vectors[:, -count:] + off * rng.standard_normal((size, count))
    if rng.random() < 0.5:  # towards each other: both capture more than they may together
        columns[:, 0] += off * columns[:, 1]
    every = np.arange(size)
    for problem in ("orthogonal", "uncorrelated", "shared"):
        base = certificate_of(source, "sum-of-singles", problem, (size,) * count, _single_tree(size, count), {})
        certificate = replace(base, supports=(every,) * count, loadings=tuple(columns.T))
        try:
            proof = examine(certificate, source)
        except CertificateError:
            assert off >= 1e-10 or values[-2] < 1e-6 * values[-1]
            continue
        assert proof.objective <= values[-count:].sum() * (1 + 1e-14 * size)
        if off == 0.0:
            assert proof.objective >= values[-count:].sum() * (1 - 1e-10)


def _single_tree(size: int, count: int) -> dict[str, Any]:
    part = {"kind": "trace", "sparsity": size, "support": [0], "loadings": [1.0], "tree": None}
    return {"parts": [part], "serves": [0] * count}


def _pit() -> tuple[SetCertificate, Source]:
    source = certpca.pitprops().source()
    base = certificate_of(source, "sum-of-singles", "orthogonal", (4, 4), _single_tree(13, 2), {})
    return base, source


def test_components_that_overlap_in_one_feature_are_corrected_or_refused() -> None:
    base, source = _pit()
    first, second = np.array([0, 1, 7, 8]), np.array([5, 6, 8, 12])
    for shared, accepted in ((1e-8, True), (1e-3, False)):
        loadings = (np.array([0.6, 0.6, 0.5, shared]), np.array([0.5, 0.5, shared, 0.7]))
        certificate = replace(base, supports=(first, second), loadings=loadings)
        if accepted:
            assert examine(certificate, source).objective > 1.0
        else:
            with pytest.raises(CertificateError, match="not orthogonal"):
                examine(certificate, source)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a feature twice": ({"problem": "disjoint", "supports": (np.array([0, 1]), np.array([1, 2]))}, "in common"),
    "too many features": ({"supports": (np.arange(5), np.array([5]))}, "match|wider"),
    "an unknown problem": ({"problem": "apart"}, "unknown problem"),
    "evidence for another problem": ({"kind": "priced-trees"}, "says nothing about"),
    "an unknown kind": ({"kind": "hearsay"}, "unknown kind"),
    "no components": ({"sparsities": (), "supports": (), "loadings": ()}, "out of range"),
    "a component too many": ({"sparsities": (4, 4, 4)}, "lacks components"),
    "more components than features": ({"sparsities": (1,) * 14}, "out of range"),
    "a sparsity that is none": ({"sparsities": (4, 0)}, "out of range"),
    "shared features of two sparsities": ({"problem": "shared", "sparsities": (4, 3)}, "different sparsities"),
    "too many shared features": ({"problem": "shared", "sparsities": (1, 1)}, "more features than allowed"),
    "a part for fewer loadings": (
        {
            "sparsities": (13, 13),
            "tree": {
                "parts": [{"kind": "trace", "sparsity": 2, "support": [0], "loadings": [1.0], "tree": None}],
                "serves": [0, 0],
            },
        },
        "fewer loadings",
    ),
}


def test_random_parts_are_refused_where_the_kind_does_not_say_so() -> None:
    base, source = _pit()
    base = replace(base, supports=(np.array([0]), np.array([5])), loadings=(np.ones(1), np.ones(1)))
    tree = copy.deepcopy(base.tree)
    tree["parts"][0]["kind"] = "l0-reduced-random"
    with pytest.raises(CertificateError, match="draws random numbers"):
        examine(replace(base, tree=tree), source)
    said = replace(base, kind="sum-of-singles-random")
    proof = examine(said, source)
    assert proof.failure_probability == said.failure_probability == 2e-12
    assert base.failure_probability == examine(base, source).failure_probability == 0.0


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    base, source = _pit()
    base = replace(base, supports=(np.array([0]), np.array([5])), loadings=(np.ones(1), np.ones(1)))
    changes, reason = REFUSED[name]
    if "supports" in changes and "loadings" not in changes and name == "a feature twice":
        changes = {**changes, "loadings": (np.ones(2), np.ones(2))}
    with pytest.raises(CertificateError, match=reason):
        examine(replace(base, **changes), source)
