"""Certificates in fewer directions of sample space than there are."""

import numpy as np
import pytest

import certpca
from certpca.checker import Examiner
from certpca.checker.data import prepare
from certpca.checker.limits import Limits
from certpca.checker.random_spaces import Recurrence, excluded_from, largest_cosine, least_cosine
from certpca.checker.rules import l0_reduced_random as reduced
from certpca.runtime.limits import with_limits
from certpca.search.krylov import leading_directions


@pytest.fixture
def data(rng: np.random.Generator) -> np.ndarray:
    scores = rng.standard_normal((60, 3)) * [6.0, 4.0, 3.0]
    return np.asarray(scores @ rng.standard_normal((3, 400)) + rng.standard_normal((60, 400)))


def test_fewer_directions_prove_less(data: np.ndarray) -> None:
    solution = certpca.solve(data, 40)
    full = certpca.certify(data, 40, solution=solution, branching=False, target_gap=0)
    bounds = [
        certpca.certify(data, 40, solution=solution, depth=depth, target_gap=0, branching=False)
        for depth in (50, 10, 3)
    ]
    assert all(bound.kind == "l0-reduced" for bound in bounds)
    assert all(certpca.verify(bound, data).upper_bound <= bound.upper_bound for bound in bounds)
    values = [full.upper_bound, *[bound.upper_bound for bound in bounds]]
    assert values == sorted(values)
    assert bounds[-1].gap < 0.1  # three directions hold nearly everything


def test_as_many_directions_as_samples_is_the_ordinary_certificate(data: np.ndarray) -> None:
    assert certpca.certify(data, 40, depth=60, branching=False).kind == "l0-dual"


@pytest.fixture
def deep(rng: np.random.Generator) -> np.ndarray:
    """Several directions of nearly equal strength beside those that a certificate treats apart."""
    scores = rng.standard_normal((400, 40)) * np.linspace(6.0, 5.0, 40)
    return np.asarray(scores @ rng.standard_normal((40, 500)) + rng.standard_normal((400, 500)))


def test_many_samples_give_a_certificate_that_says_it_is_random(rng: np.random.Generator) -> None:
    scores = rng.standard_normal((400, 3)) * [6.0, 4.0, 3.0]
    data = scores @ rng.standard_normal((3, 500)) + rng.standard_normal((400, 500))
    solution = certpca.solve(data, 40)
    sure = certpca.certify(data, 40, solution=solution, depth=10)
    with with_limits(largest_factored=50):
        random = certpca.certify(data, 40, solution=solution, depth=10)
    assert random.kind == "l0-reduced-random"
    assert random.upper_bound >= sure.upper_bound * (1 - 1e-6)
    proofs = [certpca.verify(random, data).upper_bound for _ in range(20)]
    assert len(set(proofs)) > 1  # every check draws numbers of its own
    assert max(proofs) <= random.upper_bound  # and confirms the claim


def test_what_is_left_is_bounded_from_above_whatever_is_drawn(deep: np.ndarray) -> None:
    """Against the eigenvalue itself; the probability of a failure is that of the statement, not of the test."""
    prepared = prepare(certpca.from_data(deep).source())
    factor = np.concatenate([block for _, block in prepared.blocks()], axis=1)
    basis = np.linalg.svd(factor)[0][:, :20]
    rest = factor - basis @ (basis.T @ factor)
    exact = float(np.linalg.svd(rest)[1][0] ** 2)
    bounds = [reduced._random_rest(prepared, basis, 1e-13, 5) for _ in range(30)]
    assert min(bounds) >= exact
    assert max(bounds) <= 1.5 * exact
    assert max(bounds) <= min(bounds) * (1 + reduced.OTHER_DRAWS)


def test_where_nothing_is_left_the_bound_is_tiny(rng: np.random.Generator) -> None:
    data = rng.standard_normal((400, 3)) @ rng.standard_normal((3, 500))
    prepared = prepare(certpca.from_data(data).source())
    factor = np.concatenate([block for _, block in prepared.blocks()], axis=1)
    basis = np.linalg.svd(factor)[0][:, :10]
    assert 0 < reduced._random_rest(prepared, basis, 1e-13, 5) < 1e-15 * prepared.trace


def recurrence(spectrum: np.ndarray, space: np.ndarray, degree: int, wrong: float = 0.0) -> Recurrence:
    """Multiply vectors by a diagonal matrix again and again, with products that are wrong by a known amount."""
    (depth, starts), rng = space.shape, np.random.default_rng(0)
    images = np.empty((depth, 0))
    for _ in range(degree):
        noise = rng.standard_normal((depth, starts))
        image = spectrum[:, None] * space[:, -starts:] + wrong * noise / np.linalg.norm(noise, axis=0)
        images = np.concatenate([images, image], axis=1)
        space = np.concatenate([space, np.linalg.qr(image - space @ (space.T @ image))[0]], axis=1)
        space = np.linalg.qr(space)[0] * np.where(np.diagonal(np.linalg.qr(space)[1]) < 0, -1.0, 1.0)
    matrix = space.T @ images
    for block in range(degree):
        matrix[(block + 2) * starts :, block * starts : (block + 1) * starts] = 0.0
    missed = float(np.linalg.norm(images - space @ matrix)) + wrong * np.sqrt(starts * degree)
    return Recurrence(matrix, [starts * (at + 1) for at in range(degree + 1)], lambda _: missed)


