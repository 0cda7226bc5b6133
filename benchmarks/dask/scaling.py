"""Compare one process in memory with one and two Dask workers, one thread each, on the same simulated genotypes.

    python -m benchmarks.dask.scaling [--samples 2240 --features 20000 --steps 5]

A certificate is searched for on the workers and proved by the caller, so both parts are given.
"""

import argparse
import time
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
from benchmarks.dask.clusters import difference, one_thread, workers
from benchmarks.machine import facts, write_results

import certpca

WORKERS = (0, 1, 2)  # none: in memory


def measure(data: Any, sparsity: int, steps: int, client: Any) -> dict[str, Any]:
    begin = time.perf_counter()
    operator = certpca.from_data(data, client=client)
    loaded = time.perf_counter() - begin
    # Once for what is compiled or connected at the first call.
    certpca.solve(operator, sparsity, "svd-threshold")
    begin = time.perf_counter()
    solution = certpca.solve(operator, sparsity, "svd-threshold")
    solved = time.perf_counter() - begin
    ticks: list[float] = []
    begin = time.perf_counter()
    certificate = certpca.certify(
        operator,
        sparsity,
        solution=solution,
        branching=False,
        target_gap=0.0,
        budget=certpca.Budget(steps=steps),
        listener=lambda _: ticks.append(time.perf_counter()),
    )
    certified = time.perf_counter() - begin
    return {
        "load_seconds": loaded,
        "svd_threshold_seconds": solved,
        "step_seconds": median(after - before for before, after in pairwise(ticks[1:])),
        "proof_seconds": begin + certified - ticks[-1],
        "certify_seconds": certified,
        "kind": certificate.kind,
        "objective": solution.objective,
        "upper_bound": certificate.upper_bound,
        "support": solution.support.tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2240)
    parser.add_argument("--features", type=int, default=20_000)
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args()
    start = facts()
    data = np.asarray(certpca.balding_nichols(options.samples, options.features, populations=5).data)
    sparsity = max(1, options.features // 60)
    rows: list[dict[str, Any]] = []
    for count in WORKERS:
        with one_thread():
            if count == 0:
                row = measure(data, sparsity, options.steps, None)
            else:
                with workers(count) as client:
                    row = measure(data, sparsity, options.steps, client)
        rows.append({"workers": count, **row})
        print({name: value for name, value in rows[-1].items() if name != "support"})
    first = dict(rows[0])
    for row in rows:
        row["same_support"] = row.pop("support") == first["support"]
        row["objective_difference"] = difference(first["objective"], row["objective"])
        row["bound_difference"] = difference(first["upper_bound"], row["upper_bound"])
    content = {"samples": options.samples, "features": options.features, "sparsity": sparsity, "steps": options.steps}
    write_results("dask_scaling", start, {**content, "rows": rows})


if __name__ == "__main__":
    main()
