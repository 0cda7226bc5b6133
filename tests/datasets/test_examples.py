"""Embedded data and generators have the properties their publications state."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.datasets.examples import PITPROPS_NAMES, pitprops_matrix
from certpca.runtime.errors import InvalidProblemError

# --- pit props ----------------------------------------------------------------------------------


def test_pitprops_is_a_correlation_matrix() -> None:
    matrix = pitprops_matrix()
    assert matrix.shape == (13, 13)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(np.diag(matrix), 1.0)
    assert np.abs(matrix - np.eye(13)).max() == 0.954


def test_pitprops_eigenvalues() -> None:
    """As noted with the copy of the table in the R package elasticnet (Zou & Hastie)."""
    values = np.linalg.eigvalsh(pitprops_matrix())[::-1]
    noted = [4.21863, 2.3781, 1.87823, 1.10939, 0.91005, 0.81541, 0.57635]
    noted += [0.43957, 0.35268, 0.19084, 0.05057, 0.04147, 0.03872]
    np.testing.assert_allclose(values, noted, atol=6e-6)


def test_pitprops_operator_has_names() -> None:
    operator = certpca.pitprops()
    assert operator.names == PITPROPS_NAMES
    assert len(set(PITPROPS_NAMES)) == 13
    assert operator.trace() == 13.0
    certpca.verify_operator(operator)


def test_pitprops_equals_the_published_file(shared: Path) -> None:
    file = shared / "data" / "pitprops" / "pitprops.csv"
    if not file.exists():
        pytest.skip("the shared folder has no pitprops.csv")
    table = certpca.load_table(file)
    np.testing.assert_array_equal(table.data, pitprops_matrix())
    assert table.names == PITPROPS_NAMES


# --- rotated Hadamard ---------------------------------------------------------------------------


def test_hadamard_spectrum_before_noise() -> None:
    example = certpca.rotated_hadamard(4, 6, noise=0.0)
    left, values, right = np.linalg.svd(example.data, full_matrices=False)
    np.testing.assert_allclose(values, [100.0, *np.exp(-np.arange(2.0, 17.0))], atol=1e-12)
    np.testing.assert_allclose(np.abs(left[:, 0]), 1 / 4, atol=1e-12)
    np.testing.assert_allclose(np.abs(right[0]), np.abs(example.component), atol=1e-12)
    assert np.linalg.norm(example.component) == pytest.approx(1.0)
    np.testing.assert_allclose(np.abs(example.unrotated), 1 / 8)


def test_hadamard_entries_of_singular_vectors() -> None:
    """Away from the rotated half all entries of X are sums of ±1 entries, so |U| and |V| are constant there."""
    example = certpca.rotated_hadamard(3, 5, noise=0.0)
    left, _, right = np.linalg.svd(example.data, full_matrices=False)
    np.testing.assert_allclose(np.abs(left[:, :4]), 8**-0.5, atol=1e-8)
    np.testing.assert_allclose(np.abs(right[:4, :16]), 32**-0.5, atol=1e-8)


def test_hadamard_rotation_empties_half_of_the_lower_half() -> None:
    example = certpca.rotated_hadamard(5, 8)
    size = example.component.size
    upper, lower = example.component[: size // 2], example.component[size // 2 :]
    np.testing.assert_allclose(np.abs(upper), size**-0.5)
    scaled = np.abs(lower) * np.sqrt(size)
    np.testing.assert_allclose(scaled[0::2], np.sin(0.27 * np.pi) - np.cos(0.27 * np.pi), atol=1e-12)
    assert scaled[0::2].max() < 0.1
    np.testing.assert_allclose(scaled[1::2], np.sin(0.27 * np.pi) + np.cos(0.27 * np.pi), atol=1e-12)


def test_hadamard_at_a_quarter_turn_of_pi_is_exactly_sparse() -> None:
    component = certpca.rotated_hadamard(2, 4, angle=np.pi / 4).component
    assert np.count_nonzero(np.abs(component) > 1e-12) == 12


def test_hadamard_without_rotation_keeps_the_component() -> None:
    example = certpca.rotated_hadamard(2, 4, angle=0.0)
    np.testing.assert_array_equal(example.component, example.unrotated)


def test_hadamard_centring_erases_the_component() -> None:
    data = certpca.rotated_hadamard(4, 6).data
    assert certpca.from_data(data, center=False).trace() == pytest.approx(100.0**2 / 16, rel=1e-3)
    assert certpca.from_data(data).trace() < 0.1


def test_hadamard_solution_is_the_large_part_of_the_component() -> None:
    example = certpca.rotated_hadamard(4, 6)
    solution = certpca.solve(example.data, 16, center=False)
    assert set(solution.support) == set(np.argsort(-np.abs(example.component))[:16])


def test_hadamard_noise_and_seed() -> None:
    quiet = certpca.rotated_hadamard(3, 5, noise=0.0).data
    first, again, other = (certpca.rotated_hadamard(3, 5, rng=seed).data for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.std(first - quiet) == pytest.approx(1e-3, rel=0.3)
    np.testing.assert_array_equal(certpca.rotated_hadamard(3, 5, rng=np.random.default_rng(1)).data, first)


def test_hadamard_default_is_the_papers_size() -> None:
    assert certpca.rotated_hadamard().data.shape == (128, 4096)


@pytest.mark.parametrize("sides", [(0, 4), (5, 4), (1, 1), (-1, 3)])
def test_hadamard_bad_sizes(sides: tuple[int, int]) -> None:
    with pytest.raises(InvalidProblemError, match=f"log_samples <= log_features.*got {sides[0]} and {sides[1]}"):
        certpca.rotated_hadamard(*sides)


# --- Balding-Nichols ----------------------------------------------------------------------------


def test_genotypes_are_counts_of_two_alleles() -> None:
    genotypes = certpca.balding_nichols(50, 40, populations=4)
    assert genotypes.data.shape == (50, 40)
    assert genotypes.data.dtype == np.int8
    assert set(np.unique(genotypes.data)) == {0, 1, 2}
    assert np.bincount(genotypes.population).tolist() == [13, 13, 12, 12]


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5])
def test_genotypes_share_of_missing(share: float) -> None:
    data = certpca.balding_nichols(200, 200, missing=share).data
    assert (data == -9).mean() == pytest.approx(share, abs=0.01)


def test_genotypes_of_populations_separate() -> None:
    genotypes = certpca.balding_nichols(120, 600, populations=2, fst=0.2)
    centred = genotypes.data - genotypes.data.mean(axis=0)
    scores = np.linalg.svd(centred, full_matrices=False)[0][:, 0]
    first, second = scores[genotypes.population == 0], scores[genotypes.population == 1]
    assert first.max() < second.min() or second.max() < first.min()


def test_genotypes_diverge_with_fst() -> None:
    def spread(fst: float) -> float:
        genotypes = certpca.balding_nichols(200, 300, populations=2, fst=fst)
        means = [genotypes.data[genotypes.population == group].mean(axis=0) for group in (0, 1)]
        return float(np.abs(means[0] - means[1]).mean())

    assert spread(0.01) < spread(0.1) < spread(0.4)


def test_genotypes_same_seed_same_data() -> None:
    first, again, other = (certpca.balding_nichols(20, 30, missing=0.1, rng=seed).data for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    "bad",
    [
        {"samples": 0},
        {"variants": 0},
        {"populations": 0},
        {"fst": 0.0},
        {"fst": 1.0},
        {"fst": float("nan")},
        {"missing": 1.0},
        {"missing": -0.1},
    ],
)
def test_genotypes_bad_parameters(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidProblemError, match="positive counts, 0 < fst < 1 and 0 <= missing < 1"):
        certpca.balding_nichols(**bad)
