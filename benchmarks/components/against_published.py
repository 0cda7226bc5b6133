"""Components chosen together against what R's msPCA and nsprcomp publish: 423 stocks, four components; pit props, six.

    python -m benchmarks.components.against_published [--certify SECONDS] [--workers 1]

Published values and the tables they are from are in ../shared/reference/joint_components.json; neither package can be
installed from the repositories of the systems we test on, so they are cited and not run. Seconds are the processor's.
Results go to benchmarks/results/components.json.
"""

import argparse
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
from benchmarks.machine import SHARED, facts, write_results

import certpca
from certpca.datasets.examples import pitprops_matrix

PROBLEMS = ("disjoint", "orthogonal", "uncorrelated")


def published() -> dict[str, Any]:
    """Return the values of others."""
    found: dict[str, Any] = json.loads((SHARED.parent / "reference/joint_components.json").read_text())
    return found


def run(matrix: Any, width: int, sparsity: int, together: str, seconds: float | None) -> dict[str, Any]:
    """Find a set, prove a bound where time is given for that, and measure how far it breaks its conditions."""
    matrix = certpca.from_matrix(matrix)
    begin = time.process_time()
    limits: dict[str, Any] = {} if seconds is None else {"certify": True, "target_gap": 1e-6, "time_limit": seconds}
    found = certpca.decompose(matrix, width, sparsity, together=together, **limits)
    spent = time.process_time() - begin
    loadings = found.loadings
    products = loadings.T @ loadings
    if together == "uncorrelated":
        products = loadings.T @ np.asarray(found.operator.matmat(loadings))
    broken = float(np.abs(np.triu(products, 1)).sum())
    row = {"together": together, "sparsity": sparsity, "share": found.objective / found.trace, "violation": broken}
    return {**row, "seconds": spent, "gap": None if seconds is None else found.gap}


def _compiled() -> None:
    """Compile what is compiled when first used, which is not measured."""
    certpca.decompose(certpca.pitprops(), 2, 3, together="orthogonal")


def main() -> None:
    """Run all, and write them down beside the published ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--certify", type=float, metavar="SECONDS", help="also prove bounds, each in so many seconds")
    parser.add_argument("--workers", type=int, default=1, help="searches at a time, one core each")
    arguments = parser.parse_args()
    start, others = facts(), published()
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"  # of the workers, which are started afresh
    stocks = np.load(SHARED / "snp500/A.npz")["A"]
    asked = [(values, together) for values in others["snp500_r4"]["rows"] for together in PROBLEMS]
    rows = []
    with ProcessPoolExecutor(arguments.workers, get_context("spawn"), _compiled) as pool:
        running = [pool.submit(run, stocks, 4, values[0], together, arguments.certify) for values, together in asked]
        last = pool.submit(run, pitprops_matrix(), 6, 4, "orthogonal", arguments.certify)
        for (values, _), done in zip(asked, running, strict=True):
            named = dict(zip(others["snp500_r4"]["columns"], values, strict=True))
            rows.append({**done.result(), "published": named})
            print(json.dumps(rows[-1]), flush=True)
        six = last.result()
    six["published"] = others["pitprops_r6_k4_FVE"]
    print(json.dumps(six), flush=True)
    source = others["snp500_r4"]["source"]
    write_results("components", start, {"stocks": rows, "pit_props_six": six, "source": source})


if __name__ == "__main__":
    main()
