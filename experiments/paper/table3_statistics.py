"""Table 3: rows, columns and density of the data."""

from typing import Any

from experiments import pages
from experiments.data import PAPER, paper_tables
from experiments.paper import curves, page
from experiments.paper.cases import CASES, MEASURED
from experiments.parallel import Job
from experiments.running import Run

TITLE = "Table 3: statistics of the data"
SHOWN = (*MEASURED, "synthetic")
NEEDS = (*PAPER, *(folder for key in SHOWN for folder in CASES[key].needs))


def jobs(quick: bool) -> list[Job]:
    """Return what can be computed side by side."""
    del quick
    return [Job("paper.curves", f"{key} matrix", 20) for key in SHOWN]


def compute(run: Run) -> dict[str, Any]:
    """Count."""
    ours = []
    for key in SHOWN:
        matrix = curves.matrix_of(run, curves.work_on(run, key))
        counted = {"rows": matrix["samples"], "columns": matrix["features"], "density": matrix["density"]}
        ours.append({"title": CASES[key].title, **counted})
    return {"paper": paper_tables()["datasets"], "ours": ours}


def render(result: dict[str, Any]) -> None:
    """Write the paper's rows and ours."""
    printed = [
        [f"{name} (paper)", f"{m:,}", f"{n:,}", f"{share:.3f}"] for name, (m, n, share) in result["paper"].items()
    ]
    ours = [
        [row["title"], f"{row['rows']:,}", f"{row['columns']:,}", f"{row['density']:.3f}"] for row in result["ours"]
    ]
    shapes = {(m, n): name for name, (m, n, _) in result["paper"].items()}
    same = [
        f"{row['title']} are the paper's {shapes[row['rows'], row['columns']]}"
        for row in result["ours"]
        if (row["rows"], row["columns"]) in shapes
    ]
    lines = [
        f"## {TITLE}",
        "",
        *pages.table(["data", "rows", "columns", "density"], [*printed, *ours]),
        "",
        "Density is the share of entries that are not zero once columns are centred and missing values stand at the",
        "mean of their column, which is what the paper's numbers suggest.",
        f"In shape: {'; '.join(same) or 'none of these sets is one of the paper'}.",
    ]
    page.section("paper.table3_statistics", lines)
