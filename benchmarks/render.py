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


def ladder() -> str:
    lines = [
        "| problem | k | certpca s, gap 1e-3 | certpca s, gap 1e-4 | proved gap | rank | SCS s | Clarabel s | value |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in _rows("sdp_ladder"):
        ours = row["certpca"]
        coarse, fine = ours.get("0.001", {}), ours.get("0.0001", {})
        lines.append(
            f"| {row['name']} | {row['sparsity']} | {_seconds(coarse or ours)} | {_seconds(fine or ours)} "
            f"| {fine.get('duality_gap', float('nan')):.1e} | {fine.get('rank', float('nan')):.0f} "
            f"| {_seconds(row.get('scs'))} | {_seconds(row.get('clarabel'))} | {fine.get('value', float('nan')):.6g} |"
        )
    return "\n".join(lines)


def _seconds(run: dict[str, Any] | None) -> str:
    if run is None:
        return "–"
    return str(run["failed"]) if "failed" in run else f"{run['seconds']:.3g}"


def constants() -> str:
    device = {row["sparsity"]: row for row in _rows("sdp_device_h200")}
    lines = [
        "| k | α | β | ε_d | SDP value / λ₁ | f after rounding | proved duality gap | 2 cores s | H200 s |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {row['sparsity']:,} | {row['alpha']:.7f} | {row['beta']:.7f} | {row['epsilon_d']:.2f} | {row['value']:.5f} "
        f"| {row['f']:.5f} | {row['duality_gap']:.1e} | {row['relaxation_seconds']:.0f} + "
        f"{row['seconds_with_proof'] - row['relaxation_seconds']:.0f} "
        f"| {device[row['sparsity']]['relaxation_seconds']:.1f} + "
        f"{device[row['sparsity']]['seconds_with_proof'] - device[row['sparsity']]['relaxation_seconds']:.1f} |"
        for row in _rows("sdp_paper_size")
    ]
    return "\n".join(lines)


def optimal() -> str:
    lines = [
        "| problem | n | k | status | objective | root gap | nodes | seconds | verify s | file kB |",
        "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in _rows("optimal"):
        status = "proved optimal" if row["status"] == "OPTIMAL" else f"within {row['gap']:.2%}"
        lines.append(
            f"| {row['name']} | {row['size']} | {row['sparsity']} | {status} | {row['objective']:.7g} "
            f"| {max(row['root_gap'], 0):.2%} | {row['nodes']:.0f} | {row['seconds']:.2f} "
            f"| {row['verify_seconds']:.2f} | {row['stored_bytes'] / 1e3:.0f} |"
        )
    return "\n".join(lines)


def _rows(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((RESULTS / f"{name}.json").read_text())["rows"]
    return rows


TABLES = {
    "README.md": {"peers": peers, "certificates": certificates},
    "docs/semidefinite.md": {"ladder": ladder, "constants": constants},
    "docs/branching.md": {"optimal": optimal},
}


def main() -> None:
    for file, tables in TABLES.items():
        page = CHECKOUT / file
        text = page.read_text()
        for name, table in tables.items():
            head, rest = text.split(f"<!-- {name}: written by python -m benchmarks.render -->")
            _, tail = rest.split(f"<!-- /{name} -->")
            text = (
                f"{head}<!-- {name}: written by python -m benchmarks.render -->\n\n{table()}\n\n<!-- /{name} -->{tail}"
            )
        page.write_text(text)


if __name__ == "__main__":
    main()
