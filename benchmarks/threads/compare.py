"""Threads as installed against one thread: the same jobs in turns, each run a process of its own.

    python -m benchmarks.threads.compare [--only JOB ...] [--repeats 3]

Default threads must take at most 1.05 times as long as one thread on anything, and less on what is large. The shortest
of the times of each counts; run it on a machine that is otherwise idle. Results go to benchmarks/results/threads.json;
the status is 1 where the target is missed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.certificates.gaps import DATA
from benchmarks.machine import CHECKOUT, facts, write_results

import certpca

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
MOST = 1.05  # times the time of one thread
KEPT = "CERTPCA_KEPT"  # names the folder of the certificates that are verified, which all runs share
RESULTS = CHECKOUT / "benchmarks" / "results" / "threads.json"


def _data(name: str) -> Any:
    load, file = DATA[name]
    return load(file)


def _small() -> Callable[[], object]:
    rng = np.random.default_rng(1)
    tables = [rng.standard_normal((60, 40)) for _ in range(20)]
    certpca.solve(tables[0], 5)
    return lambda: [certpca.solve(table, 5) for table in tables]


def _solve(name: str, sparsity: int) -> Callable[[], Callable[[], object]]:
    def prepared() -> Callable[[], object]:
        operator = certpca.from_data(_data(name), missing="mean")
        certpca.solve(operator, sparsity, "svd-threshold")  # what is imported and compiled is ready
        return lambda: certpca.solve(operator, sparsity)

    return prepared


def _certify(name: str, sparsity: int) -> Callable[[], Callable[[], object]]:
    def prepared() -> Callable[[], object]:
        data = _data(name)
        certpca.certify(certpca.pitprops(), 5)
        return lambda: certpca.certify(data, sparsity, target_gap=0.01, missing="mean")

    return prepared


def _verify(name: str, sparsity: int) -> Callable[[], Callable[[], object]]:
    def prepared() -> Callable[[], object]:
        data, file = _data(name), Path(os.environ[KEPT]) / f"{name} {sparsity}.json"
        if not file.exists():  # with other threads a limit may end at another kind
            certpca.save_certificate(certpca.certify(data, sparsity, time_limit=20.0, missing="mean"), file)
        certificate = certpca.load_certificate(file)
        return lambda: certpca.verify(certificate, data)

    return prepared


JOBS: dict[str, Callable[[], Callable[[], object]]] = {
    "20 small `solve`": _small,
    "`solve` colon, k = 50": _solve("colon", 50),
    "`solve` lung, k = 159": _solve("lung", 159),
    "`solve` bladder, k = 10": _solve("bladder", 10),
    "`solve` chr 1, k = 208": _solve("chr 1", 208),
    "`solve` simulated, k = 624": _solve("simulated", 624),
    "`solve` text, k = 10": _solve("Associated Press", 10),
    "`certify` lung, k = 50": _certify("lung", 50),
    "`certify` lung, k = 159": _certify("lung", 159),
    "`certify` lung, k = 476": _certify("lung", 476),
    "`certify` chr 1, k = 208": _certify("chr 1", 208),
    "`verify` chr 1, k = 208": _verify("chr 1", 208),
}


def seconds_of(job: str) -> float:
    """Return how long a job takes here."""
    work = JOBS[job]()
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _in_a_process(job: str, *, one: bool) -> float:
    environment = {name: value for name, value in os.environ.items() if name not in THREADS}
    environment |= dict.fromkeys(THREADS, "1") if one else {}
    command = [sys.executable, "-m", "benchmarks.threads.compare", "--job", job]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="parts of the names of jobs")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.job:
        print(seconds_of(asked.job))
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ[KEPT] = folder
        _compare(asked)


def _compare(asked: argparse.Namespace) -> None:
    start, rows = facts(), dict[str, dict[str, Any]]()
    if asked.only and RESULTS.exists():
        known = json.loads(RESULTS.read_text())
        rows = {row["job"]: row for row in known["rows"] if known["machine"]["source"] == start["source"]}
    for job in JOBS:
        if asked.only and not any(part in job for part in asked.only):
            continue
        times: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(asked.repeats):
            for single, taken in times.items():
                taken.append(_in_a_process(job, one=single))
        one, default = min(times[True]), min(times[False])
        rows[job] = {"job": job, "one": one, "default": default, "ratio": default / one}
        print(json.dumps(rows[job]), flush=True)
    found = [rows[job] for job in JOBS if job in rows]
    met = all(row["ratio"] <= MOST for row in found)
    print(f"at most {MOST} x one thread: {'met' if met else 'MISSED'}")
    print(f"-> {write_results('threads', start, {'most': MOST, 'met': met, 'rows': found})}")
    if not met:
        sys.exit(1)


if __name__ == "__main__":
    main()
