"""Peak memory of solve, certify and verify beside the size of the data.

    python -m benchmarks.memory.peak [--only PART ...] [--seconds 20]

Each job is a process of its own. Its baseline is what the process has once all is imported and compiled, data not
loaded yet; what counts is the largest resident size afterwards, data included, minus the baseline. Target: at most
3 times the data and 100 MB for solve and certify, 5 times for verify. Results go to benchmarks/results/memory.json; the
status is 1 where the target is missed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.certificates.gaps import DATA
from benchmarks.machine import CHECKOUT, facts, peak_bytes, resident_bytes, write_results
from benchmarks.peers.datasets import text

import certpca

CONSTANT = 100e6
MOST = {"solve": 3.0, "certify": 3.0, "verify": 5.0}
CASES: tuple[tuple[str, int], ...] = (
    ("pit props", 5),
    ("colon", 50),
    ("lung", 50),
    ("chr 1", 208),
    ("simulated", 624),
    ("text, made", 50),
)


def _load(name: str) -> Any:
    if name == "pit props":
        return np.asarray(np.random.default_rng(0).standard_normal((180, 13)))
    if name == "text, made":
        return text.load().values
    load, file = DATA[name]
    return load(file)


def _bytes_of(data: Any) -> int:
    if isinstance(data, np.ndarray):
        return data.nbytes
    return int(data.data.nbytes + data.indices.nbytes + data.indptr.nbytes)


def _stored(data: Any, folder: Path) -> Path:
    """Write data so that reading them again takes no more memory than they have."""
    if isinstance(data, np.ndarray):
        np.save(folder / "data.npy", np.ascontiguousarray(data))
        return folder / "data.npy"
    from scipy.sparse import csc_array, save_npz

    save_npz(folder / "data.npz", csc_array(data), compressed=False)
    return folder / "data.npz"


def _read(path: Path) -> Any:
    if path.suffix == ".npy":
        return np.load(path)
    from scipy.sparse import load_npz

    return load_npz(path)


def _jobs(data: Any, sparsity: int, seconds: float, proof: Path) -> dict[str, Callable[[], object]]:
    return {
        "solve": lambda: certpca.solve(data, sparsity, missing="mean"),
        "certify": lambda: certpca.save_certificate(
            certpca.certify(data, sparsity, time_limit=seconds, missing="mean"), proof
        ),
        "verify": lambda: certpca.verify(certpca.load_certificate(proof), data),
    }


def grown(path: Path, sparsity: int, job: str, seconds: float) -> int:
    """Return the bytes that a job takes here, data included."""
    tiny = np.asarray(np.random.default_rng(0).standard_normal((60, 40)))
    certpca.verify(certpca.certify(tiny, 5, time_limit=5.0), tiny)
    before = resident_bytes()
    _jobs(_read(path), sparsity, seconds, path.parent / "proof")[job]()
    return peak_bytes() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="parts of names of data")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each proof")
    parser.add_argument("--job", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.job:
        print(grown(Path(asked.job[0]), int(asked.job[1]), asked.job[2], asked.seconds))
        return
    start, rows = facts(), list[dict[str, Any]]()
    for name, sparsity in CASES:
        if asked.only and not any(part in name for part in asked.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            data = _load(name)
            size, path = _bytes_of(data), _stored(data, Path(folder))
            del data
            for job, most in MOST.items():
                command = [sys.executable, "-m", "benchmarks.memory.peak", "--seconds", str(asked.seconds)]
                command += ["--job", str(path), str(sparsity), job]
                done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
                taken = int(done.stdout.splitlines()[-1])
                row = {"data": name, "bytes": size, "sparsity": sparsity, "job": job, "taken": taken}
                rows.append({**row, "times": (taken - CONSTANT) / size, "most": most})
                print(json.dumps(rows[-1]), flush=True)
    met = all(row["times"] <= row["most"] for row in rows)
    print(f"targets: {'met' if met else 'MISSED'}")
    print(f"-> {write_results('memory', start, {'constant': CONSTANT, 'met': met, 'rows': rows})}")
    if not met:
        sys.exit(1)


if __name__ == "__main__":
    main()
