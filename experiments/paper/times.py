"""The running times of section 5, on genotypes in the shape of the paper's chromosome 1."""

from typing import Any

from experiments import pages
from experiments.data import PAPER, paper_tables
from experiments.paper import curves, page
from experiments.paper.cases import CASES
from experiments.paper.curves import METHODS, of_case
from experiments.parallel import Job
from experiments.running import Run

TITLE = "Running times at 2,240 × 37,493"
NEEDS = (*PAPER, *CASES["simulated"].needs)


def jobs(quick: bool) -> list[Job]:
    """Return what can be computed side by side."""
    return curves.jobs(("simulated",), quick)


def compute(run: Run) -> dict[str, Any]:
    """Take the times of figure 1's runs."""
    case = of_case(run, "simulated")
    hours = dict(paper_tables()["hours_per_sparsity_value_chr1_chr2"])
    hardware = hours.pop("hardware")
    printed = {}
    for names, value in hours.items():
        for name in names.split(", "):
            printed[name] = value if isinstance(value, list) else [value, value]
    rows = [
        {
            "method": method,
            "seconds": [row["seconds"] for row in case["rows"] if row["method"] == method],
            "limit": max(row["limit"] for row in case["rows"] if row["method"] == method),
            "cut": sum(row["cut"] == "OUT_OF_BUDGET" for row in case["rows"] if row["method"] == method),
            "paper_hours": printed.get(method),
        }
        for method in METHODS
    ]
    count = len(case["proofs"]["sparsities"])
    return {
        "rows": rows,
        "limit": case["limit"],
        "proofs": {"count": count, "seconds": case["proofs"]["seconds"]},
        "hardware": hardware,
        "shape": [case["matrix"]["samples"], case["matrix"]["features"]],
    }


def render(result: dict[str, Any]) -> None:
    """Write the table."""
    rows = []
    for row in result["rows"]:
        hours = row["paper_hours"]
        said = (
            "–" if hours is None else f"{hours[0]:g} to {hours[1]:g}" if hours[0] != hours[1] else f"about {hours[0]:g}"
        )
        ratio = "–" if hours is None else f"{3600 * hours[0] / max(row['seconds']):,.0f}"
        cut = f"{row['cut']} of {len(row['seconds'])}" if row["cut"] else "none"
        cut += f", {row['limit']:.0f} s"
        rows.append([row["method"], said, f"{min(row['seconds']):.1f} to {max(row['seconds']):.1f}", cut, ratio])
    proofs = result["proofs"]
    rows.append(
        [f"auto and proofs, {proofs['count']} sparsities together", "–", f"{proofs['seconds']:.0f} in all", "–", "–"]
    )
    lines = [
        f"## {TITLE}",
        "",
        f"For one sparsity, least and most over those of figure 1. The paper's machine: {result['hardware']}; ours is",
        "named above, so the last column compares programs and machines together, at the slowest sparsity of ours.",
        "",
        *pages.table(["method", "paper, hours", "here, seconds", "cut at its limit", "paper / here"], rows),
        "",
        *_verdict(result["rows"]),
    ]
    page.section("paper.times", lines)


def _verdict(rows: list[dict[str, Any]]) -> list[str]:
    """Compare how methods relate to each other, which machines change least."""
    slowest = {row["method"]: max(row["seconds"]) for row in rows}
    hours = {row["method"]: max(row["paper_hours"]) for row in rows if row["paper_hours"]}
    fastest = min(slowest, key=lambda name: slowest[name])
    verdict = "Agrees" if fastest == min(hours, key=lambda name: hours[name]) else "Disagrees"
    base = "spca-svd"
    related = [
        f"{name} {slowest[name] / slowest[base]:.0f} (paper {hours[name] / hours[base]:.1f})"
        for name in hours
        if name != base
    ]
    return [
        f"{verdict} on the fastest, which is {fastest} here. In units of spca-svd's time, at the slowest sparsity:",
        f"{', '.join(related)}. The time of spca-sdp includes the proof of its bound.",
    ]
