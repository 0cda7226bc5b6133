"""Time a certificate on a GPU (torch), step by step: products, secular equations, eigendecompositions and the proof.

    python -m benchmarks.certificates.device DATA.npz [--array G] [--device cuda]

Prints one JSON object. The solution, the dual and the host's proof are timed apart.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from benchmarks.machine import facts

import certpca

SPARSITIES = ((624, 0.017), (9377, 0.0085))


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def measure(data: np.ndarray, sparsity: int, target: float, device: str) -> dict[str, float | str]:
    wait(device)
    begin = time.perf_counter()
    operator = certpca.from_data(torch.tensor(data, device=device))
    wait(device)
    loaded = time.perf_counter()
    solution = certpca.solve(operator, sparsity)
    wait(device)
    solved = time.perf_counter()
    steps: list[tuple[float, float]] = []

    def listen(step: certpca.Step) -> None:
        steps.append((time.perf_counter() - solved, 1 - step.objective / step.upper_bound))

    certificate = certpca.certify(
        operator, sparsity, solution=solution, target_gap=target, branching=False, listener=listen
    )
    done = time.perf_counter()
    reached = next((seconds for seconds, gap in steps if gap <= target), float("nan"))
    return {
        "sparsity": sparsity,
        "upload_and_moments": loaded - begin,
        "solve": solved - loaded,
        "dual_to_target": reached,
        "with_proof_on_host": done - solved,
        "gap": certificate.gap,
        "relative_objective": solution.relative_objective,
        "steps": len(steps),
        "seconds_a_step": (steps[-1][0] - steps[1][0]) / max(1, len(steps) - 2),
        "peak_device_gib": torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0,
        "kind": certificate.kind,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--array", default="G")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    data = np.load(options.data)[options.array]
    small = certpca.balding_nichols(300, 2000).data
    measure(small, 40, 0.1, options.device)  # libraries load and kernels compile
    rows = [measure(data, sparsity, target, options.device) for sparsity, target in SPARSITIES]
    name = torch.cuda.get_device_name() if options.device == "cuda" else "cpu"
    print(json.dumps({"device": name, "torch": torch.__version__, "machine": facts(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
