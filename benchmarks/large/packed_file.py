"""A packed genotype file larger than a laptop would decode: solve and certify within 2 GB of memory, on two threads.

Each job runs in a process of its own, which reports its largest resident size, and is compared with reading the file
as often as the job did; short jobs run several times, between readings. Both are measured with the file in the system's
cache and without: in `cold` rows every walk over the file begins with a cache that has forgotten it. A cut of the
variants is also solved in memory.

python -m benchmarks.large.packed_file [FILE.bed]      # generated, 1 GB, where it is not there
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from benchmarks.large.generated import generate
from benchmarks.machine import CHECKOUT, facts, fastest, peak_bytes, write_results

import certpca
from certpca.genotypes.plink import PlinkFile

SAMPLES, VARIANTS = 20_000, 200_000
SPARSITY = 1_000
CUT = 36  # every so many variants, of every fourth sample, are also solved in memory
BLOCK = 16 << 20
THREADS = "2"
PHASES = ("search", "judge", "proof")
RUNS = 5  # of short jobs, of which the middle one counts: storage is not as fast every time


def forget(file: Path) -> None:
    """Drop a file from the system's cache."""
    handle = os.open(file, os.O_RDONLY)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


def forget_before_each_walk() -> None:
    walk = PlinkFile._walk

    def cold_walk(self: PlinkFile, *arguments: Any) -> None:
        forget(self.file)
        walk(self, *arguments)

    PlinkFile._walk = cold_walk  # type: ignore[method-assign, assignment]


def read_through(file: Path) -> None:
    room = bytearray(BLOCK)
    with file.open("rb", buffering=0) as stream:
        while stream.readinto(room):
            pass


def reading(file: Path) -> dict[str, float]:
    def cold() -> None:
        forget(file)
        read_through(file)

    # Cold reads vary several times over: the middle one is what a walk has to expect.
    return {"cold": median(fastest(cold, 1) for _ in range(9)), "warm": fastest(lambda: read_through(file), 5)}


def job(name: str, file: Path, *, cold: bool) -> dict[str, Any]:
    """Do one thing from opening the file to the answer, and say what it took."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:  # libraries and loops are loaded once for any file
        few = np.random.default_rng(0).integers(0, 3, (300, 600), dtype=np.int8)
        certpca.write_plink(Path(folder) / "few", few)
        certpca.solve(certpca.read_plink(Path(folder) / "few"), 4, "svd-threshold")
    loading = time.perf_counter() - begin
    if cold:
        forget_before_each_walk()
    begin, used = time.perf_counter(), time.process_time()
    genotypes = certpca.read_plink(file)
    operator = certpca.from_data(genotypes, missing="mean")
    if name == "certify":
        made = certpca.certify(operator, SPARSITY, time_limit=math.inf)
        found: dict[str, Any] = {"kind": made.kind, "upper_bound": made.upper_bound, "gap": made.gap}
        found |= {"objective": made.objective, "failure_probability": made.failure_probability}
        details = made.details
    else:
        solution = certpca.solve(operator, SPARSITY, name)
        found, details = {"objective": solution.objective}, solution.details
    found["walks"] = {phase: details.get(f"walks_{phase}", 0.0) for phase in PHASES}
    seconds, cpu = time.perf_counter() - begin, time.process_time() - used
    passes = genotypes.passes
    took = {"seconds": seconds, "cpu_seconds": cpu, "loading_seconds": loading, "passes": passes}
    took["peak_bytes"] = peak_bytes()
    if name == "certify":
        begin, used = time.perf_counter(), time.process_time()
        again = certpca.read_plink(file)
        proof = certpca.verify(made, certpca.from_data(again, missing="mean"))
        found["verify_seconds"], found["verify_cpu_seconds"] = time.perf_counter() - begin, time.process_time() - used
        found["verified_bound"], found["verify_passes"] = proof.upper_bound, again.passes
    return {"job": name, "cold": cold, **took, **found}


def cut(file: Path) -> dict[str, Any]:
    """Solve every so many variants of some samples from the file and in memory."""
    some = [f"s{number}" for number in range(1, SAMPLES + 1, 4)]
    genotypes = certpca.read_plink(file, every=CUT, keep=some)
    table = np.asfortranarray(genotypes[:, :])
    rows = []
    for name in ("svd-threshold", "auto"):
        here, there = (certpca.solve(data, SPARSITY, name, missing="mean") for data in (genotypes, table))
        rows.append(
            {
                "job": name,
                "objective": here.objective,
                "relative_difference": abs(here.objective / there.objective - 1),
                "same_support": bool(np.array_equal(here.support, there.support)),
            }
        )
    bounds = [certpca.certify(data, SPARSITY, solution=there, depth=64, missing="mean") for data in (genotypes, table)]
    rows.append(
        {
            "job": "certify",
            "kind": bounds[0].kind,
            "upper_bound": bounds[0].upper_bound,
            "relative_difference": abs(bounds[0].upper_bound / bounds[1].upper_bound - 1),
            "same_data": bounds[0].fingerprint == bounds[1].fingerprint,
        }
    )
    return {"job": "cut", "samples": table.shape[0], "variants": table.shape[1], "rows": rows}


def apart(*arguments: str) -> dict[str, Any]:
    """Run a job in another process."""
    threads = {"NUMBA_NUM_THREADS": THREADS, "OPENBLAS_NUM_THREADS": THREADS, "OMP_NUM_THREADS": THREADS}
    command = [sys.executable, "-m", "benchmarks.large.packed_file", *arguments]
    done = subprocess.run(
        command, cwd=CHECKOUT, env={**os.environ, **threads}, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(found, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--job", choices=("svd-threshold", "auto", "certify", "cut"))
    parser.add_argument("--cold", action="store_true")
    options = parser.parse_args()
    if options.job:
        print(
            json.dumps(cut(options.file) if options.job == "cut" else job(options.job, options.file, cold=options.cold))
        )
        return
    start = facts()
    with tempfile.TemporaryDirectory() as folder:
        file = options.file or Path(folder) / "generated.bed"
        if not file.exists():
            generate(file, SAMPLES, VARIANTS)
        shape = {"samples": SAMPLES, "variants": VARIANTS, "sparsity": SPARSITY, "file_bytes": file.stat().st_size}
        found: dict[str, Any] = {**shape, "threads": int(THREADS), "rows": []}
        apart(str(file), "--job", "svd-threshold")  # compiles the loops, which are kept
        found["cut"] = apart(str(file), "--job", "cut")
        for name, cold, runs in (
            ("svd-threshold", True, RUNS),
            ("svd-threshold", False, RUNS),
            ("auto", False, 1),
            ("certify", False, 1),
        ):
            reads, rows = [reading(file)], []
            for _ in range(runs):
                rows.append(apart(str(file), "--job", name, *(["--cold"] if cold else [])))
                reads.append(reading(file))
            row = sorted(rows, key=lambda row: row["seconds"])[runs // 2]
            row["all_seconds"] = [row["seconds"] for row in rows]
            row["read_seconds"] = {kind: median(read[kind] for read in reads) for kind in reads[0]}
            found["rows"].append(row)
            print(write_results("packed_file", start, found))  # what is there so far


if __name__ == "__main__":
    main()
