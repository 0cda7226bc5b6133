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
    svd_width,
)
from experiments import pages
from experiments.paper import curves, figures, page
from experiments.paper.cases import CASES
from experiments.paper.curves import of_case
from experiments.parallel import Job
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


def _positive(case: dict[str, Any]) -> dict[str, float]:
    """Return the largest ε at which the theorem of spca-svd can promise something, over all sparsities, and where."""
    largest, trace = case["matrix"]["spectrum"][0], case["matrix"]["trace"]
    below = [(row["bound"] * largest / (3 * trace), row["sparsity"]) for row in case["bounds"]]
    return dict(zip(("positive_below", "positive_at"), max(below), strict=True))


def jobs(quick: bool) -> list[Job]:
    """Return what can be computed side by side."""
    return curves.jobs(SHOWN, quick)


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
                **_positive(case),
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
    """Draw two panels for each data set, promises that say something and others, and compare with the paper."""
    figure, panels = pages.pyplot().subplots(
        2, len(cases), figsize=(4.2 * len(cases), 7.2), layout="constrained", sharex="col", height_ratios=[1.2, 1]
    )
    for column, case in enumerate(cases):
        _panels(panels[0, column], panels[1, column], case)
    panels[0, 0].set_ylabel("promised fraction of the optimum")
    panels[1, 0].set_ylabel("the same, where it is negative")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    lines = [
        f"## {TITLE}",
        "",
        "A promise divided by the optimum Z*, which lies between the best component found and the proved bound; the",
        "bands span both. Above: promises between nothing and all of it. Below: negative ones, which say nothing, as",
        "any vector fulfils them. Solid lines are theorems as printed (that of spca-sdp with the longest row of the",
        "matrix, which the paper scales to one). Dotted lines are what the proofs give before they are simplified; for",
        "spca-sdp, what its proof gives for k loadings, since the theorem is about ⌈9k²β²/ε²⌉ of them. Markers: what",
        "the algorithms reached at least, with raw loadings.",
        "",
        f"![tightness of the theorems]({pages.save(figure, 'paper_figure2')})",
        "",
        *(line for case in cases for line in _verdict(case)),
        "",
        *_other_epsilons(cases),
    ]
    page.section("paper.figure2_tightness", lines)


def _panels(above: Any, below: Any, case: dict[str, Any]) -> None:
    rows = case["rows"]
    k = [row["sparsity"] for row in rows]
    for panel in (above, below):
        for name, style in STYLES.items():
            method = name.split(",")[0]
            colour = pages.LOOKS[method].colour
            least, most = [row["least"][name] for row in rows], [row["most"][name] for row in rows]
            panel.fill_between(k, least, most, color=colour, alpha=0.25, linewidth=0)
            panel.plot(k, least, color=colour, linestyle=style, linewidth=1.4, label=f"theorem of {name}")
        if max(k) > figures.WIDE * min(k):
            panel.set_xscale("log")
        panel.grid(alpha=0.3)
    for method in ("spca-svd", "spca-sdp", "spca-lowrank"):
        look = pages.LOOKS[method]
        reached = [row["achieved"][method][0] for row in rows]
        own = {"color": look.colour, "marker": look.marker, "markersize": 5, "linestyle": "", "clip_on": False}
        above.plot(k, reached, label=f"{method} reached", **own)
    above.plot(k, [row["proved"] for row in rows], color=pages.BOUND, linewidth=1.6, label="proved by certpca for auto")
    above.set_ylim(0, 1.04)
    lowest = min(min(row["least"].values()) for row in rows)
    power = math.ceil(math.log10(max(1.1, -lowest)))
    below.set_yscale("symlog", linthresh=1, linscale=0.5)
    below.set_ylim(-(10**power), 0)
    ticks = [0, -0.5, *(-(10**number) for number in range(power + 1))]
    below.set_yticks(ticks, [f"{tick:g}".replace("-", "−") for tick in ticks])
    below.set_facecolor("#f1f1f1")
    below.set_xlabel("sparsity k")
    above.set_title(f"{case['title']}\n{case['samples']:,} × {case['features']:,}", fontsize=10)


def _other_epsilons(cases: list[dict[str, Any]]) -> list[str]:
    """Check the paper's remark that other ε change nothing."""
    said, narrow = [], False
    for case in cases:
        epsilon, k = case["positive_below"], case["positive_at"]
        width = svd_width(k, min(epsilon, 1.0))
        narrow = narrow or width < case["features"]
        words = f"ε < {epsilon:.2g} (k = {k:,}), for up to {width:,} loadings of {case['features']:,}"
        said.append(f"{case['title']}: {words}")
    verdict = (
        "There are data with fewer loadings than features, so the remark does not hold for all of them."
        if narrow
        else "Everywhere that is more loadings than there are features, so the remark holds in effect: no sparse "
        "vector is promised anything."
    )
    return [
        'The paper says that using other ε between zero and one "does not change the findings". The theorem of',
        "spca-svd promises something where ε < Z*/(3 tr A). At best, over the sparsities above, that is for",
        f"{'; '.join(said)}.",
        verdict,
    ]


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
