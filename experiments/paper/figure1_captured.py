"""Figure 1: f against sparsity on genotypes of chromosomes and on gene expression."""

from typing import Any

from experiments.paper import curves, figures, page
from experiments.paper.cases import CASES
from experiments.paper.curves import of_case
from experiments.parallel import Job
from experiments.running import Run

TITLE = "Figure 1: f against sparsity, genotypes and gene expression"
SHOWN = ("simulated", "simulated2", "chr1", "bladder")
NEEDS = tuple(folder for key in SHOWN for folder in CASES[key].needs)
INTRODUCTION = [
    "The paper shows HGDP/HapMap chromosomes 1 and 2 and GSE10072. Here: simulations in the exact shapes of its",
    "chromosomes, the first of human history (coalescent, at the paper's eight sparsities), the second of eight nested",
    "populations (Balding-Nichols, at four of them); common variants of chromosome 1 of 1000 Genomes; bladder tissue",
    "on the same chip as GSE10072. Other sparsities are the paper's shares of the number of features, and a few small",
    "ones for expression. Below each panel: how far methods are below the best component found, and in the band",
    "how far",
    "that can be below the optimum, by what is proved.",
]


def jobs(quick: bool) -> list[Job]:
    """Return what can be computed side by side."""
    return curves.jobs(SHOWN, quick)


def compute(run: Run) -> list[dict[str, Any]]:
    """Measure all methods and prove bounds."""
    return [of_case(run, key) for key in SHOWN]


def render(cases: list[dict[str, Any]]) -> None:
    """Draw the panels and say where methods part."""
    page.section("paper.figure1_captured", figures.section(TITLE, INTRODUCTION, cases, "paper_figure1"))
