"""What the command says about a file before it works on it, and what can be chosen of it."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import certpca
from certpca.formats.arranging import Table
from certpca.formats.suspicions import suspicions
from certpca.frontends.cli.main import main
from tests.formats.test_reading import values

NAMES = ["a", "b", "c", "d", "e"]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture
def numbers(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((40, 5)).round(3)


@pytest.fixture
def frame(numbers: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(numbers, columns=NAMES)


# --- what is said -------------------------------------------------------------------------------


def test_what_was_understood_is_on_stderr_and_in_json(run: Run, frame: pd.DataFrame, tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    frame.to_csv(file, sep=";", decimal=",")
    line = "40 × 5, header, row names dropped, separated by semicolons, decimal commas"
    status, out, err = run("solve", file, "-k", 2)
    assert (status, err) == (0, f"{file}: {line}\n")
    for command in (("solve", "-k", 2), ("certify", "-k", 2), ("path", "--sparsities", "1,2")):
        status, out, err = run(*command, file, "--json")
        assert (status, err) == (0, "")
        assert json.loads(out)["understood"] == line
        assert json.loads(out)["warnings"] == []
    run("certify", file, "-k", 2, "--output", tmp_path / "c.json")
    assert line in run("verify", tmp_path / "c.json", file)[2]
    assert json.loads(run("verify", tmp_path / "c.json", file, "--json")[1])["understood"] == line


def test_a_doubtful_header_is_a_warning(run: Run, frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.columns = pd.RangeIndex(5)
    frame.to_csv(tmp_path / "data.csv", index=False)
    status, _, err = run("solve", tmp_path / "data.csv", "-k", 2)
    assert status == 0
    assert "certpca: warning: the first line (0, 1, 2, …) holds numbers and was taken for names: --header no" in err
    found = json.loads(run("solve", tmp_path / "data.csv", "-k", 2, "--header", "no", "--json")[1])
    assert (found["understood"], found["warnings"]) == ("41 × 5, no header", [])


def test_an_index_among_the_features_is_a_warning(run: Run, frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.insert(0, "id", np.arange(100, 140))
    frame.to_csv(tmp_path / "data.csv", index=False)
    _, _, err = run("solve", tmp_path / "data.csv", "-k", 2)
    assert "certpca: warning: column 'id' counts up by one, as an index does; without it: --drop id\n" in err
    assert "column 'id' alone has 9" in err
    assert "warning" not in run("solve", tmp_path / "data.csv", "-k", 2, "--drop", "id")[2]


def test_a_covariance_matrix_taken_for_data_is_a_warning(run: Run, frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.cov().to_csv(tmp_path / "named.csv")
    frame.corr().to_csv(tmp_path / "corr.csv", index=False)
    np.save(tmp_path / "cov.npy", frame.cov().to_numpy())
    for name in ("named.csv", "corr.csv", "cov.npy"):
        _, _, err = run("solve", tmp_path / name, "-k", 2)
        assert "warning: the table is square, symmetric and has a positive diagonal (5 × 5)" in err
        assert "--covariance" in err
        assert "warning" not in run("solve", tmp_path / name, "-k", 2, "--covariance")[2]


def test_one_feature_with_all_of_the_variance_is_a_warning(run: Run, frame: pd.DataFrame, tmp_path: Path) -> None:
    frame["c"] *= 1000
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.cov().to_csv(tmp_path / "cov.csv")
    _, _, err = run("solve", tmp_path / "data.csv", "-k", 2)
    assert "warning: column 'c' alone has 100.00 % of the total variance; --correlation treats all columns alike" in err
    assert "without it: --drop c" in err
    assert "warning" not in run("solve", tmp_path / "data.csv", "-k", 2, "--correlation")[2]
    assert "column 'c' alone has" in run("solve", tmp_path / "cov.csv", "-k", 2, "--covariance")[2]


def judged(data: Any, names: tuple[str, ...] | None = None, **settings: bool) -> tuple[str, ...]:
    return suspicions(Table(data, names), **{"covariance": False, "scaled": False, "centred": True, **settings})


def test_what_is_no_reason_to_warn(rng: np.random.Generator) -> None:
    data = rng.standard_normal((30, 30))
    assert judged(data) == ()
    assert judged(data + data.T) == ()  # symmetric, but no covariance matrix
    assert judged(np.arange(12.0).reshape(4, 3)) == ()  # few rows
    assert judged(np.tile(np.arange(20)[:, None], 6) + np.arange(6)) == ()  # all count
    assert judged(np.full((6, 4), np.nan)) == ()
    assert judged(np.array([["a", "b"], ["c", "d"]])) == ()
    assert judged(rng.integers(0, 3, (50, 8)).astype(np.int8)) == ()
    assert judged(sp.csr_array(rng.integers(0, 2, (50, 8)))) == ()
    assert judged(data[:, :2] * [1, 1e6]) == ()  # of two features one is always large


def test_sparse_tables_are_judged_too(rng: np.random.Generator) -> None:
    data = sp.random_array((50, 8), density=0.3, rng=rng).toarray()
    data[:, 3] *= 1000
    assert "column 4 alone has" in judged(sp.csc_array(data))[0]
    assert "square, symmetric" in judged(sp.csr_array(np.diag([1.0, 2.0, 3.0]) + 0.1))[0]


def test_columns_that_cannot_be_typed_are_named_by_position() -> None:
    data = np.column_stack([np.arange(9), np.arange(9) ** 2 % 7, np.arange(9) % 4])
    for name, option in (
        ("x, cm", "'\"x, cm\"'"),
        ("\x1b[31m", "1"),
        ("it's", "'it'\"'\"'s'"),
        ("b", "1"),
    ):
        assert judged(data, (name, "b", "c"))[0].endswith(f"without it: --drop {option}")
    assert "\x1b" not in judged(data, ("\x1b[31m", "b", "c"))[0]


def test_nothing_in_a_file_is_obeyed_by_the_terminal(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"sep=\x1b\na\x1bb\x1bb\n1\x1b2\x1b5\n3\x1b4\x1b7\n5\x1b1\x1b0\n")
    (tmp_path / "b.csv").write_text("a,\x1b[31mb,\x1b[31mb\n1,2,5\n3,1,9\n4,8,2\n")
    (tmp_path / "c.csv").write_text("a,\x1b[31mb\n1,2\n3,\x1b[2Jred\n")
    for name in ("a.csv", "b.csv", "c.csv"):
        _, _, err = run("solve", tmp_path / name, "-k", 2)
        assert err
        assert "\x1b" not in err


# --- what can be chosen -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "places"),
    [
        (["--columns", "e,a"], [4, 0]),
        (["--columns", "2:4"], [1, 2, 3]),
        (["--drop", "b, d"], [0, 2, 4]),
        (["--columns", "a,2:4", "--drop", "3"], [0, 1, 3]),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "npz", "parquet"])
def test_columns_and_drop(
    run: Run, frame: pd.DataFrame, tmp_path: Path, flags: list[str], places: list[int], ending: str
) -> None:
    file = tmp_path / f"data.{ending}"
    if ending.startswith("csv"):
        text = frame.to_csv(index=False).encode()
        file.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    elif ending == "npz":
        np.savez(file, X=frame.to_numpy(), names=np.array(NAMES))
    else:
        frame.to_parquet(file)
    found = json.loads(run("solve", file, "-k", 2, *flags, "--json")[1])
    expected = certpca.solve(frame.to_numpy()[:, places], 2)
    assert found["objective"] == pytest.approx(expected.objective)
    assert found["names"] == [NAMES[places[index]] for index in expected.support]
    assert f"{5 - len(places)} column" in found["understood"]


def test_transpose_and_names(run: Run, numbers: np.ndarray, tmp_path: Path) -> None:
    pd.DataFrame(numbers.T, index=[f"g{i}" for i in range(5)]).to_csv(tmp_path / "genes.csv")
    expected = certpca.solve(numbers, 2)
    found = json.loads(run("solve", tmp_path / "genes.csv", "-k", 2, "--transpose", "--json")[1])
    assert found["objective"] == pytest.approx(expected.objective)
    assert found["names"] == [f"g{index}" for index in expected.support]
    np.save(tmp_path / "data.npy", numbers)
    (tmp_path / "names.txt").write_text("\n".join(NAMES))
    found = json.loads(run("solve", tmp_path / "data.npy", "-k", 2, "--names", tmp_path / "names.txt", "--json")[1])
    assert found["names"] == [NAMES[index] for index in expected.support]


def test_a_certificate_knows_what_was_chosen(run: Run, frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.insert(2, "city", "Rome")
    file, certificate = tmp_path / "data.csv", tmp_path / "certificate.json"
    frame.to_csv(file)
    assert run("certify", file, "-k", 2, "--drop", "city,d", "--output", certificate)[0] == 0
    assert run("verify", certificate, file)[0] == 0
    assert run("verify", certificate, file, "--drop", "city,e")[0] == 1


def test_a_text_column_is_named_and_can_be_dropped(run: Run, frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.insert(2, "city", "Rome")
    frame.to_csv(tmp_path / "data.csv", index=False)
    status, _, err = run("solve", tmp_path / "data.csv", "-k", 2)
    assert status == 2
    assert "line 2, column 'city': 'Rome' is not a number; to do without this column: --drop city" in err
    assert run("solve", tmp_path / "data.csv", "-k", 2, "--drop", "city")[0] == 0


def test_report_reads_labels_from_text_columns_of_any_dialect(run: Run, frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.insert(2, "group", ["x", "y"] * 20)
    file = tmp_path / "data.csv.gz"
    frame.to_csv(file, sep=";", decimal=",")
    result = tmp_path / "result.json"
    assert run("solve", file, "-k", 2, "--drop", "group", "--output", result)[0] == 0
    report = tmp_path / "report.html"
    assert run("report", result, "--data", file, "--labels", "group", "--output", report)[0] == 0
    assert run("report", result, "--data", file, "--labels", "grup", "--output", report)[0] == 2


@pytest.mark.parametrize("memory", [None, 1e-5])
def test_pandas_index_in_parquet_is_no_feature(frame: pd.DataFrame, tmp_path: Path, memory: float | None) -> None:
    frame[frame["a"] > 0].to_parquet(tmp_path / "a.parquet")  # rows left out: the index is stored
    table = certpca.load_table(tmp_path / "a.parquet", memory=memory)
    assert table.names == tuple(NAMES)
    np.testing.assert_array_equal(values(table), frame[frame["a"] > 0].to_numpy())
    assert certpca.load_table(tmp_path / "a.parquet", drop="b").names == ("a", "c", "d", "e")
