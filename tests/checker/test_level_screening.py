"""What the shortcuts of screening by a level leave out decides nothing: eigenvalues of each case are the judge."""

from functools import cache

import numpy as np
import pytest

import certpca
from certpca.checker.data import Prepared, prepare
from certpca.checker.level_factors import described_vectors, level_vectors, vectors_of_groups
from certpca.checker.level_points import LevelPoint, level_point_of
from certpca.checker.level_screening import screen_levels
from certpca.checker.levels import level_of

SPARSITY = 8
NEAR = 1e-4  # relative; nearer than this to the objective, a feature may be decided or not


def planted(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((40, 700))
    data[:, :SPARSITY] += np.outer(rng.standard_normal(40), 3 + 0.2 * rng.random(SPARSITY))
    data[:, SPARSITY : SPARSITY + 3] += 0.6 * data[:, :1]
    return data


@cache
def proved(seed: int) -> tuple[Prepared, LevelPoint, certpca.Certificate]:
    operator = certpca.from_data(planted(seed))
    made = certpca.certify(operator, SPARSITY, target_gap=1e-3, branching=False, budget=certpca.Budget(steps=60))
    assert made.kind == "l0-level"
    prepared = prepare(operator.source())
    return prepared, level_point_of(prepared, made.evidence), made


@pytest.mark.parametrize("share", [1.0, 0.97, 0.9, 0.8, 0.6])
@pytest.mark.parametrize("seed", [0, 1])
def test_screening_decides_what_eigenvalues_decide(seed, share):
    prepared, point, made = proved(seed)
    objective = share * made.objective / prepared.unit
    outside, inside = screen_levels(prepared, point, SPARSITY, objective)
    columns = np.concatenate([block for _, block in prepared.blocks()], axis=1)
    z, _ = level_vectors(columns, point.level)
    whole, fewer = point.matrix(SPARSITY)[0], point.matrix(SPARSITY - 1)[0]
    for feature in range(0, prepared.size, 1 if share > 0.9 else 7):
        a, y = columns[:, feature], z[:, feature]
        without = np.linalg.eigvalsh(whole - np.outer(y, y))[-1] / objective - 1
        forced = np.linalg.eigvalsh(fewer - np.outer(y, y) + np.outer(a, a))[-1] / objective - 1
        assert not inside[feature] or without < 0
        assert not outside[feature] or forced < 0
        assert inside[feature] or without > -NEAR or np.linalg.eigvalsh(whole)[-2] > objective * (1 - NEAR)
        assert outside[feature] or forced > -NEAR or np.linalg.eigvalsh(fewer)[-1] > objective * (1 - NEAR)


def test_all_features_are_decided_where_the_gap_is_small():
    prepared, point, made = proved(0)
    outside, inside = screen_levels(prepared, point, SPARSITY, made.objective / prepared.unit)
    assert (outside | inside).all()
    assert inside.sum() == SPARSITY


def test_what_is_said_of_dual_vectors_is_about_right():
    prepared, point, _ = proved(0)
    columns = prepared.block(slice(0, 300))
    z, _, along, lengths = described_vectors(columns, point.level)
    np.testing.assert_allclose(along, point.level.directions.T @ z, atol=1e-5 * np.abs(columns).max())
    np.testing.assert_allclose(lengths, (z**2).sum(axis=0), atol=1e-12 * (columns**2).sum())


def test_groups_have_the_vectors_of_their_own_levels():
    prepared, _, made = proved(1)
    evidence = dict(made.evidence)
    levels = [level_of(prepared, {**evidence, "level": factor * evidence["level"]}) for factor in (1.0, 1.5, 4.0)]
    labels = np.random.default_rng(0).integers(0, 3, 500).astype(np.int8)
    columns = prepared.block(slice(0, 500))
    z, stray = vectors_of_groups(columns, levels, labels)
    most = 0.0
    for label, level in enumerate(levels):
        own, part = level_vectors(columns[:, labels == label], level)
        most += part
        np.testing.assert_allclose(z[:, labels == label], own, rtol=1e-9, atol=1e-12)
    assert stray == pytest.approx(most)
