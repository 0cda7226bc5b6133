"""Certify real and simulated data at the sizes and sparsities of the paper, and verify each certificate.

    python -m benchmarks.certificates.real_data [--only NAME] [--time-limit 600]

Each case runs in a process of its own; its target is the gap it must reach. Results go to benchmarks/results.
"""

import argparse
import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
from benchmarks.machine import SHARED, facts, peak_bytes, write_results

import certpca

# name, file, array, sparsity, target gap
CASES = (
    ("simulated", "simulated/chr1_like.npz", "G", 624, 0.017),
    ("simulated", "simulated/chr1_like.npz", "G", 9377, 0.0085),
    ("hapmap3", "geno_hapmap3_672/geno.npz", "G", 360, 0.018),
    ("hapmap3", "geno_hapmap3_672/geno.npz", "G", 5424, 0.013),
    ("chr1", "geno_1kg_chr1/geno.npz", "G", 208, 0.0005),
    ("chr1", "geno_1kg_chr1/geno.npz", "G", 3128, 0.026),
    ("bladder", "expr_bladderbatch/X.npz", "X", 10, 0.006),
    ("bladder", "expr_bladderbatch/X.npz", "X", 5571, 0.008),
    ("bladder", "expr_bladderbatch/X.npz", "X", 1114, 0.01),
    ("lung", "expr_lung_harvard/X.npz", "X", 159, 0.01),
)


def load(name: str, file: str, array: str) -> Any:
    data = np.load(SHARED / file)[array]
    if name == "chr1":  # common variants only
        frequency = data.mean(axis=0) / 2
        data = np.ascontiguousarray(data[:, np.minimum(frequency, 1 - frequency) > 0.05])
    return data


def run(case: int, limit: float) -> dict[str, Any]:
    name, file, array, sparsity, target = CASES[case]
    data = load(name, file, array)
    begin = time.perf_counter()
    operator = certpca.from_data(data, missing="mean")
    solution = certpca.solve(operator, sparsity)
    solved = time.perf_counter()
    budget = certpca.Budget(seconds=limit)
    certificate = certpca.certify(operator, sparsity, solution=solution, target_gap=target, budget=budget)
    certified = time.perf_counter()
    proof = certpca.verify(certificate, data)
    verified = time.perf_counter()
    return {
        "data": name,
        "samples": data.shape[0],
        "features": data.shape[1],
        "sparsity": sparsity,
        "target": target,
        "gap": proof.gap,
        "f": solution.relative_objective,
        "kind": certificate.kind,
        "leaves": sum(key.startswith("leaf") and key.endswith("level") for key in certificate.evidence),
        "in_no_optimum": int(proof.outside.size),
        "in_every_optimum": int(proof.inside.size),
        "solve_seconds": solved - begin,
        "certify_seconds": certified - solved,
        "verify_seconds": verified - certified,
        "peak_gib": peak_bytes() / 2**30,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="name of a data set")
    parser.add_argument("--time-limit", type=float, default=600.0)
    parser.add_argument("--case", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not SHARED.is_dir():
        sys.exit("the data sets are not beside this checkout")
    if options.case is not None:
        print(json.dumps(run(options.case, options.time_limit)))
        return
    start, rows = facts(), []
    print("| data | samples x features | k | target | proved gap | kind | solve s | certify s | verify s | peak GiB |")
    print("|---|---|--:|--:|--:|---|--:|--:|--:|--:|")
    for case, (name, *_) in enumerate(CASES):
        if options.only and name != options.only:
            continue
        command = [sys.executable, "-m", "benchmarks.certificates.real_data", "--case", str(case)]
        command += ["--time-limit", str(options.time_limit)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        row = json.loads(done.stdout.splitlines()[-1])
        rows.append(row)
        print(
            f"| {row['data']} | {row['samples']} x {row['features']} | {row['sparsity']} | {row['target']:.2%} "
            f"| {row['gap']:.3%} | {row['kind']} | {row['solve_seconds']:.1f} | {row['certify_seconds']:.1f} "
            f"| {row['verify_seconds']:.1f} | {row['peak_gib']:.2f} |",
            flush=True,
        )
    if not options.only:
        write_results("certificates", start, {"rows": rows})


if __name__ == "__main__":
    main()
