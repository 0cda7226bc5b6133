"""R packages as peers: one R process for each run, data through binary files, times taken by R itself."""

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from benchmarks.peers.problem import Matrix, Problem
from benchmarks.peers.timing import OUT_OF_TIME, Answer, Clocked, Effort, NotAvailable, timed, tuned

DRIVER = Path(__file__).with_name("driver.R")
BLOCK = 512  # columns written at a time


class Session:
    """A running R process that knows the data."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path, size: int) -> None:
        self.process = process
        self.folder = folder
        self.size = size
        self.peak_bytes = 0

    def fit(self, penalty: float = 0.0) -> Clocked:
        """Solve once."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # what R said before it ended is the better message
            self.process.stdin.write(f"{float(penalty)!r}\n")
            self.process.stdin.flush()
        processor, wall, peak = self._answer().split()
        self.peak_bytes = int(peak)
        loadings: Matrix = np.fromfile(self.folder / "loadings")
        return Clocked(loadings, float(processor), float(wall))

    def _answer(self) -> str:
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        line = self.process.stdout.readline().strip()
        if not line:
            if self.process.wait() == -signal.SIGXCPU:
                raise TimeoutError(OUT_OF_TIME)
            line = (self.process.stderr.read().strip().splitlines() or ["R ended without a word"])[-1]
        if line != "ready" and not line[:1].isdigit():
            # R's wording for memory is told to the runner in its own.
            raise MemoryError(line) if "cannot allocate" in line else RuntimeError(line)
        return line


@contextmanager
def session(
    package: str, fit: str, problem: Problem, sparsity: int, *, keeps_sparse: bool = False
) -> Iterator[Session]:
    """Start R with a function `fit(x, sparsity, penalty)` on the centred data, or on sparse data and `centre`."""
    if version(package) is None:
        msg = f"R package {package} is not installed" if shutil.which("Rscript") else "R is not installed"
        raise NotAvailable(msg)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "fit.R").write_text(f"fit <- function(x, sparsity, penalty) {{\n{fit}\n}}\n")
        _write(problem, folder, keeps_sparse=keeps_sparse)
        command = ["Rscript", "--vanilla", str(DRIVER), name, str(sparsity)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        try:
            running = Session(process, folder, problem.size)
            running._answer()
            yield running
        finally:
            process.kill()
            process.communicate()


def fit_directly(
    package: str, fit: str, problem: Problem, sparsity: int, effort: Effort, *, keeps_sparse: bool = False
) -> Answer:
    """Solve with a function that takes the sparsity."""
    with session(package, fit, problem, sparsity, keeps_sparse=keeps_sparse) as r:
        return _with_peak(timed(r.fit, effort), r)


def fit_tuned(package: str, fit: str, problem: Problem, sparsity: int, first: float, effort: Effort) -> Answer:
    """Solve with a function that takes a penalty."""
    with session(package, fit, problem, sparsity) as r:
        return _with_peak(tuned(r.fit, first, sparsity, effort), r)


def _with_peak(answer: Answer, r: Session) -> Answer:
    return replace(answer, facts={"peak_bytes": r.peak_bytes})


@cache
def version(package: str) -> str | None:
    """Return the version of an installed R package."""
    if shutil.which("Rscript") is None:
        return None
    asked = ["Rscript", "--vanilla", "-e", f'cat(as.character(packageVersion("{package}")))']
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def _write(problem: Problem, folder: Path, *, keeps_sparse: bool) -> None:
    """Write the data as R reads them: doubles, column by column."""
    if problem.means is not None and keeps_sparse:
        kept = problem.values.tocsc()
        kept.sort_indices()
        (folder / "shape").write_text(f"{problem.rows} {problem.size} {kept.nnz}")
        kept.indices.astype(np.int32).tofile(folder / "indices")
        kept.indptr.astype(np.int32).tofile(folder / "starts")
        kept.data.astype(np.float64).tofile(folder / "data")
        problem.means.astype(np.float64).tofile(folder / "means")
        return
    (folder / "shape").write_text(f"{problem.rows} {problem.size}")
    with (folder / "data").open("wb") as stream:
        for start in range(0, problem.size, BLOCK):
            some = np.arange(start, min(start + BLOCK, problem.size))
            stream.write(np.ascontiguousarray(problem.columns(some).T).data)
