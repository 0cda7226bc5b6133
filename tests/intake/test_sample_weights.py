"""Sample weights: the same as rows repeated, stated by certificates, and refused where they make no sense."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import certpca
from certpca import CertificateError, certify, from_data, solve, verify


@pytest.fixture
def data(rng: np.random.Generator) -> np.ndarray:
    return np.asarray(rng.standard_normal((20, 7)) + np.arange(7.0))


@pytest.fixture
def weights(rng: np.random.Generator) -> np.ndarray:
    return np.asarray(rng.integers(0, 4, 20), dtype=float)


@pytest.mark.parametrize("options", [{"ddof": 0}, {"scale": True, "ddof": 0}, {"center": False}], ids=str)
def test_a_weight_counts_as_so_many_rows(data: np.ndarray, weights: np.ndarray, options: dict[str, Any]) -> None:
    repeated = np.repeat(data, weights.astype(int), axis=0)
    found = solve(data, 3, certify=True, sample_weight=weights, **options)
    plain = solve(repeated, 3, certify=True, **options)
    assert found.support.tolist() == plain.support.tolist()
    assert found.objective == pytest.approx(plain.objective, rel=1e-12)
    assert found.upper_bound == pytest.approx(plain.upper_bound, rel=1e-9)
    for operator, other in ((from_data(data, sample_weight=weights, **options), from_data(repeated, **options)),):
        for mine, theirs in zip(operator.standardisation(), other.standardisation(), strict=True):
            assert mine == pytest.approx(theirs)


def test_the_matrix_is_the_weighted_covariance(data: np.ndarray, weights: np.ndarray) -> None:
    operator = from_data(data, ddof=0, sample_weight=weights)
    assert operator.submatrix(np.arange(7)) == pytest.approx(np.cov(data.T, aweights=weights, ddof=0))
    certpca.verify_operator(operator)
    assert operator.description.startswith("weighted covariance")


def test_only_ratios_matter_and_equal_weights_change_nothing(data: np.ndarray, weights: np.ndarray) -> None:
    plain, equal = from_data(data), from_data(data, sample_weight=np.full(20, 0.3))
    assert equal.submatrix(np.arange(7)) == pytest.approx(plain.submatrix(np.arange(7)))
    once, twice = (from_data(data, sample_weight=factor * weights).submatrix(np.arange(7)) for factor in (1.0, 1e80))
    assert once == pytest.approx(twice)


def test_missing_values_take_the_weighted_mean(data: np.ndarray, weights: np.ndarray) -> None:
    holes = data.copy()
    holes[3, 2] = np.nan
    present = ~np.isnan(holes[:, 2])
    mean = np.average(holes[present, 2], weights=weights[present])
    filled = np.where(np.isnan(holes), mean, holes)
    # The mean of what is there is that of all once it is filled in.
    expected = from_data(filled, sample_weight=weights).submatrix(np.arange(7))
    certificate = certify(holes, 3, missing="mean", sample_weight=weights)
    assert from_data(holes, missing="mean", sample_weight=weights).submatrix(np.arange(7)) == pytest.approx(expected)
    assert "missing values (NaN) taken as column means, samples weighted" in verify(certificate, holes).matrix


@pytest.mark.parametrize("shape", [(30, 8), (6, 25)])
def test_sparse_and_wide_data(rng: np.random.Generator, shape: tuple[int, int]) -> None:
    table = sparse.random(*shape, density=0.5, random_state=0, format="csr")
    weights = rng.random(shape[0])
    certificate = certify(table, 2, sample_weight=weights)
    assert verify(certificate, table, sample_weight=weights).gap <= 0.01
    assert certificate.objective == pytest.approx(solve(table.toarray(), 2, sample_weight=weights).objective)


def test_scores_are_those_of_the_samples(data: np.ndarray) -> None:
    weights = np.arange(20.0)
    scores = from_data(data, sample_weight=weights).scores(np.arange(7), np.ones(7))
    expected = (data - np.average(data, axis=0, weights=weights)).sum(axis=1)
    assert np.isnan(scores[0])  # a sample that weighs nothing is not looked at
    assert scores[1:] == pytest.approx(expected[1:])


@pytest.mark.parametrize(
    ("weights", "why"),
    [
        (np.ones(19), r"one number for each of the 20 samples, got shape \(19,\)"),
        (np.ones((20, 1)), "got shape"),
        (np.r_[-1.0, np.ones(19)], r"sample_weight\[0\] is -1, .* use zero to leave a sample out"),
        (np.r_[np.ones(19), np.nan], r"sample_weight\[19\] is nan"),
        (np.r_[np.ones(19), np.inf], "not finite"),
        (np.zeros(20), "every sample has the weight zero"),
        (["a"] * 20, "must be numbers"),
        (np.r_[np.ones(19), 1e-40], "set the smallest weights to zero"),
    ],
)
def test_bad_weights(data: np.ndarray, weights: Any, why: str) -> None:
    with pytest.raises(certpca.InvalidDataError, match=why):
        from_data(data, sample_weight=weights)


def test_what_cannot_have_weights(data: np.ndarray, tmp_path: Any) -> None:
    genotypes = np.tile(np.array([[0, 1, 2], [1, 2, 0], [2, 1, 1]]), (4, 1))
    with pytest.raises(certpca.InvalidProblemError, match="cannot be combined"):
        from_data(genotypes, scale="2pq", sample_weight=np.ones(12))
    with pytest.raises(certpca.InvalidProblemError, match="used as it is"):
        solve(np.eye(3), 1, covariance=True, sample_weight=np.ones(3))
    with pytest.raises(certpca.InvalidProblemError, match="does not know sample_weight"):
        certpca.choose_sparsity(data, method="cross-validation", sample_weight=np.ones(20))


# --- certificates -----------------------------------------------------------------------------------------------------


def test_certificates_state_weights_and_hash_them(data: np.ndarray, weights: np.ndarray) -> None:
    certificate = certify(data, 3, sample_weight=weights)
    assert certificate.normalisation["weights"] == weights.tolist()
    assert verify(certificate, data, sample_weight=weights).upper_bound <= certificate.upper_bound
    with pytest.raises(CertificateError, match="other data, or for another normalisation"):
        verify(certificate, from_data(data))
    for wrong in (False, weights + 1):
        with pytest.raises(CertificateError, match="weights of samples"):
            verify(certificate, data, sample_weight=wrong)
    with pytest.raises(CertificateError, match="some weights of samples"):
        verify(certify(data, 3), data, sample_weight=weights)


@pytest.mark.parametrize(
    "stated",
    [
        None,
        [1.0] * 19,
        [1.0] * 20,
        [-1.0] + [1.0] * 19,
        [0.0] * 20,
        [float("nan")] * 20,
        [1] * 20,
        "1" * 20,
        [1e-40] + [1.0] * 19,
        [[1.0]] * 20,
    ],
    ids=str,
)
def test_other_weights_are_refused(data: np.ndarray, weights: np.ndarray, stated: Any) -> None:
    certificate = certify(data, 3, sample_weight=weights)
    with pytest.raises(CertificateError):
        verify(replace(certificate, normalisation={**certificate.normalisation, "weights": stated}), data)


@pytest.mark.parametrize("seed", range(8))
def test_no_bound_is_below_the_exact_optimum(seed: int) -> None:
    """In exact arithmetic, on features of very different means, where centring cancels digits."""
    rng = np.random.default_rng([seed, 9])
    data = rng.integers(-9, 9, (7, 5)).astype(float) + np.array([0.0, 1e8, -1e6, 0.0, 3e4])
    weights = rng.integers(0, 5, 7).astype(float) + 1.0
    repeated = np.repeat(data, weights.astype(int), axis=0)
    whole = [[sum(int(x) * int(y) for x, y in zip(a, b, strict=True)) for b in repeated.T] for a in repeated.T]
    sums, count = [sum(int(x) for x in column) for column in repeated.T], repeated.shape[0]
    # Products of deviations times the squared number of rows are whole numbers: only the last step rounds.
    matrix = np.array([[(count * whole[i][j] - sums[i] * sums[j]) / count**2 for j in range(5)] for i in range(5)])
    best = max(np.linalg.eigvalsh(matrix[np.ix_(s, s)])[-1] for s in ([i, j] for i in range(5) for j in range(i)))
    certificate = certify(data, 2, ddof=0, sample_weight=weights)
    proof = verify(certificate, data)
    assert proof.objective <= best * (1 + 1e-12)
    assert proof.upper_bound >= best * (1 - 1e-12)
    assert proof.gap <= 0.01
