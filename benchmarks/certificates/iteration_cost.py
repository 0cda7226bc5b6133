"""Compare a step of the dual optimiser with its floor, and see how its cost grows with the number of features.

    python -m benchmarks.certificates.iteration_cost [--samples 2240 --features 37493]

The floor is what no variant can avoid: two products with all features and one eigendecomposition of the sample
space, timed in the same run on arrays of the same shapes and types.
"""

import argparse
import time
from itertools import islice

import numpy as np
from benchmarks.machine import facts, fastest, write_results
from scipy.linalg import eigh
from scipy.linalg.blas import ssyrk

import certpca
from certpca.bounds.l0_dual.central_path import improve
from certpca.bounds.l0_dual.problem import DualProblem

GROWTH = (5_000, 15_000, 50_000, 150_000)


def seconds_a_step(problem: DualProblem, steps: int) -> float:
    """Return the median of a few steps after the first two, which look for the level from scratch."""
    times, begin = [], time.perf_counter()
    for _ in islice(improve(problem, problem.start()), steps):
        times.append(time.perf_counter() - begin)
        begin = time.perf_counter()
    return float(np.median(times[2:]))


def floor(problem: DualProblem) -> dict[str, float]:
    rows, depth = problem.rows.whole(), problem.depth
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((depth, depth)))[0]
    single = basis.astype(rows.dtype)
    square = basis @ np.diag(np.linspace(1, 2, depth)) @ basis.T
    return {
        "product": fastest(lambda: rows @ single),
        "gram": fastest(lambda: ssyrk(1.0, rows.T, lower=1)),
        "eigh": fastest(lambda: eigh(square, driver="evd")),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2240)
    parser.add_argument("--features", type=int, default=37_493)
    parser.add_argument("--steps", type=int, default=8)
    options = parser.parse_args()
    start = facts()
    data = certpca.balding_nichols(options.samples, options.features, populations=5).data
    problem = DualProblem(certpca.from_data(data), max(1, options.features // 60))
    parts = floor(problem)
    step = seconds_a_step(problem, options.steps)
    least = sum(parts.values())
    print(f"{options.samples} x {options.features}: step {step:.2f} s, floor {least:.2f} s, ratio {step / least:.2f}")
    print("  " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in parts.items()))
    rows = []
    for features in GROWTH:
        data = certpca.balding_nichols(400, features, populations=5).data
        problem = DualProblem(certpca.from_data(data), max(1, features // 60))
        seconds = seconds_a_step(problem, 8)
        rows.append({"features": features, "seconds": seconds, "microseconds_a_feature": 1e6 * seconds / features})
        print(f"400 x {features}: {seconds:.3f} s a step, {1e6 * seconds / features:.2f} microseconds a feature")
    write_results("iteration_cost", start, {"floor": parts, "step": step, "ratio": step / least, "growth": rows})


if __name__ == "__main__":
    main()
