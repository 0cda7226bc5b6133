"""The README's figure: what sparse components capture, and what is proved that none can exceed.

On data on which methods part: what figure 1 of the paper's page shows of them, from the same run.
"""

from typing import Any

from experiments import pages
from experiments.paper import curves
from experiments.paper.cases import CASES
from experiments.parallel import Job
from experiments.running import Run

TITLE = "What sparse components capture, and what is proved that none can exceed"
SHOWN = ("chr1", "bladder")
NEEDS = tuple(folder for key in SHOWN for folder in CASES[key].needs)
LINES = {"cwpca": "cwpca (Beck and Vaisbourd)", "spca-svd": "spca-svd of the paper", "auto": "certpca"}


def jobs(quick: bool) -> list[Job]:
    """Return what can be computed side by side."""
    return curves.jobs(SHOWN, quick)


def compute(run: Run) -> list[dict[str, Any]]:
    """Take what some methods reach, refitted, and the bracket around the optimum."""
    found = []
    for key in SHOWN:
        case = curves.of_case(run, key)
        reached = {method: [row["refitted"] for row in case["rows"] if row["method"] == method] for method in LINES}
        found.append(
            {
                "title": f"{case['title']}, {case['matrix']['samples']:,} x {case['matrix']['features']:,}",
                "sparsities": [row["sparsity"] for row in case["bounds"]],
                "bounds": [min(1.0, row["bound"]) for row in case["bounds"]],
                "best": [row["objective"] for row in case["bounds"]],
                "reached": reached,
            }
        )
    return found


def render(cases: list[dict[str, Any]]) -> None:
    """Draw one panel for each data set."""
    figure, panels = pages.pyplot().subplots(1, len(cases), figsize=(10, 4.4), layout="constrained")
    for panel, case in zip(panels, cases, strict=True):
        k, best, bounds = case["sparsities"], case["best"], case["bounds"]
        panel.fill_between(k, best, bounds, color=pages.BOUND, alpha=0.3, label="where the optimum can be", linewidth=0)
        panel.plot(k, bounds, color=pages.BOUND, linewidth=1.3, label="proved: no choice captures more")
        for method, label in LINES.items():
            look = pages.LOOKS[method]
            style = {"color": look.colour, "marker": look.marker, "markersize": 5, "clip_on": False}
            panel.plot(k, case["reached"][method], linewidth=1.3, label=label, **style)
        panel.set_xscale("log")
        panel.set_yscale("log")
        low = min(min(values) for values in case["reached"].values())
        ticks = [tick for tick in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1) if 0.8 * low <= tick]
        panel.set_yticks(ticks, [f"{tick:.0%}" for tick in ticks])
        panel.set_ylim(0.8 * low, 1.02)
        round_ones = [
            tick for tick in (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000) if k[0] <= 1.05 * tick <= 1.1 * k[-1]
        ]
        panel.set_xticks(round_ones, [f"{tick:,}" for tick in round_ones])
        panel.minorticks_off()
        gaps = [100 * (1 - have / bound) for have, bound in zip(best, bounds, strict=True)]
        panel.set_title(f"{case['title']}\nproved: at most {max(gaps):.1f}% below the optimum", fontsize=10)
        panel.set_xlabel("number of nonzero loadings k")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("variance, of a dense component's")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9, frameon=False
    )
    pages.save(figure, "certified_path")
