"""The spectra of noise, against integrals, simulations and published values."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.integrate import quad

from certpca.search.noise_spectra import (
    edge_of_noise,
    median_of_noise,
    noise_with_variances,
    permuted,
    threshold_of_singular_values,
)


@pytest.mark.parametrize("ratio", [0.01, 0.3, 0.7, 1.0])
def test_half_of_the_law_lies_below_its_median(ratio):
    low, high = (1 - ratio**0.5) ** 2, (1 + ratio**0.5) ** 2

    def density(value):
        return np.sqrt(max((high - value) * (value - low), 0.0)) / (2 * np.pi * ratio * value)

    assert quad(density, low, median_of_noise(ratio), limit=200)[0] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("ratio", [0.05, 0.3, 0.5, 0.8, 1.0])
def test_thresholds_are_those_of_gavish_and_donoho(ratio):
    """They give the approximation 0.56β³ − 0.95β² + 1.82β + 1.43, which is off by some 0.02."""
    approximation = 0.56 * ratio**3 - 0.95 * ratio**2 + 1.82 * ratio + 1.43
    assert threshold_of_singular_values(ratio) == pytest.approx(approximation, abs=0.025)


def test_largest_eigenvalue_of_noise_is_rarely_beyond_the_edge():
    rng = np.random.default_rng(1)
    beyond = [np.linalg.norm(rng.standard_normal((60, 90)), 2) ** 2 / 90 > edge_of_noise(60, 90) for _ in range(300)]
    assert 0.01 < np.mean(beyond) < 0.11


def test_columns_are_put_in_orders_of_their_own(rng):
    values = rng.standard_normal((30, 5))
    mixed = permuted(values, rng)
    np.testing.assert_array_equal(np.sort(mixed, axis=0), np.sort(values, axis=0))
    assert not np.array_equal(mixed[:, 0].argsort().argsort(), values[:, 0].argsort().argsort())
    thin = sp.random_array((40, 7), density=0.2, rng=rng, format="csc")
    again = permuted(thin, rng)
    assert again.nnz == thin.nnz
    np.testing.assert_allclose(np.sort(again.toarray(), axis=0), np.sort(thin.toarray(), axis=0))


def test_noise_has_the_variances_asked_for(rng):
    noise = noise_with_variances(20, np.array([4.0, 0.0, 1e-6]), rng)
    np.testing.assert_allclose(noise.var(axis=0, ddof=1), [4.0, 0.0, 1e-6])
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=1e-12)
