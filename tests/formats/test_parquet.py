"""Parquet files that are streamed give what the same table in memory gives."""

import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import certpca
from certpca.formats.arranging import Wanted
from certpca.formats.parquet import Parquet
from certpca.frontends.cli.main import main
from certpca.operators.streamed import StreamedCovariance
from certpca.readers.base import Reader
from certpca.runtime.errors import DataFileError, InvalidDataError, InvalidProblemError
from tests.formats.layouts import TINY, counts, require_within_budget

pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")


def written(path: Path, table: Any, **options: Any) -> Path:
    """Write a table with names."""
    frame = (
        table
        if isinstance(table, pd.DataFrame)
        else pd.DataFrame(table, columns=[f"f{i}" for i in range(table.shape[1])])
    )
    frame.to_parquet(path, index=False, **options)
    return path


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int8, np.uint16, bool])
@pytest.mark.parametrize("group", [4, 1000])  # small groups are walked over, large ones by columns
def test_same_answers_as_in_memory(tmp_path: Path, rng: Any, kind: Any, group: int) -> None:
    table = counts(rng).astype(kind)
    reader = certpca.read_parquet(written(tmp_path / "a.parquet", table, row_group_size=group), memory=TINY)
    assert reader.by_columns is (group == 1000)
    operator = certpca.from_data(reader)
    assert isinstance(operator, StreamedCovariance)
    assert operator.dtype == certpca.from_data(table).dtype
    certpca.verify_operator(operator)
    solver = "auto" if kind is np.float64 else "svd-threshold"  # which walks less often
    mine = certpca.solve(reader, 6, solver, certify=True, target_gap=0.1)
    theirs = certpca.solve(table, 6, solver, certify=True, target_gap=0.1)
    assert mine.names == tuple(f"f{index}" for index in theirs.support)
    assert mine.objective == pytest.approx(theirs.objective, rel=1e-9)
    assert mine.certificate is not None
    assert theirs.certificate is not None
    assert mine.certificate.fingerprint == theirs.certificate.fingerprint
    certpca.verify(mine.certificate, table)
    certpca.verify(theirs.certificate, reader)


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("memory", [TINY, 1.0])
def test_nulls_are_missing(tmp_path: Path, statistics: bool, memory: float) -> None:
    frame = pd.DataFrame({"a": pd.array([1, None, 3, 5], dtype="Int64"), "b": [1, 4, 2, 8], "c": [1.5, np.nan, 2, 0]})
    file = written(tmp_path / "a.parquet", frame, write_statistics=statistics)
    reader = certpca.read_parquet(file, memory=memory)
    np.testing.assert_array_equal(reader[:, :], [[1, 1, 1.5], [np.nan, 4, np.nan], [3, 2, 2], [5, 8, 0]])
    with pytest.raises(InvalidDataError, match=r"column 0 \('a'\) has 1 missing values"):
        certpca.solve(reader, 2)
    expected = certpca.solve(certpca.load_table(file).data, 2, missing="mean").objective
    assert certpca.solve(reader, 2, missing="mean").objective == pytest.approx(expected, rel=1e-9)
    assert certpca.read_parquet(file, columns=["b"]).dtype == np.int64


@pytest.mark.parametrize("group", [4, 1000])
def test_missing_genotypes_are_coded_as_in_memory(tmp_path: Path, rng: Any, group: int) -> None:
    table = counts(rng).astype(np.int8)
    table[5, 5] = -9
    reader = certpca.read_parquet(written(tmp_path / "a.parquet", table, row_group_size=group), memory=TINY)
    solution = certpca.solve(reader, 5, "svd-threshold", missing="mean")
    certpca.verify(certpca.certify(reader, 5, solution=solution, missing="mean", target_gap=0.5), table)


