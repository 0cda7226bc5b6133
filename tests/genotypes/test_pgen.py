"""Files of PLINK 2, written by pgenlib, come back as the genotypes or dosages they hold, or with a clear error."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.frontends.cli.main import main
from certpca.frontends.report import read_labels
from certpca.runtime.errors import DataFileError, InvalidDataError, InvalidProblemError, MissingDependencyError

pgenlib = pytest.importorskip("pgenlib")
SAMPLES, VARIANTS = 37, 24
PVAR_HEAD = "##fileformat=VCFv4.2\n##INFO=<ID=PR>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"


def write_pgen(base: Path, table: Any, *, chromosomes: Any = None, alternatives: Any = None) -> Path:
    """Write samples x variants, hard calls or dosages, with .pvar and .psam beside them."""
    samples, size = table.shape
    fractional = table.dtype.kind == "f"
    with pgenlib.PgenWriter(
        str(base.with_suffix(".pgen")).encode(), samples, variant_ct=size, nonref_flags=False, dosage_present=fractional
    ) as writer:
        for column in table.T:
            if fractional:
                writer.append_dosages(np.ascontiguousarray(column, dtype=np.float32))
            else:
                writer.append_biallelic(np.ascontiguousarray(column, dtype=np.int8))
    places = [1] * size if chromosomes is None else chromosomes
    others = ["T"] * size if alternatives is None else alternatives
    lines = [f"{places[j]}\t{1000 * (j + 1)}\trs{j}\tC\t{others[j]}\t.\t.\tPR\n" for j in range(size)]
    base.with_suffix(".pvar").write_text(PVAR_HEAD + "".join(lines))
    people = [f"f{i // 2}\ti{i}\t{1 + i % 2}\t{'north' if i % 3 else 'south'}\n" for i in range(samples)]
    base.with_suffix(".psam").write_text("#FID\tIID\tSEX\tPopulation\n" + "".join(people))
    return base.with_suffix(".pgen")


@pytest.fixture
def table(rng: np.random.Generator) -> Any:
    calls = rng.integers(0, 3, (SAMPLES, VARIANTS), dtype=np.int8)
    calls[rng.random(calls.shape) < 0.1] = -9
    return calls


@pytest.fixture
def file(tmp_path: Path, table: Any) -> Path:
    return write_pgen(tmp_path / "cohort", table)


@pytest.fixture
def dosages(rng: np.random.Generator) -> Any:
    """Draw what 16 bits can hold."""
    values = rng.integers(0, 2 * 16384 + 1, (SAMPLES, VARIANTS)) / 16384
    values[rng.random(values.shape) < 0.05] = -9
    return values.astype(np.float32)


@pytest.mark.parametrize("ending", ["", ".pgen", ".pvar", ".psam"])
def test_hard_calls_come_back(file: Path, table: Any, ending: str) -> None:
    read = certpca.read_pgen(str(file)[:-5] + ending)
    np.testing.assert_array_equal(read[:, :], table)
    np.testing.assert_array_equal(read[:, [7, 0, 7]], table[:, [7, 0, 7]])
    assert read.names[:2] == ("rs0", "rs1")
    assert (read.variants.counted[0], read.variants.other[0], read.variants.positions[2]) == ("T", "C", 3000)
    assert (read.samples.names[3], read.samples.families[3], read.samples.sexes[3]) == ("i3", "f1", "2")
    assert read.samples.populations is not None
    assert read.samples.populations[:3].tolist() == ["south", "north", "north"]


def test_it_is_the_same_as_a_bed_file(file: Path, table: Any, tmp_path: Path) -> None:
    certpca.write_plink(tmp_path / "same", table, chromosomes=[1] * VARIANTS, positions=range(1000, 25000, 1000))
    filters: dict[str, Any] = {"maf": 0.3, "max_missing": 0.15, "clump_r2": 0.05, "clump_kb": 5}
    one, other = certpca.read_pgen(file, **filters), certpca.read_plink(tmp_path / "same", **filters)
    assert 2 < one.shape[1] < VARIANTS
    np.testing.assert_array_equal(one[:, :], other[:, :])
    first, second = (certpca.solve(data, 3, missing="mean", certify=True) for data in (one, other))
    assert first.objective == second.objective
    assert first.certificate is not None
    assert second.certificate is not None
    assert first.certificate.fingerprint == second.certificate.fingerprint  # the same numbers, whatever file has them
    certpca.verify(first.certificate, other)


def test_dosages_come_back(tmp_path: Path, dosages: Any) -> None:
    file = write_pgen(tmp_path / "imputed", dosages)
    expected = np.where(dosages < 0, np.nan, dosages)
    read = certpca.read_pgen(file, dosages=True)
    assert read.shape == dosages.shape
    np.testing.assert_array_equal(read[:, :], expected)
    kept = certpca.read_pgen(file, dosages=True, keep=["i2", "i5"])
    np.testing.assert_array_equal(kept[:, 3:6], expected[[2, 5], 3:6])
    assert certpca.read_pgen(file).dtype == np.int8
    solution = certpca.solve(read, 4, missing="mean", certify=True)
    alike = certpca.solve(expected.astype(np.float32), 4, missing="mean")
    assert solution.names == tuple(f"rs{j}" for j in alike.support)
    assert solution.certificate is not None
    assert solution.reading == {"dosages": True}
    certpca.verify(solution.certificate, certpca.load_table(file, **solution.reading).data)


def test_another_process_opens_it_again(file: Path, table: Any) -> None:
    read = pickle.loads(pickle.dumps(certpca.read_pgen(file, maf=0.1)))
    np.testing.assert_array_equal(read[:, :], certpca.read_pgen(file, maf=0.1)[:, :])
    assert read.shape[0] == table.shape[0]


def test_memory_does_not_matter(file: Path) -> None:
    small, large = certpca.read_pgen(file, memory=1e-6, maf=0.2), certpca.read_pgen(file, maf=0.2)
    panel = np.linspace(-1, 1, small.shape[1])[:, None]
    fill = np.zeros(small.shape[1])
    np.testing.assert_allclose(small.times(panel, fill), large.times(panel, fill), rtol=1e-12)


def test_text_files_of_plink_1_do_as_well(file: Path, table: Any) -> None:
    file.with_suffix(".pvar").unlink()
    file.with_suffix(".psam").unlink()
    file.with_suffix(".bim").write_text("".join(f"1 rs{j} 0 {j + 1} T C\n" for j in range(VARIANTS)))
    file.with_suffix(".fam").write_text("".join(f"0 i{i} 0 0 0 -9\n" for i in range(SAMPLES)))
    read = certpca.read_pgen(file)
    np.testing.assert_array_equal(read[:, :], table)
    assert read.variants.counted[0] == "T"


def test_packed_variants_do_as_well(file: Path, table: Any) -> None:
    zstd = pytest.importorskip("backports.zstd")
    text = file.with_suffix(".pvar").read_bytes()
    file.with_suffix(".pvar").unlink()
    packed = Path(f"{file.with_suffix('.pvar')}.zst")
    packed.write_bytes(zstd.compress(text))
    np.testing.assert_array_equal(certpca.read_pgen(file)[:, :], table)
    packed.write_bytes(zstd.compress(text)[:40])
    with pytest.raises(DataFileError, match=r"pvar\.zst' cannot be read"):
        certpca.read_pgen(file)


def test_samples_without_families(file: Path) -> None:
    file.with_suffix(".psam").write_text("#IID\tPop\n" + "".join(f"i{i}\tp{i % 2}\n" for i in range(SAMPLES)))
    samples = certpca.read_pgen(file).samples
    assert (samples.names[4], samples.families[4]) == ("i4", "0")
    assert read_labels("Pop", file, SAMPLES) == tuple(f"p{i % 2}" for i in range(SAMPLES))
    assert read_labels("populations", file, SAMPLES)[1] == "p1"


def test_sex_chromosomes_stay_out(tmp_path: Path, table: Any) -> None:
    file = write_pgen(tmp_path / "a", table, chromosomes=["chr1"] * 20 + ["chrX"] * 4)
    assert certpca.read_pgen(file).shape == (SAMPLES, 20)
    assert certpca.read_pgen(file, chromosomes="X").shape == (SAMPLES, 4)


# --- what is refused ------------------------------------------------------------------------------


def test_variants_with_several_alleles_are_refused(tmp_path: Path, table: Any) -> None:
    file = write_pgen(tmp_path / "a", table, alternatives=["T"] * 22 + ["T,G", "A,G,T"])
    with pytest.raises(InvalidDataError, match=r"'rs22' has 3 alleles, and 2 variants.*--max-alleles 2.*bcftools norm"):
        certpca.read_pgen(file)


@pytest.mark.parametrize(
    ("ending", "said"),
    [(".pvar", "its variants are missing"), (".psam", "its samples are missing"), (".pgen", "no file")],
)
def test_a_missing_sibling_is_named(file: Path, ending: str, said: str) -> None:
    file.with_suffix(ending).unlink()
    with pytest.raises(
        DataFileError, match=rf"there is no file .*cohort\{ending}'.*{said if ending != '.pgen' else ''}"
    ):
        certpca.read_pgen(file)


@pytest.mark.parametrize(
    ("ending", "text", "message"),
    [
        (".pvar", "1\t5\trs1\tA\tC\n", "has no line #CHROM POS ID REF ALT"),
        (".pvar", "#CHROM\tID\tPOS\tREF\tALT\n1\trs1\t5\tA\tC\n", "a .pvar file has the columns #CHROM POS ID REF ALT"),
        (".pvar", "#CHROM\tPOS\tID\tREF\tALT\n1\tx\trs1\tA\tC\n", "positions must be whole numbers, got 'x'"),
        (".pvar", "#CHROM\tPOS\tID\tREF\tALT\n1\t5\trs1\n", "line 2: 3 fields where at least 5"),
        (".pvar", "#CHROM\tPOS\tID\tREF\tALT\n", "lists no variants"),
        (
            ".pvar",
            "#CHROM\tPOS\tID\tREF\tALT\n1\t5\trs1\tA\tC\n",
            "37 samples and 1 variants, as the files beside it say",
        ),
        (".psam", "i1\ni2\n", "a line #FID IID or #IID first"),
        (".psam", "#IID\tSEX\ni1\n", "2 fields as in the line"),
        (".psam", "#FID\tSEX\nf1\t1\n", "is no .psam file"),
        (".psam", "#IID\ni1\n", "1 samples and 24 variants, as the files beside it say"),
        (".pgen", "no genotypes at all", "cannot be read as a .pgen file"),
    ],
)
def test_files_that_are_something_else(file: Path, ending: str, text: str, message: str) -> None:
    file.with_suffix(ending).write_text(text)
    with pytest.raises(DataFileError, match=message):
        certpca.read_pgen(file)[:, :]


def test_a_file_that_is_cut_off(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-60])
    with pytest.raises(DataFileError, match=r"cohort\.pgen' cannot be read"):
        certpca.read_pgen(file)[:, :]


def test_without_the_library_it_is_said_how_to_get_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pgenlib", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'certpca\[pgen\]'"):
        certpca.read_pgen(file)


def test_dosages_are_a_setting_of_these_files_alone(tmp_path: Path, table: Any) -> None:
    certpca.write_plink(tmp_path / "b", table)
    with pytest.raises(InvalidProblemError, match=r"dosages: only for PLINK 2 files \(.pgen\)"):
        certpca.load_table(tmp_path / "b.bed", dosages=True)


def test_commands_read_them_and_verify_again(tmp_path: Path, dosages: Any, capsys: Any) -> None:
    file = write_pgen(tmp_path / "imputed", dosages)
    result = tmp_path / "result.json"
    options = ["-k", "3", "--certify", "--dosages", "--missing", "mean", "--clump-r2", "0.2", "--output", str(result)]
    assert main(["solve", str(file), *options]) == 0
    assert main(["verify", str(tmp_path / "result.certificate.json"), str(file)]) == 0
    assert "--dosages" in capsys.readouterr().out
