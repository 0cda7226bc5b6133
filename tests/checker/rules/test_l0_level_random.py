"""Levels of data with many samples: no matrix of samples x samples, and random vectors for what evidence leaves."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.checker import Examiner
from certpca.checker.data import Prepared, prepare
from certpca.checker.level_factors import factors_of
from certpca.checker.level_points import level_point_of
from certpca.checker.limits import Limits
from certpca.checker.random_levels import random_level_point_of
from certpca.checker.random_spaces import RandomSpace
from certpca.results.certificate import FAILURE, Certificate
from certpca.runtime.limits import with_limits

DEPTH, SIZE, SPARSITY = 240, 320, 40
MANY: dict[str, Any] = {"largest_factored": 50, "always_optimal": 0, "few_features": 100}


@pytest.fixture(scope="module")
def data() -> np.ndarray:
    """Several directions of nearly equal strength, so that eigenvalues of the bound lie close together."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((DEPTH, 12)) * np.linspace(3.0, 2.0, 12)
    return np.asarray(scores @ rng.standard_normal((12, SIZE)) + rng.standard_normal((DEPTH, SIZE)))


@pytest.fixture(scope="module")
def certificate(data: np.ndarray) -> Certificate:
    with with_limits(**MANY):
        return certpca.certify(data, SPARSITY, "svd-threshold", branching=False, budget=certpca.Budget(steps=3))


def exact(prepared: Prepared, evidence: Any) -> np.ndarray:
    """Form kR + Σ Y_i."""
    return np.asarray(level_point_of(prepared, evidence).matrix(SPARSITY)[0])


def test_many_samples_give_levels_that_say_they_are_random(certificate: Certificate, data: np.ndarray) -> None:
    assert certificate.kind == "l0-level-random"
    assert certificate.failure_probability == FAILURE
    proofs = [certpca.verify(certificate, data).upper_bound for _ in range(20)]
    assert len(set(proofs)) > 1  # every check draws numbers of its own
    assert max(proofs) <= certificate.upper_bound  # and confirms the claim


def test_chance_costs_next_to_nothing(certificate: Certificate, data: np.ndarray) -> None:
    """The same evidence with its matrix formed and factored is the judge."""
    prepared = prepare(certpca.from_data(data).source())
    sure = prepared.lift(level_point_of(prepared, certificate.evidence).bound(SPARSITY)) * prepared.unit
    assert sure * (1 - 1e-9) <= certificate.upper_bound <= sure * 1.003 + 0.03 * (sure - certificate.objective)


def test_a_claim_is_confirmed_with_as_few_products_as_that_takes(certificate: Certificate, data: np.ndarray) -> None:
    source = certpca.from_data(data).source()
    sure, took = level_point_of(prepare(source), certificate.evidence).bound(SPARSITY), []
    for claim in (10.0 * sure, 0.9 * sure):  # the second is never confirmed
        point = random_level_point_of(prepare(source), certificate.evidence)
        bound, _ = point.bounds(SPARSITY, confirms=claim.__ge__)
        assert bound >= sure * (1 - 1e-9)
        took.append(point.space.products)
    assert took[0] < took[1]


def test_a_claim_below_what_is_true_is_not_confirmed(certificate: Certificate, data: np.ndarray) -> None:
    prepared = prepare(certpca.from_data(data).source())
    sure = level_point_of(prepared, certificate.evidence).bound(SPARSITY) * prepared.unit
    with pytest.raises(certpca.CertificateError, match="proves only"):
        certpca.verify(replace(certificate, upper_bound=sure * (1 - 1e-6)), data)


def test_all_directions_can_be_asked_for(certificate: Certificate, data: np.ndarray) -> None:
    with with_limits(**MANY):
        sure = certpca.certify(
            data, SPARSITY, "svd-threshold", depth=DEPTH, branching=False, budget=certpca.Budget(steps=3)
        )
    assert sure.kind == "l0-level"
    assert sure.failure_probability == 0.0
    assert sure.upper_bound <= certificate.upper_bound * (1 + 1e-6)


