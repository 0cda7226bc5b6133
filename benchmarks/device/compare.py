"""The same jobs on the host and on a GPU, in one run: times, their ratios, how far results differ, device memory.

    python -m benchmarks.device.compare DATA.npz [--array G] [--backends numpy,torch,cupy] [--output device.json]

Genotypes at the paper's size. The data are moved to the device once, before the clock starts. `certify` is timed
without and with the proof, which the independent checker makes on the host whatever the data lie on.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.machine import facts

import certpca

JOBS = ("svd-threshold", "auto", "certify", "whole", "sdp")
AIMED = {624: 0.011, 9377: 0.006}  # gaps at which answer and proof in one call end


def placed(backend: str, data: np.ndarray) -> Any:
    """Put the data where the backend works."""
    if backend == "torch":
        import torch

        return torch.tensor(data, device="cuda")
    if backend == "cupy":
        import cupy

        return cupy.asarray(data)
    return data


def waited(backend: str) -> None:
    """Wait until the device has finished."""
    if backend == "torch":
        import torch

        torch.cuda.synchronize()
    if backend == "cupy":
        import cupy

        cupy.cuda.Device().synchronize()


def peak_gib(backend: str) -> float:
    if backend == "torch":
        import torch

        return float(torch.cuda.max_memory_allocated()) / 2**30
    if backend == "cupy":
        import cupy

        return float(cupy.get_default_memory_pool().total_bytes()) / 2**30
    return 0.0


def run(job: str, operator: Any, sparsity: int) -> dict[str, float]:
    """Do one job; what matters is the best of a few values."""
    if job == "certify":
        solution = certpca.solve(operator, sparsity, "svd-threshold")
        ticks = []
        begin = time.perf_counter()
        certificate = certpca.certify(
            operator,
            sparsity,
            solution=solution,
            target_gap=0.02,
            branching=False,
            listener=lambda _: ticks.append(time.perf_counter()),
        )
        return {
            "seconds": time.perf_counter() - begin,
            "seconds_without_proof": ticks[-1] - begin,
            "steps": len(ticks),
            "value": certificate.upper_bound,
            "gap": certificate.gap,
        }
    begin = time.perf_counter()
    if job == "whole":
        proved = certpca.certify(operator, sparsity, target_gap=AIMED.get(sparsity, 0.02))
        return {"value": proved.upper_bound, "gap": proved.gap, "seconds": time.perf_counter() - begin}
    if job == "sdp":
        relaxation = certpca.solve_sdp(operator, sparsity, target_gap=1e-4)
        return {"value": relaxation.upper, "gap": relaxation.gap, "seconds": time.perf_counter() - begin}
    solution = certpca.solve(operator, sparsity, job)
    return {"value": solution.objective, "seconds": time.perf_counter() - begin}


def measure(backend: str, data: np.ndarray, sparsities: tuple[int, ...], repeats: int) -> list[dict[str, Any]]:
    operator = certpca.from_data(placed(backend, data))
    rows = []
    for job in JOBS:
        for sparsity in sparsities:
            best: dict[str, float] = {}
            for _ in range(repeats if job == "svd-threshold" else 1):
                waited(backend)
                found = run(job, operator, sparsity)
                waited(backend)
                if not best or found["seconds"] < best["seconds"]:
                    best = found
            rows.append({"backend": backend, "job": job, "sparsity": sparsity, **best, "peak_gib": peak_gib(backend)})
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--array", default="G")
    parser.add_argument("--backends", default="numpy,torch")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    data = np.load(options.data)[options.array]
    small = certpca.balding_nichols(300, 2000).data
    rows: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    for backend in options.backends.split(","):
        try:
            measure(backend, small, (40,), 1)  # libraries load and kernels compile
            rows += measure(backend, data, (624, 9377), 5)
        except Exception as error:
            failed[backend] = f"{type(error).__name__}: {error}"
            print(backend, failed[backend], flush=True)
    host = {(row["job"], row["sparsity"]): row for row in rows if row["backend"] == "numpy"}
    for row in rows:
        other = host.get((row["job"], row["sparsity"]))
        if other is not None:
            row["times_faster_than_host"] = other["seconds"] / row["seconds"]
            row["relative_difference"] = abs(row["value"] / other["value"] - 1)
    text = json.dumps({"machine": facts(), "failed": failed, "rows": rows}, indent=1)
    if options.output:
        options.output.write_text(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
