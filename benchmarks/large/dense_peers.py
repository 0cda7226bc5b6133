"""Dense components of a large packed file by plink2 and PCAone, beside certpca's sparse one, two threads each.

Every program runs as users call it, in a process of its own, from its start to its end, and gets the same matrix:
genotypes with missing ones at the mean, divided by the root of 2p(1 - p). It is asked for as many components as one
sparse component replaces (1), as programs give by default (10), and as many as people take (40). One judge recomputes
what the first captures of λ₁: a sparse one with its loadings, a dense one as the variance along its scores. Walks are
the bytes that a program read in units of the file's. What is not on the path is skipped.

python -m benchmarks.large.dense_peers [FILE.bed]     # generated, 1 GB, where it is not there; idle machine
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.large.generated import generate
from benchmarks.large.packed_file import SAMPLES, SPARSITY, VARIANTS, read_through
from benchmarks.large.watched import FailedError, Watched, watch
from benchmarks.machine import CHECKOUT, facts, write_results

import certpca
from certpca.operators.base import Operator
from certpca.runtime.arrays import Vector
from certpca.search.krylov import leading_eigenpairs

THREADS = 2
COMPONENTS = (1, 10, 40)
MEMORY = 2  # GB that PCAone may take; without a limit it decodes the file to 32 GB
RUNS, ENOUGH = 3, 60.0  # a job runs three times, or until it has taken a minute; the middle one counts
LIMIT = 1800.0


@dataclass(frozen=True)
class Job:
    """One program as users call it; `captured` is what the first component captures, from what was left in a folder."""

    program: str
    executable: str
    components: int
    command: list[str]
    captured: Callable[[Operator, Path], float]
    sparse: bool = False


def jobs(file: Path, sparsity: int) -> list[Job]:
    """List certpca's jobs, and those of the peers."""
    stem, threads = str(file.with_suffix("")), str(THREADS)
    prepared = ["--missing", "mean", "--hardy-weinberg", "--json"]
    made = [
        Job(
            f"certpca `{solver}`", sys.executable, 1,
            [sys.executable, "-m", "certpca", "solve", str(file), "-k", str(sparsity), "--solver", solver, *prepared],
            sparse_captured, sparse=True,
        )
        for solver in ("svd-threshold", "auto")
    ]  # fmt: skip
    for count in COMPONENTS:
        asked = ["--bfile", stem, "--pca", "approx", str(count), "--threads", threads, "--out", "out"]
        made.append(Job("plink2 `--pca approx`", "plink2", count, ["plink2", *asked], plink_captured))
    for count in COMPONENTS:
        asked = ["-b", stem, "-k", str(count), "-n", threads, "-m", str(MEMORY), "-o", "out"]
        made.append(Job(f"PCAone `-m {MEMORY}`", "PCAone", count, ["PCAone", *asked], pcaone_captured))
    return made


def sparse_captured(operator: Operator, folder: Path) -> float:
    """Return the variance that printed loadings capture."""
    lines = (folder / "said").read_text().splitlines()
    found = json.loads(next(line for line in lines if line.startswith("{")))
    return operator.quadratic_form(np.asarray(found["support"], dtype=np.intp), np.asarray(found["loadings"]))


def plink_captured(operator: Operator, folder: Path) -> float:
    """Return the variance along the first of the scores that plink2 wrote: families, names, scores."""
    with (folder / "out.eigenvec").open() as stream:
        column = stream.readline().split().index("PC1")
        return along(operator, np.array([float(line.split()[column]) for line in stream]))


def pcaone_captured(operator: Operator, folder: Path) -> float:
    """Return the variance along the first of the scores that PCAone wrote."""
    return along(operator, np.loadtxt(folder / "out.eigvecs", ndmin=2)[:, 0])


