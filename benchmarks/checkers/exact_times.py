"""Let the exact checker confirm certificates of published problems, and measure how long that takes.

    python -m benchmarks.checkers.exact_times [--limit 20]

Results go to benchmarks/results/exact.json, and `python -m benchmarks.render` writes the table of docs/exact.md.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.machine import SHARED, facts, write_results

import certpca
from certpca.datasets.examples import pitprops_matrix
from certpca.exact.certpca_exact import Refused, check_file

Case = tuple[str, np.ndarray, int | tuple[int, ...], dict[str, Any]]
LARGEST = 130  # features of the covariances


def cases() -> Iterator[Case]:
    """Yield name, data, sparsity or sparsities, and how the data become a matrix."""
    from sklearn.datasets import load_wine

    given = {"covariance": True}
    for k in (5, 6, 10):
        yield "pit props", pitprops_matrix(), k, given
    yield "wine", load_wine().data, 5, {"scale": True}
    yield "wine", load_wine().data, 10, {"scale": True}
    for together in ("disjoint", "orthogonal", "uncorrelated", "shared"):
        yield "pit props", pitprops_matrix(), (4, 4), {**given, "together": together}
    for file in sorted((SHARED / "covariances").glob("*.npz")):
        matrix = np.load(file)["A"]
        if matrix.shape[0] <= LARGEST:
            name = file.stem.removeprefix("INFORMS_")
            for k in (5, 10):
                yield name, (matrix + matrix.T) / 2, k, given
            yield name, (matrix + matrix.T) / 2, (5, 5), {**given, "together": "disjoint"}


def run(case: Case, limit: float) -> dict[str, Any]:
    """Make a certificate and let both checkers look at it."""
    name, values, sparsity, options = case
    if isinstance(sparsity, tuple):
        found = certpca.decompose(values, len(sparsity), list(sparsity), certify=True, time_limit=limit, **options)
        certificate: Any = found.certificate
    else:
        certificate = certpca.certify(values, sparsity, time_limit=limit, **options)
    begin = time.perf_counter()
    certpca.verify(certificate, values)
    first = time.perf_counter() - begin
    with tempfile.TemporaryDirectory() as folder:
        certpca.save_certificate(certificate, Path(folder) / "certificate.json")
        begin = time.perf_counter()
        try:
            check_file(Path(folder) / "certificate.json", np.asarray(values, dtype=np.float64).tolist())
            refused = None
        except Refused as refusal:
            refused = str(refusal)
        second = time.perf_counter() - begin
    return {
        "data": name,
        "rows": values.shape[0],
        "features": values.shape[1],
        "sparsity": sparsity,
        "problem": options.get("together"),
        "kind": certificate.kind,
        "gap": certificate.gap,
        "upper_bound": certificate.upper_bound,
        "first_seconds": first,
        "exact_seconds": second,
        "refused": refused,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="measure the exact checker")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each search")
    options = parser.parse_args()
    start, rows = facts(), []
    for case in cases():
        rows.append(run(case, options.limit))
        print(rows[-1], flush=True)
        write_results("exact", start, {"limit": options.limit, "rows": rows})


if __name__ == "__main__":
    main()
