"""Find components together among tens of thousands of features, and prove how far from the best set they are.

    python -m benchmarks.components.many_features [--seconds 120] [--only HapMap3] [--workers 2]

Each case is one call of `decompose` with two threads, search and proof included; its certificate is verified
afterwards. Results go to benchmarks/results/sets_many_features.json, and `python -m benchmarks.render` writes the table
of docs/branching.md.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from benchmarks.certificates.gaps import DATA, SIMULATED
from benchmarks.machine import facts, peak_bytes, write_results

import certpca

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
CASES = (("HapMap3", "disjoint", 3, 360), (SIMULATED, "shared", 5, 1000))


def run(name: str, problem: str, components: int, sparsity: int, seconds: float) -> dict[str, Any]:
    """Decompose and verify one case."""
    load, file = DATA[name]
    data = load(file)
    begin = time.perf_counter()
    found = certpca.decompose(
        data,
        components,
        sparsity,
        together=problem,
        certify=True,
        target_gap=1e-3,
        time_limit=seconds,
        missing="mean",
    )
    solved = time.perf_counter()
    assert found.certificate is not None
    proof = certpca.verify(found.certificate, data, missing="mean")
    return {
        "name": name,
        "samples": int(data.shape[0]),
        "size": int(data.shape[1]),
        "problem": problem,
        "components": components,
        "sparsity": sparsity,
        "kind": proof.kind,
        "objective": proof.objective,
        "upper_bound": proof.upper_bound,
        "gap": proof.gap,
        "seconds": solved - begin,
        "verify_seconds": time.perf_counter() - solved,
        "peak_gib": peak_bytes() / 2**30,
    }


def _apart(number: int, seconds: float) -> dict[str, Any]:
    """Run one case in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.components.many_features", "--seconds", str(seconds)]
    done = subprocess.run(
        [*command, "--case", str(number)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **dict.fromkeys(THREADS, "2")},
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--only", choices=[case[0] for case in CASES], help="one case; nothing is written then")
    parser.add_argument("--workers", type=int, default=1, help="cases at a time, two cores each")
    parser.add_argument("--case", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.case is not None:
        print(json.dumps(run(*CASES[asked.case], asked.seconds)))
        return
    start, rows = facts(), []
    chosen = [number for number, case in enumerate(CASES) if asked.only in (None, case[0])]
    with ThreadPoolExecutor(asked.workers) as pool:
        for row in pool.map(partial(_apart, seconds=asked.seconds), chosen):
            rows.append({**row, "source": start["source"]})
            print(json.dumps(rows[-1]), flush=True)
    if asked.only is None:
        write_results("sets_many_features", start, {"rows": rows})


if __name__ == "__main__":
    main()
