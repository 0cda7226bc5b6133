"""Prices of directions and features that are sought with the pair bound: valid, and tight on blocks."""

from itertools import permutations

import numpy as np
import pytest

import certpca
from certpca.bounds.sets.makers import paired_prices, priced_trees_at_a_glance
from certpca.bounds.sets.paired.search import PairedSearch
from tests.bounds.sets.test_disjoint import proved


def blocks(rng: np.random.Generator, size: int, wide: int) -> np.ndarray:
    """Return correlations of features in blocks, the first ones the strongest."""
    strength = np.repeat(np.linspace(0.9, 0.4, size // wide), wide)
    factors = rng.standard_normal((400, size // wide)).repeat(wide, axis=1)
    return np.asarray(np.corrcoef((factors * strength + rng.standard_normal((400, size)) * (1 - strength)).T))


def leading(matrix: np.ndarray, supports: list[np.ndarray]) -> np.ndarray:
    loadings = np.zeros((matrix.shape[0], len(supports)))
    for column, support in zip(loadings.T, supports, strict=True):
        column[support] = np.linalg.eigh(matrix[np.ix_(support, support)])[1][:, -1]
    return loadings


def best_of_blocks(matrix: np.ndarray, sparsities: tuple[int, ...], wide: int) -> list[np.ndarray]:
    """Return the best choice of one block for each component."""

    def value(order: tuple[int, ...]) -> float:
        return sum(
            float(np.linalg.eigvalsh(matrix[np.ix_(own, own)])[-1])
            for own in (wide * block + np.arange(k) for block, k in zip(order, sparsities, strict=True))
        )

    chosen = max(permutations(range(matrix.shape[0] // wide), len(sparsities)), key=value)
    return [wide * block + np.arange(k) for block, k in zip(chosen, sparsities, strict=True)]


@pytest.mark.parametrize("sparsities", [(5, 5, 5), (5, 3)], ids=str)
@pytest.mark.parametrize("apart", [True, False])
def test_blocks_are_nearly_proved(rng: np.random.Generator, sparsities: tuple[int, ...], apart: bool) -> None:
    matrix = blocks(rng, 40, 5)
    loadings = leading(matrix, best_of_blocks(matrix, sparsities, 5))
    value = float(np.einsum("ij,ik,kj->", loadings, matrix, loadings))
    search = PairedSearch(matrix, sparsities, loadings, lambda: False, apart=apart)
    search.run(0.0)
    assert value <= search.bound <= 1.02 * value


def test_prices_of_features_do_not_make_it_worse() -> None:
    """Two components in one block of copies: a price of the direction alone pays for it twice."""
    matrix = np.full((12, 12), 0.9) + 0.1 * np.eye(12)
    loadings = leading(matrix, [np.arange(3), np.arange(3, 6)])
    bounds = []
    for apart in (True, False):
        search = PairedSearch(matrix, (3, 3), loadings, lambda: False, apart=apart)
        search.run(0.0)
        bounds.append(search.bound)
    assert bounds[0] <= bounds[1] * (1 + 1e-3)


@pytest.mark.parametrize("problem", ["disjoint", "orthogonal"])
def test_the_certificate_is_confirmed(rng: np.random.Generator, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired_prices, "FROM", 0)
    monkeypatch.setattr(priced_trees_at_a_glance, "applies", lambda search: False)
    operator = certpca.from_matrix(blocks(rng, 8, 4))
    certificate = certpca.decompose(operator, 2, 4, together=problem, certify=True, target_gap=0.05).certificate
    assert certificate is not None
    assert certificate.kind == paired_prices.KIND_OF[problem]
    assert any(name.endswith("directions") for name in certificate.evidence)
    proof = certpca.verify(certificate, operator)
    assert proof.objective <= proof.upper_bound <= certificate.upper_bound
    assert proof.gap <= 0.05


def test_it_leaves_small_and_full_problems_alone() -> None:
    certificate = proved(certpca.pitprops(), "disjoint", (4, 4), 1e-6)
    assert not any(name.endswith("directions") for name in certificate.evidence)
