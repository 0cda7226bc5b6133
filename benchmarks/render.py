"""Write the tables that README.md quotes from benchmarks/results.

python -m benchmarks.render
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.machine import CHECKOUT
from benchmarks.peers.results import label, leagues, read, total

RESULTS = Path(__file__).parent / "results"


def peers() -> str | None:
    """Return one line for each case of the league table, or nothing before it has been measured."""
    found = leagues(read("peers")["rows"])
    lines = [
        "| data | k | certpca `auto`: f, s | proved: at most | most of a peer: f, s | quickest peer within 1 %: f, s |",
        "|---|--:|---|---|---|---|",
    ]
    for league in found:
        auto = league.of("certpca_auto")
        most = max(league.peers, key=lambda row: (row["refitted"], -total(row)), default=None)
        near = league.quickest_near(auto) if auto else None
        bound = "–" if league.bound is None else f"{league.bound:.5f}"
        lines.append(
            f"| {league.case} | {league.rows[0]['sparsity']} | {_run(auto)} | {bound} "
            f"| {_run(most, named=True)} | {_run(near, named=True)} |"
        )
    return "\n".join(lines) if found else None


def _run(row: dict[str, Any] | None, *, named: bool = False) -> str:
    if row is None:
        return "none"
    return f"{row['refitted']:.5f}, {total(row):.3g}" + (f" {label(row)}" if named else "")


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


def path_cost() -> str | None:
    found = _results("path")
    if found is None or "everything_over_one" not in found:
        return None
    count, middle = len(found["sparsities"]), found["sparsities"][(len(found["sparsities"]) - 1) // 2]
    one, all_of = found["one_solve_seconds"], found["path_seconds"]
    proof, proofs = found["one_certificate_seconds"], found["certificates_seconds"]
    lines = [
        f"| | one sparsity ({middle:,}) s | {count} sparsities s | ratio |",
        "|---|--:|--:|--:|",
        f"| components | {one:.0f} | {all_of:.0f} | {found['path_over_solve']:.2f} |",
        f"| proofs, gap at most {found['target_gap']:.0%} | {proof:.0f} | {proofs:.0f} "
        f"| {found['certificates_over_one']:.2f} |",
        f"| both | {one + proof:.0f} | {all_of + proofs:.0f} | {found['everything_over_one']:.2f} |",
    ]
    return "\n".join(lines)


def kernel() -> str | None:
    found = _results("kernel")
    if found is None:
        return None
    lines = [
        "| solver | fit s | share of a dense direction | memory MB | kernel matrix would take MB |",
        "|---|--:|--:|--:|--:|",
    ]
    lines += [
        f"| `{row['solver']}` | {row['seconds']:.0f} | {row['share_of_dense']:.2%} | {row['memory_bytes'] / 1e6:.0f} "
        f"| {row['kernel_matrix_bytes'] / 1e6:.0f} |"
        for row in found["rows"]
    ]
    return "\n".join(lines)


def device() -> str | None:
    found = _results("device_compare")
    if found is None:
        return None
    rows = {(row["backend"], row["job"], row["sparsity"]): row for row in found["rows"]}
    lines = [
        "| job | k | host, 16 cores s | torch s | CuPy s | torch / host | largest difference | device GiB, torch |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for (backend, job, sparsity), host in rows.items():
        if backend != "numpy":
            continue
        torch, cupy = rows["torch", job, sparsity], rows["cupy", job, sparsity]
        parts = [("", "seconds")]
        if job == "certify":
            parts = [(", search only", "seconds_without_proof"), (", with the proof on the host", "seconds")]
        differs = max(torch["relative_difference"], cupy["relative_difference"])
        lines += [
            f"| `{job}`{what} | {sparsity:,} | {host[key]:.3g} | {torch[key]:.3g} | {cupy[key]:.3g} "
            f"| {host[key] / torch[key]:.1f} x faster | {differs:.0e} | {torch['peak_gib']:.1f} |"
            for what, key in parts
        ]
    return "\n".join(lines)


def _results(name: str) -> dict[str, Any] | None:
    file = RESULTS / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else None


def _rows(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((RESULTS / f"{name}.json").read_text())["rows"]
    return rows


TABLES: dict[str, dict[str, Callable[[], str | None]]] = {
    "README.md": {"peers": peers, "certificates": certificates},
    "docs/semidefinite.md": {"ladder": ladder, "constants": constants},
    "docs/branching.md": {"optimal": optimal},
    "docs/costs.md": {"path": path_cost, "kernel": kernel, "device": device},
}


def main() -> None:
    for file, tables in TABLES.items():
        page = CHECKOUT / file
        text = page.read_text()
        for name, table in tables.items():
            made = table()
            if made is None:
                continue
            head, rest = text.split(f"<!-- {name}: written by python -m benchmarks.render -->")
            _, tail = rest.split(f"<!-- /{name} -->")
            text = f"{head}<!-- {name}: written by python -m benchmarks.render -->\n\n{made}\n\n<!-- /{name} -->{tail}"
        page.write_text(text)


if __name__ == "__main__":
    main()
