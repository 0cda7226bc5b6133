from types import SimpleNamespace

import numpy as np
import pytest

from certpca.bounds.count_tree.cell_model import LEADING, CellModel
from certpca.bounds.l0_level.aim import one_component
from certpca.bounds.l0_level.model import Levels, Model

DEPTH, SIZE = 9, 40
GROUPS = [np.arange(0, SIZE, 2), np.array([1, 5, 7, 11]), np.setdiff1d(np.arange(1, SIZE, 2), [1, 5, 7, 11])]


def features(rng, depth, size):
    return rng.standard_normal((depth, size)) * np.exp(0.5 * rng.standard_normal(size))


def levels_of(rng, width):
    frame = np.eye(width) / 1.5 + 0.2 * rng.standard_normal((width, width))
    return Levels(frame, rng.uniform(0.1, 1, width), 2.0, 0.2)


def space_of(f, known):
    """Return what a cell needs of a space, in float64."""
    basis = np.linalg.qr(np.random.default_rng(5).standard_normal((DEPTH, DEPTH)))[0][:, :known]
    return SimpleNamespace(
        features=SimpleNamespace(depth=DEPTH, size=f.shape[1]),
        along=f.T @ basis,
        lengths=(f**2).sum(axis=0),
        xp=np,
        device=None,
        known=known,
        whole=known == DEPTH,
        there=lambda values: values,
    )


def cell(rng, known, groups=GROUPS):
    return CellModel(space_of(features(rng, DEPTH, SIZE), known), groups, 1.3)


@pytest.mark.parametrize(("known", "width"), [(9, 9), (9, 4), (7, 4), (7, 7)])
@pytest.mark.parametrize("smoothing", [0.5, 30.0])
@pytest.mark.parametrize("vertices", [[(3, 1, 2)], [(5, 0, 0), (2, 3, 0), (1, 0, 4)]])
def test_the_gradient_is_that_of_finite_differences(known, width, smoothing, vertices, rng):
    model, bases = cell(rng, known), [levels_of(rng, width) for _ in GROUPS]
    step = 0.05 * rng.standard_normal(sum(own.steps() for own in bases))

    def value(at):
        return model.evaluate(bases, at, vertices, smoothing).value

    some = rng.choice(step.size, min(60, step.size), replace=False)
    slopes = [(value(step + 1e-6 * e) - value(step - 1e-6 * e)) / 2e-6 for e in np.eye(step.size)[some]]
    gradient = model.evaluate(bases, step, vertices, smoothing).gradient[some]
    np.testing.assert_allclose(gradient, slopes, atol=1e-5 * np.abs(slopes).max())


@pytest.mark.parametrize("known", [9, 7])
def test_equal_levels_for_all_groups_are_one_level(known, rng):
    f, level = features(rng, DEPTH, SIZE), levels_of(rng, 4)
    space = space_of(f, known)
    found = CellModel(space, GROUPS, 1.3).evaluate([level] * 3, np.zeros(3 * level.steps()), [(2, 1, 2)], 1e-3)
    whole = Model(space.along, space.lengths, DEPTH, 1.3).evaluate(
        level, np.zeros(level.steps()), one_component(5), 1e-3
    )
    assert found.value == pytest.approx(whole.value, rel=1e-9)


def test_the_bound_is_above_all_supports_of_the_cell(rng):
    """Without directions that are not known it is the bound of the rule but for roundings."""
    f = features(rng, DEPTH, SIZE)
    bases = [levels_of(rng, DEPTH) for _ in GROUPS]
    vertices = [(3, 0, 2), (1, 2, 2)]
    bound, panel = CellModel(space_of(f, DEPTH), GROUPS, 1.0).bound(bases, vertices)
    assert panel.shape == (SIZE, min(LEADING, DEPTH))
    for _ in range(300):
        taken = int(rng.integers(0, 3))
        chosen = [rng.choice(group, n, replace=False) for group, n in zip(GROUPS, (3 - taken, taken, 2), strict=True)]
        support = np.concatenate(chosen)
        assert np.linalg.norm(f[:, support], 2) ** 2 <= bound
