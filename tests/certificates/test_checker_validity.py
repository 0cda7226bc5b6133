"""No evidence, however absurd, makes the checker claim too little: exact arithmetic is the judge."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certpca import CertificateError
from certpca.certificates.checker import examine, fingerprint
from certpca.result import Certificate, Source

Rationals = list[list[Fraction]]
CLOSE = 1e-9  # nearer than this to the optimum, floating point does not decide


# --- the judge --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Exact:
    """The matrix as N^-1/2 C N^-1/2 in rational numbers, and in floats after dividing by `unit`."""

    products: Rationals
    norms: list[Fraction]
    unit: Fraction
    values: dict[tuple[int, ...], float]

    @property
    def optimum(self) -> float:
        return max(self.values.values())

    def within(self, support: tuple[int, ...], bound: Fraction) -> bool:
        """Decide λ_max ≤ bound on a support exactly, by elimination on bound·N − C, which a touch makes definite."""
        bound += abs(bound) / 10**40 + Fraction(1, 10**2000)
        rest = [[(bound * self.norms[i] if i == j else 0) - self.products[i][j] for j in support] for i in support]
        for pivot, row in enumerate(rest):
            if row[pivot] <= 0:
                return False
            for below in rest[pivot + 1 :]:
                factor = below[pivot] / row[pivot]
                for column in range(pivot, len(support)):
                    below[column] -= factor * row[column]
        return True


def exact(source: Source, sparsity: int) -> Exact | None:
    values = np.asarray(source.values)
    size = values.shape[1]
    norms = [Fraction(1)] * size
    if source.kind == "matrix":
        given_ = [[Fraction(float(entry)) for entry in row] for row in values]
        products = [[(given_[i][j] + given_[j][i]) / 2 for j in range(size)] for i in range(size)]
    else:
        columns = [_standardised(column, source) for column in values.T]
        products = [[sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0)) for b in columns] for a in columns]
        if source.scale:
            norms = [products[i][i] for i in range(size)]
            if 0 in norms:
                return None
        else:
            products = [[entry / Fraction(source.divisor) for entry in row] for row in products]
    if source.scale:
        unit = Fraction(1)
        squares = [[products[i][j] ** 2 / (norms[i] * norms[j]) for j in range(size)] for i in range(size)]
        matrix = np.sqrt(np.array(squares, dtype=np.float64)) * np.sign(np.array(products)).astype(np.float64)
    else:
        unit = max(abs(entry) for row in products for entry in row) or Fraction(1)
        matrix = np.array([[float(entry / unit) for entry in row] for row in products])
    supports = combinations(range(size), sparsity)
    return Exact(products, norms, unit, {s: float(np.linalg.eigvalsh(matrix[np.ix_(s, s)])[-1]) for s in supports})


def _standardised(column: Any, source: Source) -> list[Fraction]:
    holes = [bool(np.isnan(x)) if source.missing is None else x == source.missing for x in column]
    present = [Fraction(float(x)) for x, hole in zip(column, holes, strict=True) if not hole]
    mean = sum(present, Fraction(0)) / max(len(present), 1) if source.center else Fraction(0)
    rest = iter(present)
    return [Fraction(0) if hole else next(rest) - mean for hole in holes]


# --- cases ------------------------------------------------------------------------------------------------------------


def tables(rng: np.random.Generator, kind: str) -> np.ndarray:
    rows, size = int(rng.integers(1, 8)), int(rng.integers(1, 7))
    table: np.ndarray = rng.standard_normal((rows, size))
    match kind:
        case "whole":
            table = rng.integers(-2, 3, (rows, size)).astype(np.float64)
        case "bytes":
            return rng.integers(0, 3, (rows, size)).astype(np.int8)
        case "single":
            return table.astype(np.float32)
        case "rank one":
            table = np.outer(table[:, 0], rng.standard_normal(size))
        case "orthogonal":
            table = np.eye(max(rows, size))[:rows, :size] * rng.integers(1, 4, size)
        case "far from zero":
            table += 10.0 ** rng.integers(0, 17)
        case "mixed scales":
            table *= 10.0 ** rng.integers(-160, 150, size)
        case "nearly constant":
            table = np.ones((rows, 1)) * table[:1] + 1e-9 * (rng.random((rows, size)) < 0.3)
    first, second = rng.integers(size, size=2)
    match rng.integers(6):
        case 0:
            table[:, first] = table[:, second]
        case 1:
            table[:, first] = 0.0
        case 2:
            table[:, first] = 1.7
        case 3:
            table *= 10.0 ** rng.integers(-155, 1)
    return table


KINDS = [
    "gauss",
    "whole",
    "bytes",
    "single",
    "rank one",
    "orthogonal",
    "far from zero",
    "mixed scales",
    "nearly constant",
]


def sources(rng: np.random.Generator, kind: str, form: str) -> Source:
    table = tables(rng, kind)
    if form == "matrix":
        table = table / (float(np.abs(table).max()) or 1.0)
        matrix = table.T @ table
        if rng.random() < 0.5:  # neither quite symmetric nor quite semidefinite
            matrix = matrix + 10.0 ** rng.integers(-18, -5) * rng.standard_normal(matrix.shape)
        return Source("matrix", matrix * 10.0 ** rng.integers(-300, 300) if rng.random() < 0.3 else matrix)
    center = form != "uncentred"
    missing = None
    if form == "missing":
        holes = rng.random(table.shape) < 0.25
        missing = -9 if table.dtype == np.int8 else None
        table = np.where(holes, -9 if missing else np.nan, table).astype(table.dtype)
    divisor = float(rng.choice([1, table.shape[0], 1e-3, 1e13]))
    scale = form == "correlation" or (form != "data" and rng.random() < 0.3)
    return Source("data", table, center, scale, divisor, missing, form == "missing")


FORMS = ["matrix", "data", "uncentred", "correlation", "missing"]


def densities(rng: np.random.Generator, depth: int) -> np.ndarray:
    square = rng.standard_normal((depth, depth))
    options = [
        np.eye(depth),
        square + square.T,
        np.outer(square[0], square[0]),
        np.zeros((depth, depth)),
        -np.eye(depth),
        square @ square.T * 10.0 ** rng.integers(-300, 300),
        (square * 10.0 ** rng.uniform(-8, 0, depth)) @ square.T,
    ]
    density = options[rng.integers(len(options))][np.tril_indices(depth)]
    return density if rng.random() < 0.7 else np.clip(density, -1e30, 1e30).astype(np.float32)


def levels(rng: np.random.Generator, scale: float) -> np.float64:
    special = [0.0, 5e-324, 1e-300, 1e300, abs(rng.standard_normal())]
    chosen = special[rng.integers(5)] if rng.random() < 0.3 else scale * rng.uniform(0, 1.2) ** 2
    return np.float64(min(chosen, 1e307))


def branches(rng: np.random.Generator) -> tuple[Any, list[int], int]:
    """Return a tree that covers everything, the number of pairs above each leaf, and the number of rays."""
    pairs_above: list[int] = []
    rays = 1

    def ray() -> int:
        nonlocal rays
        rays += 1
        return int(rng.choice([-1, 1]) * rng.integers(1, rays + 1))

    def node(path: list[tuple[int, int]]) -> Any:
        if len(path) >= 3 or rng.random() < 0.3 + 0.2 * len(path):
            pairs_above.append(len(path))
            return {"leaf": len(pairs_above) - 1}
        start = ray()
        first, last = path[rng.integers(len(path))] if path and rng.random() < 0.5 else (start, -start)
        cuts = [first, *[ray() for _ in range(rng.integers(3))], last]
        return {"cuts": cuts, "children": [node([*path, pair]) for pair in pairwise(cuts)]}

    return node([]), pairs_above, rays


def evidence_for(rng: np.random.Generator, kind: str, depth: int, scale: float) -> tuple[dict[str, Any], Any]:
    def point(prefix: str) -> dict[str, Any]:
        return {f"{prefix}density": densities(rng, depth), f"{prefix}level": levels(rng, scale)}

    evidence: dict[str, Any] = {}
    tree = None
    if kind.startswith("l0") and rng.random() < 0.5:
        evidence |= point("screen_")
    if kind == "l0-dual":
        evidence |= point("")
    if kind == "l0-tree":
        tree, pairs_above, rays = branches(rng)
        evidence["rays"] = rng.standard_normal((rays, depth)) + 0.01
        for leaf, pairs in enumerate(pairs_above):
            evidence |= point(f"leaf{leaf}_")
            weights = rng.random(pairs) * rng.choice([0, 1e-16, 1e-3, 0.1, 1, 1, 10, 1e10, 5e-324], pairs)
            evidence[f"leaf{leaf}_weights"] = np.minimum(weights * scale, 1e307)
    return evidence, tree


def loadings_for(rng: np.random.Generator, judge: Exact, sparsity: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the optimum, which makes screening strong, or nonsense."""
    size = len(judge.norms)
    if rng.random() < 0.3:
        support = np.sort(rng.choice(size, int(rng.integers(0, sparsity + 1)), replace=False))
        return support.astype(np.uint8), rng.standard_normal(support.size) * 10.0 ** rng.integers(-200, 200)
    support = np.array(max(judge.values, key=lambda item: judge.values[item]))
    part = [[judge.products[i][j] / judge.unit for j in support] for i in support]
    lengths = [float(judge.norms[i]) ** 0.5 or 1.0 for i in support]
    matrix = np.array([[float(entry) for entry in row] for row in part]) / np.outer(lengths, lengths)
    return support, np.linalg.eigh(np.nan_to_num(matrix))[1][:, -1]


