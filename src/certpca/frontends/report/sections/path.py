"""What other sparsities capture, and what is proved of them."""

import math

import numpy as np

from certpca.frontends.report.blocks import Block, Chart, Paragraph, Table
from certpca.frontends.report.facts import Facts
from certpca.frontends.report.words import counted, duration, percent_down, percent_up, share_of_variance
from certpca.results.certificate import PROVED_OPTIMAL
from certpca.results.path import Path

ORDER = 30
TITLE = "Path"


def applies(facts: Facts) -> bool:
    """Say whether a path was given, good or not."""
    return facts.path is not None or bool(facts.path_refusal)


def blocks(facts: Facts) -> list[Block]:
    """Draw and list what is captured and proved at each sparsity."""
    path = facts.path
    if path is None:
        return [Paragraph(f"The path given was not accepted and is left out: {facts.path_refusal}.")]
    bounds, gaps = path.upper_bounds, path.gaps
    proved = bool(np.isfinite(bounds).any())
    if proved and facts.path_made_now:
        origin = "The path was computed for this report, and its bounds were proved on these data."
    elif proved and facts.path_checked:
        origin = "Every bound of the path was verified now on these data, and every number recomputed."
    elif proved:
        origin = "The bounds are those stored with the path; they were not checked again for this report."
    else:
        origin = "Nothing is proved along this path."
    if path.solutions[0].matrix != facts.solution.matrix:
        origin += f" Note that the path is about another matrix: {path.solutions[0].matrix}."
    note = Paragraph(f"{origin} Finding it took {duration(path.seconds)}.", note=True)
    header = ["loadings", "explained"] + (["upper bound", "gap, at most"] if proved else []) + ["enter", "leave"]
    rows = []
    for j, solution in enumerate(path.solutions):
        bound = ["–", "–"]
        if gaps[j] <= PROVED_OPTIMAL:
            bound = [share_of_variance(facts, bounds[j], up=True), "0 (optimal)"]
        elif math.isfinite(bounds[j]):
            bound = [share_of_variance(facts, bounds[j], up=True), percent_up(gaps[j])]
        row = [f"{solution.sparsity:,}", percent_down(solution.explained_variance_ratio), *(bound if proved else [])]
        rows.append([*row, f"{path.entering(j).size:,}", f"{path.leaving(j).size:,}"])
    return [*_chart(facts, path), note, Table(header, rows)]


def _chart(facts: Facts, path: Path) -> list[Block]:
    if len(path.solutions) < 2:
        return []
    first, last = path.solutions[0], path.solutions[-1]
    words = (
        f"From {counted(first.sparsity, 'loading')} to {last.sparsity:,}, the variance captured rises from "
        f"{share_of_variance(facts, first.objective)} to {share_of_variance(facts, last.objective)}."
    )
    gaps = path.gaps[np.isfinite(path.upper_bounds)]
    if gaps.size and gaps.max() <= PROVED_OPTIMAL:
        words += " All of them are proved optimal."
    elif gaps.size:
        words += f" The largest proved gap is {percent_up(float(gaps.max()))}."
    settings = {"total": facts.total, "marked": facts.solution.sparsity}
    return [Chart("Variance captured for each number of loadings", words, "path", [path], settings)]
