"""Where the gap of components on one choice of features comes from: leading directions, and all others.

    python -m benchmarks.components.shared_parts [--seconds 60]

The features are replaced by what they have along the m leading directions of sample space, and five components on 1,000
of them are found and proved. What all five capture together is at most that bound and, for what was left out, the sum
of the five largest eigenvalues there. Results go to benchmarks/results/shared_parts.json, and `python -m
benchmarks.render` writes the table of docs/branching.md.
"""

import argparse
import json
import math
import time

import numpy as np
from benchmarks.certificates.gaps import DATA, SIMULATED
from benchmarks.machine import facts, write_results

import certpca

DIRECTIONS = (5, 8, 24, 64)
COMPONENTS, SPARSITY = 5, 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each proof")
    asked = parser.parse_args()
    start, rows = facts(), []
    load, file = DATA[SIMULATED]
    data = load(file).astype(np.float64)
    data -= data.mean(axis=0)
    data /= math.sqrt(data.shape[0] - 1)
    values, vectors = np.linalg.eigh(data @ data.T)
    values, vectors = values[::-1], vectors[:, ::-1]
    for count in DIRECTIONS:
        inside = vectors[:, :count].T @ data
        begin = time.perf_counter()
        found = certpca.decompose(
            np.asfortranarray(inside) * math.sqrt(count),  # whose mean square is what counts
            COMPONENTS,
            SPARSITY,
            together="shared",
            certify=True,
            target_gap=1e-4,
            time_limit=asked.seconds,
            center=False,
        )
        seconds = time.perf_counter() - begin
        assert found.certificate is not None
        rest = float(values[count : count + COMPONENTS].sum())
        row = {"directions": count, "objective": found.objective, "upper_bound": found.upper_bound, "gap": found.gap}
        rows.append({**row, "rest": rest, "together": found.upper_bound + rest, "seconds": seconds})
        print(json.dumps(rows[-1]), flush=True)
    about = {"components": COMPONENTS, "sparsity": SPARSITY, "samples": data.shape[0], "features": data.shape[1]}
    write_results("shared_parts", start, {**about, "rows": rows})


if __name__ == "__main__":
    main()
