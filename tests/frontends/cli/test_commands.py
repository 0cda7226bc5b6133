"""The command `certpca`, called from Python and as a program."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.io import mmwrite

import certpca
from certpca import Solution
from certpca.frontends.cli.main import main
from certpca.runtime.rounded import down, percent_down

Run = Callable[..., tuple[int, str, str]]
PROGRAM = [sys.executable, "-m", "certpca.frontends.cli.main"]
NAMES = ["a", "b", "c", "d"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Call main and return its status and what it printed."""

    def call(*arguments: object) -> tuple[int, str, str]:
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = int(stop.code or 0)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture
def numbers(rng: np.random.Generator) -> np.ndarray:
    return (rng.standard_normal((30, 4)) @ rng.standard_normal((4, 4))).round(3)


@pytest.fixture
def table(numbers: np.ndarray, tmp_path: Path) -> Path:
    """A csv file with a header."""
    pd.DataFrame(numbers, columns=NAMES).to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def program(*arguments: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    command: Sequence[str] = [*PROGRAM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


# --- help and listings --------------------------------------------------------------------------


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"certpca {certpca.__version__}\n", "")


def test_help_lists_the_commands(run: Run) -> None:
    status, out, err = run("--help")
    assert (status, err) == (0, "")
    assert all(command in out for command in ("demo", "solve", "solvers"))


def test_help_of_solve_lists_formats_and_options(run: Run) -> None:
    status, out, _ = run("solve", "--help")
    assert status == 0
    for word in ("csv", "parquet", "--covariance", "--correlation", "--missing", "--time-limit", "--json", "--set"):
        assert word in out


def test_help_does_not_load_numpy() -> None:
    script = """
import sys
from certpca.frontends.cli.main import main
try:
    main(["--help"])
except SystemExit:
    pass
print("loaded:", sorted({"numpy", "scipy", "rich"} & set(sys.modules)))
"""
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout.endswith("loaded: []\n")


def test_solvers_lists_every_solver(run: Run) -> None:
    status, out, err = run("solvers")
    assert (status, err) == (0, "")
    for name, solver in certpca.available_solvers().items():
        assert name in out
        assert getattr(solver, "paper_name") in out  # noqa: B009


def test_demo_compares_every_solver(run: Run) -> None:
    status, out, err = run("demo")
    assert (status, err) == (0, "")
    assert "pit props" in out
    assert "3.9962" in out
    assert "topdiam" in out
    assert all(name in out for name in certpca.available_solvers())


def test_demo_sparsity(run: Run) -> None:
    assert "sparsity 3" in run("demo", "-k", 3)[1]
    assert run("demo", "-k", 99)[0] == 2


# --- solve --------------------------------------------------------------------------------------


def write_as(ending: str, values: np.ndarray, folder: Path) -> Path:
    file = folder / f"data.{ending}"
    frame = pd.DataFrame(values, columns=NAMES)
    writers: dict[str, Callable[[], object]] = {
        "csv": lambda: frame.to_csv(file, index=False),
        "tsv": lambda: frame.to_csv(file, index=False, sep="\t"),
        "txt": lambda: frame.to_csv(file, index=False, sep=" "),
        "npy": lambda: np.save(file, values),
        "npz": lambda: np.savez(file, X=values, names=np.array(NAMES)),
        "parquet": lambda: frame.to_parquet(file),
        "mtx": lambda: mmwrite(file, sp.csr_array(values)),
    }
    writers[ending]()
    return file


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "npy", "npz", "parquet", "mtx"])
def test_every_format_gives_the_same_answer(run: Run, numbers: np.ndarray, tmp_path: Path, ending: str) -> None:
    status, out, err = run("solve", write_as(ending, numbers, tmp_path), "-k", 2, "--json")
    assert (status, err) == (0, "")
    found, expected = json.loads(out), certpca.solve(numbers, 2)
    assert found["support"] == expected.support.tolist()
    assert found["objective"] == pytest.approx(expected.objective, rel=1e-12)
    named = None if ending in ("npy", "mtx") else [NAMES[index] for index in expected.support]
    assert found["names"] == named


def test_report_for_people(run: Run, table: Path, numbers: np.ndarray) -> None:
    status, out, err = run("solve", table, "-k", 2)
    solution = certpca.solve(numbers, 2, names=NAMES)
    assert (status, err) == (0, f"{table}: 30 × 4, header\n")
    assert out.startswith("2 of 4 features, covariance matrix (centred, divided by 29) of 30 x 4 data")
    assert down(solution.objective) in out
    assert percent_down(solution.explained_variance_ratio) in out
    assert solution.status.value in out
    assert solution.names is not None
    for name, loading in zip(solution.names, solution.loadings, strict=True):
        assert f"{name}        {loading:+.4f}" in out


