"""No frame, density, price or lifted direction makes the checker claim too little for components on one support."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certpca import CertificateError
from certpca.checker.data import Prepared, prepare
from certpca.checker.set_rules import rules
from certpca.checker.split_points import frame_of, priced_vectors
from certpca.results.certificate import Source
from tests.attacks.exact_arithmetic import FORMS, KINDS, exact, sources
from tests.attacks.test_l0_level import absurd, definite, rational
from tests.attacks.test_level_sets import drafted, feasible

KIND = "shared-split"


def frame_for(rng: np.random.Generator, depth: int) -> np.ndarray:
    """Return directions that are orthonormal, nearly so, or not at all."""
    turned = np.linalg.qr(rng.standard_normal((depth, depth)))[0]
    loose = rng.choice([0.0, 1e-7, 0.02, 0.1, 1.0], p=[0.3, 0.2, 0.2, 0.2, 0.1])
    turned = turned + loose * rng.standard_normal((depth, depth)) / depth
    return np.asarray(turned, dtype=np.float32 if rng.random() < 0.5 else np.float64)


def evidence_for(rng: np.random.Generator, prepared: Prepared, scale: float) -> dict[str, Any]:
    """Return evidence that is sensible in parts and absurd in others."""
    depth, size = prepared.depth, prepared.size
    width = int(rng.integers(1, depth + 1))
    weights = rng.exponential(size=width) * 10.0 ** rng.integers(-3, 3)
    roots = rng.exponential(size=size) * 10.0 ** rng.integers(-3, 3)
    weights = weights if rng.random() < 0.8 else np.abs(absurd(rng, (width,)))
    roots = roots if rng.random() < 0.8 else np.abs(absurd(rng, (size,)))
    lifted = np.sqrt(scale) * rng.standard_normal((width, int(rng.integers(0, width + 1))))
    lifted = lifted if rng.random() < 0.8 else absurd(rng, lifted.shape)
    priced = np.flatnonzero(rng.random(size) < 0.8)
    prices = scale * rng.exponential(size=priced.size)
    if rng.random() < 0.3:  # as large as what they are for, but for roundings
        prices = (prepared.diagonal()[priced] * prepared.unit) * (1 + 1e-15 * rng.standard_normal(priced.size))
    elif rng.random() < 0.2:
        prices = np.nan_to_num(np.abs(absurd(rng, prices.shape)))
    found = {"frame": frame_for(rng, depth), "weights": weights, "roots": roots, "lifted": lifted}
    return found if rng.random() < 0.1 else found | {"priced": priced, "prices": prices}


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(seed=st.integers(0, 2**32 - 1), table=st.sampled_from(KINDS), form=st.sampled_from(FORMS))
def test_no_evidence_proves_too_much(seed: int, table: str, form: str) -> None:
    rng = np.random.default_rng(seed)
    source = sources(rng, table, form)
    size = source.values.shape[1]
    judge = exact(source, 1)
    if judge is None:
        return
    count, sparsity = int(rng.integers(1, min(size, 3) + 1)), int(rng.integers(1, size + 1))
    optimum = float(np.linalg.eigvalsh(judge.floats())[-1])
    scale = max(float(min(judge.unit, Fraction(10) ** 300)) * abs(optimum) / sparsity, 0.0)
    try:
        with np.errstate(all="ignore"):
            prepared = prepare(source)
            certificate = drafted(KIND, size, (sparsity,) * count, evidence_for(rng, prepared, scale), problem="shared")
            bound = rules()[KIND].prove(prepared, certificate, 0.0).bound
    except CertificateError:
        return
    if not np.isfinite(bound):
        return
    proved = Fraction(bound) * Fraction(prepared.unit)
    assert max(feasible("shared", judge, (sparsity,) * count, rng)) <= proved


def good(prepared: Prepared, apart: int = 1) -> dict[str, Any]:
    """Return evidence that is nearly as good as can be for a few directions and a little noise."""
    columns = prepared.block(slice(0, prepared.size))
    frame = np.linalg.svd(columns)[0]
    width = prepared.depth - apart
    rest = (frame.T @ columns)[apart:]
    return {
        "frame": frame,
        "weights": np.full(width, 1.0),
        "roots": np.full(prepared.size, 0.1),
        "priced": np.arange(prepared.size),
        "prices": 0.5 * (rest**2).sum(axis=0) * prepared.unit,
        "lifted": np.zeros((width, 0)),
    }


def test_the_property_could_fail(rng: np.random.Generator) -> None:
    """Good evidence is so near to what the judge finds that a bound a third lower is caught."""
    source = Source("data", np.outer(rng.standard_normal(6), [3.0, 3.0, 2.0, 0.1]) + 0.01 * rng.standard_normal((6, 4)))
    judge = exact(source, 1)
    assert judge is not None
    prepared = prepare(source)
    certificate = drafted(KIND, 4, (2, 2), good(prepared), problem="shared")
    proved = Fraction(rules()[KIND].prove(prepared, certificate, 0.0).bound) * Fraction(prepared.unit)
    best = max(feasible("shared", judge, (2, 2), rng))
    assert proved * Fraction(2, 3) < best <= proved


@pytest.mark.parametrize("seed", range(60))
def test_every_dual_matrix_is_above_its_form_less_its_price(seed: int) -> None:
    """Y_i − b_ib_iᵀ + w_iI ⪰ 0 in rational numbers, once the stray of z_i is allowed for."""
    rng = np.random.default_rng(seed)
    depth, size = int(rng.integers(1, 5)), 6
    rest = rng.standard_normal((depth, size)) * 10.0 ** rng.integers(-3, 4, size)
    squares = (rest**2).sum(axis=0)
    weights = rng.exponential(size=depth) * 10.0 ** rng.integers(-6, 6)
    roots = rng.exponential(size=size) * 10.0 ** rng.integers(-6, 6, size)
    near = 1 + rng.choice([0.0, 1e-15, -1e-15, 1e-9, -1e-9, -0.3, -0.9], size)
    prices = np.where(rng.random(size) < 0.1, 0.0, squares * near)
    for feature in range(size):
        own = rest[:, [feature]]
        z, square = priced_vectors(own, weights, roots[[feature]], prices[[feature]])
        length, stray = float(np.linalg.norm(z)), square**0.5
        room = Fraction((2 * length * stray + square) * (1 + 1e-9)) + Fraction(1, 10**30)
        rows, mine, price = rational(own), rational(z), Fraction(float(prices[feature]))
        left = [
            [mine[i][0] * mine[j][0] - rows[i][0] * rows[j][0] + (room + price if i == j else 0) for j in range(depth)]
            for i in range(depth)
        ]
        assert definite(left)


def test_a_price_a_little_lower_would_not_do(rng: np.random.Generator) -> None:
    """The vectors are as small as they may be: with nine tenths of the price no direction makes up for it."""
    rest, weights = rng.standard_normal((5, 40)), rng.exponential(size=5)
    squares = (rest**2).sum(axis=0)
    z, _ = priced_vectors(rest, weights, np.full(40, 0.5), 0.5 * squares)
    for own, made, square in zip(rest.T, z.T, squares, strict=True):
        short = np.outer(own, own) - np.outer(made, made) - 0.45 * square * np.eye(5)
        assert np.linalg.eigvalsh(short)[-1] > 0


@pytest.mark.parametrize("loose", [0.0, 0.01, 0.03])
def test_a_loose_frame_is_measured_and_paid_for(loose: float, rng: np.random.Generator) -> None:
    turned = np.linalg.qr(rng.standard_normal((6, 6)))[0] @ np.diag(1 + loose * rng.choice([-1, 1], 6))
    frame = frame_of(turned, 6)
    off = np.linalg.norm(turned.T @ turned - np.eye(6), 2)
    assert off <= frame.looseness <= np.sqrt(6) * off + 1e-12
    prepared = prepare(Source("data", rng.standard_normal((6, 20))))
    assert frame.lift(1.0, prepared) >= 1 / (1 - off)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"frame": np.eye(3)}, "not one of the sample space"),
        ({"frame": np.eye(4)[:, :3]}, "not one of the sample space"),
        ({"frame": 1.2 * np.eye(4)}, "not close to orthonormal"),
        ({"frame": 3.0 * np.eye(4)}, "too long"),
        ({"frame": np.ones((4, 4)) / 2}, "not close to orthonormal"),
        ({"frame": np.full((4, 4), np.nan)}, "not finite"),
        ({"weights": np.array([1.0, 0.0, 1.0])}, "not positive"),
        ({"weights": np.array([1.0, -1.0, 1.0])}, "not positive"),
        ({"weights": np.zeros(0)}, "not positive, or too many"),
        ({"weights": np.ones(5)}, "not positive, or too many"),
        ({"weights": np.ones(2)}, "wrong form"),
        ({"roots": np.ones(8)}, "not one for each"),
        ({"roots": np.full(9, -1e-9)}, "not one for each"),
        ({"roots": np.full(9, np.inf)}, "not finite"),
        ({"prices": np.full(9, -1.0)}, "negative"),
        ({"prices": np.full(9, 1e300)}, "too large"),
        ({"prices": np.ones(8)}, "not one for each"),
        ({"priced": np.arange(9) + 1}, "out of range"),
        ({"lifted": np.zeros((4, 1))}, "wrong form"),
        ({"lifted": np.zeros((3, 4))}, "wrong form"),
        ({"lifted": np.full((3, 1), 1e200)}, "too large"),
    ],
)
def test_evidence_that_is_none_is_refused(rng: np.random.Generator, change: dict[str, Any], why: str) -> None:
    prepared = prepare(Source("data", np.where(rng.random((4, 9)) < 0.5, -0.9, 0.9)))
    evidence, rule = good(prepared), rules()[KIND]
    assert rule.prove(prepared, drafted(KIND, 9, (3, 3), evidence, problem="shared"), 0.0).bound > 0
    with pytest.raises(CertificateError, match=why):
        rule.prove(prepared, drafted(KIND, 9, (3, 3), {**evidence, **change}, problem="shared"), 0.0)