def test_factors_add_up_to_the_matrix(certificate: Certificate, data: np.ndarray) -> None:
    prepared = prepare(certpca.from_data(data).source())
    point = level_point_of(prepared, certificate.evidence)
    factors, product, square = factors_of(prepared, point.level, np.eye(prepared.depth))
    scale = float(np.abs(point.total).max())
    np.testing.assert_allclose(product, point.total, atol=1e-9 * scale)
    assert square == pytest.approx(np.trace(point.total))
    assert factors.norm**2 >= np.trace(point.total)
    panel = np.random.default_rng(0).standard_normal((prepared.depth, 3))
    np.testing.assert_allclose(factors.times(prepared, panel)[0], point.total @ panel, atol=1e-8 * scale)


def hidden(evidence: Any, prepared: Prepared, how: str) -> np.ndarray:
    """Return leading directions that lead nowhere."""
    vectors = np.linalg.eigh(exact(prepared, evidence))[1]
    rng = np.random.default_rng(1)
    match how:
        case "smallest":
            return vectors[:, :40]
        case "random":
            return rng.standard_normal((prepared.depth, 20))
        case "all but the first":
            return vectors[:, -40:-1]
        case "none":
            return np.empty((prepared.depth, 0))
        case "equal":
            return np.repeat(vectors[:, -1:], 20, axis=1)
        case _:
            return np.asarray(vectors[:, -40:] * 10.0 ** rng.integers(-200, 200, 40))


@pytest.mark.parametrize("how", ["smallest", "random", "all but the first", "none", "equal", "scales"])
def test_evidence_that_hides_the_leading_directions_proves_no_less(
    how: str, certificate: Certificate, data: np.ndarray
) -> None:
    prepared = prepare(certpca.from_data(data).source())
    evidence = {**certificate.evidence, "leading": hidden(certificate.evidence, prepared, how)}
    largest = float(np.linalg.eigvalsh(exact(prepared, evidence))[-1])
    for _ in range(10):
        prepared.latest.clear()
        bound, again = random_level_point_of(prepared, evidence).bounds(SPARSITY)
        assert largest * (1 - 1e-12) <= bound <= again


@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-6, 1e-2])
@pytest.mark.parametrize("starts", [3, 8])
def test_random_spaces_bound_spectra_with_tiny_gaps(gap: float, starts: int) -> None:
    """Hundreds of draws against the eigenvalue itself, which stands alone, just above many others."""
    depth = 300
    values = np.concatenate([[1.0], np.full(100, 1 - gap), np.linspace(0, 0.9, depth - 101)])
    root = np.sqrt(values)[:, None]
    basis = np.eye(depth)[:, 50:60]
    bounds = []
    for _ in range(60):
        space = RandomSpace(basis, 1e-15, float(np.linalg.norm(root)), 2 * depth, starts)
        for _ in range(9):
            space.take(root * (root * space.panel()))
            bounds.append(space.bounded().bound)
    assert min(bounds) >= 1.0
    assert min(bounds) < 2.0


def test_a_space_that_is_whole_needs_no_chance() -> None:
    depth = 21
    values = np.linspace(0.0, 1.0, depth)[:, None]
    space = RandomSpace(np.eye(depth)[:, -1:], 1e-15, 10.0, 50, 8)
    while not space.whole:
        space.take(values * space.panel())
    found = space.bounded()
    assert found.short == 0.0
    assert found.bound == pytest.approx(values[-2, 0])
    assert found.bound >= values[-2, 0]


