"""Sparse kernel PCA of 20,000 samples: time, and memory against that of the kernel matrix, which is never formed.

    python -m benchmarks.kernel.twenty_thousand [--samples 20000] [--solvers svd-threshold,truncated-power,auto]

Two interleaved half circles with noise, rbf kernel, 40 samples chosen. Every solver runs in a process of its own; the
share is that of the variance of the leading dense kernel component. Results go to benchmarks/results.
"""

import argparse
import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
from benchmarks.machine import CHECKOUT, facts, peak_bytes, resident_bytes, write_results

SPARSITY, GAMMA = 40, 2.0


def moons(samples: int) -> np.ndarray:
    from sklearn.datasets import make_moons

    return np.asarray(make_moons(samples, noise=0.08, random_state=0)[0])


def work(samples: int, solver: str) -> dict[str, Any]:
    """Fit in this process."""
    from certpca import SparseKernelPCA

    # What is loaded on first use is not what is measured.
    SparseKernelPCA(sparsity=5, gamma=GAMMA, solver=solver).fit(moons(60))
    data, before = moons(samples), resident_bytes()
    begin = time.perf_counter()
    model = SparseKernelPCA(sparsity=SPARSITY, gamma=GAMMA, solver=solver).fit(data)
    seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    scores = model.transform(data[:2000])
    part = model.solutions_[0]
    return {
        "solver": solver,
        "seconds": seconds,
        "transform_2000_seconds": time.perf_counter() - begin,
        "finite": bool(np.isfinite(scores).all()),
        "objective": part.objective,
        "share_of_dense": part.relative_objective,
        "chosen": int(model.support_.size),
        "memory_bytes": peak_bytes() - before,
        "kernel_matrix_bytes": 8 * samples**2,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--solvers", default="svd-threshold,truncated-power,auto")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        print(json.dumps(work(options.samples, options.work)))
        return
    start, rows = facts(), []
    for solver in options.solvers.split(","):
        command = [sys.executable, "-m", "benchmarks.kernel.twenty_thousand"]
        command += ["--samples", str(options.samples), "--work", solver]
        done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        print(rows[-1], flush=True)
    print(write_results("kernel", start, {"samples": options.samples, "sparsity": SPARSITY, "rows": rows}))


if __name__ == "__main__":
    main()