# --- the property -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["trace", "row-sums", "largest-eigenvalue", "l0-dual", "l0-tree"])
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), form=st.sampled_from(FORMS))
def test_no_evidence_proves_too_much(rule: str, seed: int, kind: str, form: str) -> None:
    rng = np.random.default_rng(seed)
    source = sources(rng, kind, form)
    rows, size = source.values.shape
    sparsity = int(rng.integers(1, size + 1))
    judge = exact(source, sparsity)
    if judge is None:
        return
    depth = size if source.kind == "matrix" else min(rows, size)
    scale = max(float(min(judge.unit, Fraction(10) ** 300)) * abs(judge.optimum) / sparsity, 0.0)
    evidence, tree = evidence_for(rng, rule, depth, scale)
    with np.errstate(all="ignore"):
        support, loadings = loadings_for(rng, judge, sparsity)
    certificate = Certificate(
        kind=rule,
        size=size,
        sparsity=sparsity,
        upper_bound=0.0,
        matrix="",
        normalisation=source.normalisation(),
        fingerprint=fingerprint(source),
        support=support,
        loadings=loadings,
        evidence=evidence,
        tree=tree,
    )
    try:
        proof = examine(certificate, source)
    except CertificateError:
        return
    bound, objective, optimum = Fraction(proof.upper_bound), Fraction(proof.objective), judge.optimum
    near = CLOSE * abs(optimum) + 1e-12
    for support_tried, value in judge.values.items():
        if value >= optimum - near and bound <= judge.unit * Fraction(optimum + near):
            assert judge.within(support_tried, bound)
    if objective > 0 and objective >= judge.unit * Fraction(optimum - near):
        reached = objective * (1 - Fraction(1, 10**30))
        assert not all(judge.within(support_tried, reached) for support_tried in judge.values)
    for feature in proof.outside:
        assert max(v for s, v in judge.values.items() if feature in s) < optimum
    for feature in proof.inside:
        assert max((v for s, v in judge.values.items() if feature not in s), default=0.0) < optimum
    assert not set(proof.inside) & set(proof.outside)


