"""Figure 2: what the theorems promise, as a fraction of the optimum, which our certificates bracket."""

import math
from typing import Any

from certpca.bounds.guarantees import (
    low_rank_guarantee,
    low_rank_guarantee_by_spectrum,
    sdp_guarantee,
    sdp_guarantee_at,
    sdp_width,
    svd_guarantee,
    svd_guarantee_by_spectrum,
)
from experiments import pages
from experiments.paper import figures, page
from experiments.paper.cases import CASES
from experiments.paper.curves import of_case
from experiments.running import Run

TITLE = "Figure 2: tightness of the theorems at ε = 0.9"
SHOWN = ("simulated", "chr1", "bladder")
NEEDS = tuple(folder for key in SHOWN for folder in CASES[key].needs)
EPSILON = 0.9
RANK = 3


def promises(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Evaluate every theorem at both ends of the bracket around the optimum, as fractions of that end."""
    matrix = case["matrix"]
    spectrum, size = matrix["spectrum"], matrix["features"]
    trace, variance, length = matrix["trace"], matrix["largest_variance"], matrix["longest_row"]
    relaxed = {row["sparsity"]: row["details"] for row in case["rows"] if row["method"] == "spca-sdp"}
    rows = []
    for bracket in case["bounds"]:
        k = bracket["sparsity"]
        alpha, beta = relaxed[k]["alpha"], relaxed[k]["beta"]

        def all_of(optimum: float, k: int = k, alpha: float = alpha, beta: float = beta) -> dict[str, float]:
            said = {
                "spca-svd": svd_guarantee(optimum, trace, EPSILON),
                "spca-svd, from its proof": svd_guarantee_by_spectrum(optimum, spectrum, EPSILON),
                "spca-sdp": sdp_guarantee(optimum, alpha, EPSILON, length),
                "spca-sdp, k loadings": sdp_guarantee_at(optimum, alpha, beta, k, k, size, length),
                "spca-lowrank": low_rank_guarantee(optimum, spectrum, RANK, size, k, variance),
                "spca-lowrank, from its proof": low_rank_guarantee_by_spectrum(optimum, spectrum, RANK),
            }
            return {name: value / optimum for name, value in said.items()}

        low, high = bracket["objective"] * spectrum[0], bracket["bound"] * spectrum[0]
        rows.append(
            {
                "sparsity": k,
                "width": min(size, sdp_width(k, beta, EPSILON)),
                "least": all_of(low),
                "most": all_of(high),
                "proved": bracket["objective"] / bracket["bound"],
                "achieved": {
                    row["method"]: [row["raw"] / bracket["bound"], row["raw"] / bracket["objective"]]
                    for row in case["rows"]
                    if row["sparsity"] == k and row["method"] in ("spca-svd", "spca-sdp", "spca-lowrank")
                },
            }
        )
    return rows


def compute(run: Run) -> list[dict[str, Any]]:
    """Evaluate the theorems on curves that figure 1 has too."""
    found = []
    for key in SHOWN:
        case = of_case(run, key)
        found.append(
            {
                "key": key,
                "title": case["title"],
                "samples": case["matrix"]["samples"],
                "features": case["matrix"]["features"],
                "rows": promises(case),
            }
        )
    return found


STYLES = {
    "spca-svd": "-",
    "spca-svd, from its proof": ":",
    "spca-sdp": "-",
    "spca-sdp, k loadings": ":",
    "spca-lowrank": "-",
    "spca-lowrank, from its proof": ":",
}


def render(cases: list[dict[str, Any]]) -> None:
    """Draw one panel for each data set and compare with what the paper says of its own."""
    figure, panels = pages.pyplot().subplots(1, len(cases), figsize=(4.2 * len(cases), 5.4), layout="constrained")
    for panel, case in zip(panels, cases, strict=True):
        _panel(panel, case)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    lines = [
        f"## {TITLE}",
        "",
        "A promise divided by the optimum Z*, which lies between the best component found and the proved bound; the",
        "bands span both. Values below zero, shaded, say nothing: any vector fulfils them. Solid lines are theorems",
        "as printed (that of spca-sdp with the longest row of the matrix, which the paper scales to one). Dotted lines",
        "are what the proofs give before they are simplified; for spca-sdp, what its proof gives for k loadings, since",
        "the theorem is about ⌈9k²β²/ε²⌉ of them. Markers: what the algorithms reached at least, with raw loadings.",
        "",
        f"![tightness of the theorems]({pages.save(figure, 'paper_figure2')})",
        "",
        *(line for case in cases for line in _verdict(case)),
    ]
    page.section("paper.figure2_tightness", lines)


def _panel(panel: Any, case: dict[str, Any]) -> None:
    rows = case["rows"]
    k = [row["sparsity"] for row in rows]
    for name, style in STYLES.items():
        method = name.split(",")[0]
        colour = pages.LOOKS[method].colour
        least, most = [row["least"][name] for row in rows], [row["most"][name] for row in rows]
        panel.fill_between(k, least, most, color=colour, alpha=0.25, linewidth=0)
        panel.plot(k, least, color=colour, linestyle=style, linewidth=1.4, label=f"theorem of {name}")
    for method in ("spca-svd", "spca-sdp", "spca-lowrank"):
        look = pages.LOOKS[method]
        reached = [row["achieved"][method][0] for row in rows]
        panel.plot(
            k, reached, color=look.colour, marker=look.marker, markersize=5, linestyle="", label=f"{method} reached"
        )
    panel.plot(k, [row["proved"] for row in rows], color=pages.BOUND, linewidth=1.6, label="proved by certpca for auto")
    panel.axhspan(panel.get_ylim()[0] * 10 - 1, 0, color="#999999", alpha=0.15, linewidth=0)
    panel.axhline(0, color="#666666", linewidth=0.8)
    panel.set_yscale("symlog", linthresh=1, linscale=1.5)
    bottom = min(min(row["least"].values()) for row in rows)
    panel.set_ylim(-(10 ** math.ceil(math.log10(max(1.1, -bottom)))), 1.15)
    panel.set_yticks(
        [1, 0.5, 0, -0.5, *(-(10**power) for power in range(math.ceil(math.log10(max(1.1, -bottom))) + 1))]
    )
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "−"))
    if max(k) > figures.WIDE * min(k):
        panel.set_xscale("log")
    panel.set_title(f"{case['title']}\n{case['samples']:,} × {case['features']:,}", fontsize=10)
    panel.set_xlabel("sparsity k")
    panel.set_ylabel("promised fraction of the optimum")
    panel.grid(alpha=0.3)


def _verdict(case: dict[str, Any]) -> list[str]:
    """Hold the paper's statements against these data."""
    rows = case["rows"]
    svd = max(row["most"]["spca-svd"] for row in rows)
    sdp = [row["least"]["spca-sdp"] for row in rows]
    narrow = max(row["most"]["spca-sdp, k loadings"] for row in rows)
    useful = [row["sparsity"] for row in rows if row["most"]["spca-lowrank"] > 0]
    dense = [row for row in rows if row["width"] == case["features"]]
    short = [row for row in rows if row["achieved"]["spca-sdp"][1] < row["least"]["spca-sdp"]]
    first = "below zero at every k, as the paper says" if svd < 0 else f"up to {svd:.2f}, where the paper has nothing"
    second = f"positive from k = {useful[0]:,} on" if useful else f"not positive for k up to {rows[-1]['sparsity']:,}"
    least = min(row["proved"] for row in rows)
    return [
        f"- **{figures.named(case)}**: the theorem of spca-svd is {first}; that of spca-lowrank is {second};",
        f"  that of spca-sdp promises {_signed(min(sdp))} to {_signed(max(sdp))} of the optimum. But it allows all",
        f"  {case['features']:,} loadings at {len(dense)} of {len(rows)} sparsities; held to k, its proof gives",
        f"  {_signed(narrow)} at most, and what spca-sdp reached with k raw loadings is less than the promise at",
        f"  {len(short)} of {len(rows)}. The certificates prove {least:.3f} or more at every k, for k loadings.",
    ]


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")
