"""No level, however absurd, makes the checker claim too little: exact arithmetic is the judge."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certpca import CertificateError
from certpca.checker.data import Prepared, prepare
from certpca.checker.level_factors import level_vectors, shrunk
from certpca.checker.level_points import level_point_of
from certpca.checker.level_screening import screen_levels
from certpca.checker.levels import level_of
from certpca.results.certificate import Source
from tests.attacks.exact_arithmetic import FORMS, KINDS, exact, sources

CLOSE = 1e-9  # nearer than this to the optimum, floating point does not decide


# --- evidence ---------------------------------------------------------------------------------------------------------


def absurd(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    sizes = [0.0, 5e-324, 1e-160, 1e-16, 1e-8, 1e-3, 0.3, 1.0, 1.0, 3.0, 1e4, 1e8, 1e100, 1e300]
    chosen = rng.choice(sizes, shape if rng.random() < 0.3 else ())
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.asarray(chosen * rng.standard_normal(shape)))


def directions(rng: np.random.Generator, depth: int) -> np.ndarray:
    """Return orthonormal directions, or some that are far from it."""
    width = int(rng.integers(1, depth + 1))
    found = np.linalg.qr(rng.standard_normal((depth, depth)))[0][:, :width]
    match rng.integers(8):
        case 0:
            found = np.repeat(found[:, :1], width, axis=1)  # the same one again and again
        case 1:
            found = found + 1e-8 * rng.standard_normal(found.shape)
        case 2:
            found = found[:, :1] + 1e-7 * found
        case 3:
            found = found * 10.0 ** rng.integers(-150, 150, width)
        case 4:
            found = absurd(rng, found.shape)
        case 5:
            found = found.astype(np.float32)
    return found


def evidence_for(rng: np.random.Generator, depth: int, scale: float) -> dict[str, Any]:
    found = directions(rng, depth)
    width = found.shape[1]
    root = rng.standard_normal((width, width)) * 10.0 ** rng.uniform(-4, 0, width)
    level = scale * rng.choice([0.0, 1e-300, 1e-12, 1e-3, 0.3, 1.0, 1.0, 1.0, 3.0, 1e9])
    matrix = [
        scale * root @ root.T,
        level * (1e-9 - 1) * np.outer(root[0], root[0]) / (root[0] @ root[0]),  # R is nearly singular along a direction
        scale * (root + root.T),
        np.zeros((width, width)),
        absurd(rng, (width, width)) * scale,
        -0.5 * level * np.eye(width),
    ][rng.integers(6)]
    with np.errstate(all="ignore"):
        frame = np.linalg.pinv(np.nan_to_num(root)).T / max(scale, 1e-300) ** 0.5
        frame = frame if rng.random() < 0.7 else absurd(rng, (width, width))
        weights = np.exp(rng.uniform(-12, 0, width + 1)) if rng.random() < 0.7 else absurd(rng, (width + 1,))
        return {
            "directions": found,
            "matrix": np.nan_to_num(matrix)[np.tril_indices(width)],
            "level": np.float64(min(level, 1e307)),
            "frame": np.nan_to_num(frame),
            "weights": weights,
        }


# --- the property -----------------------------------------------------------------------------------------------------


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), form=st.sampled_from(FORMS))
def test_no_level_proves_too_much(seed: int, kind: str, form: str) -> None:
    rng = np.random.default_rng(seed)
    source = sources(rng, kind, form)
    sparsity = int(rng.integers(1, source.values.shape[1] + 1))
    judge = exact(source, sparsity)
    if judge is None:
        return
    scale = max(float(min(judge.unit, Fraction(10) ** 300)) * abs(judge.optimum) / sparsity, 0.0)
    optimum = judge.optimum
    near = CLOSE * abs(optimum) + 1e-12
    try:
        with np.errstate(all="ignore"):
            prepared = prepare(source)
            evidence = evidence_for(rng, prepared.depth, scale)
            point = level_point_of(prepared, evidence)
            bound = prepared.lift(point.bound(sparsity))
            objective = float(min(Fraction(max(optimum - near, 0.0)) * judge.unit, Fraction(10**300))) / prepared.unit
            outside, inside = screen_levels(prepared, point, sparsity, objective)
    except CertificateError:
        return
    if not np.isfinite(bound):
        return
    proved = Fraction(bound) * Fraction(prepared.unit)
    for support, value in judge.values.items():
        if value >= optimum - near and proved <= judge.unit * Fraction(optimum + near):
            assert judge.within(support, proved)
    for feature in np.flatnonzero(outside):
        assert max(v for s, v in judge.values.items() if feature in s) < optimum
    for feature in np.flatnonzero(inside):
        assert max((v for s, v in judge.values.items() if feature not in s), default=0.0) < optimum


# --- single dual matrices against rational numbers --------------------------------------------------------------------


def rational(matrix: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(float(entry)) for entry in row] for row in matrix]


def definite(matrix: list[list[Fraction]]) -> bool:
    """Decide positive definiteness by elimination."""
    rest = [row[:] for row in matrix]
    for pivot, row in enumerate(rest):
        if row[pivot] <= 0:
            return False
        for below in rest[pivot + 1 :]:
            factor = below[pivot] / row[pivot]
            for column in range(pivot, len(rest)):
                below[column] -= factor * row[column]
    return True


def data(rng: np.random.Generator, depth: int = 4, size: int = 9) -> Prepared:
    return prepare(Source("data", rng.standard_normal((depth, size)) * np.exp(rng.standard_normal(size))))


def exact_level(level: Any) -> list[list[Fraction]]:
    w, s = rational(level.directions), rational(level.matrix)
    depth, width = len(w), len(s)
    found = [[Fraction(0)] * depth for _ in range(depth)]
    for i in range(depth):
        for j in range(depth):
            found[i][j] = sum(
                (w[i][p] * s[p][q] * w[j][q] for p in range(width) for q in range(width)), Fraction(0)
            ) + (Fraction(level.number) if i == j else 0)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_every_dual_matrix_is_above_its_form_but_for_the_doubt(seed: int) -> None:
    """Y_i − a_ia_iᵀ + R ⪰ 0 in rational numbers, once the stray of z_i is allowed for."""
    rng = np.random.default_rng(seed)
    prepared = data(rng)
    try:
        with np.errstate(all="ignore"):
            level = level_of(prepared, evidence_for(rng, prepared.depth, 0.3 * prepared.unit))
    except CertificateError:
        return
    if not np.isfinite(level.size) or level.size > 1e6:
        return
    columns = prepared.block(slice(0, prepared.size))
    whole = exact_level(level)
    for feature in range(prepared.size):
        a = columns[:, [feature]]
        z, square = level_vectors(a, level)
        # Both z and its stray are floating-point numbers; (|z| + δ)² bounds what the exact zzᵀ can exceed zzᵀ by.
        length, stray = float(np.linalg.norm(z)), square**0.5
        room = Fraction((2 * length * stray + square) * (1 + 1e-9)) + Fraction(1, 10**30)
        rows, mine = rational(a), rational(z)
        depth = len(rows)
        left = [
            [
                mine[i][0] * mine[j][0] - rows[i][0] * rows[j][0] + whole[i][j] + (room if i == j else 0)
                for j in range(depth)
            ]
            for i in range(depth)
        ]
        assert definite(left)


@pytest.mark.parametrize("seed", range(30))
def test_features_that_are_given_up_are_below_the_level(seed: int) -> None:
    rng = np.random.default_rng(seed)
    prepared = data(rng)
    evidence = {
        "directions": np.linalg.qr(rng.standard_normal((prepared.depth, 2)))[0],
        "matrix": np.array([1.0, 0.2, 0.5]) * prepared.unit,
        "level": np.float64(rng.uniform(0.01, 2.0) * prepared.unit),
        "frame": np.eye(2),
        "weights": np.ones(3),
    }
    level = level_of(prepared, evidence)
    columns = prepared.block(slice(0, prepared.size))
    share = shrunk(level.directions.T @ columns, (columns**2).sum(axis=0), level)
    whole = exact_level(level)
    for feature in range(prepared.size):
        rows, factor = rational(columns[:, [feature]]), Fraction(float(share[feature]))
        depth = len(rows)
        left = [
            [
                (factor**2 - 1) * rows[i][0] * rows[j][0] + whole[i][j] + (Fraction(1, 10**30) if i == j else 0)
                for j in range(depth)
            ]
            for i in range(depth)
        ]
        assert definite(left)
    assert (share < 1).all()


# --- what must be refused ---------------------------------------------------------------------------------------------


def ordinary(prepared: Prepared) -> dict[str, Any]:
    return {
        "directions": np.eye(prepared.depth)[:, :2],
        "matrix": np.array([0.5, 0.0, 0.5]),
        "level": np.float64(0.5),
        "frame": np.eye(2),
        "weights": np.ones(3),
    }


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"level": np.float64(-1e-9)}, "negative"),
        ({"level": np.float64(1e300)}, "too large"),
        ({"matrix": np.array([-0.5001, 0.0, 0.5])}, "not positive semidefinite"),
        ({"matrix": np.array([0.1, 0.8, 0.1])}, "not positive semidefinite"),
        ({"matrix": np.array([-1.0, 0.0, 0.5]), "level": np.float64(0.0)}, "not positive semidefinite"),
        ({"directions": np.eye(4)[:, :2] * 2.0, "matrix": np.array([-0.2, 0.0, 0.5])}, "not positive semidefinite"),
        ({"directions": np.array([[1.0, 1.0]] * 4), "matrix": np.array([-0.1, 0.0, -0.1])}, "not positive"),
        ({"directions": np.eye(3)[:, :2]}, "wrong form"),
        ({"directions": np.full((4, 2), np.nan)}, "not finite"),
        ({"matrix": np.ones(4)}, "wrong size"),
        ({"frame": np.eye(3)}, "wrong size"),
        ({"weights": np.ones(2)}, "wrong size"),
    ],
)
def test_levels_that_are_none_are_refused(rng: np.random.Generator, change: dict[str, Any], why: str) -> None:
    prepared = prepare(Source("data", np.where(rng.random((4, 9)) < 0.5, -0.9, 0.9)))
    assert prepared.unit == 1.0
    with pytest.raises(CertificateError, match=why):
        level_point_of(prepared, {**ordinary(prepared), **change})


def test_one_point_serves_every_sparsity(rng: np.random.Generator) -> None:
    prepared = data(rng)
    evidence = ordinary(prepared)
    evidence["level"] = np.float64(0.5 * prepared.unit)
    first = level_point_of(prepared, evidence)
    assert level_point_of(prepared, evidence) is first
    bounds = [first.bound(k) for k in range(1, 9)]
    assert bounds == sorted(bounds)
