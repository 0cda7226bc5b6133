"""The command ends at its limits and at signals, says so, and has written its answer by then."""

import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import certpca
from certpca import Status, Step
from certpca.frontends.cli.command_run import run_on_file
from certpca.frontends.cli.main import main, parser
from certpca.frontends.cli.terminal import live_progress

SAY_WHEN_THE_PROOF_RUNS = """
import os, signal, sys
from certpca.runtime.budget import Progress

tick = Progress.tick

def with_a_bound(self, objective, upper_bound=float("inf"), note=""):
    if upper_bound < float("inf"):
        Progress.tick = tick
        print("proving", file=sys.stderr, flush=True)
        for _ in range(SIGNALS):
            os.kill(os.getpid(), signal.SIGTERM)
    return tick(self, objective, upper_bound, note)

Progress.tick = with_a_bound
from certpca.frontends.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def program(*arguments: str, signals: int = 0) -> subprocess.Popen[str]:
    """Run the command, which says when it has a bound, and may send itself signals then."""
    code = SAY_WHEN_THE_PROOF_RUNS.replace("SIGNALS", str(signals))
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def noise(tmp_path: Path) -> Path:
    """Return a problem whose proof takes far longer than any test."""
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).standard_normal((60, 300)))
    return tmp_path / "noise.npy"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 0)])
@pytest.mark.parametrize("verb", ["solve", "certify", "path"])
def test_signals_end_a_proof_with_its_answer_written(noise: Path, number: int, status: int, verb: str) -> None:
    output = noise.with_name("result.json")
    asked = ["--sparsities", "10,20"] if verb == "path" else ["-k", "20"]
    asked += [] if verb == "certify" else ["--certify"]
    flags = ["--json", "--target-gap", "0", "--time-limit", "300", "--output", str(output)]
    process = program(verb, str(noise), *asked, *flags)
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == "proving\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert (process.returncode, err) == (status, "")
    shown = json.loads(out)
    assert (shown["solutions"][0] if verb == "path" else shown)["status"] == "INTERRUPTED"
    if verb == "certify":
        certpca.verify(certpca.load_certificate(output), np.load(noise))
    elif verb == "solve":
        stored = certpca.load_solution(output)
        assert stored.certificate is not None
        certpca.verify(stored.certificate, np.load(noise))
    else:
        assert len(certpca.load_path(output).solutions) == 2


def test_a_second_signal_ends_the_program(noise: Path) -> None:
    process = program("solve", str(noise), "-k", "20", "--certify", "--target-gap", "0", signals=2)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGTERM


def certify_with_default(seconds: float, *arguments: str) -> int:
    """Run the command with another default limit."""
    words = ["certify", *arguments]
    options = parser(words).parse_args(words)
    return run_on_file(
        options,
        lambda data, **given: certpca.certify(data, options.sparsity, **given),
        proving=True,
        show=print,
        fields=lambda certificate: {"status": str(certificate.status)},
        write=lambda certificate, files: None,
        default_seconds=seconds,
    )


def test_a_default_limit_is_said(noise: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = (
        "stopped at the default limit of 1 s for proofs; --time-limit SECONDS allows more, --time-limit none any time"
    )
    asked = [str(noise), "-k", "20", "--target-gap", "0"]
    assert certify_with_default(1.0, *asked) == 0
    assert capsys.readouterr().out.endswith(said + "\n")
    assert certify_with_default(1.0, *asked, "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["status"] == str(Status.OUT_OF_BUDGET)
    assert err == said + "\n"
    assert main(["certify", str(noise), "-k", "20", "--target-gap", "0", "--time-limit", "0.5"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "default limit" not in shown
    assert "stopped at the budget" in shown
    assert main(["solve", str(noise), "-k", "20", "--time-limit", "none"]) == 0


@pytest.mark.parametrize("limit", ["0", "-3", "nan", "soon"])
def test_limits_that_are_none_are_refused(noise: Path, limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(["solve", str(noise), "-k", "5", "--time-limit", limit])
    except SystemExit as ended:
        status = int(str(ended.code))
    assert status == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_lines_now_and_then_where_nobody_watches() -> None:
    log = io.StringIO()
    with live_progress(log) as listener:
        assert listener is not None
        for second in (1.0, 9.9, 10.5, 20.0, 40.4, 40.6, 60.0, 80.0):
            listener(Step(second, 1.5, 2.0))
    lines = log.getvalue().splitlines()
    assert [line.split()[1] for line in lines] == ["10.5", "40.6", "80.0"]
    for line in lines:
        assert "objective 1.5" in line
        assert "upper bound 2" in line
        assert "gap 25" in line


def test_a_log_that_is_closed_ends_nothing() -> None:
    log = io.StringIO()
    with live_progress(log) as listener:
        assert listener is not None
        log.close()
        listener(Step(100.0, 1.5, 2.0))
