"""The hash of data: the same for the same numbers whatever holds them, and different for different ones."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

import certpca
from certpca.checker.columns import column_slices, fingerprint
from certpca.results.certificate import Source


def mark(values: Any, **more: Any) -> str:
    return fingerprint(Source("data", values, **more))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64, np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_same_numbers_in_any_type(rng: Any, dtype: Any, order: Any) -> None:
    table = rng.integers(0, 3, (30, 17))
    assert mark(table.astype(dtype, order=order)) == mark(table.astype(np.int8))
    assert mark(sparse.csr_array(table.astype(np.float64))) == mark(table)
    assert mark(sparse.coo_array(table.astype(np.float64))) == mark(table)


def test_same_numbers_from_a_packed_file(tmp_path: Path, rng: Any) -> None:
    table = rng.choice(np.array([-9, 0, 1, 2], dtype=np.int8), (30, 17))
    certpca.write_plink(tmp_path / "file", table)
    assert mark(certpca.read_plink(tmp_path / "file")) == mark(table.astype(np.float64))


def test_blocks_do_not_matter(rng: Any) -> None:
    table = rng.standard_normal((10, 40))
    table[:, ::3] = rng.integers(-128, 128, table[:, ::3].shape)
    sizes = (1, 240, 1000, 1 << 20)
    assert len({len(list(column_slices(10, 40, size))) for size in sizes}) == len(sizes)
    assert len({fingerprint(Source("data", table), block_bytes=size) for size in sizes}) == 1


@pytest.mark.parametrize("value", [127.0, 128.0, -128.0, -129.0, 0.5, 256.0, 1e300, np.inf, -np.inf, np.nan])
def test_one_value_changes_it(value: float) -> None:
    table = np.ones((4, 3))
    other = table.copy()
    other[2, 1] = value
    assert mark(table) != mark(other)
    assert mark(other) == mark(other.copy(order="F"))


def test_places_and_normalisation_matter(rng: Any) -> None:
    table = rng.integers(0, 3, (6, 5)).astype(np.float64)
    table[0] = np.arange(5)
    assert mark(table) != mark(table[:, ::-1])
    assert mark(table) != mark(table[::-1])
    assert mark(table) != mark(table.reshape(5, 6))
    assert mark(table) != mark(table, center=True)
    mixed = np.concatenate([table, table + 0.5], axis=1)
    assert mark(mixed) != mark(mixed[:, np.r_[5:10, 0:5]])  # the same columns, other places


@settings(deadline=None)
@given(
    arrays(
        np.float64, array_shapes(min_dims=2, max_dims=2, max_side=5), elements=st.sampled_from([0, 1, 127, 128, 0.5])
    ),
    st.data(),
)
def test_different_tables_differ(table: Any, data: Any) -> None:
    row = data.draw(st.integers(0, table.shape[0] - 1))
    column = data.draw(st.integers(0, table.shape[1] - 1))
    other = table.copy()
    other[row, column] = data.draw(st.sampled_from([0, 1, 127, 128, 0.5]))
    assert (mark(other) == mark(table)) == np.array_equal(other, table)


def test_certificates_with_the_hash_of_the_first_version_still_verify(rng: np.random.Generator) -> None:
    table = rng.standard_normal((200, 12)) * (rng.random((200, 12)) < 0.05)
    certificate = certpca.certify(table, 3)
    first = fingerprint(Source(values=table, **certificate.normalisation), thin_apart=False)
    assert first != certificate.fingerprint  # columns of zeros are hashed otherwise now
    proof = certpca.verify(replace(certificate, fingerprint=first), table)
    assert proof.upper_bound <= certificate.upper_bound
    other = table.copy()
    other[0, 0] += 1.0
    with pytest.raises(certpca.CertificateError, match="other data"):
        certpca.verify(replace(certificate, fingerprint=first), other)