def test_one_point_serves_every_sparsity(certificate: Certificate, data: np.ndarray) -> None:
    prepared = prepare(certpca.from_data(data).source())
    point = random_level_point_of(prepared, certificate.evidence)
    assert random_level_point_of(prepared, certificate.evidence) is point
    sure = level_point_of(prepare(certpca.from_data(data).source()), certificate.evidence)
    for sparsity in (1, 10, SPARSITY, 300):
        largest = float(np.linalg.eigvalsh(sure.matrix(sparsity)[0])[-1])
        assert largest * (1 - 1e-12) <= point.bounds(sparsity)[0] <= largest * 1.01


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"leading": np.ones((DEPTH - 1, 2))}, "wrong form"),
        ({"leading": np.full((DEPTH, 2), np.nan)}, "not finite"),
        ({"leading": np.eye(DEPTH)}, "too many directions"),
        ({"leading": np.ones((DEPTH, 0)), "directions": np.ones((DEPTH, 3))}, "wrong size"),
        ({"level": np.float64(-1.0)}, "negative"),
        ({"matrix": None}, "not positive semidefinite"),
    ],
)
def test_what_is_no_level_is_refused(
    change: dict[str, Any], why: str, certificate: Certificate, data: np.ndarray
) -> None:
    evidence = {**certificate.evidence, **change}
    if evidence["matrix"] is None:
        evidence["matrix"] = -1e3 * np.abs(certificate.evidence["matrix"])
    with pytest.raises(certpca.CertificateError, match=why):
        certpca.verify(replace(certificate, evidence=evidence), data)


def test_arrays_of_other_libraries_get_the_same_certificate(certificate: Certificate, data: np.ndarray) -> None:
    torch = pytest.importorskip("torch")
    with with_limits(**MANY):
        other = certpca.certify(
            torch.asarray(data), SPARSITY, "svd-threshold", branching=False, budget=certpca.Budget(steps=3)
        )
    assert other.kind == "l0-level-random"
    assert other.upper_bound == pytest.approx(certificate.upper_bound, rel=1e-2)
    certpca.verify(other, data)


def test_files_are_walked_over_seldom(tmp_path: Path) -> None:
    table = np.asarray(certpca.balding_nichols(DEPTH, SIZE, populations=3, rng=1).data)
    certpca.write_plink(tmp_path / "few", table)
    genotypes = certpca.read_plink(tmp_path / "few", memory=1e-4)
    solution = certpca.solve(table, SPARSITY, "svd-threshold")
    with with_limits(**MANY, dear_walk=1):
        found = certpca.certify(genotypes, SPARSITY, solution=solution, branching=False, budget=certpca.Budget(steps=4))
    assert found.kind == "l0-level-random"
    assert genotypes.passes < 40
    before = genotypes.passes
    certpca.verify(found, genotypes)
    assert genotypes.passes - before < 20
    certpca.verify(found, table)  # the same numbers in memory


def test_a_search_goes_on_where_another_process_left_it(data: np.ndarray, tmp_path: Path) -> None:
    def certified(steps: int) -> Certificate:
        with with_limits(**MANY):
            return certpca.certify(
                data,
                SPARSITY,
                "svd-threshold",
                branching=False,
                budget=certpca.Budget(steps=steps),
                checkpoint=tmp_path / "states",
            )

    first, second = certified(4), certified(1)
    assert first.kind == second.kind == "l0-level-random"
    assert second.upper_bound == pytest.approx(first.upper_bound, rel=1e-2)
    certpca.verify(second, data)


def test_a_lower_claim_is_refused(certificate: Certificate, data: np.ndarray) -> None:
    bold = replace(certificate, upper_bound=certificate.upper_bound * 0.9)
    with pytest.raises(certpca.CertificateError, match="proves only"):
        certpca.verify(bold, data)


def test_work_is_limited(certificate: Certificate, data: np.ndarray) -> None:
    with pytest.raises(certpca.CertificateError, match="multiplications"):
        Examiner(certpca.from_data(data).source(), Limits(most_work=1e6)).check(certificate)


def test_scales_of_the_data_change_nothing(certificate: Certificate, data: np.ndarray) -> None:
    with with_limits(**MANY):
        large = certpca.certify(
            data * 2.0**300, SPARSITY, "svd-threshold", branching=False, budget=certpca.Budget(steps=3)
        )
    assert large.kind == "l0-level-random"
    assert large.gap == pytest.approx(certificate.gap, rel=0.05)
    certpca.verify(large, data * 2.0**300)
