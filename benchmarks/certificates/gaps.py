"""The proved gap on every real matrix at hand (k = 10, 50 and 1.66, 5, 15, 25 % of the features) and on simulated data.

    python -m benchmarks.certificates.gaps [--seconds 120] [--workers 1] [--only NAME ...] [--at K ...] [--goals]

Each case is a process of its own with two threads, pinned to two cores where the system can do that. Its time is that
of the whole call (answer, bound and proof); each certificate is verified afterwards. Results are written to
benchmarks/results/gaps.json after every case: the same command goes on where it was ended, as long as the sources and
the limit are the same, and replaces older results case by case. `--goals` runs a few cases with limits of their own.
`python -m benchmarks.render` writes docs/gaps.md.
"""

import argparse
import json
import os
import queue
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from benchmarks.machine import CHECKOUT, SHARED, facts, peak_bytes, write_results

import certpca

COUNTS = (10, 50)
SHARES = (1.66, 5.0, 15.0, 25.0)  # per cent of the features
COMMON = 0.05  # smallest frequency of the rarer allele
RESULTS = CHECKOUT / "benchmarks" / "results" / "gaps.json"
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")


def _genotypes(file: str) -> Any:
    data = np.load(SHARED / file)["G"]
    if file.startswith(SIMULATED):
        return data
    frequency = np.where(data < 0, 0, data).mean(axis=0) / 2
    return np.ascontiguousarray(data[:, np.minimum(frequency, 1 - frequency) > COMMON])


def _expression(file: str) -> Any:
    return np.load(SHARED / file)["X"]


def _intensities(file: str) -> Any:
    return np.log2(np.maximum(_expression(file), 1))


def _text(file: str) -> Any:
    counts = sp.load_npz(SHARED / file).astype(np.float64)
    counts = counts[:, np.asarray((counts > 0).sum(axis=0)).ravel() >= 5]
    counts.data = np.log1p(counts.data)
    return sp.csr_array(counts)


def _matrix(file: str) -> Any:
    return np.load(SHARED / file)["A"]


SIMULATED = "simulated"  # of the paper's size; at its sparsities
PAPER = (624, 9377)


class Goal(NamedTuple):
    """A gap to be proved within so many seconds."""

    data: str
    sparsity: int
    seconds: float
    gap: float


GOALS = (
    Goal(SIMULATED, 624, 30.0, 0.011),
    Goal(SIMULATED, 9377, 30.0, 0.006),
    Goal("HapMap3", 360, 15.0, 0.01),
    Goal("HapMap3", 5424, 15.0, 0.01),
    Goal("chr 1", 626, 120.0, 0.01),
    Goal("chr 22, Europe", 723, 300.0, 0.03),
    Goal("chr 22, Europe", 2170, 300.0, 0.03),
)
DATA: dict[str, tuple[Callable[[str], Any], str]] = {
    SIMULATED: (_genotypes, "simulated/chr1_like.npz"),
    "colon": (_intensities, "expr_alon/X.npz"),
    "lung": (_expression, "expr_lung_harvard/X.npz"),
    "bladder": (_expression, "expr_bladderbatch/X.npz"),
    "chr 1": (_genotypes, "geno_1kg_chr1/geno.npz"),
    "chr 22": (_genotypes, "geno_1kg_chr22/geno.npz"),
    "chr 22, Europe": (_genotypes, "geno_1kg_eur_chr22/geno.npz"),
    "HapMap3": (_genotypes, "geno_hapmap3_672/geno.npz"),
    "HGDP": (_genotypes, "geno_hgdp_159/geno.npz"),
    "ancestry panel": (_genotypes, "geno_1kg_aisnp_2504/seldin.npz"),
    "Associated Press": (_text, "text_associated_press/X.npz"),
    "20 Newsgroups": (_text, "text_20newsgroups/X.npz"),
    "stocks": (_matrix, "snp500/A.npz"),
    "communities": (_matrix, "covariances/communities.npz"),
    "digits": (_matrix, "covariances/INFORMS_digits.npz"),
}


def sparsities(size: int) -> list[int]:
    """Return the sparsities of a matrix, each once."""
    shares = [round(share * size / 100) for share in SHARES]
    return sorted({k for k in (*COUNTS, *shares) if 2 <= k < size})


