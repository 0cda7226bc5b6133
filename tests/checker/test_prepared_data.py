"""What the checker measures does not depend on the type that holds the numbers, nor on what it does at a time."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.checker.columns import BLOCK_BYTES
from certpca.checker.data import prepare
from certpca.checker.numbers import largest_eigenvalue
from certpca.results.certificate import Source


def source(values: np.ndarray, **settings: Any) -> Source:
    plain: dict[str, Any] = {
        "center": True,
        "scale": False,
        "divisor": float(len(values)),
        "missing": None,
        "fill_missing": False,
    }
    return Source("data", values, **{**plain, **settings})


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.bool_])
@pytest.mark.parametrize("scale", [False, True])
def test_whole_numbers_are_measured_as_floats_are(kind, scale):
    values = np.random.default_rng(0).integers(0, 2 if kind is np.bool_ else 3, (40, 90)).astype(kind)
    if kind is np.int8:
        values[:, ::3] -= 2
    whole, floats = (prepare(source(table, scale=scale)) for table in (values, values.astype(np.float64)))
    np.testing.assert_array_equal(whole.block(slice(0, 90)), floats.block(slice(0, 90)))
    np.testing.assert_array_equal(whole.squares, floats.squares)
    assert (whole.error, whole.trace, whole.unit) == (floats.error, floats.trace, floats.unit)


def test_that_data_are_others_is_said_before_that_they_cannot_be_measured():
    data = np.random.default_rng(0).standard_normal((30, 60))
    made = certpca.certify(data, 4, scale=True, budget=certpca.Budget(steps=3))
    other = data.copy()
    other[:, 3] = 1.0
    with pytest.raises(certpca.CertificateError, match="other data"):
        certpca.verify(made, other)


@pytest.mark.parametrize("least", [0.0, 1e-3, -1e-9, -0.1])
def test_a_square_root_says_what_it_misses(least):
    rng = np.random.default_rng(1)
    vectors = np.linalg.qr(rng.standard_normal((50, 50)))[0]
    matrix = (vectors * np.append(least, rng.random(49))) @ vectors.T
    matrix = (matrix + matrix.T) / 2
    prepared = prepare(Source("matrix", matrix))
    root = prepared.block(slice(0, 50))
    rest = matrix / prepared.unit - root.T @ root
    assert np.linalg.eigvalsh((rest + rest.T) / 2)[-1] <= prepared.excess
    assert np.linalg.norm(rest, 2) <= prepared.distance
    assert prepared.excess < 1e-10


@pytest.mark.parametrize("suggestion", [None, 1.0, 0.3, -5.0])
def test_a_matrix_that_may_be_spared_has_the_same_bound(suggestion):
    half = np.random.default_rng(2).standard_normal((30, 30))
    matrix = half + half.T
    kept = matrix.copy()
    bound = largest_eigenvalue(matrix, 1e-9, suggestion)
    np.testing.assert_array_equal(matrix, kept)
    assert largest_eigenvalue(kept, 1e-9, suggestion, spare=True) == bound
    assert bound >= np.linalg.eigvalsh(matrix)[-1]


def test_features_far_apart_are_read_in_pieces():
    rng = np.random.default_rng(0)
    prepared = prepare(source(rng.standard_normal((600, 2500))))
    all_columns, mask = prepared.block(slice(0, 2500)), rng.random(2500) < 0.1
    mask[300:1900] = False
    widths, block = list[int](), prepared.block

    def watched(columns: slice) -> Any:
        widths.append(columns.stop - columns.start)
        return block(columns)

    kept = replace(prepared, block=watched).keep(mask)
    np.testing.assert_array_equal(kept.block(slice(0, kept.size)), all_columns[:, mask])
    assert max(widths) <= BLOCK_BYTES // (8 * 600)
    again = rng.random(kept.size) < 0.5
    np.testing.assert_array_equal(
        np.hstack([part for _, part in kept.keep(again).blocks()]), all_columns[:, mask][:, again]
    )
