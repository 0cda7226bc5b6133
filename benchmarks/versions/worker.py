"""One case of `compare`, in a process whose PYTHONPATH leads to the version that is timed. Prints one line of JSON."""

import json
import sys
import time
from typing import Any

BEGIN = time.perf_counter()
import certpca  # noqa: E402

IMPORTED = time.perf_counter() - BEGIN

import numpy as np  # noqa: E402

SPARSITY = 624
LIMIT = 90.0
SMALL = 20


def _genotypes() -> Any:
    return np.load(sys.argv[2], mmap_mode="r")[:]


def import_time() -> dict[str, float]:
    """Return what `import certpca` took, NumPy not loaded before."""
    return {"seconds": IMPORTED}


def svd_threshold() -> dict[str, float]:
    """Solve by the quickest method."""
    return _solved("svd-threshold")


def auto() -> dict[str, float]:
    """Solve by the default method."""
    return _solved("auto")


def _solved(solver: str) -> dict[str, float]:
    operator = certpca.from_data(_genotypes())
    certpca.solve(operator, SPARSITY, solver="svd-threshold")  # threads and compiled loops are ready
    begin = time.perf_counter()
    solution = certpca.solve(operator, SPARSITY, solver=solver)
    return {"seconds": time.perf_counter() - begin, "objective": solution.objective}


def certify_and_verify() -> dict[str, float]:
    """Certify with a limit, then verify what came out."""
    data = _genotypes()
    operator = certpca.from_data(data)
    begin = time.perf_counter()
    certificate = certpca.certify(operator, SPARSITY, budget=certpca.Budget(seconds=LIMIT))
    certified = time.perf_counter()
    certpca.verify(certificate, data)
    return {
        "seconds": certified - begin,
        "verify_seconds": time.perf_counter() - certified,
        "gap": certificate.gap,
        "objective": certificate.objective,
    }


def small_solves() -> dict[str, float]:
    """Solve twenty small problems in a row."""
    rng = np.random.default_rng(1)
    tables = [rng.standard_normal((60, 40)) for _ in range(SMALL)]
    certpca.solve(tables[0], 5)
    begin = time.perf_counter()
    objectives = [certpca.solve(table, 5).objective for table in tables]
    return {"seconds": time.perf_counter() - begin, "objective": sum(objectives)}


def pit_props() -> dict[str, float]:
    """Certify the smallest of the published problems."""
    begin = time.perf_counter()
    certificate = certpca.certify(certpca.pitprops(), 5)
    return {"seconds": time.perf_counter() - begin, "gap": certificate.gap}


CASES = {
    case.__name__: case for case in (import_time, small_solves, pit_props, svd_threshold, auto, certify_and_verify)
}

if __name__ == "__main__":
    print(json.dumps(CASES[sys.argv[1]]()))