def test_names_with_brackets_and_colons_are_printed_as_they_are(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("x[red],y[/b],:heart:\n1,2,3\n3,4,1\n5,1,2\n")
    status, out, _ = run("solve", file, "-k", 3)
    assert status == 0
    assert all(name in out for name in ("x[red]", "y[/b]", ":heart:"))


def test_long_answers_are_shortened(run: Run, tmp_path: Path, rng: np.random.Generator) -> None:
    np.save(tmp_path / "wide.npy", rng.standard_normal((10, 40)))
    out = run("solve", tmp_path / "wide.npy", "-k", 30)[1]
    assert "... and 10 smaller loadings (--json lists all)" in out


def test_json_is_one_object_with_every_field(run: Run, table: Path) -> None:
    status, out, err = run("solve", table, "-k", 2, "--json")
    assert (status, err) == (0, "")
    assert out.count("\n") == 1
    unless_asked = {"certificate", "constraints"}
    assert {field.name for field in fields(Solution)} - unless_asked <= set(json.loads(out))


def test_output_file_can_be_loaded(run: Run, table: Path, tmp_path: Path) -> None:
    status, out, _ = run("solve", table, "-k", 2, "--json", "--output", tmp_path / "result.json")
    assert status == 0
    assert certpca.load_solution(tmp_path / "result.json").objective == json.loads(out)["objective"]


def test_answer_is_shown_even_where_it_cannot_be_written(
    run: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)  # noticed only at the end
    status, out, err = run("solve", table, "-k", 2, "--json", "--output", tmp_path / "result.json")
    assert status == 2
    assert json.loads(out)["sparsity"] == 2
    assert err.startswith("certpca: cannot write")


OPTIONS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "correlation": (["--correlation"], {"scale": True}),
    "uncentred": (["--uncentred"], {"center": False}),
    "both": (["--correlation", "--uncentred"], {"scale": True, "center": False}),
    "solver": (["--solver", "coordinatewise"], {"solver": "coordinatewise"}),
    "own loadings": (["--no-refit", "--solver", "svd-threshold"], {"refit": False, "solver": "svd-threshold"}),
    "seed": (["--seed", "5"], {"rng": 5}),
}


@pytest.mark.parametrize("kind", OPTIONS)
def test_options_mean_what_they_mean_in_python(run: Run, table: Path, numbers: np.ndarray, kind: str) -> None:
    flags, options = OPTIONS[kind]
    found = json.loads(run("solve", table, "-k", 2, "--json", *flags)[1])
    expected = certpca.solve(numbers, 2, **options)
    assert found["objective"] == expected.objective
    assert found["matrix"] == expected.matrix
    assert (found["solver"], found["refitted"]) == (expected.solver, expected.refitted)


def test_settings_reach_the_solver(run: Run, table: Path) -> None:
    flags = ["--json", "--solver", "svd-threshold", "--set", "epsilon=0.25", "--set", "method=exact"]
    found = json.loads(run("solve", table, "-k", 2, *flags)[1])
    assert found["details"]["components"] == 4
    flags = ["--json", "--solver", "truncated-power", "--set", "schedule=[2, 1]"]
    assert run("solve", table, "-k", 2, *flags)[0] == 0
    assert run("solve", table, "-k", 2, "--solver", "spannogram", "--set", "max-cells=50")[0] == 0


def test_missing_mean(run: Run, numbers: np.ndarray, tmp_path: Path) -> None:
    numbers[3, 1] = np.nan
    pd.DataFrame(numbers, columns=NAMES).to_csv(tmp_path / "holes.csv", index=False)
    found = json.loads(run("solve", tmp_path / "holes.csv", "-k", 2, "--json", "--missing", "mean")[1])
    assert found["objective"] == pytest.approx(certpca.solve(numbers, 2, missing="mean").objective, rel=1e-12)


def test_covariance_file(run: Run, numbers: np.ndarray, tmp_path: Path) -> None:
    pd.DataFrame(np.cov(numbers, rowvar=False), index=NAMES, columns=NAMES).to_csv(tmp_path / "cov.csv")
    found = json.loads(run("solve", tmp_path / "cov.csv", "--covariance", "-k", 2, "--json")[1])
    assert found["objective"] == pytest.approx(certpca.solve(numbers, 2).objective)
    assert found["names"] is not None


def test_array_of_an_archive(run: Run, numbers: np.ndarray, tmp_path: Path) -> None:
    np.savez(tmp_path / "two.npz", first=np.eye(3), second=numbers)
    found = json.loads(run("solve", tmp_path / "two.npz", "--array", "second", "-k", 2, "--json")[1])
    assert found["size"] == 4


