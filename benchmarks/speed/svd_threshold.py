"""`svd-threshold` on 2,240 x 37,493 int8 genotypes, in passes over the data and in memory.

One pass is one product of the operator with a vector: F·v, then Fᵀ·u. Passes and solves alternate in one
process and the least time of each counts, so that other work on the machine weighs on both alike.
Memory is measured in a fresh process, libraries loaded and warm, from the loaded int8 data on.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from benchmarks.machine import CHECKOUT, SHARED, facts, peak_bytes, resident_bytes, write_results
from numpy.typing import NDArray

import certpca

SPARSITIES = (624, 9377)
BLOCK_BYTES = 20 << 20  # a quarter of the data, as the operator converts it
MOST_PASSES = 20.0
MOST_MEMORY = 1.5  # times the data, plus one block
ACCURACY = 1e-5

Genotypes = NDArray[np.int8]


def load(*, generated: bool) -> Genotypes:
    if generated:
        return certpca.balding_nichols(2240, 37493).data
    path = SHARED / "simulated" / "chr1_like.npz"
    if not path.exists():
        sys.exit(f"{path} is not there; use --generated for data of the same shape")
    genotypes: Genotypes = np.load(path)["G"]
    return genotypes


def seconds_of(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def measure_time(data: Genotypes, rounds: int) -> list[dict[str, float]]:
    operator = certpca.from_data(data)
    panel = operator.adopt(np.random.default_rng(0).standard_normal((operator.size, 1)))
    for sparsity in SPARSITIES:
        check_accuracy(operator, sparsity)
    passes: list[float] = []
    prepared: dict[int, list[float]] = {sparsity: [] for sparsity in SPARSITIES}
    whole: dict[int, list[float]] = {sparsity: [] for sparsity in SPARSITIES}
    for _ in range(rounds):
        for sparsity in SPARSITIES:
            passes += [seconds_of(lambda: operator.matmat(panel)) for _ in range(3)]
            prepared[sparsity].append(seconds_of(lambda k=sparsity: certpca.solve(operator, k, "svd-threshold")))  # type: ignore[misc]
            whole[sparsity].append(seconds_of(lambda k=sparsity: certpca.solve(data, k, "svd-threshold")))  # type: ignore[misc]
    unit = min(passes)
    return [
        {
            "sparsity": sparsity,
            "pass_seconds": unit,
            "whole_seconds": min(whole[sparsity]),
            "prepared_seconds": min(prepared[sparsity]),
            "whole_passes": min(whole[sparsity]) / unit,
            "prepared_passes": min(prepared[sparsity]) / unit,
        }
        for sparsity in SPARSITIES
    ]


def check_accuracy(operator: certpca.Operator, sparsity: int) -> None:
    """Stop where the answer is not that of exact singular vectors: an inaccurate answer has no time."""
    fast = certpca.solve(operator, sparsity, "svd-threshold").relative_objective
    exact_solver = certpca.solver_named("svd-threshold", method="exact")
    exact = certpca.solve(operator, sparsity, exact_solver).relative_objective
    if not abs(fast - exact) <= ACCURACY:
        sys.exit(f"k = {sparsity}: f = {fast:.8f}, but {exact:.8f} with exact singular vectors")


def measure_memory(path: Path, sparsity: int) -> int:
    """Return the bytes used beyond the loaded data, found by this module in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.speed.svd_threshold", "--grow", str(path), str(sparsity)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    return int(done.stdout)


def print_growth(path: str, sparsity: int) -> None:
    tiny = certpca.balding_nichols(100, 2000).data
    certpca.solve(tiny, 600, "svd-threshold")
    # BLAS takes its work space, a constant, at the first product that is worth several threads.
    tall = np.ones((4000, 600), dtype=np.float32)
    tall.T @ (tall @ np.ones((600, 4), dtype=np.float32))
    data = np.load(path)
    before = resident_bytes()
    certpca.solve(data, sparsity, "svd-threshold")
    print(peak_bytes() - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generated", action="store_true", help="Balding-Nichols genotypes of the same shape")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--grow", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.grow:
        print_growth(arguments.grow[0], int(arguments.grow[1]))
        return
    start = facts()
    data = load(generated=arguments.generated)
    rows: list[dict[str, Any]] = [dict(row) for row in measure_time(data, arguments.rounds)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npy"
        np.save(path, data)
        for row in rows:
            row["extra_bytes"] = measure_memory(path, int(row["sparsity"]))
            row["memory_ratio"] = (data.nbytes + row["extra_bytes"] - BLOCK_BYTES) / data.nbytes
    print(
        "| k | one pass s | solve s | + from_data s | solve, passes | + from_data, passes | MB beyond data | memory |"
    )
    print("|--:|--:|--:|--:|--:|--:|--:|--:|")
    for row in rows:
        print(
            f"| {row['sparsity']} | {row['pass_seconds']:.4f} | {row['prepared_seconds']:.3f} "
            f"| {row['whole_seconds']:.3f} | {row['prepared_passes']:.1f} | {row['whole_passes']:.1f} "
            f"| {row['extra_bytes'] / 1e6:.1f} | {row['memory_ratio']:.2f} x data + block |"
        )
    met = all(row["whole_passes"] <= MOST_PASSES and row["memory_ratio"] <= MOST_MEMORY for row in rows)
    print(f"at most {MOST_PASSES:.0f} passes and {MOST_MEMORY} x data + block: {'met' if met else 'MISSED'}")
    source = "balding_nichols(2240, 37493)" if arguments.generated else "simulated/chr1_like"
    print(f"-> {write_results('svd_threshold', start, {'data': source, 'met': met, 'rows': rows})}")
    if not met:
        sys.exit(1)


if __name__ == "__main__":
    main()