def drawn(depth: int, starts: int, seed: int = 0) -> np.ndarray:
    return np.asarray(np.linalg.qr(np.random.default_rng(seed).standard_normal((depth, starts)))[0])


def test_roundings_cost_more_where_they_are_larger() -> None:
    """The stated probability includes what floating point does: the larger that can be, the more is allowed for."""
    seen_by = recurrence(np.linspace(0, 1, 400), drawn(400, 4), 5)
    roots = np.linspace(0.1, 0.9, 5)
    cosines = [
        largest_cosine(seen_by._replace(off=lambda _, off=off: off), roots, 1.5, 1e-12, 1e-12)  # type: ignore[misc]
        for off in (0.0, 1e-7, 1e-5, 1e-3)
    ]
    assert cosines == sorted(cosines)
    assert cosines[1] < 1.01 * cosines[0]
    assert cosines[3] > 1.01 * cosines[0]
    hopeless = seen_by._replace(off=lambda largest: largest)
    assert excluded_from(hopeless, least_cosine(400, 4), 0.0, 0.0, 1.0) == np.inf


@pytest.mark.parametrize("wrong", [0.0, 1e-4])
@pytest.mark.parametrize("below", [0.3, 0.7, 0.97])
def test_bounds_fail_only_where_random_vectors_hardly_see_the_eigenvalue(below: float, wrong: float) -> None:
    """A large eigenvalue above many others; also with products that are wrong by far more than roundings."""
    depth, starts, degree, failure = 200, 2, 3, 0.05
    spectrum = np.concatenate([[1.0], np.linspace(0, below, depth - 1)])
    least, small, failed = least_cosine(depth, starts, failure), 0, 0
    for seed in range(400):
        space = drawn(depth, starts, seed)
        seen = float(np.linalg.norm(space[0])) >= least
        fails = excluded_from(recurrence(spectrum, space, degree, wrong), least, 0.0, 1e-13, 1e-3) < 1.0
        assert not (fails and seen)
        small, failed = small + (not seen), failed + fails
    assert 0 < small < 2 * failure * 400
    assert failed or below > 0.3 or wrong  # where the eigenvalue stands alone, nothing is given away


def test_too_many_samples_for_a_proof_that_is_sure(data: np.ndarray) -> None:
    sure = certpca.certify(data, 40, depth=10)
    assert sure.kind == "l0-reduced"
    with pytest.raises(certpca.CertificateError, match="too many samples"):
        Examiner(certpca.from_data(data).source(), Limits(largest_factored=50)).check(sure)


@pytest.mark.parametrize("degree", [2, 5, 8])
def test_more_products_leave_less_in_doubt(degree: int) -> None:
    spectrum = np.linspace(0, 1, 2000)
    least = least_cosine(2000, 8)
    bounds = [
        excluded_from(recurrence(spectrum, drawn(2000, 8), some), least, 0.0, 1e-13, 0.5)
        for some in (degree, degree + 1)
    ]
    assert 1.0 <= bounds[1] < bounds[0]


def test_leading_directions_hold_most_of_the_variance(data: np.ndarray) -> None:
    found, values = leading_directions(certpca.from_data(data), 3, np.random.default_rng(0))
    centred = (data - data.mean(axis=0)) / np.sqrt(data.shape[0] - 1)
    left, spread, _ = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-6)
    np.testing.assert_allclose(np.linalg.svd(left[:, :3].T @ found)[1], 1.0, atol=1e-4)
    np.testing.assert_allclose(values[:3], spread[:3] ** 2, rtol=1e-3)
    assert values[3] <= spread[3] ** 2 * (1 + 1e-6)


@pytest.mark.parametrize("depth", [0, -3])
def test_bad_depths_are_named(data: np.ndarray, depth: int) -> None:
    with pytest.raises(certpca.CertpcaError, match="depth must be a positive"):
        certpca.certify(data, 40, depth=depth)


def test_matrices_and_wide_data_cannot_be_reduced(rng: np.random.Generator) -> None:
    with pytest.raises(certpca.CertpcaError, match="at most as many samples as features"):
        certpca.certify(np.cov(rng.standard_normal((400, 300)).T), 5, covariance=True, depth=4)


def test_where_no_smaller_depth_is_possible_closed_forms_remain(rng: np.random.Generator) -> None:
    tall = rng.standard_normal((400, 300))
    for data, options in ((tall, {}), (np.cov(tall.T), {"covariance": True})):
        with with_limits(largest_factored=50):
            certificate = certpca.certify(data, 5, target_gap=0, branching="directions", **options)  # type: ignore[arg-type]
        assert certificate.kind in ("trace", "row-sums", "largest-eigenvalue")


def test_a_short_budget_is_kept(data: np.ndarray) -> None:
    budget = certpca.Budget(seconds=1e-3)
    with with_limits(largest_factored=50, few_features=100):
        certificate = certpca.certify(data, 40, target_gap=0, branching="directions", budget=budget)
    assert not certificate.kind.startswith("l0")