def run(name: str, sparsity: int, seconds: float) -> dict[str, Any]:
    """Certify one case and verify the certificate."""
    load, file = DATA[name]
    data = load(file)
    begin = time.perf_counter()
    operator = certpca.from_matrix(data) if load is _matrix else certpca.from_data(data, missing="mean")
    certificate = certpca.certify(operator, sparsity, target_gap=1e-4, budget=certpca.Budget(seconds=seconds))
    certified = time.perf_counter()
    proof = certpca.verify(certificate, operator)
    return {
        "data": name,
        "samples": int(data.shape[0]) if load is not _matrix else None,
        "features": int(data.shape[1]),
        "sparsity": sparsity,
        "limit": seconds,
        "gap": proof.gap,
        "kind": proof.kind,
        "objective": proof.objective,
        "upper_bound": proof.upper_bound,
        "decided": int(proof.outside.size + proof.inside.size),
        "seconds": certified - begin,
        "verify_seconds": time.perf_counter() - certified,
        "peak_gib": peak_bytes() / 2**30,
    }


Case = tuple[str, int, float]  # data, sparsity and limit


def _in_a_process(case: Case, cores: "queue.Queue[tuple[int, ...]]") -> dict[str, Any]:
    mine, (name, sparsity, seconds) = cores.get(), case
    try:
        command = [sys.executable, "-m", "benchmarks.certificates.gaps", "--seconds", str(seconds)]
        command += ["--case", name, str(sparsity)]
        pin = (lambda: os.sched_setaffinity(0, mine)) if mine and hasattr(os, "sched_setaffinity") else None
        environment = {**os.environ, **dict.fromkeys(THREADS, "2")}
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            preexec_fn=pin,
        )
        if done.returncode:
            failed = done.stderr.splitlines()[-1:]
            return {"data": name, "sparsity": sparsity, "limit": seconds, "failed": failed}
        return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]
    finally:
        cores.put(mine)


class Results:
    """What is known, in the file: `rows` for all data with one limit, `goals` for cases with their own."""

    def __init__(self, part: str) -> None:
        self._part, self._start, self._lock = part, facts(), Lock()
        self._content: dict[str, Any] = {"rows": [], "goals": []}
        if RESULTS.exists():
            known = json.loads(RESULTS.read_text())
            self._content |= known
            for row in [*self._content["rows"], *self._content["goals"]]:
                row.setdefault("processor", known["machine"]["processor"])

    def missing(self, cases: list[Case]) -> list[Case]:
        """Return the cases that these sources have no result for."""
        made = {self._key(row) for row in self._rows if row["source"] == self._start["source"] and "gap" in row}
        return [case for case in cases if case not in made]

    def add(self, row: dict[str, Any]) -> None:
        """Put a result in the place of an older one, and write all."""
        row = {**row, "source": self._start["source"], "processor": self._start["processor"]}
        print(json.dumps(row), flush=True)
        with self._lock:
            places = [at for at, known in enumerate(self._rows) if self._key(known)[:2] == self._key(row)[:2]]
            if places:
                self._rows[places[0]] = row
            else:
                self._rows.append(row)
            write_results("gaps", self._start, {name: self._content[name] for name in ("rows", "goals")})

    @property
    def _rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._content[self._part]
        return rows

    @staticmethod
    def _key(row: dict[str, Any]) -> Case:
        return row["data"], row["sparsity"], row.get("limit", 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--workers", type=int, default=1, help="cases at a time, two cores each")
    parser.add_argument("--only", nargs="*", choices=DATA, help="names of data sets")
    parser.add_argument("--at", type=int, nargs="*", help="sparsities, instead of all")
    parser.add_argument("--goals", action="store_true", help="a few cases, each with a limit of its own")
    parser.add_argument("--again", action="store_true", help="also what these sources have results for")
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.case:
        print(json.dumps(run(asked.case[0], int(asked.case[1]), asked.seconds)))
        return
    cores = queue.Queue[tuple[int, ...]]()
    known = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    for worker in range(asked.workers):
        cores.put(tuple(known[2 * worker : 2 * worker + 2]))
    cases = list[Case]()
    for name, (load, file) in DATA.items():
        if not (SHARED / file).exists() or (asked.only and name not in asked.only):
            continue
        if asked.goals:
            cases += [(name, goal.sparsity, goal.seconds) for goal in GOALS if goal.data == name]
            continue
        usual = PAPER if name == SIMULATED else sparsities(load(file).shape[1])
        cases += [(name, k, asked.seconds) for k in usual if not asked.at or k in asked.at]
    results = Results("goals" if asked.goals else "rows")
    left = cases if asked.again else results.missing(cases)

    def work(case: Case) -> None:
        results.add(_in_a_process(case, cores))

    with ThreadPoolExecutor(asked.workers) as pool:
        list(pool.map(work, left))


if __name__ == "__main__":
    main()
