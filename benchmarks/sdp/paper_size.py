"""The semidefinite relaxation at the size of the paper's chromosome 1, for its eight sparsities.

    python -m benchmarks.sdp.paper_size [DATA.npz] [--array G] [--device cuda] [--sparsities 624,9377]

The paper reports about 20 hours for each on 64 cores. Solving (with estimates of eigenvalues), the proof by the
independent checker, and another verification are timed apart; the duality gap is the proved one. On the host the
results go to benchmarks/results; with --device they are printed as one JSON object.
"""

import argparse
import json
import time
from typing import Any

import numpy as np
from benchmarks.machine import SHARED, facts, peak_bytes, write_results

import certpca
from certpca.search.krylov import leading_eigenpairs
from certpca.solvers.sdp_threshold import SdpThreshold

SPARSITIES = (624, 1875, 3125, 4372, 5628, 6873, 8122, 9377)


def measure(operator: Any, data: np.ndarray, sparsity: int, spectrum: np.ndarray, diagonal: float) -> dict[str, Any]:
    steps: list[float] = []
    begin = time.perf_counter()
    relaxation = certpca.solve_sdp(operator, sparsity, target_gap=1e-5)
    solved = time.perf_counter()
    solution = certpca.solve(
        operator, sparsity, SdpThreshold(target_gap=1e-5), listener=lambda step: steps.append(step.seconds)
    )
    proved = time.perf_counter()
    assert solution.certificate is not None
    certpca.verify(solution.certificate, data)
    verified = time.perf_counter()
    details = solution.details
    size = operator.size
    return {
        "sparsity": sparsity,
        "relaxation_seconds": solved - begin,
        "relaxation_gap": relaxation.gap,
        "seconds_with_proof": proved - solved,
        "verify_seconds": verified - proved,
        "duality_gap": details["duality_gap"],
        "method": relaxation.method,
        "alpha": details["alpha"],
        "beta": details["beta"],
        # The constant of the low-rank rival, d = 3 as in the paper.
        "epsilon_d": min(size / sparsity * spectrum[3] / spectrum[0], spectrum[3] / diagonal),
        "value": details["sdp_upper"] / spectrum[0],
        "f": solution.relative_objective,
        "gap_to_optimum": solution.gap,
        "peak_bytes": peak_bytes(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", default=str(SHARED / "simulated/chr1_like.npz"))
    parser.add_argument("--array", default="G")
    parser.add_argument("--device", default="")
    parser.add_argument("--sparsities", default=",".join(map(str, SPARSITIES)))
    arguments = parser.parse_args()
    start = facts()
    data = np.load(arguments.data)[arguments.array]
    placed: Any = data
    if arguments.device:
        import torch

        placed = torch.tensor(data, device=arguments.device)
    operator = certpca.from_data(placed)
    spectrum = leading_eigenpairs(operator, 4).values
    largest = float(max(operator.diagonal()))
    certpca.solve(np.diag([3.0, 2.0, 1.0]), 2, SdpThreshold(), covariance=True)  # imports are not measured
    if arguments.device:
        measure(operator, data, 9377, spectrum, largest)  # nor is what the device prepares once
    rows = []
    for sparsity in map(int, arguments.sparsities.split(",")):
        rows.append(measure(operator, data, sparsity, spectrum, largest))
        print(json.dumps(rows[-1]), flush=True)
    content = {"samples": data.shape[0], "features": data.shape[1], "rows": rows}
    if arguments.device:
        memory = torch.cuda.max_memory_allocated() / 2**30 if arguments.device == "cuda" else 0.0
        print(json.dumps({"machine": start, "peak_device_gib": memory, **content}))
    elif arguments.sparsities == ",".join(map(str, SPARSITIES)):
        write_results("sdp_paper_size", start, content)


if __name__ == "__main__":
    main()
