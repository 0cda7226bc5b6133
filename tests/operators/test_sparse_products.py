"""Products of sparse columns are those of dense ones, whatever share of them is zero and however large they are."""

import numpy as np
import pytest
from scipy import sparse

import certpca
from certpca.operators.sparse_gram import products_of_columns


def _awkward(rng: np.random.Generator) -> np.ndarray:
    """Return columns that are nearly empty, full, far from zero, and nearly constant."""
    data = rng.standard_normal((80, 40)) * (rng.random((80, 40)) < 0.3)
    data[:, 3] = rng.random(80) + 5.0
    data[:, 4] = rng.random(80) + 100.0
    data[:, 5] = 1.0 + 1e-6 * rng.random(80)
    data[2:, 6] = 0.0
    return data


@pytest.mark.parametrize("power", [0, 300, -300, 480])
def test_they_are_those_of_dense_columns(rng: np.random.Generator, power: int) -> None:
    data = np.ldexp(_awkward(rng), power)
    dense, thin = certpca.from_data(data).near_one(), certpca.from_data(sparse.csc_array(data)).near_one()
    spread, each = np.sqrt(dense.diagonal()), np.arange(40)
    scale = np.outer(spread, spread)
    np.testing.assert_allclose(thin.submatrix(each) / scale, dense.submatrix(each) / scale, atol=1e-8)
    for rows, columns in ((each[2:9], each[:30]), (each[1:], each[3:7])):
        expected = dense.submatrix(each)[np.ix_(rows, columns)]
        near = scale[np.ix_(rows, columns)]
        np.testing.assert_allclose(thin.entries(rows, columns) / near, expected / near, atol=1e-8)


def test_huge_numbers_are_in_their_own_units(rng: np.random.Generator) -> None:
    data = np.ldexp(_awkward(rng), 300)
    each = np.arange(40)
    expected = certpca.from_data(data).submatrix(each)
    np.testing.assert_allclose(
        certpca.from_data(sparse.csc_array(data)).submatrix(each), expected, atol=1e-9 * expected.max()
    )


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_the_compiled_product_is_that_of_numpy(rng: np.random.Generator, kind: type) -> None:
    data = rng.standard_normal((50, 20)) * (rng.random((50, 20)) < 0.2)
    columns = sparse.csc_array(data)
    columns.indices, columns.indptr = columns.indices.astype(kind), columns.indptr.astype(kind)
    np.testing.assert_allclose(products_of_columns(columns), data.T @ data, atol=1e-12)
