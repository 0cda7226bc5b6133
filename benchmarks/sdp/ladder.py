"""The semidefinite relaxation from 50 to 12,510 features, against cvxpy with SCS and with Clarabel.

    python -m benchmarks.sdp.ladder [--limit 600] [--only NAME] [--methods certpca,scs,clarabel]

Every run has a process of its own and a time limit; the same matrix goes to all three. certpca's time includes the
proof by the independent checker; its duality gap is the proved one. Results go to benchmarks/results/sdp_ladder.json.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.machine import SHARED, facts, write_results

import certpca
from certpca.solvers.sdp_threshold import SdpThreshold

# name, sparsity, methods
CASES = (
    ("spiked 50", 5, "all"),
    ("spiked 100", 10, "all"),
    ("communities 101", 10, "all"),
    ("ancestry 127", 20, "all"),
    ("spiked 200", 10, "all"),
    ("spiked 400", 20, "all"),
    ("colon 466", 20, "all"),
    ("spiked 1000", 20, "ours"),
    ("lung 3171", 159, "ours"),
    ("chr1 12510", 626, "ours"),
)
GAPS = (1e-3, 1e-4)
RESULTS = Path(__file__).parents[1] / "results" / "sdp_ladder.json"


def spiked(size: int, sparsity: int) -> np.ndarray:
    """Covariance of 2n samples with one sparse direction of strength 3."""
    rng = np.random.default_rng(size)
    direction = np.zeros(size)
    direction[rng.choice(size, sparsity, replace=False)] = sparsity**-0.5
    samples = rng.standard_normal((2 * size, size)) + np.sqrt(3) * rng.standard_normal((2 * size, 1)) * direction
    return np.cov(samples.T)


def problem(name: str, sparsity: int) -> tuple[Any, dict[str, Any]]:
    """Return data and how they become a matrix."""
    kind, size = name.split(maxsplit=1)[0], int(name.split()[1])
    if kind == "spiked":
        return spiked(size, sparsity), {"covariance": True}
    if kind == "communities":
        return np.load(SHARED / "covariances/communities.npz")["A"], {"covariance": True}
    if kind == "ancestry":
        return np.cov(np.load(SHARED / "geno_1kg_aisnp_2504/seldin.npz")["G"].T), {"covariance": True}
    if kind == "colon":
        data = np.load(SHARED / "expr_alon/X.npz")["X"]
        data = data[:, np.sort(np.argsort(-data.var(axis=0), kind="stable")[:size])]
        return np.corrcoef(data.T), {"covariance": True}
    if kind == "lung":
        return np.load(SHARED / "expr_lung_harvard/X.npz")["X"], {}
    data = np.load(SHARED / "geno_1kg_chr1/geno.npz")["G"]
    frequency = data.mean(axis=0) / 2
    return np.ascontiguousarray(data[:, np.minimum(frequency, 1 - frequency) > 0.05]), {}


def ours(name: str, sparsity: int) -> dict[str, Any]:
    data, options = problem(name, sparsity)
    certpca.solve(np.diag([3.0, 2.0, 1.0, 0.5]), 2, SdpThreshold(), covariance=True)  # imports are not measured
    result: dict[str, Any] = {}
    for gap in GAPS:
        begin = time.perf_counter()
        operator = certpca.from_matrix(data) if options else certpca.from_data(data, missing="mean")
        solution = certpca.solve(operator, sparsity, SdpThreshold(target_gap=0.8 * gap))
        details = solution.details
        result[f"{gap:g}"] = {
            "seconds": time.perf_counter() - begin,
            "value": details["sdp_upper"],
            "lower": details["sdp_lower"],
            "duality_gap": details["duality_gap"],
            "rank": details["rank"],
            "iterations": details["iterations"],
            "alpha": details["alpha"],
            "status": solution.status.name,
        }
    return result


def peer(name: str, sparsity: int, solver: str) -> dict[str, Any]:
    from importlib import import_module

    cvxpy: Any = import_module("cvxpy")
    matrix, _ = problem(name, sparsity)
    size = matrix.shape[0]
    z = cvxpy.Variable((size, size), PSD=True)
    task = cvxpy.Problem(
        cvxpy.Maximize(cvxpy.trace(matrix @ z)), [cvxpy.trace(z) <= 1, cvxpy.sum(cvxpy.abs(z)) <= sparsity]
    )
    begin = time.perf_counter()
    settings = {"eps_abs": 1e-4, "eps_rel": 1e-4} if solver == "SCS" else {}
    task.solve(solver=solver, **settings)
    return {"seconds": time.perf_counter() - begin, "value": float(task.value), "status": task.status}


def run_apart(name: str, sparsity: int, method: str, limit: float) -> dict[str, Any]:
    """Run one method in a process of its own, for as long as allowed."""
    command = [sys.executable, "-m", "benchmarks.sdp.ladder", "--child", name, str(sparsity), method]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"over {limit:g} s"}
    if done.returncode:
        reason = "out of memory" if done.returncode < 0 or "MemoryError" in done.stderr else "error"
        return {"failed": reason, "message": done.stderr.strip()[-300:]}
    measured: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--methods", default="certpca,scs,clarabel")
    parser.add_argument("--child", nargs=3)
    arguments = parser.parse_args()
    if arguments.child:
        name, sparsity, method = arguments.child
        made = ours(name, int(sparsity)) if method == "certpca" else peer(name, int(sparsity), method.upper())
        print(json.dumps(made))
        return
    start = facts()
    done = {row["name"]: row for row in json.loads(RESULTS.read_text())["rows"]} if RESULTS.exists() else {}
    for name, sparsity, who in CASES:
        if arguments.only not in name:
            continue
        row: dict[str, Any] = {"name": name, "sparsity": sparsity}
        for method in arguments.methods.split(","):
            if method == "certpca" or who == "all":
                limit = 3 * arguments.limit if who == "ours" else arguments.limit
                row[method] = run_apart(name, sparsity, method, limit)
                print(name, sparsity, method, row[method], flush=True)
        done[name] = row
        rows = [done[case[0]] for case in CASES if case[0] in done]  # with --only the others stay as they were
        write_results("sdp_ladder", start, {"limit_seconds": arguments.limit, "rows": rows})


if __name__ == "__main__":
    main()
