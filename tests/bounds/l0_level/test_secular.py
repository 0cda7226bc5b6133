from typing import Any

import array_api_strict
import numpy as np

from certpca.bounds.l0_level import secular


def problem(rng, size=200, width=7):
    b = rng.standard_normal((size, width)) * np.exp(rng.standard_normal((size, 1)))
    return b, rng.uniform(0, 2, size), np.exp(rng.uniform(-6, 0, width)), 0.03


def test_roots_solve_their_equations(rng):
    b, rest, weights, other = problem(rng)
    theta, norm, z, share = secular.factors(b, rest, weights, other, np.zeros(200))
    live = (b**2).sum(axis=1) + rest > 1
    np.testing.assert_array_equal(theta > 0, live)
    left = (weights * b**2 / (theta[:, None] + weights)).sum(axis=1) + other * rest / (theta + other)
    np.testing.assert_allclose(left[live], 1, atol=1e-9)
    # ⟨P, zzᵀ⟩ = θ is the value of the best dual matrix.
    value = (weights * z**2).sum(axis=1) + other * rest * share**2
    np.testing.assert_allclose(value, theta, atol=1e-9 * theta.max())
    assert (norm[live] > 0).all()
    assert not z[~live].any()


def test_dual_matrices_are_above_their_forms(rng):
    b, _, weights, other = problem(rng, size=40)
    _, _, z, _ = secular.factors(b, np.zeros(40), weights, other, np.zeros(40))
    for row, dual in zip(b, z, strict=True):
        least = np.linalg.eigvalsh(np.outer(dual, dual) - np.outer(row, row) + np.eye(7))[0]
        assert least >= -1e-8 * (1 + row @ row)


def test_a_guess_changes_nothing_but_the_time(rng):
    b, rest, weights, other = problem(rng)
    first = secular.factors(b, rest, weights, other, np.zeros(200))
    for guess in (first[0], 0.3 * first[0], 1e9 * first[0], np.full(200, 1e-12)):
        for found, expected in zip(secular.factors(b, rest, weights, other, guess), first, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)


def test_array_libraries_and_compiled_loops_agree(rng):
    b, rest, weights, other = problem(rng)
    pulls = rng.standard_normal((200, 7)), rng.standard_normal(200), rng.random(200), rng.random(200)
    theta, norm, *_ = expected = secular.factors(b, rest, weights, other, np.zeros(200))
    slopes = secular.derivatives(b, rest, weights, other, (theta, norm), pulls)
    xp: Any = array_api_strict
    b, rest, weights = (xp.asarray(part) for part in (b, rest, weights))
    found = secular.factors(b, rest, weights, other, xp.asarray(np.zeros(200)))
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), two, rtol=1e-8, atol=1e-12)
    solved = xp.asarray(theta), xp.asarray(norm)
    again = secular.derivatives(b, rest, weights, other, solved, tuple(xp.asarray(part) for part in pulls))
    for one, two in zip(again, slopes, strict=True):
        np.testing.assert_allclose(np.asarray(one), two, rtol=1e-7, atol=1e-9 * np.abs(two).max())


def test_features_beyond_one_strip_are_all_counted(rng):
    size = 2 * secular.STRIP + 5
    b, rest, weights, other = problem(rng, size)
    theta, norm, z, _ = secular.factors(b, rest, weights, other, np.zeros(size))
    part = secular.factors(b[-5:], rest[-5:], weights, other, np.zeros(5))
    np.testing.assert_allclose(theta[-5:], part[0], rtol=1e-12)
    np.testing.assert_allclose(z[-5:], part[2], rtol=1e-12)
    assert norm.shape == (size,)