def test_columns_are_chosen_or_left_out(tmp_path: Path, rng: Any) -> None:
    table = rng.standard_normal((20, 4))
    frame = pd.DataFrame(table, columns=["x", "x.1", "z", "w"])  # the second begins like the first
    frame.insert(0, "id", [f"s{index}" for index in range(20)])
    file = written(tmp_path / "a.parquet", frame)
    with pytest.raises(DataFileError, match=r"column 'id' holds .*string, not numbers; .* leave it out"):
        certpca.read_parquet(file)
    reader = certpca.read_parquet(file, leave_out="id", memory=TINY / 100)
    assert reader.names == ("x", "x.1", "z", "w")
    np.testing.assert_array_equal(reader[:, 0:1], table[:, :1])
    np.testing.assert_array_equal(reader[:, [3, 0, 3]], table[:, [3, 0, 3]])
    chosen = certpca.read_parquet(file, columns=["w", "x"])
    np.testing.assert_array_equal(chosen[:, :], table[:, [3, 0]])
    for options in ({"columns": ["v"]}, {"leave_out": ["v"]}):
        with pytest.raises(InvalidProblemError, match="has no column 'v'; it has id, x"):
            certpca.read_parquet(file, **options)  # type: ignore[arg-type]
    with pytest.raises(DataFileError, match="no columns that are left"):
        certpca.read_parquet(file, columns=[])
    with pytest.raises(DataFileError, match="asked for once"):
        certpca.read_parquet(file, columns=["x", "x"])


@pytest.mark.parametrize(("group", "walks"), [(4, 1), (1000, 2)])
def test_passes_of_a_product(tmp_path: Path, rng: Any, group: int, walks: int) -> None:
    reader = certpca.read_parquet(written(tmp_path / "a.parquet", counts(rng), row_group_size=group), memory=TINY)
    operator = certpca.from_data(reader)
    assert reader.passes == pytest.approx(1)
    operator.matmat(rng.standard_normal((60, 4)))
    assert reader.passes == pytest.approx(1 + walks)


@pytest.mark.parametrize("group", [100, 6000])
def test_blocks_keep_to_the_budget(tmp_path: Path, group: int) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    rows, size, budget = 6000, 300, 4 << 20
    table = np.random.default_rng(0).standard_normal((rows, size))  # 14 MB
    reader = certpca.read_parquet(
        written(tmp_path / "a.parquet", table, row_group_size=group, compression="zstd"), memory=budget / 2**30
    )
    del table
    reader.normal_product(np.ones((size, 1)), np.zeros(1), None)  # what is loaded at the first call is not counted
    arrow = pyarrow.total_allocated_bytes()
    require_within_budget(reader, budget)
    deadline = time.monotonic() + 30  # Arrow's own threads let go of what they decoded a little later
    while pyarrow.total_allocated_bytes() > arrow and time.monotonic() < deadline:
        time.sleep(0.01)
    assert pyarrow.total_allocated_bytes() <= arrow


def test_large_files_are_streamed_and_small_ones_loaded(tmp_path: Path, rng: Any) -> None:
    table = counts(rng)
    file = written(tmp_path / "a.parquet", table)
    assert isinstance(certpca.load_table(file).data, np.ndarray)
    assert isinstance(certpca.load_table(file, memory=0.5).data, Reader)
    streamed = Parquet(streamed_from=1000).load(file, Wanted())
    assert isinstance(streamed.data, Reader)
    assert streamed.names == tuple(f"f{index}" for index in range(60))


def test_files_that_are_none(tmp_path: Path, rng: Any) -> None:
    with pytest.raises(DataFileError, match="there is no file"):
        certpca.read_parquet(tmp_path / "nowhere.parquet")
    with pytest.raises(DataFileError, match="is a folder"):
        certpca.read_parquet(tmp_path)
    for content in (b"", b"PAR1 is how such a file begins"):
        (tmp_path / "a.parquet").write_bytes(content)
        with pytest.raises(DataFileError, match=r"cannot be read as \.parquet"):
            certpca.read_parquet(tmp_path / "a.parquet")
    file = written(tmp_path / "b.parquet", counts(rng))
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataFileError, match=r"cannot be read as \.parquet"):
        certpca.read_parquet(file)


