"""No level, price or lifted direction makes the checker claim too little for several components.

The judge is exact: loadings are rational, feasible without any rounding, and so is what they capture. They are made
from floating-point optima, so that they capture all but the square of a rounding of these.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certpca import CertificateError
from certpca.checker.data import Prepared, prepare
from certpca.checker.large_eigenvalues import largest_of
from certpca.checker.level_factors import level_vectors
from certpca.checker.level_points import level_point_of
from certpca.checker.levels import level_of, prices_of
from certpca.checker.set_rules import rules
from certpca.checker.set_rules.priced_regions import _bounds
from certpca.results.certificate import Source
from certpca.results.set_certificate import SetCertificate
from tests.attacks.exact_arithmetic import FORMS, KINDS, Exact, exact, sources
from tests.attacks.test_l0_level import absurd, data, definite, evidence_for, exact_level, ordinary, rational

PROBLEM_OF = {
    "shared-level": "shared",
    "uncorrelated-level": "uncorrelated",
    "priced-level": "disjoint",
    "priced-regions": "disjoint",
}
MANY = 60  # choices of supports that are looked at

Loadings = list[list[Fraction]]  # y_t with x_t = N^1/2 y_t, over all features


# --- the judge --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pencil:
    """The matrix as N^-1/2 C N^-1/2: forms of x = N^1/2 y are rational in y."""

    judge: Exact

    def form(self, y: list[Fraction], z: list[Fraction]) -> Fraction:
        products = self.judge.products
        return sum((y[i] * products[i][j] * z[j] for i in _held(y) for j in _held(z)), Fraction(0))

    def inner(self, y: list[Fraction], z: list[Fraction]) -> Fraction:
        return sum((y[i] * self.judge.norms[i] * z[i] for i in _held(y)), Fraction(0))

    def captured(self, loadings: Loadings) -> Fraction:
        return sum((self.form(y, y) / self.inner(y, y) for y in loadings), Fraction(0))

    def rational(self, support: tuple[int, ...], x: np.ndarray) -> list[Fraction]:
        """Return y for floating-point loadings x on a support."""
        size = len(self.judge.norms)
        norms = np.sqrt(np.array([float(norm) for norm in self.judge.norms]))
        y = [Fraction(0)] * size
        for place, value in zip(support, x, strict=True):
            y[place] = Fraction(float(value)) / Fraction(float(norms[place]) or 1.0)
        return y

    def orthogonalised(self, y: list[Fraction], others: Loadings, conditions: Loadings) -> list[Fraction] | None:
        """Project y so that its products with some vectors vanish exactly, without leaving its support."""
        held = _held(y)
        kept: Loadings = []
        for condition in conditions:
            g = [condition[i] if i in held else Fraction(0) for i in range(len(y))]
            for other in kept:
                share = _dot(g, other) / _dot(other, other)
                g = [a - share * b for a, b in zip(g, other, strict=True)]
            if any(g):
                kept.append(g)
        for g in kept:
            share = _dot(y, g) / _dot(g, g)
            y = [a - share * b for a, b in zip(y, g, strict=True)]
        del others
        return y if any(y) else None


def _held(y: list[Fraction]) -> list[int]:
    return [place for place, value in enumerate(y) if value]


def _dot(y: list[Fraction], z: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(y, z, strict=True)), Fraction(0))


def eigenvectors(matrix: np.ndarray, support: tuple[int, ...]) -> np.ndarray:
    return np.linalg.eigh(matrix[np.ix_(support, support)])[1][:, ::-1]


def feasible(problem: str, judge: Exact, sparsities: tuple[int, ...], rng: np.random.Generator) -> list[Fraction]:
    """Return what many feasible choices capture, each exactly."""
    pencil, matrix = Pencil(judge), judge.floats()
    size = matrix.shape[0]
    found = []
    for _ in range(MANY):
        if problem == "shared" or (problem == "uncorrelated" and rng.random() < 0.5):
            every = list(combinations(range(size), min(*sparsities, size)))
            support = every[rng.integers(len(every))]
            vectors = eigenvectors(matrix, support)[:, : len(sparsities)]
            # Eigenvectors on one support are orthogonal and uncorrelated at once; their span captures what they do.
            found.append(_span_captures(pencil, [pencil.rational(support, x) for x in vectors.T]))
            continue
        order = rng.permutation(size)
        loadings: Loadings = []
        for sparsity in sparsities:
            free = order if problem == "disjoint" else rng.permutation(size)
            support = tuple(sorted(int(place) for place in free[:sparsity]))
            order = order[sparsity:] if problem == "disjoint" else order
            if not support:
                continue
            y = pencil.rational(support, eigenvectors(matrix, support)[:, 0])
            if problem == "uncorrelated":
                images = [[_dot(row, other) for row in judge.products] for other in loadings]
                projected = pencil.orthogonalised(y, loadings, images)
                if projected is None:
                    continue
                y = projected
                assert all(pencil.form(y, other) == 0 for other in loadings)
            if any(y):
                loadings.append(y)
        found.append(pencil.captured(loadings))
    return found


def _span_captures(pencil: Pencil, columns: Loadings) -> Fraction:
    """Return tr((YᵀNY)⁻¹YᵀCY), by orthogonalising exactly."""
    kept: Loadings = []
    for column in columns:
        y = column
        for other in kept:
            share = pencil.inner(y, other) / pencil.inner(other, other)
            y = [a - share * b for a, b in zip(y, other, strict=True)]
        if any(y):
            kept.append(y)
    return pencil.captured(kept)


# --- evidence ---------------------------------------------------------------------------------------------------------


def with_more(rng: np.random.Generator, kind: str, prepared: Prepared, scale: float) -> dict[str, Any]:
    """Return a level, with prices or lifted directions that are sensible or absurd."""
    evidence = evidence_for(rng, prepared.depth, scale)
    if kind in ("priced-level", "priced-regions"):
        if rng.random() < 0.15:
            return evidence
        priced = np.flatnonzero(rng.random(prepared.size) < 0.7)
        priced = priced if priced.size else np.arange(1)
        prices = scale * rng.exponential(size=priced.size) if rng.random() < 0.7 else np.abs(absurd(rng, priced.shape))
        return evidence | {"priced": priced, "prices": np.nan_to_num(prices)}
    width = int(rng.integers(0, prepared.depth + 1))
    lifted = np.sqrt(scale) * rng.standard_normal((prepared.depth, width))
    lifted = lifted if rng.random() < 0.7 else absurd(rng, lifted.shape)
    return evidence | {"lifted": lifted}


def in_regions(
    rng: np.random.Generator, prepared: Prepared, evidence: dict[str, Any], scale: float
) -> tuple[dict[str, Any], Any]:
    """Return the evidence of a cover by random regions, of which the first has the level given, and its tree."""
    rays = rng.standard_normal((int(rng.integers(3, 8)), prepared.depth)) + 0.01
    found = {name: evidence[name] for name in ("directions", "priced", "prices") if name in evidence} | {"rays": rays}
    width = np.asarray(evidence["directions"]).shape[1]
    leaves = 0

    def node(path: list[tuple[int, int]], depth: int) -> dict[str, Any]:
        nonlocal leaves
        if depth > 2 or rng.random() < 0.3:
            own = evidence if leaves == 0 else {**evidence_for(rng, prepared.depth, scale)}
            if np.asarray(own["directions"]).shape[1] != width:
                own = evidence
            sigmas = scale * rng.exponential(size=len(path)) * (rng.random(len(path)) < 0.7)
            sigmas = sigmas if rng.random() < 0.8 else np.nan_to_num(np.abs(absurd(rng, (len(path),))))
            parts = {name: own[name] for name in ("matrix", "level", "frame", "weights")}
            found.update({f"leaf{leaves}_{name}": value for name, value in {**parts, "sigmas": sigmas}.items()})
            leaves += 1
            return {"leaf": leaves - 1}
        middle = [int(cut) for cut in rng.choice([-1, 1], 2) * rng.integers(1, len(rays) + 1, 2)]
        if path and rng.random() < 0.5:
            begin, end = path[rng.integers(len(path))]
        else:
            begin = int(rng.integers(1, len(rays) + 1))
            end = -begin
        cuts = [begin, *middle[: int(rng.integers(1, 3))], end]
        children = [node([*path, pair], depth + 1) for pair in pairwise(cuts)]
        return {"cuts": cuts, "children": children}

    tree = node([], 0)
    return found, tree


def drafted(
    kind: str,
    size: int,
    sparsities: tuple[int, ...],
    evidence: dict[str, Any],
    problem: str | None = None,
    tree: Any = None,
) -> SetCertificate:
    return SetCertificate(
        kind=kind,
        problem=problem or PROBLEM_OF[kind],
        size=size,
        sparsities=sparsities,
        upper_bound=np.inf,
        matrix="",
        normalisation={},
        fingerprint="",
        supports=(),
        loadings=(),
        evidence=evidence,
        tree=tree,
    )


# --- the property -----------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(sorted(PROBLEM_OF)),
    table=st.sampled_from(KINDS),
    form=st.sampled_from(FORMS),
)
def test_no_evidence_proves_too_much(seed: int, kind: str, table: str, form: str) -> None:
    rng = np.random.default_rng(seed)
    source = sources(rng, table, form)
    size = source.values.shape[1]
    judge = exact(source, 1)
    if judge is None:
        return
    count = int(rng.integers(1, min(size, 3) + 1))
    sparsities = tuple(int(k) for k in rng.integers(1, size + 1, count))
    if PROBLEM_OF[kind] == "shared":
        sparsities = (max(sparsities),) * count
    optimum = float(np.linalg.eigvalsh(judge.floats())[-1])
    scale = max(float(min(judge.unit, Fraction(10) ** 300)) * abs(optimum) / max(sparsities), 0.0)
    try:
        with np.errstate(all="ignore"):
            prepared = prepare(source)
            evidence, tree = with_more(rng, kind, prepared, scale), None
            if kind == "priced-regions":
                evidence, tree = in_regions(rng, prepared, evidence, scale)
            certificate = drafted(kind, size, sparsities, evidence, tree=tree)
            bound = rules()[kind].prove(prepared, certificate, 0.0).bound
    except CertificateError:
        return
    if not np.isfinite(bound):
        return
    proved = Fraction(bound) * Fraction(prepared.unit)
    assert max(feasible(PROBLEM_OF[kind], judge, sparsities, rng)) <= proved


@pytest.mark.parametrize("kind", sorted(PROBLEM_OF))
def test_the_property_could_fail(kind: str, rng: np.random.Generator) -> None:
    """Good evidence is so near to what the judge finds that a bound a third lower is caught."""
    source = Source("data", np.outer(rng.standard_normal(6), [3.0, 3.0, 2.0, 0.1]) + 0.01 * rng.standard_normal((6, 4)))
    judge = exact(source, 1)
    assert judge is not None
    prepared = prepare(source)
    columns = prepared.block(slice(0, 4))
    direction = np.linalg.svd(columns)[0][:, :1]
    level = float((columns[:, 2] @ direction[:, 0]) ** 2) * prepared.unit
    more: dict[str, Any] = {"lifted": np.zeros((prepared.depth, 0))}
    if kind in ("priced-level", "priced-regions"):
        more = {"priced": np.arange(2), "prices": np.full(2, 0.01 * level)}
    evidence = {
        "directions": direction,
        "matrix": np.array([level * 0.9]),
        "level": np.float64(0.1 * level),
        "frame": np.array([[1 / np.sqrt(level)]]),
        "weights": np.array([level, 1e-6 * level]),
        **more,
    }
    tree = None
    if kind == "priced-regions":  # a wedge with the best direction, and one without it
        beside = np.linalg.svd(columns)[0][:, 1]
        rays = np.array([direction[:, 0] + beside, direction[:, 0] - beside])
        leaf = {name: evidence.pop(name) for name in ("matrix", "level", "frame", "weights")}
        for number in range(2):
            evidence |= {f"leaf{number}_{name}": value for name, value in leaf.items()}
            evidence[f"leaf{number}_sigmas"] = np.array([0.0])
        evidence["rays"], tree = rays, {"cuts": [1, 2, -1], "children": [{"leaf": 0}, {"leaf": 1}]}
    certificate = drafted(kind, 4, (2,), evidence, tree=tree)
    proved = Fraction(rules()[kind].prove(prepared, certificate, 0.0).bound) * Fraction(prepared.unit)
    best = max(feasible(PROBLEM_OF[kind], judge, (2,), rng))
    assert proved * Fraction(2, 3) < best <= proved


# --- single dual matrices against rational numbers --------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_every_dual_matrix_is_above_its_form_with_its_price(seed: int) -> None:
    """Y_i − a_ia_iᵀ + R + w_iI ⪰ 0 in rational numbers, once the stray of z_i is allowed for."""
    rng = np.random.default_rng(seed)
    prepared = data(rng)
    try:
        with np.errstate(all="ignore"):
            evidence = with_more(rng, "priced-level", prepared, 0.3 * prepared.unit)
            level, prices = level_of(prepared, evidence), prices_of(prepared, evidence)
    except CertificateError:
        return
    if not np.isfinite(level.size) or max(level.size, prices.max()) > 1e6:
        return
    columns, whole = prepared.block(slice(0, prepared.size)), exact_level(level)
    for feature in range(prepared.size):
        a = columns[:, [feature]]
        z, square = level_vectors(a, level, prices[[feature]])
        length, stray = float(np.linalg.norm(z)), square**0.5
        room = Fraction((2 * length * stray + square) * (1 + 1e-9)) + Fraction(1, 10**30)
        rows, mine, price = rational(a), rational(z), Fraction(float(prices[feature]))
        left = [
            [
                mine[i][0] * mine[j][0] - rows[i][0] * rows[j][0] + whole[i][j] + (room + price if i == j else 0)
                for j in range(len(rows))
            ]
            for i in range(len(rows))
        ]
        assert definite(left)


# --- what must be refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "change", "why"),
    [
        ("priced-level", {"prices": np.array([0.1, -1e-300])}, "negative"),
        ("priced-level", {"prices": np.array([0.1, np.nan])}, "not finite"),
        ("priced-level", {"prices": np.array([0.1, 1e300])}, "too large"),
        ("priced-level", {"prices": np.array([0.1])}, "not one for each"),
        ("priced-level", {"priced": np.array([1, 1])}, "not sorted"),
        ("priced-level", {"priced": np.array([1, 9])}, "out of range"),
        ("shared-level", {"lifted": np.zeros((3, 1))}, "wrong form"),
        ("shared-level", {"lifted": np.zeros((4, 5))}, "wrong form"),
        ("shared-level", {"lifted": np.full((4, 1), np.inf)}, "not finite"),
        ("shared-level", {"lifted": np.full((4, 1), 1e200)}, "too large"),
        ("shared-level", {"prices": np.array([0.1, 0.1])}, "no prices"),
        ("uncorrelated-level", {"prices": np.array([0.1, 0.1])}, "no prices"),
        ("uncorrelated-level", {"level": np.float64(-1.0)}, "negative"),
    ],
)
def test_evidence_that_is_none_is_refused(
    rng: np.random.Generator, kind: str, change: dict[str, Any], why: str
) -> None:
    prepared = prepare(Source("data", np.where(rng.random((4, 9)) < 0.5, -0.9, 0.9)))
    more = {"priced": np.array([2, 5]), "prices": np.array([0.1, 0.2])} if kind == "priced-level" else {}
    more |= {"lifted": np.zeros((4, 1))} if kind != "priced-level" else {}
    if "prices" in change and kind != "priced-level":
        more["priced"] = np.array([2, 5])
    certificate = drafted(kind, 9, (3, 3), {**ordinary(prepared), **more, **change})
    with pytest.raises(CertificateError, match=why):
        rules()[kind].prove(prepared, certificate, 0.0)


@pytest.mark.parametrize("seed", range(20))
def test_no_direction_of_a_region_is_worth_more_than_its_bound(seed: int) -> None:
    """With weights as large as the bound, a region whose sign is wrong would be caught."""
    rng = np.random.default_rng(seed)
    table = 4 * np.outer(rng.standard_normal(5), rng.standard_normal(12)) + rng.standard_normal((5, 12))
    prepared = prepare(Source("data", table))
    columns, unit = prepared.block(slice(0, 12)), prepared.unit
    prices = np.where(rng.random(12) < 0.5, 0.05, 0.0) * float((columns**2).sum(axis=0).max())
    level = ordinary(prepared) | {"level": np.float64(0.02 * unit)}
    priced = np.flatnonzero(prices)
    shared = {"directions": level["directions"], "priced": priced, "prices": prices[priced] * unit}
    angles = np.pi * (np.arange(4) + 0.5) / 4
    plane = np.linalg.svd(columns)[0][:, :2]
    rays = (plane @ np.array([np.cos(angles), np.sin(angles)])).T
    cuts, tight = [1, 2, 3, 4, -1], 0
    directions = rng.standard_normal((5, 4000))
    directions[:, :3000] = plane @ rng.standard_normal((2, 3000)) + 0.1 * directions[:, :3000]
    directions /= np.linalg.norm(directions, axis=0)
    worth = np.sort(np.maximum((columns.T @ directions) ** 2 - prices[:, None], 0.0), axis=0)[-4:].sum(axis=0)
    whole = float(largest_of(*level_point_of(prepared, {**level, **shared}).matrix(4)))
    for place, pair in enumerate(pairwise(cuts)):
        own = {**level, **shared, "sigmas": np.array([0.5 * whole * unit])}
        bound = _bounds(prepared, own, rays, [pair], {4: 0.0})[4]
        first, second = rays[pair[0] - 1], np.sign(pair[1]) * rays[abs(pair[1]) - 1]
        inside = (first @ directions) * (second @ directions) <= 0
        assert inside.any(), place
        assert worth[inside].max() <= bound
        tight += bound < worth.max()  # so the region matters: elsewhere directions are worth more
    assert tight or seed in (14, 17, 18)


@pytest.mark.parametrize(
    ("tree", "change", "why"),
    [
        ({"cuts": [1, 2], "children": [{"leaf": 0}]}, {}, "cover"),
        ({"cuts": [1, 2, 1], "children": [{"leaf": 0}, {"leaf": 1}]}, {}, "cover"),
        ({"cuts": [1, 2, -1], "children": [{"leaf": 0}, {"leaf": 0}]}, {}, "twice"),
        ({"cuts": [1, 2, -1], "children": [{"leaf": 0}]}, {}, "number of children"),
        ({"cuts": [1, 9, -1], "children": [{"leaf": 0}, {"leaf": 1}]}, {}, "not there"),
        ({"cuts": [1, 2, -1], "children": [{"leaf": 0}, {"leaf": 7}]}, {}, "lack"),
        ({"leaf": 0}, {}, "number of weights"),
        (None, {"leaf0_sigmas": np.array([-1e-9])}, "negative"),
        (None, {"leaf0_sigmas": np.array([np.nan])}, "not finite"),
        (None, {"leaf1_level": np.float64(-1.0)}, "negative"),
        (None, {"rays": np.ones((2, 3))}, "wrong length"),
        (None, {"rays": np.zeros((2, 4))}, "too short"),
        (None, {"prices": np.array([0.1, -1.0])}, "negative"),
    ],
)
def test_a_cover_that_is_none_is_refused(rng: np.random.Generator, tree: Any, change: dict[str, Any], why: str) -> None:
    prepared = prepare(Source("data", np.where(rng.random((4, 9)) < 0.5, -0.9, 0.9)))
    level = ordinary(prepared)
    evidence = {"directions": level["directions"], "priced": np.array([2, 5]), "prices": np.array([0.1, 0.2])}
    evidence["rays"] = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    for number in range(2):
        evidence |= {f"leaf{number}_{name}": level[name] for name in ("matrix", "level", "frame", "weights")}
        evidence[f"leaf{number}_sigmas"] = np.array([0.1])
    good = {"cuts": [1, 2, -1], "children": [{"leaf": 0}, {"leaf": 1}]}
    rule = rules()["priced-regions"]
    assert rule.prove(prepared, drafted("priced-regions", 9, (3, 3), evidence, tree=good), 0.0).bound > 0
    with pytest.raises(CertificateError, match=why):
        rule.prove(prepared, drafted("priced-regions", 9, (3, 3), {**evidence, **change}, tree=tree or good), 0.0)


def test_prices_are_part_of_what_is_remembered(rng: np.random.Generator) -> None:
    """The same level with other prices is another point."""
    prepared = data(rng)
    level = {**ordinary(prepared), "level": np.float64(0.05 * prepared.unit)}
    bounds = [
        rules()["priced-level"]
        .prove(
            prepared,
            drafted(
                "priced-level", 9, (3, 3), {**level, "priced": np.arange(9), "prices": np.full(9, w * prepared.unit)}
            ),
            0.0,
        )
        .bound
        for w in (0.0, 0.01, 10.0)
    ]
    assert len(set(bounds)) == 3
    assert bounds[2] >= 90.0


@pytest.mark.parametrize("directions", [0, 3])
def test_a_level_that_is_nearly_a_number_has_that_as_its_largest_eigenvalue(
    directions: int, rng: np.random.Generator
) -> None:
    """Lanczos's method comes to its end after a few steps then, and must not go on with rounding errors."""
    w = np.linalg.qr(rng.standard_normal((450, 3)))[0][:, :directions]
    matrix = 0.2 * np.eye(450) - 0.1 * w @ w.T
    assert 0.2 <= largest_of((matrix + matrix.T) / 2, 1e-15) <= 0.2 * (1 + 1e-9)
