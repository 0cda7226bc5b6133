"""Every solver on every dataset, each run in a process of its own, judged by one objective.

All get the same centred float32 matrix, and one component is asked for. Libraries are loaded and warmed on a tiny
problem before; only the solve is timed; an answer that breaks the sparsity has no time.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.machine import CHECKOUT, facts, peak_bytes, write_results
from benchmarks.peers.objective import Judge
from benchmarks.peers.timing import CLOSE

HERE = Path(__file__).parent
REFERENCE = "certpca_svd_threshold"


def parts(folder: str) -> dict[str, Any]:
    """Import every module of a folder."""
    names = sorted(path.stem for path in (HERE / folder).glob("*.py"))
    return {name: import_module(f"benchmarks.peers.{folder}.{name}") for name in names}


def work(solver: str, data_path: str, sparsity: int, patience: float, memory: int) -> None:
    """Solve in this process: loadings beside the data, numbers on standard output."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    module = import_module(f"benchmarks.peers.solvers.{solver}")
    module.solve(np.random.default_rng(0).standard_normal((60, 12)).astype(np.float32), 4, 1.0)
    answer = module.solve(np.load(data_path), sparsity, patience)
    np.save(Path(data_path).with_name("loadings.npy"), answer.vector)
    numbers = {"seconds": answer.seconds, "tuning_seconds": answer.tuning_seconds, "fits": answer.fits}
    print(json.dumps({**numbers, "peak_bytes": peak_bytes()}))


def run(solver: str, data_path: Path, sparsity: int, judge: Judge, limits: tuple[float, int]) -> dict[str, Any]:
    """Run one solver within its limits and have the answer judged."""
    seconds, memory = limits
    settings = [str(data_path), str(sparsity), str(seconds / 2), str(memory)]
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.peers.run", "--work", solver, *settings]
    try:
        done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return {"note": f"over the limit of {seconds:.0f} s"}
    if done.returncode:
        starved = any(word in done.stderr for word in ("MemoryError", "bad_alloc", "Unable to allocate"))
        said = (done.stderr.strip().splitlines() or [f"status {done.returncode}, no message"])[-1]
        bound = f"within {memory / 2**30:.0f} GiB"
        return {"note": f"out of memory {bound}" if starved else f"crashed {bound}: {said[:120]}"}
    found = json.loads(done.stdout.splitlines()[-1])
    verdict = judge.verdict(np.load(data_path.with_name("loadings.npy")), sparsity)
    if isinstance(verdict, str):
        return {"note": verdict}
    notes = [f"{found['fits']} fits"] if found["fits"] > 1 else []
    if verdict.nonzeros < CLOSE * sparsity:
        notes.append("tuning cut short: f not comparable")
    return {**found, **vars(verdict), "note": ", ".join(notes)}


def table(rows: list[dict[str, Any]]) -> str:
    """Write the rows as Markdown, with times relative to `svd-threshold` on the same data."""
    units = {row["case"]: row.get("seconds") for row in rows if row["solver"] == REFERENCE}
    lines = [
        "| data, k | solver | seconds | x svd-threshold | tuning s | nonzeros | f raw | f refitted | peak MB | note |"
    ]
    lines.append("|---|---|--:|--:|--:|--:|--:|--:|--:|---|")
    for row in rows:
        cells = ["—"] * 7
        if "seconds" in row:
            unit = units.get(row["case"])
            times = f"{row['seconds'] / unit:.1f}" if unit else "—"
            cells = [f"{row['seconds']:.4g}", times, f"{row['tuning_seconds']:.1f}", str(row["nonzeros"])]
            cells += [f"{row['raw']:.5f}", f"{row['refitted']:.5f}", f"{row['peak_bytes'] / 1e6:.0f}"]
        lines.append(f"| {row['case']}, {row['sparsity']} | {row['solver']} | {' | '.join(cells)} | {row['note']} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each run, tuning included")
    parser.add_argument("--memory", type=float, default=16.0, help="GiB of address space for each run")
    parser.add_argument("--only", default="", help="solvers whose name contains this")
    parser.add_argument("--case", default="", help="datasets whose name contains this")
    parser.add_argument("--work", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        solver, path, sparsity, patience, memory = arguments.work
        work(solver, path, int(sparsity), float(patience), int(memory))
        return
    start = facts()
    solvers = sorted(parts("solvers"), key=lambda name: (name != REFERENCE, not name.startswith("certpca"), name))
    limits = (arguments.limit, int(arguments.memory * 2**30))
    cases = {name: case for module in parts("datasets").values() for name, case in module.CASES.items()}
    rows: list[dict[str, Any]] = []
    for case, (sparsity, load) in cases.items():
        if arguments.case not in case:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "data.npy"
            data = load()
            data = data - data.mean(axis=0, dtype=np.float64).astype(np.float32)
            np.save(path, data)
            judge = Judge(data)
            for solver in solvers:
                if arguments.only not in solver:
                    continue
                rows.append({"case": case, "sparsity": sparsity, "solver": solver})
                rows[-1].update(run(solver, path, sparsity, judge, limits))
                print(rows[-1], file=sys.stderr, flush=True)
    print(table(rows))
    if not arguments.only and not arguments.case:
        print(
            f"-> {write_results('peers', start, {'limit_seconds': limits[0], 'limit_bytes': limits[1], 'rows': rows})}"
        )


if __name__ == "__main__":
    main()
