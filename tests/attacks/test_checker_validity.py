"""No evidence, however absurd, makes the checker claim too little: exact arithmetic is the judge."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certpca import CertificateError
from certpca.checker import examine, fingerprint
from certpca.checker.data import prepare
from certpca.checker.limits import Limits
from certpca.results.certificate import Certificate, Source
from tests.attacks.exact_arithmetic import FORMS, KINDS, Exact, exact, sources

CLOSE = 1e-9  # nearer than this to the optimum, floating point does not decide


# --- evidence ---------------------------------------------------------------------------------------------------------


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


def absurd(rng: np.random.Generator, shape: tuple[int, ...], scale: float) -> np.ndarray:
    sizes = [0.0, 1e-160, 1e-16, 1e-8, 1e-3, 0.3, 1.0, 1.0, 3.0, 1e4, 1e8, 1e100]
    chosen = rng.choice(sizes, shape if rng.random() < 0.3 else ())
    return np.asarray(scale * chosen * rng.standard_normal(shape))


def places(rng: np.random.Generator, size: int) -> np.ndarray:
    return np.sort(rng.choice(size, int(rng.integers(1, size + 1)), replace=False))


def dual_matrices(rng: np.random.Generator, matrix: np.ndarray) -> dict[str, Any]:
    """Return a dual matrix near one that is tight for one of the extreme sparsities, or nonsense."""
    size = matrix.shape[0]
    values, axes = np.linalg.eigh(matrix)
    options: dict[str, Any] = {}
    if rng.random() < 0.5:
        features = places(rng, size)
        if rng.random() < 0.7:
            options["features"] = features.astype(rng.choice(["int64", "uint8"]))
        else:
            features = np.arange(size)
        dual = matrix[np.ix_(features, features)] * rng.choice([0, 0.5, 1, 1, 1 + 1e-12])
        dual = dual if rng.random() < 0.6 else dual + absurd(rng, dual.shape, 1.0)
        options["matrix"] = dual[np.tril_indices(features.size)]
        tops = [np.linalg.eigvalsh(matrix[np.ix_(features, features)] - np.tril(dual) - np.tril(dual, -1).T)[-1], 0.0]
        if "features" in options and rng.random() < 0.5:  # completed on the others
            count, width = size - features.size, int(rng.integers(1, 4))
            options["directions"] = absurd(rng, (features.size, width), 1.0)
            options["shifts"] = np.zeros((count, width)) if rng.random() < 0.4 else absurd(rng, (count, width), 1.0)
            options["weights"] = np.ones(count) if rng.random() < 0.5 else np.abs(absurd(rng, (count,), 1.0))
            options["level"] = np.float64(rng.choice([0.0, np.abs(matrix).max(), 0.5 * np.abs(matrix).max()]))
            tops.append(values[-1])
    else:
        active = places(rng, size)
        leading = (axes * np.sqrt(np.maximum(values, 0.0)))[:, ::-1][:, : int(rng.integers(1, 4))]
        factor = leading * rng.choice([0, 0.3, 1, 1])
        factor = factor if rng.random() < 0.5 else factor + absurd(rng, factor.shape, 1.0)
        if rng.random() < 0.3:
            factor = np.column_stack([factor, absurd(rng, (size, 1), 1.0)])
        vector = axes[active, -1] if rng.random() < 0.5 else absurd(rng, active.shape, 1.0)
        repair = np.zeros(size) if rng.random() < 0.5 else absurd(rng, (size,), 1.0)
        products = np.abs(factor @ factor.T)
        level = rng.choice([0.0, products.max(), 0.5 * products.max(), products.flat[0], abs(rng.standard_normal())])
        options |= {"factor": factor, "active": active, "vector": np.where(vector == 0, 1e-3, vector)}
        options |= {"repair": repair, "level": np.float64(level)}
        tops = [values[-1], 0.0]
    top = rng.choice([*tops, tops[0] * (1 - 1e-9), -1.0, 1e200, -1e200, 1e-200])
    return {**options, "top": np.float64(top)}


def in_units(evidence: dict[str, Any], unit: float) -> dict[str, Any]:
    powers = {"factor": 0.5, "matrix": 1.0, "repair": 1.0, "shifts": 1.0, "level": 1.0, "top": 1.0}
    with np.errstate(all="ignore"):
        return {
            name: np.asarray(value * unit ** powers[name]) if name in powers else value
            for name, value in evidence.items()
        }


def evidence_for(
    rng: np.random.Generator, kind: str, shape: tuple[int, int], scale: float
) -> tuple[dict[str, Any], Any]:
    depth, size = shape
    evidence: dict[str, Any] = {}

    def point(prefix: str) -> dict[str, Any]:
        found = {f"{prefix}density": densities(rng, depth), f"{prefix}level": levels(rng, scale)}
        if "screen_level" not in evidence and rng.random() < 0.5:  # roots may be absurd: they only suggest
            with np.errstate(all="ignore"):
                found[f"{prefix}theta"] = np.nan_to_num(absurd(rng, (size,), scale))
        return found

    tree = None
    if kind in ("l0-dual", "l0-tree") and rng.random() < 0.5:
        evidence |= point("screen_")
    if kind == "l0-dual":
        evidence |= point("")
    if kind.startswith("l0-reduced"):
        count = int(rng.integers(1, max(depth, 2)))
        evidence = {"basis": rng.standard_normal((depth, count)) * 10.0 ** rng.integers(-3, 3)}
        depth = count
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


@pytest.mark.parametrize(
    "rule",
    ["trace", "row-sums", "largest-eigenvalue", "l0-dual", "l0-tree", "sdp-dual", "l0-reduced", "l0-reduced-random"],
)
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
    evidence, tree = evidence_for(rng, rule, (depth, size), scale)
    if rule == "sdp-dual":
        evidence = in_units(dual_matrices(rng, judge.floats()), float(min(judge.unit, Fraction(10) ** 300)))
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
    small = np.array([[0.9, 0.0], [0.9, 0.0]]) / np.sqrt(divisor)
    with pytest.raises(CertificateError, match="rays"):
        proved(Source("data", small), 1, "l0-tree", evidence, tree)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (10**300, "refused"),
        (2, "no code"),
        (-9.0, "whole number"),
        ([[1.0, 2.0]], "whole number"),
        (-9, "only negative"),
    ],
)
def test_values_that_are_there_cannot_be_declared_missing(code: Any, why: str) -> None:
    table = np.array([[1, 2], [3, -1], [-9, 7]])
    with pytest.raises(CertificateError, match=why):
        proved(Source("data", table, center=True, missing=code, fill_missing=True), 1, "trace")


def test_codes_and_nan_together_are_refused() -> None:
    table = np.array([[1.0, 2.0], [3.0, np.nan], [-9.0, 7.0]])
    with pytest.raises(CertificateError, match="whole numbers only"):
        proved(Source("data", table, center=True, missing=-9, fill_missing=True), 1, "trace")


def test_tall_data_are_multiplied_by_runs_of_columns(rng: Any) -> None:
    source = Source("data", rng.standard_normal((60, 11)), center=True, divisor=59.0)
    whole, parts = prepare(source), prepare(source, Limits(gathered_bytes=8 * 60 * 4))
    np.testing.assert_allclose(parts.block(slice(0, 11)), whole.block(slice(0, 11)), atol=1e-12)
    support = np.array([0, 3, 10])
    np.testing.assert_allclose(parts.dense(support)[0], whole.dense(support)[0], atol=1e-12)
