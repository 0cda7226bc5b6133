"""Packed genotypes multiplied give what decoded ones give."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.genotypes import packed, packed_loops, packed_registers
from certpca.genotypes.packed_products import PackedRows, Products, unpacking_table
from certpca.readers.walks import ColumnWalk


def planted(rng: np.random.Generator, rows: int = 70, size: int = 300, missing: float = 0.03) -> Any:
    """Draw genotypes of different frequencies."""
    table = rng.binomial(2, rng.uniform(0.1, 0.9, size), (rows, size)).astype(np.int8)
    table[rng.random((rows, size)) < missing] = -9
    return table


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("samples", [70, 5_000])
def test_a_file_gives_what_its_decoded_columns_give(tmp_path: Path, rng: Any, samples: int, dtype: Any) -> None:
    certpca.write_plink(tmp_path / "data", planted(rng, samples, 90))
    reader = certpca.read_plink(tmp_path / "data")
    judge, (mean, weight) = ColumnWalk(reader), rng.uniform(0.5, 1.5, (2, 90))
    panel, scores = (rng.standard_normal((side, 3)).astype(dtype) for side in (90, samples))
    close = {"rtol": 0, "atol": (1e-3 if dtype == np.float32 else 1e-11) * np.sqrt(samples)}
    np.testing.assert_allclose(reader.times(panel, mean), judge.times(panel, mean), **close)
    np.testing.assert_allclose(reader.transposed_times(scores, mean), judge.transposed_times(scores, mean), **close)
    found, expected = (kind.sample_product(scores, mean, weight, mean) for kind in (reader, judge))
    np.testing.assert_allclose(found, expected, rtol=0, atol=close["atol"] * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(5, 3), (1023, 70), (4096, 4), (4099, 333)])  # around a tile, ragged ends
@pytest.mark.parametrize("width", [1, 4, 7])
def test_packed_products_agree_with_decoded_ones(rng: Any, dtype: Any, shape: Any, width: int) -> None:
    samples, variants = shape
    table = planted(rng, samples, max(variants, 8), 0.05)[:, :variants]
    codes = packed.packed_codes(table.T)
    chosen = np.sort(rng.choice(variants, max(1, variants - 2), replace=False))
    fill = rng.uniform(0, 2, chosen.size)
    exact = np.where(table[:, chosen] == -9, fill, table[:, chosen])
    panel = rng.standard_normal((chosen.size, width)).astype(dtype)
    scores = np.zeros((4 * codes.shape[1], width), dtype=dtype)
    scores[:samples] = rng.standard_normal((samples, width))
    close = {"atol": (1e-11 if dtype == np.float64 else 2e-5) * 4 * np.sqrt(samples + variants)}

    def products() -> Products:
        return Products(4 * codes.shape[1], width, dtype, threads=2)

    forth = products()
    third = chosen.size // 3
    for thread, part in enumerate([slice(0, third), slice(third, 2 * third), slice(2 * third, None)]):
        here = PackedRows(codes, chosen[part], fill[part])
        forth.forth(thread % 2, here, panel[part])  # sums go on from part to part
    assert forth.total().dtype == dtype
    np.testing.assert_allclose(forth.total()[:samples], exact @ panel, **close)
    there = products()
    back = there.back(PackedRows(codes, chosen, fill), there.turned(scores))
    assert back.shape == (chosen.size, width)
    np.testing.assert_allclose(back, exact.T @ scores[:samples], **close)
    around, square, mean = products(), rng.uniform(0.5, 2, chosen.size), rng.uniform(0, 2, chosen.size)
    around.around(1, PackedRows(codes, chosen, fill), mean, square, around.turned(scores))
    centred = (exact - mean) * np.sqrt(square)
    expected = centred @ (centred.T @ scores[:samples])
    np.testing.assert_allclose(around.total()[:samples], expected, rtol=1e-4, atol=close["atol"] * variants)


def test_tables_that_are_not_contiguous(rng: Any) -> None:
    codes = np.asfortranarray(rng.integers(0, 256, (9, 100), dtype=np.uint8))[::-1]
    fill, scores = rng.uniform(0, 2, 9), rng.standard_normal((400, 2))
    counts = packed.decode(np.ascontiguousarray(codes)).T
    multiply = Products(400, 2, np.float64, threads=1)
    found = multiply.back(PackedRows(codes, np.arange(9), fill), multiply.turned(scores))
    np.testing.assert_allclose(found, np.where(counts == packed.MISSING, fill, counts).T @ scores, atol=1e-11)


@pytest.mark.parametrize("threads", [1, 2])
def test_single_precision_of_files(tmp_path: Path, rng: Any, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """A file with filters and gaps, in runs of a few variants, gives what double precision gives, every time."""
    monkeypatch.setattr("certpca.genotypes.plink.threads_allowed", lambda: threads)
    certpca.write_plink(tmp_path / "data", planted(rng, 300, 700, 0.02))
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
        np.testing.assert_array_equal(found, product(vectors.astype(np.float32)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 127, 128])
def test_both_ways_of_unpacking_agree(rng: Any, dtype: Any, width: int) -> None:
    if not packed_registers.HAS_AVX2:
        pytest.skip("this processor cannot permute registers")
    codes = rng.integers(0, 256, (9, 160), dtype=np.uint8)
    codes.flags.writeable = False
    holes, table, chosen = (
        rng.uniform(0, 2, 9).astype(dtype),
        unpacking_table(dtype),
        np.array([8, 0, 3, 5, 1, 2, 4, 6, 7]),
    )
    tiles = []
    for unpack in (packed_loops.unpack_by_bytes, packed_loops.unpack_by_registers):
        tile = np.full(8 * packed_loops.SAMPLES_IN_TILE, np.nan, dtype=dtype)
        unpack(codes, chosen, holes, table, 4, 9, 11, width, tile)  # three of the eight rows lie past the last
        tiles.append(tile)
    np.testing.assert_array_equal(tiles[0], tiles[1])
    decoded = packed.decode(codes[[1]][:, 11 : 11 + width])[0]  # `first` is 4, so the tile begins with chosen[4]
    expected = np.where(decoded == -9, holes[4], decoded)
    np.testing.assert_array_equal(tiles[0][: 4 * width], expected.astype(dtype))


@pytest.mark.parametrize("setting", ["NUMBA_CPU_NAME=generic", "NUMBA_ENABLE_AVX=0"])
def test_other_processors(tmp_path: Path, rng: Any, setting: str) -> None:
    table = planted(rng, 300, 150)
    certpca.write_plink(tmp_path / "data", table)
    solve = (
        "import certpca, sys; from certpca.genotypes import packed_registers; assert not packed_registers.HAS_AVX2; "
        "print(certpca.solve(certpca.read_plink(sys.argv[1]), 5, 'svd-threshold', missing='mean').objective)"
    )
    name, value = setting.split("=")
    found = subprocess.run(
        [sys.executable, "-c", solve, str(tmp_path / "data")],
        env={**os.environ, name: value},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = certpca.solve(table, 5, "svd-threshold", missing="mean").objective
    assert float(found.stdout) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("samples", [29, 256, 1027])  # shorter than 64 bytes, as long, longer with a rest
def test_counting_agrees_with_decoding(rng: Any, samples: int) -> None:
    table = planted(rng, samples, 40, 0.1)
    codes = packed.packed_codes(table.T)
    kept = rng.random(samples) < 0.6
    bits = np.zeros(4 * codes.shape[1], dtype=np.uint8)
    bits[:samples] = np.where(kept, 3, 0)
    mask = (bits.reshape(-1, 4) << np.array([0, 2, 4, 6])).sum(axis=1).astype(np.uint8)
    expected = [[(column[kept] == value).sum() for value in (-9, 1, 0)] for column in table.T]
    np.testing.assert_array_equal(packed.count_codes(codes, np.arange(40), mask), expected)
