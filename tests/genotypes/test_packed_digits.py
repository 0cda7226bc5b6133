"""Products in whole numbers are as precise as they say, whatever the genotypes and the vectors are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
from certpca.genotypes import packed, packed_digit_loops, packed_dots, packed_products
from certpca.genotypes.packed_digits import DigitProducts
from certpca.genotypes.packed_floats import FloatProducts
from certpca.genotypes.packed_products import FEWEST_SAMPLES, PackedRows, products

pytestmark = pytest.mark.skipif(not packed_dots.HAS_DOTS, reason="this processor has no dot products of bytes")

UNIT = 2.0**-23  # of rounding to three digits, and of single precision, with room to spare


def decoded(codes: Any, chosen: Any, fill: Any) -> Any:
    """Return samples x variants in double precision."""
    counts = packed.decode(codes[chosen]).astype(np.float64).T
    return np.where(counts == packed.MISSING, fill, counts)


def check(codes: Any, chosen: Any, fill: Any, panel: Any, scores: Any) -> None:
    """Compare with double precision: errors are rounding of the largest numbers, added up."""
    exact, samples = decoded(codes, chosen, fill), 4 * codes.shape[1]
    added = DigitProducts(samples, panel.shape[1], 1)
    added.forth(0, PackedRows(codes, chosen, fill), panel)
    size = np.abs(exact).sum(axis=1)[:, None] * np.abs(panel).max(axis=0)
    tiny = 1e-38 * codes.size  # where scales are no longer precise
    assert (np.abs(added.total() - exact @ panel) <= 4 * UNIT * size + tiny).all()
    there = DigitProducts(samples, scores.shape[1], 1)
    back = there.back(0, PackedRows(codes, chosen, fill), there.turned(scores))
    size = np.abs(exact).sum(axis=0)[:, None] * np.abs(scores).max(axis=0)
    assert (np.abs(back - exact.T @ scores) <= 2 * UNIT * size + 1e-44).all()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 150),
    st.integers(1, 280),
    st.integers(1, 6),
    st.sampled_from([0.0, 0.01, 0.3, 1.0]),
    st.sampled_from(["normal", "one large", "tiny", "zero"]),
    st.integers(0, 2**32 - 1),
)
def test_precision(length: int, size: int, width: int, missing: float, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, (size, length), dtype=np.uint8)
    if missing < 1:  # a quarter is missing in random bytes
        drawn = np.where(
            rng.random((size, 4 * length)) < missing, packed.MISSING, rng.integers(0, 3, (size, 4 * length))
        )
        codes = packed.packed_codes(drawn.astype(np.int8))
    chosen = rng.permutation(size)[: rng.integers(1, size + 1)]
    fill = rng.uniform(0, 2, chosen.size) * (rng.random(chosen.size) < 0.8)
    drawn = packed.decode(codes[chosen]).T
    fill = np.where((drawn == packed.MISSING).any(axis=0), np.maximum(fill, 0.1), fill)
    panel, scores = (rng.standard_normal((rows, width)).astype(np.float32) for rows in (chosen.size, 4 * length))
    for vectors in (panel, scores):
        if kind == "one large":
            vectors[rng.integers(vectors.shape[0]), :] = 1e6
        np.multiply(vectors, {"tiny": 1e-25, "zero": 0.0}.get(kind, 1.0), out=vectors)
    check(codes, chosen, fill, panel, scores)


def test_everything_missing_overflows_the_lists(rng: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    size, length = packed_digit_loops.VARIANTS_IN_BLOCK + 3, 1 + packed_digit_loops.LISTED // 400
    codes = np.full((size, length), 0b01010101, dtype=np.uint8)
    assert 4 * length * packed_digit_loops.VARIANTS_IN_BLOCK > packed_digit_loops.LISTED
    fill, chosen = rng.uniform(0.5, 1, size), np.arange(size)
    scores = rng.standard_normal((4 * length, 4)).astype(np.float32)
    check(codes, chosen, fill, rng.standard_normal((size, 4)).astype(np.float32), scores)
    around, mean, square = DigitProducts(4 * length, 4, 1), rng.uniform(0, 2, size), rng.uniform(0, 1, size)
    around.around(0, PackedRows(codes, chosen, fill), mean, square, around.turned(scores))
    centred = (decoded(codes, chosen, fill) - mean) * np.sqrt(square)
    expected = centred @ (centred.T @ scores.astype(np.float64))
    np.testing.assert_allclose(around.total(), expected, atol=1e-5 * np.abs(expected).max())


def test_largest_digits(rng: Any) -> None:
    """All genotypes two and all scores as large as can be: nothing overflows, and sums are exact."""
    codes = np.zeros((3, 5_000), dtype=np.uint8)
    for sign in (1.0, -1.0):
        there = DigitProducts(20_000, 1, 1)
        scores = np.full((20_000, 1), sign, dtype=np.float32)
        back = there.back(0, PackedRows(codes, np.arange(3), None), there.turned(scores))
        np.testing.assert_array_equal(back, np.full((3, 1), sign * 40_000))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_spoil_their_vector_alone(rng: Any, bad: float) -> None:
    codes = packed.packed_codes(rng.integers(0, 3, (9, 40)).astype(np.int8))
    panel, scores = (rng.standard_normal((rows, 3)).astype(np.float32) for rows in (9, 40))
    panel[4, 1] = scores[7, 1] = bad
    added = DigitProducts(40, 3, 1)
    added.forth(0, PackedRows(codes, np.arange(9), None), panel)
    back = added.back(0, PackedRows(codes, np.arange(9), None), added.turned(scores))
    around = DigitProducts(40, 3, 1)
    around.around(0, PackedRows(codes, np.arange(9), None), np.ones(9), np.ones(9), around.turned(scores))
    for product in (added.total(), back, around.total()):
        assert not np.isfinite(product[:, 1]).any()
        assert np.isfinite(product[:, [0, 2]]).all()


@pytest.mark.parametrize("length", [2_047, 2_048, 2_049, 4_100])  # bytes, around stretches with a scale of their own
def test_a_large_score_spoils_its_neighbours_alone(rng: Any, length: int) -> None:
    codes = rng.integers(0, 256, (5, length), dtype=np.uint8)
    codes[:, 0] = 0b11111111  # the large one counts nothing: what is left is precise only if it is small elsewhere
    scores = rng.standard_normal((4 * length, 3)).astype(np.float32)
    scores[:4] = 1e12
    there, fill = DigitProducts(4 * length, 3, 1), np.ones(5)
    back = there.back(0, PackedRows(codes, np.arange(5), fill), there.turned(scores))
    stretch = 256 * packed_digit_loops.CHUNKS_IN_STRETCH
    exact = decoded(codes, np.arange(5), fill).T.astype(np.float64)
    beyond = exact[:, stretch:] @ scores[stretch:].astype(np.float64)
    np.testing.assert_allclose(back, beyond, atol=1e-3, rtol=0)
    check(codes, np.arange(5), fill, np.ones((5, 3), dtype=np.float32), scores)


def test_tables_that_are_not_contiguous(rng: Any) -> None:
    codes = packed.packed_codes(rng.integers(0, 3, (9, 400)).astype(np.int8))
    check(np.asfortranarray(codes)[::-1], np.arange(9), np.ones(9), np.ones((9, 2)), rng.standard_normal((400, 2)))


def test_single_precision_of_many_samples_is_multiplied_so() -> None:
    for samples, dtype, kind in (
        (FEWEST_SAMPLES, np.float32, DigitProducts),
        (FEWEST_SAMPLES - 4, np.float32, FloatProducts),
        (FEWEST_SAMPLES, np.float64, FloatProducts),
    ):
        assert isinstance(products(samples, 1, dtype, 1), kind)


@pytest.mark.parametrize("threads", [1, 2])
def test_files(tmp_path: Path, rng: Any, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """A file with filters and gaps, in runs of a few variants, gives what double precision gives."""
    monkeypatch.setattr(packed_products, "FEWEST_SAMPLES", 0)
    monkeypatch.setattr("certpca.genotypes.plink.threads_allowed", lambda: threads)
    table = rng.integers(0, 3, (300, 700)).astype(np.int8)
    table[rng.random(table.shape) < 0.02] = packed.MISSING
    certpca.write_plink(tmp_path / "data", table)
    names = [f"s{number}" for number in range(1, 301) if number % 7]
    genotypes = certpca.read_plink(tmp_path / "data", every=3, keep=names, memory=1e-5)
    operator = certpca.from_data(genotypes, missing="mean", scale=True)
    panel, scores = rng.standard_normal((operator.size, 6)), rng.standard_normal((len(names), 6))
    factor = operator.factor()
    for product, vectors in (
        (operator.matmat, panel),
        (factor.times, panel),
        (factor.transposed_times, scores),
        (factor.sample_product, scores),
    ):
        found = product(vectors.astype(np.float32))
        np.testing.assert_allclose(found, product(vectors), rtol=0, atol=1e-4)
        np.testing.assert_array_equal(found, product(vectors.astype(np.float32)))  # the same every time
