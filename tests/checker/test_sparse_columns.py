"""Sparse columns are measured and hashed by their entries alone, with the results of the dense way."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import certpca
from certpca.checker.columns import Columns, fingerprint
from certpca.results.certificate import Source


def thin_table(rng: np.random.Generator, *, whole: bool = False) -> Any:
    """Return columns from nearly empty to nearly full, and one that is empty."""
    table = rng.integers(-3, 4, (200, 30)).astype(float) if whole else rng.standard_normal((200, 30))
    table *= rng.random(table.shape) < np.geomspace(0.004, 0.9, 30)
    table[:, 3] = 0.0
    table[5, :] = np.where(np.arange(30) == 3, 0.0, 7.0)
    return table


def mark(values: Any) -> str:
    return fingerprint(Source("data", values))


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("form", ["csc", "csr", "coo", "lil", "bsr"])
def test_what_holds_the_numbers_does_not_matter(rng: np.random.Generator, whole: bool, form: str) -> None:
    table = thin_table(rng, whole=whole)
    for dtype in (np.float64, np.float32):
        values = table.astype(dtype)
        assert mark(sparse.csc_array(values).asformat(form)) == mark(values)


def test_stored_zeros_and_duplicates_do_not_matter(rng: np.random.Generator) -> None:
    table = thin_table(rng)
    row, column = np.nonzero(table)
    halves = np.concatenate([table[row, column] / 2, table[row, column] / 2, [0.0, -0.0]])
    places = (np.concatenate([row, row, [0, 1]]), np.concatenate([column, column, [3, 3]]))
    assert mark(sparse.coo_array((halves, places), table.shape)) == mark(table)


def test_a_change_anywhere_changes_the_hash(rng: np.random.Generator) -> None:
    table = thin_table(rng)
    marks = {mark(sparse.csc_array(table)), mark(sparse.csc_array(np.roll(table, 1, axis=0)))}
    for row, column in ((0, 0), (5, 4), (7, 10), (199, 29)):
        for value in (table[row, column] + 1.0, np.nan):
            other = table.copy()
            other[row, column] = value
            marks.add(mark(sparse.csc_array(other)))
    assert len(marks) == 10


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_lengths_are_as_exact_as_their_allowance(rng: np.random.Generator, center: bool, scale: bool) -> None:
    table = np.delete(thin_table(rng), 3, axis=1) * np.geomspace(1e-3, 1e3, 29)
    given: Any = {"center": center, "scale": scale, "divisor": 7.0}
    measured, dense = (Columns(Source("data", values, **given)) for values in (sparse.csc_array(table), table))
    np.testing.assert_allclose(measured.squares, dense.squares, rtol=1e-12)
    np.testing.assert_allclose(measured.doubt, dense.doubt, rtol=1e-6)
    for column in range(table.shape[1]):
        exact = [Fraction(value) for value in table[:, column].tolist()]
        mean = sum(exact, Fraction(0)) / len(exact) if center else Fraction(0)
        total = Fraction(1) if scale else sum(((value - mean) ** 2 for value in exact), Fraction(0)) / 7
        length = Fraction(float(measured.squares[column])) * Fraction(measured.unit)
        # |√a − √b| ≤ doubt, without roots: |a − b| ≤ doubt (√a + √b); and squares are sums that round.
        doubt = float(measured.doubt[column]) * np.sqrt(measured.unit)
        allowed = doubt * (np.sqrt(float(total)) + np.sqrt(float(length))) + 250 * 2.0**-53 * float(total)
        assert abs(float(total - length)) <= allowed


def test_certificates_of_sparse_data_hold_for_dense_ones(rng: np.random.Generator) -> None:
    table = thin_table(rng)[:25]
    made = certpca.certify(sparse.csr_array(table), 3)
    assert certpca.verify(made, table).upper_bound <= made.upper_bound
    made = certpca.certify(table, 3)
    assert certpca.verify(made, sparse.csc_array(table)).upper_bound <= made.upper_bound


def test_missing_entries_are_measured_as_before(rng: np.random.Generator) -> None:
    table = thin_table(rng)
    table[3, 7] = np.nan
    given: Any = {"center": True, "divisor": 199.0, "fill_missing": True}
    measured, dense = (Columns(Source("data", values, **given)) for values in (sparse.csc_array(table), table))
    np.testing.assert_array_equal(measured.squares, dense.squares)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_submatrices_of_sparse_data(rng: np.random.Generator, center: bool, scale: bool) -> None:
    table = np.delete(thin_table(rng), 3, axis=1)
    ours, dense = (certpca.from_data(values, center=center, scale=scale) for values in (sparse.csc_array(table), table))
    for chosen in (np.arange(29), np.array([2]), np.array([28, 1, 27, 5]), np.array([27, 28])):
        np.testing.assert_allclose(ours.submatrix(chosen), dense.submatrix(chosen), rtol=1e-11, atol=1e-13)


def test_a_code_of_missing_values_is_refused(rng: np.random.Generator) -> None:
    """In a sparse table -9 is a number: a certificate that calls it missing would be about another matrix."""
    table = rng.integers(0, 3, (20, 12)).astype(np.int8)
    table[3, 4] = -9
    held = sparse.csc_array(table)
    certificate = certpca.certify(held, 3)
    normalisation = {**certificate.normalisation, "missing": -9, "fill_missing": True}
    hashed = fingerprint(Source(values=held, **normalisation))
    with pytest.raises(certpca.CertificateError, match="whole numbers only"):
        certpca.verify(replace(certificate, normalisation=normalisation, fingerprint=hashed), held)