def along(operator: Operator, scores: Vector) -> float:
    """Return the variance of the data along a direction of the samples."""
    unit = scores / np.linalg.norm(scores)
    return float(np.sum(np.asarray(operator.transposed_times(unit[:, None])) ** 2))


def measured(job: Job, operator: Operator, largest: float, size: int, limit: float) -> dict[str, Any]:
    """Run a job in folders of its own, and have the first of its answers judged."""
    row: dict[str, Any] = {"program": job.program, "components": job.components, "sparse": job.sparse}
    if shutil.which(job.executable) is None:
        return {**row, "skipped": f"{job.executable} is not installed"}
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    environment = {**dict.fromkeys(variables, str(THREADS)), "PYTHONPATH": f"{CHECKOUT / 'src'}"}
    runs: list[Watched] = []
    if job.sparse:  # compiles loops, which are kept on disk from then on
        with tempfile.TemporaryDirectory() as name:
            watch(job.command, Path(name), limit, environment)
    while len(runs) < RUNS and sum(run.seconds for run in runs) < ENOUGH:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            try:
                took = watch(job.command, folder, limit, environment)
            except FailedError as problem:
                return {**row, "skipped": f"failed: {str(problem)[:120]}"}
            if took is None:
                return {**row, "skipped": f"no answer within {limit:.0f} s"}
            runs.append(took)
            if len(runs) == 1:
                row["share"] = job.captured(operator, folder) / largest
    middle = sorted(runs, key=lambda run: run.seconds)[(len(runs) - 1) // 2]
    walks = {"walks": middle.read_bytes / size, "files_written": middle.written_bytes / size}
    return {**row, **asdict(middle), **walks, "all_seconds": [run.seconds for run in runs]}


def versions() -> dict[str, str | None]:
    """Return what the peers say of themselves, without the day they were built."""
    return {"plink2": _said("plink2", "--version"), "PCAone": _said("PCAone", "--help")}


def _said(program: str, option: str) -> str | None:
    if shutil.which(program) is None:
        return None
    done = subprocess.run([program, option], capture_output=True, text=True, check=False)
    found = re.search(r"v?\d+\.\d+[\w.]*", done.stdout + done.stderr)
    return found.group() if found else "of unknown version"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--only", default="", help="programs whose name contains this; other rows are kept")
    parser.add_argument(
        "--components", type=int, nargs="*", default=COMPONENTS, help="numbers of dense ones; 40 takes hours"
    )
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for each run")
    parser.add_argument("--output", default="dense_peers", help="name of the results, without ending")
    options = parser.parse_args()
    start = facts()
    with tempfile.TemporaryDirectory() as folder:
        file = (options.file or Path(folder) / "generated.bed").resolve()
        if not file.exists():
            generate(file, SAMPLES, VARIANTS)
        operator = certpca.from_data(certpca.read_plink(file), missing="mean", scale="2pq")
        largest = float(leading_eigenpairs(operator, 1).values[0])
        size, sparsity = file.stat().st_size, min(SPARSITY, operator.size // 8)
        found = {"samples": operator.rows, "variants": operator.size, "sparsity": sparsity, "file_bytes": size}
        found |= {"threads": THREADS, "largest": largest, "versions": versions()}
        listed = [job for job in jobs(file, sparsity) if job.sparse or job.components in options.components]
        kept = {} if not options.only else _kept(options.output)
        read_through(file)  # all of them find it in the system's cache
        for job in listed:
            if options.only in job.program:
                row = measured(job, operator, largest, size, options.limit)
                kept[job.program, job.components] = row
                print(row, flush=True)
                rows = [kept[key] for key in ((job.program, job.components) for job in listed) if key in kept]
                write_results(options.output, start, {**found, "rows": rows})


def _kept(name: str) -> dict[tuple[str, int], dict[str, Any]]:
    path = CHECKOUT / "benchmarks" / "results" / f"{name}.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    return {(row["program"], row["components"]): row for row in rows}


if __name__ == "__main__":
    main()
