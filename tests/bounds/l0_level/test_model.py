from dataclasses import replace

import numpy as np
import pytest

from certpca.bounds.l0_level.aim import Aim, Part, apart, leading_sum, on_one_support, one_component, uncorrelated
from certpca.bounds.l0_level.model import Levels, Model


def features(rng, depth=12, size=50):
    return rng.standard_normal((depth, size)) * np.exp(0.5 * rng.standard_normal(size))


def model_of(f, known, unevenness=1.3):
    basis = np.linalg.qr(np.random.default_rng(5).standard_normal((f.shape[0], f.shape[0])))[0][:, :known]
    return Model(f.T @ basis, (f**2).sum(axis=0), f.shape[0], unevenness), basis


def levels_of(rng, width):
    frame = np.eye(width) / 1.5 + 0.2 * rng.standard_normal((width, width))
    return Levels(frame, rng.uniform(0.1, 1, width), 2.0, 0.2)


AIMS = {
    "one": one_component(5),
    "uncorrelated": uncorrelated([5, 5, 5]),
    "one support": on_one_support(5, 3),
    "apart": apart([5, 5, 3]),
    "both": Aim((Part(4.0, leading=2), Part(2.0, times=3))),
}


@pytest.mark.parametrize(("known", "width"), [(12, 12), (8, 4), (12, 5), (8, 8)])
@pytest.mark.parametrize("smoothing", [0.5, 30.0])
@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.parametrize("priced", [0, 7])
def test_the_gradient_is_that_of_finite_differences(known, width, smoothing, aim, priced, rng):
    model, _ = model_of(features(rng), known)
    levels = levels_of(rng, width)
    levels = replace(levels, priced=np.arange(priced) * 3, prices=rng.uniform(0.1, 2, priced))
    step = 0.05 * rng.standard_normal(levels.steps())

    def value(at):
        return model.evaluate(levels, at, AIMS[aim], smoothing).value

    slopes = [(value(step + 1e-6 * e) - value(step - 1e-6 * e)) / 2e-6 for e in np.eye(levels.steps())]
    gradient = model.evaluate(levels, step, AIMS[aim], smoothing).gradient
    np.testing.assert_allclose(gradient, slopes, atol=1e-5 * np.abs(slopes).max())


def test_the_matrix_is_the_one_the_inequality_speaks_of(rng):
    """kR + Σ zzᵀ, made here from nothing but the levels and the density, one feature after the other."""
    f, k = features(rng), 5
    model, basis = model_of(f, 12)
    levels = levels_of(rng, 4)
    whole = np.eye(12) / np.sqrt(levels.level)
    whole[:4, :4] = levels.frame
    back = np.linalg.inv(whole)
    weights = np.append(levels.weights, np.full(8, levels.rest_weight))
    level = back @ back.T
    total = k * level
    for a in (basis.T @ f).T:
        b = whole @ a
        if b @ b <= 1:
            continue
        low, high = 0.0, float(weights @ b**2)
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if (weights * b**2 / (middle + weights)).sum() > 1 else (low, middle)
        c = whole.T @ (weights * b / (low + weights))
        form = np.outer(a, a) - level
        total += np.outer(form @ c, form @ c) / (c @ form @ c)
    found = model.evaluate(levels, np.zeros(levels.steps()), one_component(k), 1e-3)
    np.testing.assert_allclose(found.spectra[0].values, np.linalg.eigvalsh(total), rtol=1e-7)


def test_more_levels_change_nothing_at_first(rng):
    model, _ = model_of(features(rng), 12)
    levels = levels_of(rng, 4)
    before, after = (
        model.evaluate(some, np.zeros(some.steps()), one_component(5), 1e-3).spectra[0].values
        for some in (levels, levels.wider(3))
    )
    np.testing.assert_allclose(before, after, rtol=1e-9)


def test_a_number_as_level_is_the_dual_of_old(rng):
    """R = ρI with the density of a dual point gives that point's bound, so that levels are never worse."""
    import certpca
    from certpca.bounds.l0_dual.central_path import improve
    from certpca.bounds.l0_dual.problem import DualProblem

    operator = certpca.from_data(rng.standard_normal((15, 60)) + 2 * rng.standard_normal((15, 1)) * rng.random(60))
    problem = DualProblem(operator, 8)
    path = improve(problem, problem.start())
    for _ in range(15):
        point = next(path)
    rows = problem.rows.whole() * np.sqrt(problem.scale)
    model = Model(rows @ point.basis, (rows**2).sum(axis=1), 15)
    frame = np.eye(15) / np.sqrt(point.level)
    levels = Levels(frame, point.level * point.weights, point.level, point.level * 1e-3)
    found = model.evaluate(levels, np.zeros(levels.steps()), one_component(8), 1e-6)
    assert found.spectra[0].bound == pytest.approx(point.bound, rel=1e-6)


@pytest.mark.parametrize("leading", [1, 2, 5, 9])
@pytest.mark.parametrize("smoothing", [1e-3, 0.3, 50.0])
def test_smoothed_sums_are_a_little_above_the_largest_values(leading, smoothing, rng):
    values = rng.standard_normal(9)
    value, shares = leading_sum(values, leading, smoothing)
    largest = np.sort(values)[-leading:].sum()
    assert largest - 1e-12 <= value <= largest + smoothing * leading * np.log(9 / leading) + 1e-12
    assert shares.sum() == pytest.approx(leading)
    assert shares.min() >= 0
    assert shares.max() <= 1 + 1e-12
    if leading == 1:
        assert value == pytest.approx(
            smoothing * np.log(np.exp((values - values.max()) / smoothing).sum()) + values.max()
        )


def test_prices_enter_the_matrix_as_the_inequality_says(rng):
    """Y_i ⪰ a_ia_iᵀ − R − w_iI, touching it, for features with a price."""
    f = features(rng, depth=6, size=20)
    model, basis = model_of(f, 6)
    levels = replace(levels_of(rng, 6), priced=np.arange(0, 20, 2), prices=rng.uniform(0.5, 3, 10))
    _, _, z, other, _, _ = model.factors(levels)
    rows, level = model.rows(levels, z, other), levels.matrix()
    prices = np.zeros(20)
    prices[levels.priced] = levels.prices
    used = 0
    for a, y, price in zip((basis.T @ f).T, rows, prices, strict=True):
        slack = np.linalg.eigvalsh(np.outer(y, y) - np.outer(a, a) + level + price * np.eye(6))
        assert slack[0] >= -1e-9
        if y.any():
            used += 1
            assert slack[0] <= 1e-6
    assert used > 8
