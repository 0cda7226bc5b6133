"""Time two versions of certpca in turns on one machine: nothing may be slower, no number lost.

    git worktree add ../before COMMIT
    python -m benchmarks.versions.compare ../before [--repeats 3] [--only CASE ...]

Each run is a process of its own (two threads), the versions alternate, and the shortest time of each is kept.
Data of the paper's size are drawn by `balding_nichols`. Results go to benchmarks/results/versions.json.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.machine import CHECKOUT, facts, write_results
from benchmarks.versions.worker import CASES

import certpca

SHAPE = (2_240, 37_493)
THREADS = "2"
LONG = ("auto", "certify_and_verify")  # run once: their times are long against the noise


def timed(tree: Path, case: str, data: Path) -> dict[str, float]:
    """Run one case with the source of one version."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), THREADS)
    environment = {**os.environ, **threads, "PYTHONPATH": os.pathsep.join([str(tree / "src"), *sys.path[1:]])}
    worker = str(Path(__file__).with_name("worker.py"))
    ended = subprocess.run(
        [sys.executable, worker, case, str(data)], env=environment, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        sys.exit(f"{case} on {tree} failed:\n{ended.stderr}")
    return json.loads(ended.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def compare(before: Path, cases: list[str], repeats: int) -> list[dict[str, Any]]:
    """Time all cases with both versions in turns."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "genotypes.npy"
        np.save(data, certpca.balding_nichols(*SHAPE).data)
        for case in cases:
            runs: dict[str, list[dict[str, float]]] = {"before": [], "after": []}
            for _ in range(1 if case in LONG else repeats):
                runs["before"].append(timed(before, case, data))
                runs["after"].append(timed(CHECKOUT, case, data))
            best = {name: min(done, key=lambda run: run["seconds"]) for name, done in runs.items()}
            rows.append({"case": case, **best})
            print(json.dumps(rows[-1]), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    asked = parser.parse_args()
    commit = subprocess.run(
        ["git", "-C", asked.before, "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    start = facts()
    rows = compare(asked.before.resolve(), asked.only, asked.repeats)
    write_results("versions", start, {"before": commit.stdout.strip(), "rows": rows})


if __name__ == "__main__":
    main()