def test_tables_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="has no rows"):
        certpca.read_parquet(written(tmp_path / "a.parquet", pd.DataFrame({"a": np.zeros(0)})))
    frame = pd.DataFrame({"a": pd.array([True, None, False], dtype="boolean")})
    with pytest.raises(DataFileError, match="column 'a' has booleans that are missing"):
        certpca.read_parquet(written(tmp_path / "b.parquet", frame))


def test_a_page_that_cannot_be_decompressed(tmp_path: Path, rng: Any) -> None:
    file = written(tmp_path / "a.parquet", rng.standard_normal((500, 6)), compression="zstd")
    content = bytearray(file.read_bytes())
    content[4:60] = b"x" * 56
    file.write_bytes(content)
    with pytest.raises(DataFileError, match=r"a\.parquet' cannot be read, the file is damaged"):
        certpca.solve(certpca.read_parquet(file, memory=TINY), 3)


def test_infinite_values_are_refused(tmp_path: Path, rng: Any) -> None:
    table = counts(rng)
    table[3, 4] = np.inf
    with pytest.raises(InvalidDataError, match=r"column 4 \('f4'\) holds infinite values"):
        certpca.solve(certpca.read_parquet(written(tmp_path / "a.parquet", table), memory=TINY), 5)


def test_the_command(tmp_path: Path, rng: Any, capsys: Any) -> None:
    file, output = str(written(tmp_path / "a.parquet", counts(rng))), str(tmp_path / "c.json")
    budget = ["--memory", "0.00001"]
    assert main(["certify", file, "-k", "4", "--target-gap", "0.5", "--output", output, *budget]) == 0
    assert main(["verify", output, file]) == 0
    assert main(["verify", output, file, *budget]) == 0
    capsys.readouterr()
    assert main(["solve", file, "-k", "4", "--json", *budget]) == 0
    assert json.loads(capsys.readouterr().out)["names"][0].startswith("f")
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,5\n")
    assert main(["solve", str(tmp_path / "a.csv"), "-k", "1", "--memory", "1"]) == 2
    assert "memory: only for files that can be streamed (.bed, .h5ad, .npy, .parquet" in capsys.readouterr().err


MEASURED = """
    import sys
    import numpy as np
    import certpca

    def peak(name="VmHWM:"):
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith(name)) << 10

    def work(file, memory):
        data = certpca.read_parquet(file, memory=memory)
        opened = peak("VmRSS:")
        operator = certpca.from_data(data)
        operator.matmat(np.ones((operator.size, 2)))
        operator.factor().sample_product(np.ones((operator.rows, 2)))
        return opened

    work(sys.argv[1], 1e-6)  # so that libraries are loaded and warm
    opened = work(sys.argv[2], float(sys.argv[3]))
    print(peak() - opened)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell how much memory was used")
@pytest.mark.parametrize(("rows", "size", "group"), [(1000, 12_000, 1000), (1000, 12_000, 250), (24_000, 500, 4000)])
def test_the_process_keeps_to_the_budget(tmp_path: Path, rows: int, size: int, group: int) -> None:
    """A wide file, or one with many rows, of 96 MB takes little more than the 30 MB allowed, in a process of its own.

    Pages of a file that is mapped would count, and so would what Arrow decodes at once or keeps.
    """
    pyarrow, parquet = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    column = np.random.default_rng(0).standard_normal(rows)
    for name, height in (("warm", 20), ("data", rows)):
        width = size if height > 20 else 50
        table = pyarrow.table({f"f{index}": np.roll(column, index)[:height] for index in range(width)})
        parquet.write_table(table, tmp_path / f"{name}.parquet", row_group_size=group, use_dictionary=False)
    files = str(tmp_path / "warm.parquet"), str(tmp_path / "data.parquet")
    assert (tmp_path / "data.parquet").stat().st_size > 90e6
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MEASURED), *files, "0.03"],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert int(done.stdout) < 60e6  # with what the allocators of three libraries keep for themselves
