"""Groups of near-copies are found without comparing pairs."""

import numpy as np
import pytest
import scipy.sparse

import certpca
from certpca.runtime.arrays import to_vector
from certpca.search.krylov import leading_eigenpairs
from certpca.search.starts import near_copies


def with_copies(rng, size=3000, copies=12):
    """Make data in which some features, of either sign, are nearly the same and no larger than others."""
    data = rng.standard_normal((80, size)) + 0.5 * rng.standard_normal((80, 1))
    group = np.sort(rng.choice(size, copies, replace=False))
    data[:, group] = rng.standard_normal((80, 1)) * rng.choice([-1, 1], copies) + 0.1 * rng.standard_normal(
        (80, copies)
    )
    return data, group


@pytest.mark.parametrize("kind", ["data", "sparse", "matrix"])
def test_a_group_of_near_copies_comes_first(rng, kind):
    data, group = with_copies(rng, 1000 if kind == "matrix" else 3000)
    if kind == "matrix":
        operator = certpca.from_matrix(np.cov(data.T))
    else:
        operator = certpca.from_data(scipy.sparse.csc_array(data) if kind == "sparse" else data)
    pairs = leading_eigenpairs(operator, 4, accuracy=1e-2)
    chosen = near_copies(operator, pairs, to_vector(operator.diagonal()), 10, 20, rng)
    assert chosen.size == 20
    assert np.unique(chosen).size == 20
    assert np.isin(chosen[: 10 if kind == "matrix" else 1], group).any()  # rows of a matrix are less apart


def test_solve_finds_near_copies_of_ordinary_variance():
    rng = np.random.default_rng(4)
    data, group = with_copies(rng)
    assert certpca.solve(data, group.size).support.tolist() == group.tolist()
