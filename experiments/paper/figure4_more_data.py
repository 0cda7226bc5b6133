"""The appendix's figure: f against sparsity on two more genotype matrices and on pit props."""

from typing import Any

from experiments.paper import curves, figures, page
from experiments.paper.cases import CASES
from experiments.paper.curves import of_case
from experiments.parallel import Job
from experiments.running import Run

TITLE = "Figure 4: f against sparsity, more genotypes and pit props"
SHOWN = ("simulated3", "simulated4", "chr22", "hapmap3", "hgdp", "pitprops")
NEEDS = tuple(folder for key in SHOWN for folder in CASES[key].needs)
INTRODUCTION = [
    "The paper shows HGDP/HapMap chromosomes 3 and 4 and pit props. Here: simulations of their sizes, as for",
    "chromosome",
    "2 above; common variants of chromosome 22 of 1000 Genomes; HapMap3 of all chromosomes; a subset of HGDP",
    "itself, the",
    "paper's source; and pit props for every sparsity.",
]


def jobs(quick: bool) -> list[Job]:
    """Return what can be computed side by side."""
    return curves.jobs(SHOWN, quick)


def compute(run: Run) -> list[dict[str, Any]]:
    """Measure all methods and prove bounds."""
    return [of_case(run, key) for key in SHOWN]


def render(cases: list[dict[str, Any]]) -> None:
    """Draw the panels and say where methods part."""
    page.section("paper.figure4_more_data", figures.section(TITLE, INTRODUCTION, cases, "paper_figure4"))
