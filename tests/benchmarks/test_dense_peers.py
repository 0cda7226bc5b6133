"""The comparison with programs for dense components: what is watched, what is judged, what is skipped."""

import math
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from benchmarks.large import dense_peers
from benchmarks.large.dense_peers import Job, along, jobs, measured, pcaone_captured, plink_captured, sparse_captured
from benchmarks.large.dense_table import table
from benchmarks.large.watched import FailedError, watch

import certpca
from certpca.operators.base import Operator

linux = pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs /proc")


@pytest.fixture
def genotypes(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    certpca.write_plink(tmp_path / "few", rng.integers(0, 3, (40, 60), dtype=np.int8))
    return tmp_path / "few.bed"


@pytest.fixture
def operator(genotypes: Path) -> Operator:
    return certpca.from_data(certpca.read_plink(genotypes), missing="mean", scale="2pq")


def first_of(operator: Operator) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the largest eigenvalue, its scores and its loadings."""
    factor = np.asarray(operator.transposed_times(np.eye(40))).T
    left, values, right = np.linalg.svd(factor, full_matrices=False)
    return float(values[0] ** 2), left[:, 0], right[0]


@linux
def test_a_program_is_watched_with_what_it_starts(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(3_000_000))
    work = "room = bytearray(60_000_000); open('data', 'rb').read(); import time; time.sleep(0.3)"
    # A script that starts the program, as some names on a path are.
    took = watch(["sh", "-c", f'{sys.executable} -c "{work}"; true'], tmp_path, 60.0)
    assert took is not None
    assert took.seconds >= 0.3
    assert took.cpu_seconds > 0
    assert took.peak_bytes > 60_000_000
    assert took.read_bytes >= 3_000_000


def test_a_program_that_takes_too_long_is_ended_with_what_it_started(tmp_path: Path) -> None:
    assert watch(["sh", "-c", "echo $$ > number; sleep 60; true"], tmp_path, 0.5) is None
    group = int((tmp_path / "number").read_text())
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("something is still running")


def test_a_program_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match="no room"):
        watch(["sh", "-c", "echo no room; exit 3"], tmp_path, 60.0)


def test_scores_of_the_first_component_capture_the_largest_eigenvalue(operator: Operator, tmp_path: Path) -> None:
    largest, scores, _ = first_of(operator)
    assert along(operator, -3 * scores) == pytest.approx(largest, rel=1e-5)
    names = ["#FID\tIID\tPC1\tPC2", *(f"p\ts{place}\t{score!r}\t0.5" for place, score in enumerate(scores.tolist()))]
    (tmp_path / "out.eigenvec").write_text("\n".join(names) + "\n")
    assert plink_captured(operator, tmp_path) == pytest.approx(largest, rel=1e-5)
    np.savetxt(tmp_path / "out.eigvecs", np.column_stack([scores, scores[::-1]]))
    assert pcaone_captured(operator, tmp_path) == pytest.approx(largest, rel=1e-5)


def test_loadings_are_judged_by_what_they_capture(operator: Operator, tmp_path: Path) -> None:
    largest, _, loadings = first_of(operator)
    written = f'{{"support": {list(range(loadings.size))}, "loadings": {loadings.tolist()}}}'
    (tmp_path / "said").write_text(f"a warning\n{written}\n")
    assert sparse_captured(operator, tmp_path) == pytest.approx(largest, rel=1e-5)


@linux
def test_certpca_is_run_as_users_run_it(genotypes: Path, operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_peers, "RUNS", 1)
    job = jobs(genotypes, 10)[0]
    row = measured(job, operator, first_of(operator)[0], genotypes.stat().st_size, math.inf)
    expected = certpca.solve(certpca.read_plink(genotypes), 10, "svd-threshold", missing="mean", scale="2pq")
    assert row["share"] == pytest.approx(expected.objective / first_of(operator)[0], rel=1e-6)
    assert row["walks"] > 1


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["nowhere-to-be-found"], "nowhere-to-be-found is not installed"),
        (["sh", "-c", "echo why; exit 1"], "failed: why"),
        (["sh", "-c", "sleep 60"], "no answer within 0 s"),
    ],
)
def test_what_gives_no_answer_is_told(operator: Operator, command: list[str], said: str) -> None:
    job = Job("peer", command[0], 10, command, lambda *_: 0.0)
    assert measured(job, operator, 1.0, 1, 0.2)["skipped"] == said


def test_all_peers_are_asked_for_the_same_numbers_of_components(genotypes: Path) -> None:
    asked = [(job.executable, job.components) for job in jobs(genotypes, 10) if not job.sparse]
    assert asked == [(name, count) for name in ("plink2", "PCAone") for count in (1, 10, 40)]


def test_table_has_a_line_for_each_and_says_what_was_skipped() -> None:
    took = {"seconds": 4.0, "cpu_seconds": 7.0, "peak_bytes": 3e8, "share": 0.5, "walks": 6.0, "files_written": 0.0}
    rows = [
        {"program": "ours", "components": 1, "sparse": True, **took},
        {"program": "theirs", "components": 10, "sparse": False, **took, "files_written": 1.0},
        {"program": "absent", "components": 40, "sparse": False, "skipped": "absent is not installed"},
    ]
    machine = {"processor": "some", "cores": 2, "source": "abc"}
    found = {"samples": 20_000, "variants": 200_000, "sparsity": 1_000, "file_bytes": 1_000_000_003, "threads": 2}
    lines = table({**found, "rows": rows, "machine": machine, "versions": {"theirs": "1.0", "absent": None}}).split(
        "\n"
    )
    assert lines[0].startswith("| 20,000 x 200,000, 1.0 GB |")
    assert lines[2] == "| ours | 1 of 1,000 variants | 4.0 | 7.0 | 6.0 | 0.30 | 0.50000 |"
    assert "6.0, 1.0 written" in lines[3]
    assert lines[4].endswith("| absent is not installed |")
    assert "absent not installed" in lines[-1]
