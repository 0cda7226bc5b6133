"""Beyond the paper's one expression set: two more, of other tissues and chips."""

from typing import Any

from experiments.paper import curves, figures, page
from experiments.paper.cases import CASES
from experiments.paper.curves import of_case
from experiments.parallel import Job
from experiments.running import Run

TITLE = "More gene expression: f against sparsity"
SHOWN = ("lung", "alon")
NEEDS = tuple(folder for key in SHOWN for folder in CASES[key].needs)
INTRODUCTION = [
    "Not in the paper, whose one set is lung tissue: lung tissue of another study, and colon tissue as logarithms of",
    "its intensities.",
]


def jobs(quick: bool) -> list[Job]:
    """Return what can be computed side by side."""
    return curves.jobs(SHOWN, quick)


def compute(run: Run) -> list[dict[str, Any]]:
    """Measure all methods and prove bounds."""
    return [of_case(run, key) for key in SHOWN]


def render(cases: list[dict[str, Any]]) -> None:
    """Draw the panels and say where methods part."""
    page.section("paper.figure5_expression", figures.section(TITLE, INTRODUCTION, cases, "paper_expression"))
