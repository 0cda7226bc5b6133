"""Write the tables that README.md quotes from benchmarks/results.

python -m benchmarks.render
"""

import json
from pathlib import Path
from typing import Any

from benchmarks.machine import CHECKOUT

RESULTS = Path(__file__).parent / "results"
NAMES = {
    "certpca_svd_threshold": "certpca `svd-threshold`",
    "certpca_auto": "certpca `auto`",
    "abess_splicing": "abess",
    "sklearn_sparse_pca": "scikit-learn `SparsePCA`",
    "sklearn_minibatch": "scikit-learn `MiniBatchSparsePCA`",
}


def peers() -> str:
    lines = ["| data | k | solver | seconds | tuning s | nonzeros | f | peak MB |", "|---|--:|---|--:|--:|--:|--:|--:|"]
    for row in _rows("peers"):
        name = NAMES.get(row["solver"], row["solver"])
        if row.get("seconds") is None:
            lines.append(f"| {row['case']} | {row['sparsity']} | {name} | {row['note']} | | | | |")
            continue
        lines.append(
            f"| {row['case']} | {row['sparsity']} | {name} | {row['seconds']:.3g} | {row['tuning_seconds']:.3g} "
            f"| {row['nonzeros']} | {row['refitted']:.5f} | {row['peak_bytes'] / 1e6:.0f} |"
        )
    return "\n".join(lines)


def certificates() -> str:
    lines = ["| data | samples x features | k | proved gap | certify s | verify s |", "|---|---|--:|--:|--:|--:|"]
    lines += [
        f"| {row['data']} | {row['samples']:,} x {row['features']:,} | {row['sparsity']:,} | {row['gap']:.2%} "
        f"| {row['solve_seconds'] + row['certify_seconds']:.0f} | {row['verify_seconds']:.0f} |"
        for row in _rows("certificates")
    ]
    return "\n".join(lines)


def _rows(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((RESULTS / f"{name}.json").read_text())["rows"]
    return rows


def main() -> None:
    page = CHECKOUT / "README.md"
    text = page.read_text()
    for name, table in (("peers", peers()), ("certificates", certificates())):
        head, rest = text.split(f"<!-- {name}: written by python -m benchmarks.render -->")
        _, tail = rest.split(f"<!-- /{name} -->")
        text = f"{head}<!-- {name}: written by python -m benchmarks.render -->\n\n{table}\n\n<!-- /{name} -->{tail}"
    page.write_text(text)


if __name__ == "__main__":
    main()
