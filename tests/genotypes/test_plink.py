"""PLINK files come back as the genotypes, names and samples they hold, filtered, or with a clear error."""

import os
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.frontends.report import read_labels
from certpca.runtime.errors import CertpcaError, DataFileError, InvalidDataError, InvalidProblemError

SAMPLES, VARIANTS = 11, 9  # neither fills its last byte


def drawn(rng: np.random.Generator, rows: int = SAMPLES, size: int = VARIANTS, missing: float = 0.1) -> Any:
    table = rng.integers(0, 3, (rows, size), dtype=np.int8)
    table[rng.random((rows, size)) < missing] = -9
    return table


@pytest.fixture
def genotypes(rng: np.random.Generator) -> Any:
    return drawn(rng)


@pytest.fixture
def file(tmp_path: Path, genotypes: Any) -> Path:
    certpca.write_plink(
        tmp_path / "cohort.bed",
        genotypes,
        names=[f"rs{number}" for number in range(VARIANTS)],
        samples=[f"id{number}" for number in range(SAMPLES)],
        families=[f"fam{number // 2}" for number in range(SAMPLES)],
        chromosomes=["1", "1", "1", "2", "2", "3", "3", "3", "3"],
        positions=range(100, 100 + VARIANTS),
        alleles=[("A", "CG")] * VARIANTS,
    )
    return tmp_path / "cohort.bed"


def refused(kind: type[Exception], *fragments: str) -> Any:
    return pytest.raises(kind, match="(?s)" + ".*".join(re.escape(part) for part in fragments))


# --- what comes back ----------------------------------------------------------------------------


