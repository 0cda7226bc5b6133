"""The theorems against brute force: what they promise is kept by the algorithms they are about."""

import numpy as np
import pytest

import certpca
from certpca.bounds.guarantees import (
    longest_row,
    low_rank_constant,
    low_rank_guarantee,
    low_rank_guarantee_by_spectrum,
    sdp_guarantee,
    sdp_guarantee_at,
    sdp_width,
    svd_guarantee,
    svd_guarantee_by_spectrum,
)
from certpca.runtime.errors import InvalidProblemError
from certpca.solvers.sdp_threshold import SdpThreshold
from certpca.solvers.spannogram import Spannogram
from certpca.solvers.svd_threshold import SvdThreshold
from tests.brute_force import brute_force

SIZE = 9


def matrices(rng):
    """A flat, a decaying, a nearly rank-one and a block matrix, and one with rows of very different lengths."""
    for spread in (np.ones(SIZE), 0.6 ** np.arange(SIZE), np.r_[20.0, np.full(SIZE - 1, 0.05)]):
        basis = np.linalg.qr(rng.standard_normal((SIZE, SIZE)))[0]
        yield (basis * spread) @ basis.T
    blocks = np.kron(np.eye(3), np.ones((3, 3))) + 0.1 * np.eye(SIZE)
    yield blocks
    scale = np.geomspace(0.1, 5, SIZE)
    yield blocks * scale[:, None] * scale[None, :]


@pytest.mark.parametrize("epsilon", [1.0, 0.9, 0.5, 0.2, 0.05])
@pytest.mark.parametrize("sparsity", [1, 2, 4])
def test_thresholded_singular_vectors_keep_the_promise(rng, sparsity, epsilon):
    for matrix in matrices(rng):
        optimum = brute_force(matrix, sparsity)[0]
        spectrum = np.linalg.eigvalsh(matrix)[::-1]
        found = certpca.solve(matrix, sparsity, SvdThreshold(epsilon=epsilon), refit=False, covariance=True)
        simple = svd_guarantee(optimum, float(np.trace(matrix)), epsilon)
        fine = svd_guarantee_by_spectrum(optimum, spectrum, epsilon)
        slack = 1e-7 * spectrum[0]
        assert simple <= fine + slack
        assert found.objective >= fine - slack
        assert found.support.size <= max(1, sparsity / epsilon**3 * (1 + epsilon))  # l is rounded up


@pytest.mark.parametrize("epsilon", [1.0, 0.9])
@pytest.mark.parametrize("sparsity", [1, 2, 4])
def test_the_rounded_relaxation_keeps_the_promise(rng, sparsity, epsilon):
    for matrix in matrices(rng):
        optimum = brute_force(matrix, sparsity)[0]
        length = float(np.linalg.norm(matrix, axis=0).max())
        top = float(np.linalg.eigvalsh(matrix)[-1])
        wide = certpca.solve(matrix, sparsity, SdpThreshold(epsilon=epsilon), refit=False, covariance=True)
        alpha, beta = wide.details["alpha"], wide.details["beta"]
        assert wide.support.size <= sdp_width(sparsity, beta, epsilon)
        assert wide.objective >= sdp_guarantee(optimum, alpha, epsilon, length) - 1e-7 * top
        narrow = certpca.solve(matrix, sparsity, "sdp-threshold", refit=False, covariance=True)
        constants = narrow.details["alpha"], narrow.details["beta"]
        promise = sdp_guarantee_at(optimum, *constants, sparsity, sparsity, SIZE, length)
        assert narrow.objective >= promise - 1e-7 * top


def test_a_promise_about_every_loading_loses_only_alpha():
    assert sdp_guarantee_at(4.0, 1.25, 1.0, 3, 9, 9, 100.0) == pytest.approx(3.2)
    assert sdp_guarantee_at(4.0, 1.25, 1.0, 3, 8, 9, 100.0) < 0


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("sparsity", [1, 2, 4])
def test_low_rank_search_keeps_the_promise(rng, sparsity, rank):
    for matrix in matrices(rng):
        optimum = brute_force(matrix, sparsity)[0]
        spectrum = np.linalg.eigvalsh(matrix)[::-1]
        found = certpca.solve(matrix, sparsity, Spannogram(rank=rank), refit=False, covariance=True)
        largest = float(matrix.diagonal().max())
        simple = low_rank_guarantee(optimum, spectrum, rank, SIZE, sparsity, largest)
        fine = low_rank_guarantee_by_spectrum(optimum, spectrum, rank)
        slack = 1e-7 * spectrum[0]
        assert simple <= fine + slack
        assert found.objective >= fine - slack


def test_the_constant_of_low_rank_search_agrees_with_the_solver():
    found = certpca.solve(certpca.pitprops(), 5, "spannogram")
    matrix = certpca.pitprops().submatrix(np.arange(13))
    spectrum = np.linalg.eigvalsh(matrix)[::-1]
    assert low_rank_constant(spectrum, 3, 13, 5, 1.0) == pytest.approx(found.details["epsilon_d"], rel=1e-6)
    assert low_rank_constant(spectrum[:3], 3, 13, 5, 1.0) == 0.0


@pytest.mark.parametrize("size", [5, 700])
def test_no_row_is_longer_than_said(rng, size):
    data = rng.standard_normal((40, size)) * np.geomspace(0.1, 3, size)
    operator = certpca.from_data(data)
    matrix = operator.submatrix(np.arange(size))
    truth = float(np.linalg.norm(matrix, axis=0).max())
    top = float(np.linalg.eigvalsh(matrix)[-1])
    said = longest_row(operator, top)
    assert truth * (1 - 1e-9) <= said <= np.sqrt(matrix.diagonal().max() * top) * (1 + 1e-9)
    assert said == pytest.approx(truth)  # the longest row is among the few that were measured


def test_rows_that_were_not_measured_are_bounded():
    size = 600
    operator = certpca.from_matrix(np.eye(size) + 1e-3)  # all rows equal: the rest is bounded, not measured
    top = 1 + 1e-3 * size
    assert longest_row(operator, top) == pytest.approx(np.sqrt((1 + 1e-3) * top))


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 1.5, float("nan")])
def test_an_accuracy_out_of_range_is_refused(epsilon):
    with pytest.raises(InvalidProblemError, match="epsilon must lie"):
        svd_guarantee(1.0, 2.0, epsilon)
    with pytest.raises(InvalidProblemError, match="epsilon must lie"):
        sdp_guarantee(1.0, 1.0, epsilon, 1.0)


def test_constants_that_cannot_be_are_refused():
    with pytest.raises(InvalidProblemError, match="alpha is at least one"):
        sdp_guarantee(1.0, 0.99, 0.5, 1.0)
    with pytest.raises(InvalidProblemError, match="leading 3 eigenvalues"):
        svd_guarantee_by_spectrum(1.0, np.zeros(0), 0.5)
