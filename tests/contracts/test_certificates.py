"""Contracts of certificates: valid on every operator, for every kind, against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
from tests.brute_force import brute_force
from tests.contracts.catalogue import OPERATORS, planted_counts


@pytest.mark.parametrize("kind", sorted(OPERATORS))
@pytest.mark.parametrize("sparsity", [1, 4, 12])
def test_every_operator_gets_a_valid_certificate(kind, sparsity, tmp_path):
    operator = OPERATORS[kind](planted_counts()[0], tmp_path)
    optimum = brute_force(np.cov(planted_counts()[0].T), sparsity)[0]
    certificate = certpca.certify(operator, sparsity, target_gap=1e-3, budget=certpca.Budget(steps=40))
    assert certificate.upper_bound >= optimum * (1 - 1e-12)
    assert certificate.objective <= optimum * (1 + 1e-12)
    proof = certpca.verify(certificate, operator)
    assert optimum * (1 - 1e-12) <= proof.upper_bound <= certificate.upper_bound


@st.composite
def matrices(draw):
    """Draw data of many kinds, small enough for brute force."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size, rows = draw(st.integers(1, 8)), draw(st.integers(2, 12))
    data = rng.standard_normal((rows, size))
    match draw(st.integers(0, 6)):
        case 1:
            data = data[:, :1] * rng.standard_normal(size)  # rank one
        case 2:
            data[:, rng.integers(size)] = 0.0
        case 3:
            data = np.concatenate([data, data], axis=1)[:, :size]  # duplicates
        case 4:
            data *= 10.0 ** rng.uniform(-6, 6, size)
        case 5:
            data = np.eye(max(rows, size))[:rows, :size]  # repeated eigenvalues
        case 6:
            data = np.round(data)
    data = data * 10.0 ** draw(st.sampled_from([-60, -8, 0, 8, 60]))
    return data.astype(np.float32) if draw(st.booleans()) and np.abs(data).max() < 1e30 else data


@given(data=matrices(), choice=st.data())
@settings(max_examples=130, deadline=None)
def test_bounds_are_never_below_the_optimum(data, choice):
    size = data.shape[1]
    sparsity = choice.draw(st.integers(1, size))
    steps = choice.draw(st.sampled_from([1, 2, 6, 30]))
    exact = data.astype(np.float64)
    matrix = exact.T @ exact / exact.shape[0]
    if not matrix.any():
        return
    certificate = certpca.certify(
        data, sparsity, target_gap=0.0, budget=certpca.Budget(steps=steps), center=False, branching=steps > 2
    )
    optimum = brute_force(matrix, sparsity)[0]
    assert certificate.upper_bound >= optimum * (1 - 1e-12)
    assert certificate.objective <= optimum * (1 + 1e-12)
    assert certpca.verify(certificate, data).upper_bound <= certificate.upper_bound


@given(seed=st.integers(0, 2**32 - 1), sparsity=st.integers(1, 6))
@settings(max_examples=50, deadline=None)
def test_fixed_features_are_fixed_in_every_optimum(seed, sparsity):
    rng = np.random.default_rng(seed)
    size = 7
    matrix = np.cov((rng.standard_normal((12, size)) * rng.uniform(0.3, 3, size)).T)
    certificate = certpca.certify(matrix, sparsity, target_gap=1e-6, branching=False, covariance=True)
    proof = certpca.verify(certificate, matrix)
    _, support = brute_force(matrix, sparsity)  # unique with probability one
    assert not set(proof.outside) & set(support)
    assert set(proof.inside) <= set(support)