def by_hand(file: Path, rows: int, size: int) -> Any:
    """Decode bit by bit, as the format is described: pairs from the low end, 00 two of the first allele."""
    raw = file.read_bytes()[3:]
    length = (rows + 3) // 4
    value = {0b00: 2, 0b01: -9, 0b10: 1, 0b11: 0}
    return np.array(
        [[value[raw[j * length + i // 4] >> 2 * (i % 4) & 3] for j in range(size)] for i in range(rows)], dtype=np.int8
    )


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 8, 13])
def test_decoding_agrees_with_the_description_of_the_format(tmp_path: Path, rng: Any, rows: int) -> None:
    table = drawn(rng, rows, 6)
    certpca.write_plink(tmp_path / "a", table)
    np.testing.assert_array_equal(by_hand(tmp_path / "a.bed", rows, 6), table)
    np.testing.assert_array_equal(certpca.read_plink(tmp_path / "a")[:, :], table)


@pytest.mark.parametrize("ending", ["", ".bed", ".bim", ".fam"])
def test_any_of_the_names_opens_all_three(file: Path, genotypes: Any, ending: str) -> None:
    read = certpca.read_plink(str(file)[:-4] + ending)
    assert read.shape == (SAMPLES, VARIANTS)
    np.testing.assert_array_equal(read[:, :], genotypes)


def test_a_name_with_dots_needs_no_ending(tmp_path: Path, genotypes: Any) -> None:
    certpca.write_plink(tmp_path / "chr22.v1.2", genotypes)
    assert certpca.read_plink(tmp_path / "chr22.v1.2").shape == genotypes.shape


def test_text_of_variants_and_samples_is_kept(file: Path) -> None:
    read = certpca.read_plink(file)
    assert read.names == tuple(f"rs{number}" for number in range(VARIANTS))
    assert read.variants.chromosomes.tolist() == ["1", "1", "1", "2", "2", "3", "3", "3", "3"]
    assert read.variants.positions.tolist() == list(range(100, 100 + VARIANTS))
    assert set(read.variants.counted) == {"A"}
    assert set(read.variants.other) == {"CG"}
    assert read.samples.names[3] == "id3"
    assert read.samples.families[3] == "fam1"
    assert read.samples.populations is None


def test_populations_come_from_the_file_beside(file: Path) -> None:
    labels = [f"pop{number % 3}" for number in range(SAMPLES)]
    file.with_suffix(".pop").write_text("\n".join(labels) + "\n")
    read = certpca.read_plink(file, remove=["id0"])
    assert read.samples.populations is not None
    assert read.samples.populations.tolist() == labels[1:]
    assert read_labels("populations", file.with_suffix(".bed"), SAMPLES) == tuple(labels)
    file.with_suffix(".pop").write_text("one\n")
    with refused(DataFileError, "cohort.pop", "has 1 labels for the 11 samples"):
        certpca.read_plink(file)


def test_some_columns(file: Path, genotypes: Any) -> None:
    read = certpca.read_plink(file)
    np.testing.assert_array_equal(read[:, 2:5], genotypes[:, 2:5])
    np.testing.assert_array_equal(read[:, [7, 0, 7]], genotypes[:, [7, 0, 7]])
    with pytest.raises(IndexError, match="read by columns"):
        read[0]


def test_load_table_gives_the_reader_and_its_names(file: Path, genotypes: Any) -> None:
    table = certpca.load_table(file)
    assert table.names is not None
    assert table.names[0] == "rs0"
    np.testing.assert_array_equal(table.data[:, :], genotypes)


# --- filters ------------------------------------------------------------------------------------


def by_numpy(table: Any, maf: float, max_missing: float) -> Any:
    hole = table == -9
    frequency = np.where(hole, 0, table).sum(axis=0) / (2 * (~hole).sum(axis=0))
    return np.flatnonzero(
        (np.minimum(frequency, 1 - frequency) >= maf - 1e-12) & (hole.mean(axis=0) <= max_missing + 1e-12)
    )


@pytest.mark.parametrize(("maf", "max_missing"), [(0.0, 0.05), (0.3, 1.0), (0.2, 0.1), (0.45, 0.2)])
@pytest.mark.parametrize("every", [1, 3])
def test_frequency_and_missingness(tmp_path: Path, rng: Any, maf: float, max_missing: float, every: int) -> None:
    table = drawn(rng, 30, 80)
    certpca.write_plink(tmp_path / "a", table)
    read = certpca.read_plink(tmp_path / "a", maf=maf, max_missing=max_missing, every=every, remove=["s1", "s30"])
    table = table[1:-1]
    expected = by_numpy(table, maf, max_missing)[::every]
    assert 0 < expected.size < 80
    np.testing.assert_array_equal(read[:, :], table[:, expected])
    assert read.names == tuple(f"v{number + 1}" for number in expected)


def test_filters_are_lazy_and_take_one_walk(tmp_path: Path, rng: Any) -> None:
    certpca.write_plink(tmp_path / "a", drawn(rng, 30, 80))
    read = certpca.read_plink(tmp_path / "a", maf=0.3, max_missing=0.2, memory=1e-6)  # many small runs
    assert read.passes == 0
    assert read.shape[1] < 80
    assert read.passes == pytest.approx(1)
    certpca.from_data(read, missing="mean")  # needs the same counts
    assert read.passes == pytest.approx(1)


def test_chromosomes(file: Path, genotypes: Any) -> None:
    np.testing.assert_array_equal(certpca.read_plink(file, chromosomes="3")[:, :], genotypes[:, 5:])
    np.testing.assert_array_equal(certpca.read_plink(file, chromosomes=[2, "1"])[:, :], genotypes[:, :5])
    with refused(InvalidDataError, "no variant is on chromosome '7'", "has 1, 2, 3"):
        _ = certpca.read_plink(file, chromosomes=[1, 7]).shape


def test_lists_of_samples(file: Path, genotypes: Any, tmp_path: Path) -> None:
    lines = tmp_path / "keep.txt"
    lines.write_text("fam1 id3\nfam0\tid0\n")
    expected = genotypes[[0, 3]]
    lists: list[Any] = [["id3", "id0"], [("fam1", "id3"), "id0"], lines, str(lines)]
    for keep in lists:
        read = certpca.read_plink(file, keep=keep)
        np.testing.assert_array_equal(read[:, :], expected)
        assert read.samples.names.tolist() == ["id0", "id3"]
    np.testing.assert_array_equal(certpca.read_plink(file, keep=lines, remove=["id0"])[:, :], genotypes[[3]])


def test_bad_lists_of_samples(file: Path, tmp_path: Path) -> None:
    with refused(InvalidDataError, "sample 'nobody' of the list to keep is not in the .fam file"):
        certpca.read_plink(file, keep=["nobody"])
    with refused(InvalidDataError, "the list of samples to remove is empty"):
        certpca.read_plink(file, remove=[])
    with refused(InvalidDataError, "no sample is left"):
        certpca.read_plink(file, keep=["id1"], remove=["id1"])
    with refused(DataFileError, "there is no file", "nowhere.txt"):
        certpca.read_plink(file, keep=tmp_path / "nowhere.txt")
    certpca.write_plink(tmp_path / "twins", np.zeros((2, 2), dtype=np.int8), samples=["a", "a"], families=["f", "g"])
    with refused(InvalidDataError, "2 samples are called 'a'", "pairs of family and name"):
        certpca.read_plink(tmp_path / "twins", keep=["a"])
    assert certpca.read_plink(tmp_path / "twins", keep=[("g", "a")]).samples.families.tolist() == ["g"]


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        ({"maf": 0.6}, "lies in [0, 0.5], got 0.6"),
        ({"max_missing": -1}, "lies in [0, 1], got -1"),
        ({"every": 0}, "whole number from 1, got 0"),
        ({"every": 1.5}, "whole number from 1, got 1.5"),
        ({"memory": 0}, "positive number of GiB"),
    ],
)
def test_bad_filters(file: Path, options: Any, fragment: str) -> None:
    with refused(InvalidProblemError, fragment):
        certpca.read_plink(file, **options)


