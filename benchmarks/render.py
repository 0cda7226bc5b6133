"""Write the tables that README.md quotes from benchmarks/results.

python -m benchmarks.render
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.machine import CHECKOUT
from benchmarks.peers.results import label, leagues, read, total

RESULTS = Path(__file__).parent / "results"


# Few enough to read, won and lost ones; docs/peers.md has all.
PEERS_SHOWN = ("pit props", "1000 Genomes", "expression", "genotypes 2240 x 37493", "text")


def peers() -> str | None:
    """Return a line for some cases of the league table, or nothing before it has been measured."""
    found = [league for league in leagues(read("peers")["rows"]) if league.case.startswith(PEERS_SHOWN)]
    lines = [
        "| data | k | certpca `auto`: f, s | proved there to 1 %: at most | most of a peer: f, s "
        "| quickest peer within 1 %: f, s |",
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


SHOWN = (
    ("simulated", 624),
    ("HapMap3", 360),
    ("chr 1", 626),
    ("bladder", 50),
    ("lung", 159),
    ("colon", 50),
    ("Associated Press", 10),
)


def certificates() -> str | None:
    """Return some of the gaps, the narrow and the wide."""
    found = _results("gaps")
    if found is None:
        return None
    known = {(row["data"], row["sparsity"]): row for row in found["rows"] if "gap" in row}
    lines = ["| data | samples × features | k | proved gap | seconds | verify s |", "|---|---|--:|--:|--:|--:|"]
    lines += [
        f"| {row['data']} | {row['samples']:,} × {row['features']:,} | {row['sparsity']:,} | {_gap(row)} "
        f"| {row['seconds']:.0f} | {row['verify_seconds']:.0f} |"
        for row in (known[case] for case in SHOWN if case in known)
    ]
    return "\n".join(lines)


def sizes() -> str | None:
    """Return what certificates of each data set took."""
    from benchmarks.certificates.sizes import table

    found = _results("gaps")
    return None if found is None else table(found["rows"])


def _gap(row: dict[str, Any]) -> str:
    return f"{math.ceil(row['gap'] * 1e4) / 1e2:.2f} %"


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


def gaps() -> str | None:
    """Return the gap of every case, the widest first, and how many are within 1 %."""
    found = _results("gaps")
    if found is None:
        return None
    rows = sorted((row for row in found["rows"] if "gap" in row), key=lambda row: -row["gap"])
    failed = [row for row in found["rows"] if "gap" not in row]
    real = [row for row in rows if row["data"] != "simulated"]
    good = sum(row["gap"] <= 0.01 for row in real)
    lines = [
        f"**{good} of {len(real) + len(failed)} on real data within 1 %** "
        f"with a limit of {rows[0]['limit']:.0f} s on two cores "
        f"({', '.join(sorted({row['processor'] for row in rows}))}, two threads, several cases at a time).",
        "",
        "| data | samples × features | k | proved gap | certificate | seconds | verify s | GiB |",
        "|---|---|--:|--:|---|--:|--:|--:|",
    ]
    for row in rows:
        shape = (
            f"{row['features']:,} (matrix)" if row["samples"] is None else f"{row['samples']:,} × {row['features']:,}"
        )
        lines.append(
            f"| {row['data']} | {shape} | {row['sparsity']:,} | {_gap(row)} | `{row['kind']}` | {row['seconds']:.1f} "
            f"| {row['verify_seconds']:.1f} | {row['peak_gib']:.1f} |"
        )
    lines += [f"| {row['data']} | | {row['sparsity']:,} | failed | | | | |" for row in failed]
    older = [row for row in found["rows"] if row["source"] != found["machine"]["source"]]
    if older:
        elsewhere = {row["processor"] for row in older} - {found["machine"]["processor"]}
        where = f", on {' and '.join(sorted(elsewhere))}" if elsewhere else ""
        lines += ["", f"{len(older)} of these rows were measured with earlier sources{where}."]
    return "\n".join(lines)


def features_together() -> str | None:
    """Return what one dual matrix for several features would gain."""
    found = _results("features_together")
    if found is None:
        return None
    sizes = "".join(f" gap, {size} at a time |" for size in found["sizes"])
    lines = [f"| directions | features | k |{sizes}", "|--:|--:|--:|" + "--:|" * len(found["sizes"])]
    for row in found["rows"]:
        gaps = " | ".join(f"{100 * max(gap, 0.0):.2f} %" for gap in row["gaps"])
        lines.append(f"| {row['directions']} | {row['features']} | {row['sparsity']} | {gaps} |")
    return "\n".join(lines)


def near_direction() -> str | None:
    """Return what a level would leave open within an angle of the best direction."""
    found = _results("near_direction")
    if found is None:
        return None
    angles = [row["angle"] for row in found["found"][0]["rows"]]
    lines = [
        f"| {found['data']}, k | any direction |" + "".join(f" within {angle}° |" for angle in angles[1:]),
        "|--:|" + "--:|" * len(angles),
    ]
    for case in found["found"]:
        gaps = " | ".join(f"{100 * max(row['gap'], 0.0):.1f} %" for row in case["rows"])
        lines.append(f"| {case['sparsity']:,} | {gaps} |")
    return "\n".join(lines)


def other_limits() -> str | None:
    """Return cases that have a limit and a goal of their own, and the largest file."""
    from benchmarks.certificates.gaps import GOALS

    found, packed = _results("gaps"), _results("packed_certify")
    known = {(row["data"], row["sparsity"]): row for row in (found or {}).get("goals", []) if "gap" in row}
    lines = [
        "| data | k | limit s | gap aimed at | proved gap | certificate | seconds | verify s | GiB | processor |",
        "|---|--:|--:|--:|--:|---|--:|--:|--:|---|",
    ]
    for goal in GOALS:
        row = known.get((goal.data, goal.sparsity))
        if row is not None:
            lines.append(
                f"| {row['data']} | {row['sparsity']:,} | {row['limit']:.0f} | {goal.gap:.1%} | {_gap(row)} "
                f"| `{row['kind']}` | {row['seconds']:.1f} | {row['verify_seconds']:.1f} | {row['peak_gib']:.1f} "
                f"| {row['processor']} |"
            )
    if packed is not None:
        checked = f"{packed['verify_seconds']:.0f}" if "verify_seconds" in packed else "–"
        shape = f"{packed['samples']:,} × {packed['variants']:,} genotypes in a file"
        lines.append(
            f"| {shape} | {packed['sparsity']:,} | none | 3.0% "
            f"| {_gap(packed)} | `{packed['kind']}` | {packed['seconds']:.0f}, {packed['walks']:.0f} walks | {checked} "
            f"| {packed['peak_gib']:.1f} | {packed['machine']['processor']} |"
        )
    return "\n".join(lines) if len(lines) > 2 else None


def together() -> str | None:
    """Return the gaps of sets of components: small splits in a sentence, the others in a table."""
    found = _results("together")
    if found is None:
        return None
    small = [row for row in found["rows"] if row["optimum"] is not None]
    others = [row for row in found["rows"] if row["optimum"] is None]
    apart = [row for row in others if row["asked"] <= 1e-3]
    proved = sum(row["gap"] <= row["asked"] for row in small)
    lines = [
        f"Pit props: {proved} of {len(small)} disjoint splits proved optimal (gap below 0.0001 %), each in at most "
        f"{max(row['seconds'] for row in small):.1f} s. Covariances of up to 101 features: "
        f"{sum(row['gap'] <= 1e-3 for row in apart)} of {len(apart)} sets within 0.1 %.",
        "",
        "| data | features | together | k each | share of variance | proved gap of the set | certificate | seconds |",
        "|---|--:|---|---|--:|--:|---|--:|",
    ]
    for row in sorted(others, key=lambda row: -row["gap"]):
        lines.append(
            f"| {NAMES.get(row['name'], row['name'])} | {row['size']} | {row['problem']} "
            f"| {', '.join(map(str, row['sparsities']))} | {row['share']:.4f} | {_gap(row)} | `{row['kind']}` "
            f"| {row['seconds']:.1f} |"
        )
    return "\n".join(lines)


def sets_many_features() -> str | None:
    """Return the gaps of sets of components among many features."""
    found = _results("sets_many_features")
    if found is None:
        return None
    lines = [
        "| data | samples x features | together | components | features each | proved gap of the set | certificate "
        "| seconds | verify s | peak GiB |",
        "|---|--:|---|--:|--:|--:|---|--:|--:|--:|",
    ]
    for row in found["rows"]:
        lines.append(
            f"| {row['name']} | {row['samples']:,} x {row['size']:,} | {row['problem']} | {row['components']} "
            f"| {row['sparsity']:,} | {_gap(row)} | `{row['kind']}` | {row['seconds']:.1f} "
            f"| {row['verify_seconds']:.1f} | {row['peak_gib']:.1f} |"
        )
    return "\n".join(lines)


def shared_parts() -> str | None:
    """Return where the gap of components on one choice of features comes from."""
    found = _results("shared_parts")
    if found is None:
        return None
    lines = [
        "| leading directions | captured there | proved gap there | largest eigenvalues of the rest, in all | s |",
        "|--:|--:|--:|--:|--:|",
    ]
    for row in found["rows"]:
        lines.append(
            f"| {row['directions']} | {row['objective']:.1f} | {_gap(row)} | {row['rest']:.1f} | {row['seconds']:.0f} |"
        )
    return "\n".join(lines)


NAMES = {"snp500": "stocks"}


def versions() -> str | None:
    """Return the times of two versions side by side."""
    found = _results("versions")
    if found is None:
        return None
    words = {
        "import_time": "`import certpca`",
        "small_solves": "20 small `solve`",
        "pit_props": "`certify` of pit props",
        "svd_threshold": "`svd-threshold`",
        "auto": "`auto`",
        "certify_and_verify": "`certify` with 90 s",
    }
    lines = [
        f"Before is commit {found['before'][:7]}, after {found['machine']['commit'][:7]}.",
        "",
        "| job | before s | after s | objective, after/before − 1 | gap before, after |",
        "|---|--:|--:|--:|---|",
    ]
    for row in found["rows"]:
        before, after = row["before"], row["after"]
        change = f"{after['objective'] / before['objective'] - 1:.1e}" if "objective" in after else ""
        gap = f"{before['gap']:.3%}, {after['gap']:.3%}" if "gap" in after else ""
        lines.append(f"| {words[row['case']]} | {before['seconds']:.3g} | {after['seconds']:.3g} | {change} | {gap} |")
        if "verify_seconds" in after:
            lines.append(f"| its `verify` | {before['verify_seconds']:.3g} | {after['verify_seconds']:.3g} | | |")
    return "\n".join(lines)


def auto_speed() -> str | None:
    """Return what the default captures beside the quickest solver and beside itself before."""
    found, before = _results("auto"), _results("auto_before")
    if found is None:
        return None
    known = {(row["data"], row["sparsity"]): row["auto"] for row in (before or {"rows": []})["rows"] if "auto" in row}
    lines = [
        "| data | features | k | `auto` f | s | walks (vectors) | `svd-threshold` f | s | `auto` before: s "
        "| objective, now / before − 1 |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in found["rows"]:
        if "auto" not in row:
            continue
        auto, quick = row["auto"], row["svd-threshold"]
        old = known.get((row["data"], row["sparsity"]))
        change = "– | –" if old is None else f"{old['seconds']:.3g} | {auto['objective'] / old['objective'] - 1:.1e}"
        lines.append(
            f"| {row['data']} | {row['features']:,} | {row['sparsity']:,} | {auto['f']:.6f} | {auto['seconds']:.3g} "
            f"| {auto['walks']} ({auto['vectors']}) | {quick['f']:.6f} | {quick['seconds']:.3g} | {change} |"
        )
    return "\n".join(lines)


def threads() -> str | None:
    found = _results("threads")
    if found is None:
        return None
    lines = ["| job | one thread s | as installed s | ratio |", "|---|--:|--:|--:|"]
    lines += [
        f"| {row['job']} | {row['one']:.3g} | {row['default']:.3g} | {row['ratio']:.2f} |" for row in found["rows"]
    ]
    return "\n".join(lines)


def memory() -> str | None:
    found = _results("memory")
    if found is None:
        return None
    lines = ["| data | MB | job | MB taken, data included | times the data beyond 100 MB |", "|---|--:|---|--:|--:|"]
    lines += [
        f"| {row['data']}, k = {row['sparsity']} | {row['bytes'] / 1e6:.3g} | `{row['job']}` "
        f"| {row['taken'] / 1e6:.0f} | {max(row['times'], 0):.1f} |"
        for row in found["rows"]
    ]
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
        name = f"answer and proof in one call, gap {_gap(torch)}" if job == "whole" else f"`{job}`"
        lines += [
            f"| {name}{what} | {sparsity:,} | {host[key]:.3g} | {torch[key]:.3g} | {cupy[key]:.3g} "
            f"| {host[key] / torch[key]:.1f} x faster | {differs:.0e} | {torch['peak_gib']:.1f} |"
            for what, key in parts
        ]
    return "\n".join(lines)


def dask_scaling() -> str | None:
    found = _results("dask_scaling")
    if found is None:
        return None
    parts = {
        "`svd-threshold`": "svd_threshold_seconds",
        "one step of `certify`": "step_seconds",
        "proof, by the caller": "proof_seconds",
        f"`certify`, {found['steps']} steps": "certify_seconds",
    }
    memory, one, two = found["rows"]
    lines = [
        f"| {found['samples']:,} x {found['features']:,}, k = {found['sparsity']:,} "
        "| in memory, 1 thread s | 1 worker s | 2 workers s | 1 / 2 workers |",
        "|---|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {what} | {memory[key]:.3g} | {one[key]:.3g} | {two[key]:.3g} | {one[key] / two[key]:.2f} |"
        for what, key in parts.items()
    ]
    differs = max(row["bound_difference"] for row in found["rows"])
    lines.append(f"| largest relative difference of the proved bounds | | | {differs:.0e} | |")
    return "\n".join(lines)


def dask_killed() -> str | None:
    found = _results("dask_killed_worker")
    if found is None:
        return None
    lines = [
        f"| {found['samples']:,} x {found['features']:,}, k = {found['sparsity']:,} "
        "| seconds | objective | proved: at most | relative differences |",
        "|---|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {row['run']} | {row['seconds']:.3g} | {row['objective']:.9g} | {row['upper_bound']:.9g} "
        f"| {row['objective_difference']:.0e}, {row['bound_difference']:.0e} |"
        for row in found["rows"]
    ]
    return "\n".join(lines)


def dask_forms() -> str | None:
    found = _results("dask_same_answers")
    if found is None:
        return None
    lines = [
        "| data | as | objective | same support | proved: at most | relative differences |",
        "|---|---|--:|---|--:|--:|",
    ]
    lines += [
        f"| {row['data']} {row['samples']:,} x {row['features']:,} | {row['form']} | {row['objective']:.9g} "
        f"| {'yes' if row['same_support'] else 'no'} | {row['upper_bound']:.9g} "
        f"| {row['objective_difference']:.0e}, {row['bound_difference']:.0e} |"
        for row in found["rows"]
    ]
    return "\n".join(lines)


def _results(name: str) -> dict[str, Any] | None:
    file = RESULTS / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else None


def _rows(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((RESULTS / f"{name}.json").read_text())["rows"]
    return rows


def packed_file() -> str | None:
    found = _results("packed_file")
    if found is None:
        return None
    shape = (
        f"{found['samples']:,} x {found['variants']:,}, {found['file_bytes'] / 1e9:.1f} GB, k = {found['sparsity']:,}"
    )
    lines = [
        f"| {shape} | s | of processors s | passes | GB / s | reading GB / s | ratio | memory GB | result |",
        "|---|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    for row in found["rows"]:
        speed = found["file_bytes"] * row["passes"] / row["seconds"] / 1e9
        reading = found["file_bytes"] / row["read_seconds"]["cold" if row["cold"] else "warm"] / 1e9
        result = f"{row['objective']:.4f}"
        if "kind" in row:
            result = f"{row['kind']}: at most {row['upper_bound']:.3f}, gap {row['gap']:.1%}"
        if "walks" in row:
            apart = ", ".join(f"{phase} {count:.1f}" for phase, count in row["walks"].items() if count >= 0.05)
            result += f"; passes: {apart}"
        if "verify_passes" in row:
            result += f"; `verify` {row['verify_seconds']:.0f} s, {row['verify_passes']:.1f} passes"
        used = f"{row['cpu_seconds']:.1f}" if "cpu_seconds" in row else "–"
        lines.append(
            f"| `{row['job']}`{', cold' if row['cold'] else ''} | {row['seconds']:.1f} | {used} | {row['passes']:.1f} "
            f"| {speed:.2f} | {reading:.1f} | {reading / speed:.1f} | {row['peak_bytes'] / 1e9:.2f} | {result} |"
        )
    return "\n".join(lines)


def packed_cut() -> str | None:
    found = _results("packed_file")
    if found is None:
        return None
    cut = found["cut"]
    lines = [
        f"| {cut['samples']:,} x {cut['variants']:,} | value | relative difference | same support or data |",
        "|---|--:|--:|---|",
    ]
    for row in cut["rows"]:
        value, same = row.get("upper_bound", row.get("objective")), row.get("same_support", row.get("same_data"))
        lines.append(
            f"| `{row['job']}`{' (' + row['kind'] + ')' if 'kind' in row else ''} | {value:.6f} "
            f"| {row['relative_difference']:.0e} | {'yes' if same else 'no'} |"
        )
    return "\n".join(lines)


def packed_product() -> str | None:
    found = _results("packed_genotypes")
    if found is None:
        return None
    lines = [
        "| samples x variants | vectors | packed s | bed-reader + NumPy s | times as fast | 10⁹ genotypes / s |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in found["rows"]:
        ours, theirs = row["seconds"]["floats"], row["seconds"]["bed-reader"]
        speed = row["passes"] * row["samples"] * row["variants"] / ours / 1e9
        lines.append(
            f"| {row['samples']:,} x {row['variants']:,} | {row['vectors']} | {ours:.3f} | {theirs:.2f} "
            f"| {theirs / ours:.1f} | {speed:.2f} |"
        )
    return "\n".join(lines)


def packed_components() -> str | None:
    found = _results("packed_genotypes")
    if found is None or not found.get("components"):
        return None
    lines = [
        "| samples x variants | components | certpca s (residual) | plink2 s | 10⁶ genotypes / s and thread |",
        "|---|--:|--:|--:|--:|",
    ]
    for row in found["components"]:
        speed = row["samples"] * row["variants"] / row["certpca_seconds"] / found["threads"] / 1e6
        theirs = f"{row['plink2_seconds']:.2f}" if "plink2_seconds" in row else "–"
        lines.append(
            f"| {row['samples']:,} x {row['variants']:,} | {row['components']} | {row['certpca_seconds']:.2f} "
            f"({row['certpca_residual']:.0e}) | {theirs} | {speed:.0f} |"
        )
    return "\n".join(lines)


def dense_peers() -> str | None:
    """Return what dense components of the largest file take elsewhere."""
    from benchmarks.large.dense_table import table

    found = _results("dense_peers")
    return None if found is None else table(found)


def limits() -> str | None:
    """Return one line for each verb or solver, and two columns for each kind of data."""
    found = _results("limits")
    if found is None:
        return None
    from benchmarks.limits.data import DATA

    rows = {(row["job"], row["data"], row["limit"]): row for row in found["rows"]}
    lines = ["| | " + " | ".join(f"{data.title}: 2 s | 20 s" for data in DATA.values()) + " |"]
    lines.append("|---|" + "--:|" * 2 * len(DATA))
    for job in dict.fromkeys(row["job"] for row in found["rows"]):
        cells = [_limited(rows.get((job, data, limit))) for data in DATA for limit in (2.0, 20.0)]
        lines.append(f"| {job} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _limited(row: dict[str, Any] | None) -> str:
    if row is None:
        return "–"
    if "refused" in row:
        return "refused"
    if "failed" in row or "killed" in row:
        return f"**over {row['seconds']:.0f}**" if "killed" in row else "**failed**"
    allowed = row["limit"] + 2 if row["limit"] <= 2 else 1.25 * row["limit"]
    return f"{row['seconds']:.1f}" if row["seconds"] <= allowed else f"**{row['seconds']:.1f}**"


def exact() -> str | None:
    """Return what the exact checker confirms, and how long it takes."""
    found = _results("exact")
    if found is None:
        return None
    lines = ["| data | features | k | kind | gap | ours, s | exact, s | |", "|---|--:|---|---|--:|--:|--:|---|"]
    for row in found["rows"]:
        k = row["sparsity"] if isinstance(row["sparsity"], int) else ", ".join(map(str, row["sparsity"]))
        what = f"{k} {row['problem']}" if row["problem"] else k
        times = f"{row['first_seconds']:.2f} | {row['exact_seconds']:.1f}"
        end = "**not confirmed**" if row["refused"] else "confirmed"
        lines.append(
            f"| {row['data']} | {row['features']} | {what} | {row['kind']} | {row['gap']:.1e} | {times} | {end} |"
        )
    return "\n".join(lines)


def agreement() -> str | None:
    """Return how often the two checkers say the same, by kind."""
    found = _results("agreement")
    if found is None:
        return None
    verdicts = list(dict.fromkeys(["both accept", "both refuse", *(row["verdict"] for row in found["rows"])]))
    kinds = sorted({row["kind"] for row in found["rows"]})
    lines = [f"| kind | {' | '.join(verdicts)} |", "|---|" + "--:|" * len(verdicts)]
    for kind in kinds:
        cells = [sum(r["count"] for r in found["rows"] if (r["kind"], r["verdict"]) == (kind, v)) for v in verdicts]
        lines.append(f"| {kind} | {' | '.join(str(cell or '–') for cell in cells)} |")
    said = f"{found['cases']:,} certificates of {found['problems']:,} problems: {found['disagreements']} disagreements"
    return f"{said}, {found['false']} false bounds accepted.\n\n" + "\n".join(lines)


TABLES: dict[str, dict[str, Callable[[], str | None]]] = {
    "README.md": {"peers": peers, "certificates": certificates},
    "docs/semidefinite.md": {"ladder": ladder, "constants": constants},
    "docs/branching.md": {
        "optimal": optimal,
        "together": together,
        "sets-many": sets_many_features,
        "shared-parts": shared_parts,
    },
    "docs/large_data.md": {
        "packed-file": packed_file,
        "packed-cut": packed_cut,
        "packed-product": packed_product,
        "packed-components": packed_components,
        "dense-peers": dense_peers,
        "dask-scaling": dask_scaling,
        "dask-killed": dask_killed,
        "dask-forms": dask_forms,
    },
    "docs/costs.md": {
        "auto": auto_speed,
        "threads": threads,
        "memory": memory,
        "path": path_cost,
        "kernel": kernel,
        "device": device,
        "versions": versions,
    },
    "docs/limits.md": {"limits": limits},
    "docs/gaps.md": {"gaps": gaps, "limits": other_limits},
    "docs/certificates.md": {"features-together": features_together, "near-direction": near_direction},
    "docs/sizes.md": {"sizes": sizes},
    "docs/exact.md": {"exact": exact, "agreement": agreement},
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
