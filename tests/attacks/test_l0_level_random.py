"""Levels that are multiplied and never formed claim no less than the optimum either: exact arithmetic is the judge."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certpca import CertificateError
from certpca.checker.data import prepare
from certpca.checker.level_factors import factors_of, of_features
from certpca.checker.levels import level_of
from certpca.checker.random_levels import random_level_point_of
from tests.attacks.exact_arithmetic import FORMS, KINDS, exact, sources
from tests.attacks.test_l0_level import CLOSE, absurd, data, definite, evidence_for, exact_level, rational


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), form=st.sampled_from(FORMS))
def test_no_random_level_proves_too_much(seed: int, kind: str, form: str) -> None:
    rng = np.random.default_rng(seed)
    source = sources(rng, kind, form)
    sparsity = int(rng.integers(1, source.values.shape[1] + 1))
    judge = exact(source, sparsity)
    if judge is None:
        return
    scale = max(float(min(judge.unit, Fraction(10) ** 300)) * abs(judge.optimum) / sparsity, 0.0)
    near = CLOSE * abs(judge.optimum) + 1e-12
    try:
        with np.errstate(all="ignore"):
            prepared = prepare(source)
            evidence = evidence_for(rng, prepared.depth, scale)
            room = prepared.depth - evidence["directions"].shape[1]
            shape = (prepared.depth, int(rng.integers(0, room + 1)))
            evidence["leading"] = rng.standard_normal(shape) if rng.random() < 0.7 else absurd(rng, shape)
            bound, again = random_level_point_of(prepared, evidence).bounds(sparsity)
    except CertificateError:
        return
    assert bound <= again
    bound = prepared.lift(bound)
    if not np.isfinite(bound):
        return
    proved = Fraction(bound) * Fraction(prepared.unit)
    for support, value in judge.values.items():
        if value >= judge.optimum - near and proved <= judge.unit * Fraction(judge.optimum + near):
            assert judge.within(support, proved)


@pytest.mark.parametrize("seed", range(60))
def test_every_factor_is_above_its_form_but_for_the_doubt(seed: int) -> None:
    """Y_i − a_ia_iᵀ + R ⪰ 0 in rational numbers for z_i = αa_i − Wu, once its stray is allowed for."""
    rng = np.random.default_rng(seed)
    prepared = data(rng)
    try:
        with np.errstate(all="ignore"):
            level = level_of(prepared, evidence_for(rng, prepared.depth, 0.3 * prepared.unit))
    except CertificateError:
        return
    if not np.isfinite(level.size) or level.size > 1e6:
        return
    columns, whole, w = prepared.block(slice(0, prepared.size)), exact_level(level), rational(level.directions)
    for feature in range(prepared.size):
        a = columns[:, [feature]]
        scale, u, off = of_features(level.directions.T @ a, (a**2).sum(axis=0), level)
        factor, turned, rows = Fraction(float(scale[0])), rational(u), rational(a)
        z = [
            factor * row[0] - sum((entry * turned[j][0] for j, entry in enumerate(w[i])), Fraction(0))
            for i, row in enumerate(rows)
        ]
        length, stray = float(sum(entry**2 for entry in z)) ** 0.5, float(off[0])
        room = Fraction((2 * length * stray + stray**2) * (1 + 1e-9)) + Fraction(1, 10**30)
        left = [
            [z[i] * z[j] - rows[i][0] * rows[j][0] + whole[i][j] + (room if i == j else 0) for j in range(len(z))]
            for i in range(len(z))
        ]
        assert definite(left)


@pytest.mark.parametrize("seed", range(20))
def test_products_round_no_more_than_is_allowed_for(seed: int) -> None:
    """ZZᵀ times a panel against the same in rational numbers."""
    rng = np.random.default_rng(seed)
    prepared = data(rng)
    width = 2
    evidence = {
        "directions": np.linalg.qr(rng.standard_normal((prepared.depth, width)))[0],
        "matrix": np.array([1.0, 0.2, 0.5]) * prepared.unit,
        "level": np.float64(rng.uniform(0.01, 2.0) * prepared.unit),
        "frame": np.eye(width),
        "weights": np.ones(width + 1),
    }
    panel = rng.standard_normal((prepared.depth, 2))
    factors, product, square = factors_of(prepared, level_of(prepared, evidence), panel)
    w, x = rational(factors.level.directions), rational(panel)
    columns = rational(prepared.block(slice(0, prepared.size)))
    z = [
        [
            Fraction(float(factors.scale[i])) * row[i]
            - sum((w[at][j] * Fraction(float(factors.turned[i, j])) for j in range(width)), Fraction(0))
            for i in range(prepared.size)
        ]
        for at, row in enumerate(columns)
    ]
    inner = [
        [sum((z[at][i] * x[at][j] for at in range(len(z))), Fraction(0)) for j in range(2)]
        for i in range(prepared.size)
    ]
    image = [
        [sum((z[at][i] * inner[i][j] for i in range(prepared.size)), Fraction(0)) for j in range(2)]
        for at in range(len(z))
    ]
    off = float(
        np.linalg.norm(
            [[float(image[at][j] - Fraction(float(product[at, j]))) for j in range(2)] for at in range(len(z))]
        )
    )
    allowed = factors.terms * 2.0**-53 * (2 * factors.norm**2 * np.linalg.norm(panel) + factors.norm * square**0.5)
    assert off <= allowed
    assert square == pytest.approx(float(sum(entry**2 for row in inner for entry in row)))
    assert factors.norm**2 >= float(sum(entry**2 for row in z for entry in row))