# --- what once went wrong ---------------------------------------------------------------------------------------------


def proved(source: Source, sparsity: int, rule: str, evidence: dict[str, Any] | None = None, tree: Any = None) -> float:
    nothing, empty = np.empty(0, dtype=np.intp), np.empty(0)
    normalisation, mark = source.normalisation(), fingerprint(source)
    size = source.values.shape[1]
    return examine(
        Certificate(rule, size, sparsity, 0.0, "", normalisation, mark, nothing, empty, evidence or {}, tree), source
    ).upper_bound


@pytest.mark.parametrize("rule", ["trace", "row-sums", "largest-eigenvalue"])
@pytest.mark.parametrize("ratio", [3.6e-162, 1e-161, 1e-300])
def test_correlations_of_columns_whose_squares_vanish(rule: str, ratio: float) -> None:
    table = np.array([[1.0, ratio], [1.0, ratio]])
    assert proved(Source("data", table, scale=True), 2, rule) >= 2.0


def test_bounds_below_the_normal_range_are_rounded_up(rng: np.random.Generator) -> None:
    for _ in range(50):
        table = rng.standard_normal((3, 4)) * 10.0 ** rng.uniform(-160.5, -159)
        optimum = max(sum(Fraction(x) ** 2 for x in column) for column in table.T.tolist())
        assert Fraction(proved(Source("data", table), 1, "trace")) >= optimum


@pytest.mark.parametrize("size", [1e-200, 1e-162, 1e200, 1e300])
def test_data_whose_squares_no_number_can_hold_are_refused(size: float) -> None:
    with pytest.raises(CertificateError, match="too large or too small"):
        proved(Source("data", np.full((2, 3), size)), 1, "trace")


@pytest.mark.parametrize("divisor", [1e12, 1e20, 1e300])
def test_short_rays_cannot_leave_a_gap_between_regions(divisor: float) -> None:
    """The products of these rays round so that all three regions seem to exclude the same direction."""
    rays = np.array([[1.0, -0.8], [10.0, 0.0], [1.0, -0.6]]) * np.sqrt(5e-324)
    evidence: dict[str, Any] = {"rays": rays}
    for leaf in range(3):
        weight = 0.02 * 1.62 / divisor / 5e-324
        evidence |= {f"leaf{leaf}_density": np.array([1.0, 0.0, 2.0]), f"leaf{leaf}_level": np.float64(0.0)}
        evidence[f"leaf{leaf}_weights"] = np.array([min(weight, 1e308)])
    tree = {"cuts": [1, 2, 3, -1], "children": [{"leaf": leaf} for leaf in range(3)]}
    with pytest.raises(CertificateError, match="rays"):
        proved(Source("data", np.array([[0.9, 0.0], [0.9, 0.0]]), divisor=divisor), 1, "l0-tree", evidence, tree)


def test_a_huge_code_for_missing_values_does_not_drown_the_others() -> None:
    table = np.array([[1.0, 2.0], [3.0, 1.0], [1e300, 7.0]])
    source = Source("data", table, center=True, missing=10**300, fill_missing=True)
    assert proved(source, 1, "trace") >= 62 / 3


def test_codes_and_nan_together_are_refused() -> None:
    table = np.array([[1.0, 2.0], [3.0, np.nan], [-9.0, 7.0]])
    with pytest.raises(CertificateError, match="not finite"):
        proved(Source("data", table, center=True, missing=-9, fill_missing=True), 1, "trace")
