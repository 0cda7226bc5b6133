"""Prove optimality: pit props, the published instances, expression data and spiked models, on two cores.

    python -m benchmarks.branching.optimal [--limit 600]

Each certificate is verified again, and its size on disk is measured. Results go to benchmarks/results/optimal.json.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.machine import SHARED, facts, write_results

import certpca
from certpca.datasets.examples import pitprops_matrix
from certpca.solvers.branch_and_bound import BranchAndBound

Case = tuple[str, str, np.ndarray, int, float | None]


def published() -> Iterator[Case]:
    """Yield the instances of the literature whose matrix is here."""
    listed = json.loads((SHARED.parent / "reference/published_values.json").read_text())["instances"]
    for instance in listed:
        name = instance["dataset"]
        if name == "pitprops":
            yield "pit props", name, pitprops_matrix(), instance["k"], instance["objective"]
            continue
        for file in (SHARED / f"covariances/{name}.npz", SHARED / f"covariances/INFORMS_{name}.npz"):
            if file.exists():
                yield "published", name, np.load(file)["A"], instance["k"], instance["objective"]


def expression(folder: str, size: int) -> np.ndarray:
    """Correlate the most variable genes."""
    data = np.load(SHARED / folder / "X.npz")["X"].astype(float)
    chosen = np.sort(np.argsort(-data.var(axis=0), kind="stable")[:size])
    return np.asarray(np.corrcoef(data[:, chosen].T))


def spiked(size: int, sparsity: int, strength: float, samples: int) -> np.ndarray:
    """Covariance of samples with one sparse direction."""
    rng = np.random.default_rng(0)
    direction = np.zeros(size)
    direction[:sparsity] = sparsity**-0.5
    data = rng.standard_normal((samples, size))
    data += np.sqrt(strength) * rng.standard_normal((samples, 1)) * direction
    return np.asarray(data.T @ data / samples)


def larger() -> Iterator[Case]:
    for size in (200, 500, 1000):
        for sparsity in (5, 10):
            yield "larger", f"lung {size}", expression("expr_lung_harvard", size), sparsity, None
            yield "larger", f"colon {size}", expression("expr_alon", size), sparsity, None
            yield "larger", f"spiked {size}", spiked(size, sparsity, 2.0, size), sparsity, None
            yield "larger", f"weakly spiked {size}", spiked(size, sparsity, 1.0, size), sparsity, None
    for sparsity in (5, 10):
        yield "larger", "hardly spiked 1000", spiked(1000, sparsity, 1.0, 250), sparsity, None


def run(case: Case, limit: float, folder: Path) -> dict[str, Any]:
    group, name, matrix, sparsity, value = case
    begin = time.perf_counter()
    solution = certpca.solve(
        matrix, sparsity, BranchAndBound(), covariance=True, budget=certpca.Budget(seconds=limit), rng=0
    )
    solved = time.perf_counter()
    assert solution.certificate is not None
    certpca.verify(solution.certificate, matrix)
    verified = time.perf_counter()
    certpca.save_certificate(solution.certificate, folder / "certificate.json")
    stored = sum(file.stat().st_size for file in folder.iterdir())
    for file in folder.iterdir():
        file.unlink()
    return {
        "group": group,
        "name": name,
        "size": matrix.shape[0],
        "sparsity": sparsity,
        "objective": solution.objective,
        "published": value,
        "status": solution.status.name,
        "gap": solution.gap,
        "nodes": solution.details["nodes"],
        "root_gap": 1 - solution.objective / solution.details["root_bound"],
        "outside": solution.certificate.outside,
        "inside": solution.certificate.inside,
        "seconds": solved - begin,
        "verify_seconds": verified - solved,
        "stored_bytes": stored,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--group", default="")
    arguments = parser.parse_args()
    start, rows = facts(), []
    certpca.solve(spiked(30, 5, 1.0, 30), 5, BranchAndBound(), covariance=True)  # compiling is not measured
    with tempfile.TemporaryDirectory() as folder:
        for case in (*published(), *larger()):
            if arguments.group in case[0]:
                rows.append(run(case, arguments.limit, Path(folder)))
                print(json.dumps(rows[-1]), flush=True)
    if not arguments.group:
        write_results("optimal", start, {"rows": rows})


if __name__ == "__main__":
    main()