def test_time_limit_is_a_status_not_an_error(run: Run, tmp_path: Path, rng: np.random.Generator) -> None:
    np.save(tmp_path / "noise.npy", rng.standard_normal((30, 60)))
    status, out, err = run("solve", tmp_path / "noise.npy", "-k", 5, "--json", "--time-limit", "1e-6")
    assert (status, err) == (0, "")
    assert json.loads(out)["status"] == "OUT_OF_BUDGET"


# --- bad input ----------------------------------------------------------------------------------

BAD: dict[str, tuple[list[str], str]] = {
    "no command": ([], "required: command (see certpca --help)"),
    "unknown command": (["frobnicate"], "invalid choice: 'frobnicate'"),
    "misspelt command": (["slove"], "did you mean 'solve'? (see certpca --help)"),
    "misspelt option": (
        ["solve", "{table}", "-k", "2", "--taget-gap=0.1"],
        "unrecognized arguments: --taget-gap=0.1; did you mean '--target-gap'? (see certpca solve --help)",
    ),
    "misspelt option that is required": (
        ["solve", "{table}", "--sparsty", "2"],
        "required: -k/--sparsity; did you mean '--sparsity'?",
    ),
    "strange option": (
        ["solvers", "--frobnicate"],
        "arguments: --frobnicate (see certpca solvers --help)",
    ),
    "no file": (["solve", "-k", "2"], "required: file (see certpca solve --help)"),
    "no sparsity": (["solve", "{table}"], "required: -k/--sparsity"),
    "sparsity not whole": (["solve", "{table}", "-k", "2.5"], "invalid int value: '2.5'"),
    "sparsity zero": (["solve", "{table}", "-k", "0"], "whole number in 1..4 (the number of features), got 0"),
    "sparsity too large": (["solve", "{table}", "-k", "5"], "whole number in 1..4 (the number of features), got 5"),
    "missing file": (["solve", "{folder}/nowhere.csv", "-k", "2"], "there is no file"),
    "folder": (["solve", "{folder}", "-k", "2"], "unknown format"),
    "ragged": (["solve", "{folder}/ragged.csv", "-k", "2"], "line 3: 1 cells where others have 2"),
    "text cell": (["solve", "{folder}/text.csv", "-k", "2"], "line 3, column 'y': 'red' is not a number"),
    "NaN": (["solve", "{folder}/holes.csv", "-k", "2"], "column 1 ('y') has 1 missing values"),
    "constant column": (["solve", "{folder}/flat.csv", "-k", "2", "--correlation"], "column 0 ('x') is constant"),
    "asymmetric": (["solve", "{folder}/square.csv", "-k", "2", "--covariance"], "must be symmetric: entry"),
    "not square": (["solve", "{table}", "-k", "2", "--covariance"], "is square, got 30 x 4"),
    "covariance and correlation": (
        ["solve", "{table}", "-k", "2", "--covariance", "--correlation"],
        "--covariance uses the matrix as it is; --correlation cannot be applied",
    ),
    "covariance and uncentred": (["solve", "{table}", "-k", "2", "--covariance", "--uncentred"], "--uncentred cannot"),
    "covariance and missing": (
        ["solve", "{table}", "-k", "2", "--covariance", "--missing", "mean"],
        "--missing cannot",
    ),
    "unknown solver": (["solve", "{table}", "-k", "2", "--solver", "magic"], "solver must be one of auto,"),
    "unknown setting": (["solve", "{table}", "-k", "2", "--set", "speed=9"], "does not take these settings"),
    "setting of a wrong type": (
        ["solve", "{table}", "-k", "2", "--set", "starts=2.5"],
        "starts must be a whole number",
    ),
    "setting without a value": (["solve", "{table}", "-k", "2", "--set", "starts"], "--set needs NAME=VALUE"),
    "bad choice": (["solve", "{table}", "-k", "2", "--missing", "median"], "invalid choice: 'median'"),
    "time limit zero": (["solve", "{table}", "-k", "2", "--time-limit", "0"], "a budget needs seconds > 0"),
    "negative seed": (["solve", "{table}", "-k", "2", "--seed", "-1"], "--seed) must be a whole number from 0"),
    "demo out of range": (["demo", "-k", "14"], "whole number in 1..13"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_one_line_and_status_two(run: Run, table: Path, tmp_path: Path, kind: str) -> None:
    (tmp_path / "ragged.csv").write_text("x,y\n1,2\n3\n")
    (tmp_path / "text.csv").write_text("x,y\n1,2\n3,red\n")
    (tmp_path / "holes.csv").write_text("x,y\n1,2\n3,\n4,4\n")
    (tmp_path / "flat.csv").write_text("x,y\n1,2\n1,3\n1,5\n")
    (tmp_path / "square.csv").write_text("1,2\n3,4\n")
    arguments, message = BAD[kind]
    status, out, err = run(*(part.format(table=table, folder=tmp_path) for part in arguments))
    assert status == 2
    assert out == ""
    *understood, error = err.splitlines()
    assert error.startswith("certpca: ")
    assert [line for line in understood if not re.search(r"\.csv: \d+ × \d", line)] == []
    assert message in error


def test_out_of_memory_is_one_line(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("certpca.formats.tables.load_table", fail)
    status, _, err = run("solve", table, "-k", 2)
    assert status == 2
    assert err == "certpca: out of memory; use fewer features or a machine with more\n"


def test_ctrl_c_before_there_is_an_answer(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("certpca.formats.tables.load_table", interrupt)
    assert run("solve", table, "-k", 2) == (130, "", "certpca: interrupted before there was an answer\n")


# --- as a program -------------------------------------------------------------------------------


def test_program_prints_json_and_nothing_else(table: Path) -> None:
    answer = program("solve", table, "-k", "2", "--json")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert json.loads(answer.stdout)["sparsity"] == 2


def test_program_fails_with_status_two() -> None:
    answer = program("solve", "nowhere.csv", "-k", "2")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == "certpca: there is no file 'nowhere.csv'\n"


def test_installed_command_is_the_same_program() -> None:
    command = Path(sys.executable).with_name("certpca")
    if not command.exists():
        pytest.skip("certpca is not installed as a command beside this Python")
    answer = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert answer.stdout == f"certpca {certpca.__version__}\n"


@pytest.mark.parametrize("flags", [["--json"], []])
@pytest.mark.parametrize("unbuffered", ["", "1"])  # what is buffered meets the closed pipe only at the end
def test_closed_pipe_is_no_reason_to_complain(table: Path, flags: list[str], unbuffered: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        answer = subprocess.run(
            [*PROGRAM, "solve", str(table), "-k", "2", *flags],
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )
    finally:
        os.close(writer)
    assert answer.stderr.decode() == ("" if flags else f"{table}: 30 × 4, header\n")
    assert answer.returncode in (0, 1)  # rich, which prints tables, ends with 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_full_disk_behind_the_output(table: Path) -> None:
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(
            [*PROGRAM, "solve", str(table), "-k", "2", "--json"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert answer.returncode != 0
    assert b"No space left" in answer.stderr
    assert b"Traceback" not in answer.stderr


SAY_WHEN_THE_SEARCH_RUNS = """
import sys
from certpca.runtime.budget import Progress
tick = Progress.tick

def first_tick(self, *arguments):
    Progress.tick = tick
    print("searching", file=sys.stderr, flush=True)
    return tick(self, *arguments)

Progress.tick = first_tick
from certpca.frontends.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_ctrl_c_ends_a_long_run_with_its_best_answer(tmp_path: Path) -> None:
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).standard_normal((60, 300)))
    # Patience without end: only Ctrl-C, or the time limit as a guard, ends this run.
    flags = ["--json", "--solver", "decomposition", "--set", "patience=1000000000", "--time-limit", "60"]
    process = subprocess.Popen(
        [sys.executable, "-c", SAY_WHEN_THE_SEARCH_RUNS, "solve", str(tmp_path / "noise.npy"), "-k", "20", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == "searching\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, err) == (0, "")
    found = json.loads(out)
    assert found["status"] == "INTERRUPTED"
    assert found["message"] == "stopped by the user with the best answer so far"
    assert len(found["support"]) == 20
    assert found["seconds"] < 50


def test_progress_is_shown_only_to_a_terminal(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from certpca.frontends.cli.terminal import live_progress

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    with live_progress(io.StringIO()) as quiet:
        assert quiet is not None
        certpca.solve(certpca.pitprops(), 3, listener=quiet)
    screen = Terminal()
    with live_progress(screen) as listener:
        assert listener is not None
        certpca.solve(certpca.pitprops(), 3, listener=listener)
    assert "objective" in screen.getvalue()


def test_reports_how_often_a_file_was_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = np.random.default_rng(0).integers(0, 3, (20, 30)).astype(np.int8)
    certpca.write_plink(tmp_path / "file", table)
    file = str(tmp_path / "file.bed")
    assert main(["solve", file, "-k", "3", "--solver", "svd-threshold"]) == 0
    assert "the file was read" in capsys.readouterr().out
    assert main(["certify", file, "-k", "3", "--depth", "5", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["passes"] > 1
    assert main(["certify", file, "-k", "3", "--depth", "0"]) == 2
    assert "depth must be a positive number" in capsys.readouterr().err
