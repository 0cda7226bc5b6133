"""The proved gap on every real matrix at hand (k = 10, 50 and 1.66, 5, 15, 25 % of the features) and on simulated data.

    python -m benchmarks.certificates.gaps [--seconds 120] [--workers 1] [--only NAME ...] [--at PERCENT_OR_K ...]

Each case is a process of its own with two threads, pinned to two cores where the system can do that. Its time is that
of the whole call (answer, bound and proof); each certificate is verified afterwards. Results go to
benchmarks/results/gaps.json, and `python -m benchmarks.render` writes docs/gaps.md from them.
"""

import argparse
import json
import os
import queue
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp
from benchmarks.machine import CHECKOUT, SHARED, facts, peak_bytes, write_results

import certpca

COUNTS = (10, 50)
SHARES = (1.66, 5.0, 15.0, 25.0)  # per cent of the features
COMMON = 0.05  # smallest frequency of the rarer allele
RESULTS = CHECKOUT / "benchmarks" / "results" / "gaps.json"
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")


def _genotypes(file: str) -> Any:
    data = np.load(SHARED / file)["G"]
    if file.startswith(SIMULATED):
        return data
    frequency = np.where(data < 0, 0, data).mean(axis=0) / 2
    return np.ascontiguousarray(data[:, np.minimum(frequency, 1 - frequency) > COMMON])


def _expression(file: str) -> Any:
    return np.load(SHARED / file)["X"]


def _intensities(file: str) -> Any:
    return np.log2(np.maximum(_expression(file), 1))


def _text(file: str) -> Any:
    counts = sp.load_npz(SHARED / file).astype(np.float64)
    counts = counts[:, np.asarray((counts > 0).sum(axis=0)).ravel() >= 5]
    counts.data = np.log1p(counts.data)
    return sp.csr_array(counts)


def _matrix(file: str) -> Any:
    return np.load(SHARED / file)["A"]


SIMULATED = "simulated"  # of the paper's size; at its sparsities
PAPER = (624, 9377)
DATA: dict[str, tuple[Callable[[str], Any], str]] = {
    SIMULATED: (_genotypes, "simulated/chr1_like.npz"),
    "colon": (_intensities, "expr_alon/X.npz"),
    "lung": (_expression, "expr_lung_harvard/X.npz"),
    "bladder": (_expression, "expr_bladderbatch/X.npz"),
    "chr 1": (_genotypes, "geno_1kg_chr1/geno.npz"),
    "chr 22": (_genotypes, "geno_1kg_chr22/geno.npz"),
    "chr 22, Europe": (_genotypes, "geno_1kg_eur_chr22/geno.npz"),
    "HapMap3": (_genotypes, "geno_hapmap3_672/geno.npz"),
    "HGDP": (_genotypes, "geno_hgdp_159/geno.npz"),
    "ancestry panel": (_genotypes, "geno_1kg_aisnp_2504/seldin.npz"),
    "Associated Press": (_text, "text_associated_press/X.npz"),
    "20 Newsgroups": (_text, "text_20newsgroups/X.npz"),
    "stocks": (_matrix, "snp500/A.npz"),
    "communities": (_matrix, "covariances/communities.npz"),
    "digits": (_matrix, "covariances/INFORMS_digits.npz"),
}


def sparsities(size: int) -> list[int]:
    """Return the sparsities of a matrix, each once."""
    shares = [round(share * size / 100) for share in SHARES]
    return sorted({k for k in (*COUNTS, *shares) if 2 <= k < size})


def run(name: str, sparsity: int, seconds: float) -> dict[str, Any]:
    """Certify one case and verify the certificate."""
    load, file = DATA[name]
    data = load(file)
    begin = time.perf_counter()
    operator = certpca.from_matrix(data) if load is _matrix else certpca.from_data(data, missing="mean")
    certificate = certpca.certify(operator, sparsity, target_gap=1e-4, budget=certpca.Budget(seconds=seconds))
    certified = time.perf_counter()
    proof = certpca.verify(certificate, operator)
    return {
        "data": name,
        "samples": int(data.shape[0]) if load is not _matrix else None,
        "features": int(data.shape[1]),
        "sparsity": sparsity,
        "limit": seconds,
        "gap": proof.gap,
        "kind": proof.kind,
        "objective": proof.objective,
        "upper_bound": proof.upper_bound,
        "decided": int(proof.outside.size + proof.inside.size),
        "seconds": certified - begin,
        "verify_seconds": time.perf_counter() - certified,
        "peak_gib": peak_bytes() / 2**30,
    }


def _in_a_process(case: tuple[str, int], seconds: float, cores: "queue.Queue[tuple[int, ...]]") -> dict[str, Any]:
    mine = cores.get()
    try:
        command = [sys.executable, "-m", "benchmarks.certificates.gaps", "--seconds", str(seconds)]
        command += ["--case", case[0], str(case[1])]
        pin = (lambda: os.sched_setaffinity(0, mine)) if mine and hasattr(os, "sched_setaffinity") else None
        environment = {**os.environ, **dict.fromkeys(THREADS, "2")}
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            preexec_fn=pin,
        )
        if done.returncode:
            return {"data": case[0], "sparsity": case[1], "failed": done.stderr.splitlines()[-1:]}
        return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]
    finally:
        cores.put(mine)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--workers", type=int, default=1, help="cases at a time, two cores each")
    parser.add_argument("--only", nargs="*", choices=DATA, help="names of data sets")
    parser.add_argument("--at", type=int, nargs="*", help="sparsities, instead of all")
    parser.add_argument("--again", nargs="*", metavar="NAME:K", help="cases to run again; the other results stay")
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.case:
        print(json.dumps(run(asked.case[0], int(asked.case[1]), asked.seconds)))
        return
    start, cores = facts(), queue.Queue[tuple[int, ...]]()
    known = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    for worker in range(asked.workers):
        cores.put(tuple(known[2 * worker : 2 * worker + 2]))
    cases = [(case.rsplit(":", 1)[0], int(case.rsplit(":", 1)[1])) for case in asked.again or ()]
    for name, (load, file) in DATA.items():
        if not asked.again and (SHARED / file).exists() and (not asked.only or name in asked.only):
            usual = PAPER if name == SIMULATED else sparsities(load(file).shape[1])
            cases += [(name, k) for k in asked.at or usual]
    rows = []
    with ThreadPoolExecutor(asked.workers) as pool:
        for row in pool.map(lambda case: _in_a_process(case, asked.seconds, cores), cases):
            rows.append({**row, "source": start["source"]})
            print(json.dumps(row), flush=True)
    if asked.again:
        fresh = {(row["data"], row["sparsity"]): row for row in rows}
        before = json.loads(RESULTS.read_text())["rows"]
        rows = [fresh.get((row["data"], row["sparsity"]), row) for row in before]
    if not asked.only and not asked.at:
        write_results("gaps", start, {"rows": rows})


if __name__ == "__main__":
    main()