def test_filters_that_leave_nothing(tmp_path: Path) -> None:
    certpca.write_plink(tmp_path / "a", np.array([[0, 0], [0, 1], [0, 0], [0, 0]]))
    with refused(InvalidDataError, "no variant of", "is left with --maf 0.4", "use weaker filters"):
        _ = certpca.read_plink(tmp_path / "a", maf=0.4).shape


# --- files that are not what they should be -----------------------------------------------------


def test_missing_sibling(file: Path) -> None:
    for ending in (".fam", ".bim", ".bed"):
        held = file.with_suffix(ending).read_bytes()
        file.with_suffix(ending).unlink()
        with refused(DataFileError, f"there is no file '{file.with_suffix(ending)}'", ".bed, .bim and .fam"):
            certpca.read_plink(file)
        file.with_suffix(ending).write_bytes(held)
    assert certpca.read_plink(file).shape == (SAMPLES, VARIANTS)


@pytest.mark.parametrize("ending", [".fam", ".bim", ".bed"])
def test_empty_file(file: Path, ending: str) -> None:
    file.with_suffix(ending).write_bytes(b"")
    with refused(DataFileError, f"cohort{ending}' is empty"):
        certpca.read_plink(file)


@pytest.mark.parametrize(
    ("head", "fragment"),
    [
        (b"chr1\t10\t20\n", "does not begin with the bytes 6c 1b"),
        (b"\x6c\x1b\x00", "is ordered by individuals, an old form; rewrite it with plink --make-bed"),
        (b"\x6c\x1b\x07", "third byte"),
    ],
)
def test_wrong_beginning(file: Path, head: bytes, fragment: str) -> None:
    raw = file.read_bytes()
    file.write_bytes(head + raw[len(head) :])
    with refused(DataFileError, "cohort.bed", fragment):
        certpca.read_plink(file)


@pytest.mark.parametrize("cut", [1, 3, 10])
def test_truncated(file: Path, cut: int) -> None:
    file.write_bytes(file.read_bytes()[:-cut])
    with refused(DataFileError, "cohort.bed", "lists 9 variants", "11 samples; the file is cut off"):
        certpca.read_plink(file)


def test_only_the_magic_bytes(file: Path) -> None:
    file.write_bytes(b"\x6c\x1b")
    with refused(DataFileError, "third byte"):
        certpca.read_plink(file)


@pytest.mark.parametrize(("ending", "extra"), [(".bim", "1 rsx 0 5 A C\n"), (".fam", "f x 0 0 0 -9\nf y 0 0 0 -9\n")])
def test_counts_that_do_not_match(file: Path, ending: str, extra: str) -> None:
    text = file.with_suffix(ending)
    text.write_text(text.read_text() + extra)
    with refused(DataFileError, "do not belong together"):
        certpca.read_plink(file)


@pytest.mark.parametrize(
    ("ending", "line", "fragment"),
    [
        (".bim", "1 rs0 0 100 A\n", "line 1: 5 fields where 6 are needed"),
        (".bim", "1 rs0 0 here A C\n", "line 1: centimorgans and position must be numbers, got '0' and 'here'"),
        (
            ".bim",
            f"\n1 rs0 0 {10**30} A C\n",
            f"line 2: centimorgans and position must be numbers, got '0' and '{10**30}'",
        ),
        (".fam", "a b c\n", "line 1: 3 fields where 6 are needed"),
    ],
)
def test_bad_lines(file: Path, ending: str, line: str, fragment: str) -> None:
    text = file.with_suffix(ending)
    text.write_text(line + text.read_text())
    with refused(DataFileError, f"cohort{ending}", fragment):
        certpca.read_plink(file)


