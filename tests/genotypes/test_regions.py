"""Regions are left out, with both ends; a build stands for those where linkage reaches far."""

from pathlib import Path

import numpy as np
import pytest

import certpca
from certpca.genotypes.regions import BUILDS, LONG_RANGE_LD, regions_named
from certpca.runtime.errors import CertpcaError, InvalidDataError, InvalidProblemError

LENGTHS = {  # of GRCh38 chromosomes, in millions, rounded up
    1: 249, 2: 243, 3: 199, 5: 182, 6: 171, 7: 160, 8: 146, 10: 134, 11: 136, 12: 134, 20: 65,
}  # fmt: skip


def test_the_table_is_ordered_and_the_builds_agree() -> None:
    for build in range(len(BUILDS)):
        rows = [(chromosome, *stretches[build]) for chromosome, *stretches in LONG_RANGE_LD]
        assert rows == sorted(rows)
        for chromosome, first, last in rows:
            assert 0 < first < last < 1e6 * LENGTHS[chromosome]
            assert 1e6 < last - first < 15.1e6
        ends = [(chromosome, last) for chromosome, _, last in rows]
        assert all(c != d or end < first for (c, end), (d, first, _) in zip(ends, rows[1:], strict=False))
    for _, *stretches in LONG_RANGE_LD:  # no lift-over moves a region by more than that
        assert max(first for first, _ in stretches) - min(first for first, _ in stretches) < 2.2e6


@pytest.mark.parametrize(("build", "alias"), [("hg18", "NCBI36"), ("hg19", "GRCh37"), ("hg38", "b38")])
def test_builds_have_other_names(build: str, alias: str) -> None:
    assert regions_named([build]) == regions_named([alias])


def test_the_lactase_gene_and_the_tissue_antigens_are_in_every_build() -> None:
    # rs4988235 (LCT) and the gene HLA-B: 2 and 6.
    places = {"hg18": (136325116, 31430000), "hg19": (136608646, 31322000), "hg38": (135851076, 31354000)}
    for build, (lactase, antigen) in places.items():
        regions = regions_named([build])
        for chromosome, position in (("2", lactase), ("6", antigen)):
            assert any(part.chromosome == chromosome and part.first <= position <= part.last for part in regions)


@pytest.fixture
def file(tmp_path: Path, rng: np.random.Generator) -> Path:
    table = rng.integers(0, 3, (6, 6), dtype=np.int8)
    certpca.write_plink(
        tmp_path / "a",
        table,
        names=list("abcdef"),
        chromosomes=["6", "6", "chr6", "6", "8", "7"],
        positions=[25_500_000, 29_000_000, 33_500_000, 33_500_001, 29_000_000, 1],
    )
    return tmp_path / "a.bed"


def test_regions_are_left_out_with_both_ends(file: Path) -> None:
    read = certpca.read_plink(file, exclude_regions="6:25500000-33,500,000")
    assert read.names == ("d", "e", "f")
    assert read.reading == {"exclude_regions": ["6:25500000-33,500,000"]}
    assert certpca.read_plink(file, exclude_regions=["hg18", "chr7:1-1"]).names == ("d", "e")
    assert "3 left out in excluded regions" in certpca.load_table(file, exclude_regions=["hg18"]).understood


@pytest.mark.parametrize(
    ("asked", "kind", "message"),
    [
        ("hg17", InvalidProblemError, "a genome build .hg18, hg19, hg38.*got 'hg17'; did you mean 'hg1"),
        ("mm10", InvalidProblemError, "such as 6:25500000-33500000, got 'mm10'"),
        ("6:9-8", InvalidProblemError, "'6:9-8' ends before it begins"),
        ("6", InvalidProblemError, "such as 6:25500000-33500000, got '6'"),
    ],
)
def test_what_is_no_region_is_refused(file: Path, asked: str, kind: type[CertpcaError], message: str) -> None:
    with pytest.raises(kind, match=message):
        certpca.read_plink(file, exclude_regions=asked)


def test_positions_are_needed(tmp_path: Path) -> None:
    certpca.write_plink(tmp_path / "b", np.array([[0, 1], [1, 2], [2, 0]]), positions=[0, 0])
    with pytest.raises(InvalidDataError, match="no variant has a position"):
        certpca.read_plink(tmp_path / "b", exclude_regions="hg19").shape  # noqa: B018
