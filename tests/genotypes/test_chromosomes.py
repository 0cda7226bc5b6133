"""Chromosomes by any name; those of sex and mitochondria stay out unless they are asked for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.runtime.errors import InvalidDataError


def written(folder: Path, rng: np.random.Generator, chromosomes: list[Any]) -> Path:
    table = rng.integers(0, 3, (8, len(chromosomes)), dtype=np.int8)
    certpca.write_plink(folder / "a", table, chromosomes=chromosomes)
    return folder / "a.bed"


@pytest.mark.parametrize(
    ("chromosomes", "left"),
    [
        ([1, 22, 23, 24, 25, 26, 0], ["1", "22", "0"]),
        (["chr1", "chrX", "chrY", "chrM", "chr22"], ["chr1", "chr22"]),
        (["1", "X", "Y", "XY", "MT", "PAR1", "x", "M"], ["1"]),
        ([1, 23, 24, 38], ["1", "23", "24", "38"]),  # a dog: 23 is an autosome
        ([1, 23, 38, "X"], ["1", "23", "38"]),
    ],
)
def test_sex_chromosomes_stay_out(tmp_path: Path, rng: Any, chromosomes: list[Any], left: list[str]) -> None:
    file = written(tmp_path, rng, chromosomes)
    assert certpca.read_plink(file).variants.chromosomes.tolist() == left
    assert certpca.read_plink(file, chromosomes="autosomes").variants.chromosomes.tolist() == left
    assert certpca.read_plink(file, chromosomes="all").shape[1] == len(chromosomes)


def test_any_name_finds_a_chromosome(tmp_path: Path, rng: Any) -> None:
    file = written(tmp_path, rng, ["chr1", 2, 23, "chr07"])
    for asked, found in ((1, "chr1"), ("chr2", "2"), ("X", "23"), (23, "23"), ("7", "chr07"), ("x", "23")):
        assert certpca.read_plink(file, chromosomes=asked).variants.chromosomes.tolist() == [found]
    assert certpca.read_plink(file, chromosomes=["X", "autosomes"]).shape[1] == 4
    with pytest.raises(InvalidDataError, match="no variant is on chromosome 'Y'; the file has chr1, 2, 23, chr07"):
        certpca.read_plink(file, chromosomes="Y").shape  # noqa: B018


def test_what_is_left_out_is_said_and_recorded(tmp_path: Path, rng: Any) -> None:
    file = written(tmp_path, rng, [1, 1, 23, 26])
    table = certpca.load_table(file)
    assert table.reading == {"chromosomes": ["autosomes"]}
    assert table.understood == ("8 × 2, 2 of 4 variants on chromosomes 23, 26 left out (--chromosomes all keeps them)")
    assert certpca.load_table(file, **table.reading).names == table.names
    only = written(tmp_path, rng, [1, 2, 3])
    assert certpca.load_table(only).reading == {}


def test_a_file_of_sex_chromosomes_alone_says_what_to_ask_for(tmp_path: Path, rng: Any) -> None:
    file = written(tmp_path, rng, ["X", "X"])
    with pytest.raises(InvalidDataError, match=r"all variants .* are on sex chromosomes .*--chromosomes all"):
        certpca.read_plink(file).shape  # noqa: B018
    assert certpca.read_plink(file, chromosomes="X").shape == (8, 2)