def test_a_mark_before_the_text_is_not_part_of_it(file: Path) -> None:
    text = file.with_suffix(".fam")
    before = certpca.read_plink(file).samples.families[0]
    text.write_bytes(b"\xef\xbb\xbf" + text.read_bytes())
    assert certpca.read_plink(file).samples.families[0] == before


def test_systems_that_seek_before_they_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = certpca.read_plink(file)[:, :]
    monkeypatch.delattr(os, "preadv")
    np.testing.assert_array_equal(certpca.read_plink(file)[:, :], expected)


@pytest.mark.parametrize("width", [0, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_panel_of_zeros_needs_no_reading(file: Path, width: int, dtype: Any) -> None:
    genotypes = certpca.read_plink(file)
    product = genotypes.times(np.zeros((genotypes.shape[1], width), dtype=dtype), None)
    np.testing.assert_array_equal(product, np.zeros((genotypes.shape[0], width)))
    assert genotypes.passes == 0


@pytest.mark.parametrize("ending", [".bim", ".fam"])
def test_text_that_is_not_utf8(file: Path, ending: str) -> None:
    file.with_suffix(ending).write_bytes("größe a 0 0 0 0\n".encode("latin-1"))
    with refused(DataFileError, f"cohort{ending}' is not UTF-8 text"):
        certpca.read_plink(file)


# --- writing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "options", "fragment"),
    [
        ([[0, 3]], {}, "genotypes must be 0, 1, 2 or -9 (missing), got 3"),
        ([[0.5, 1.0]], {}, "got 0.5"),
        ([0, 1], {}, "a table of samples x variants"),
        ([[0, 1]], {"names": ["a"]}, "names must have 2 entries, got 1"),
        ([[0, 1]], {"names": ["a b", "c"]}, "words without spaces, got 'a b'"),
        ([[0, 1]], {"positions": [1]}, "positions must have one entry for each of the 2"),
        ([[0, 1]], {"alleles": [("A", "C")]}, "alleles must have one pair for each of the 2"),
    ],
)
def test_bad_genotypes_leave_no_file(tmp_path: Path, table: Any, options: Any, fragment: str) -> None:
    with refused(InvalidDataError, fragment):
        certpca.write_plink(tmp_path / "a", np.array(table), **options)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with refused(CertpcaError, "cannot write"):
        certpca.write_plink(tmp_path / "nowhere" / "a", np.zeros((2, 2), dtype=np.int8))


def test_file_cut_off_while_it_is_open(tmp_path: Path, rng: Any) -> None:
    certpca.write_plink(tmp_path / "cut", rng.integers(0, 3, (40, 300)).astype(np.int8))
    genotypes = certpca.read_plink(tmp_path / "cut")
    operator = certpca.from_data(genotypes)
    os.truncate(tmp_path / "cut.bed", 1500)
    with pytest.raises(DataFileError, match="cut off while it was being read"):
        operator.matmat(np.ones((300, 1)))


def test_another_process_opens_the_file_again(tmp_path: Path, rng: Any) -> None:
    table = rng.integers(0, 3, (10, 30)).astype(np.int8)
    certpca.write_plink(tmp_path / "there", table)
    genotypes = certpca.read_plink(tmp_path / "there", maf=0.05)
    genotypes.read(slice(0, 1))
    again = pickle.loads(pickle.dumps(genotypes))
    np.testing.assert_array_equal(again[:, :], genotypes[:, :])


@pytest.mark.parametrize("every", [1, 2, 7])
@pytest.mark.parametrize("memory", [1e-6, 1e-5, 1.0])
def test_walks_with_gaps(tmp_path: Path, rng: Any, every: int, memory: float) -> None:
    table = rng.integers(0, 3, (50, 211)).astype(np.int8)
    certpca.write_plink(tmp_path / "gaps", table)
    panel = rng.standard_normal((len(range(0, 211, every)), 2))
    genotypes = certpca.read_plink(tmp_path / "gaps", every=every, memory=memory)
    np.testing.assert_allclose(genotypes.times(panel, None), table[:, ::every] @ panel, atol=1e-11)
