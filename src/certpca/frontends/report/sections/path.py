"""What other sparsities capture, and what is proved of them."""

import math

import numpy as np

from certpca.frontends.report.blocks import Block, Chart, Paragraph, Table, Turn, Turns
from certpca.frontends.report.facts import Facts
from certpca.frontends.report.links import links_of
from certpca.frontends.report.words import counted, duration, feature_names, percent_down, percent_up, share_of_variance
from certpca.results.certificate import PROVED_OPTIMAL
from certpca.results.path import Path

ORDER = 30
TITLE = "Path"
TURNED = 30  # loadings shown for each sparsity


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
    return [*_chart(facts, path), Table(header, rows, name="path"), *_turns(facts, path), note]


def _turns(facts: Facts, path: Path) -> list[Block]:
    """Let readers turn over the components of the path, from the one of the report on."""
    if len(path.solutions) < 2:
        return []
    turns = [_turn(facts, path, j) for j in range(len(path.solutions))]
    shown = int(np.abs(path.sparsities - facts.solution.sparsity).argmin())
    return [Turns("number of loadings", turns, shown)]


def _turn(facts: Facts, path: Path, j: int) -> Turn:
    solution = path.solutions[j]
    names = feature_names(solution)
    order = np.argsort(-np.abs(solution.loadings), kind="stable")[:TURNED]
    before = set(path.entering(j).tolist())
    rows = [
        [
            names[i],
            f"{solution.loadings[i]:+.4f}".replace("-", "−"),
            "new" if int(solution.support[i]) in before and j else "",
        ]
        for i in order
    ]
    count = counted(solution.support.size, "feature")
    text = (
        f"{count} explain{'s' if solution.support.size == 1 else ''} {percent_down(solution.explained_variance_ratio)}"
    )
    if math.isfinite(path.upper_bounds[j]):
        optimal = path.gaps[j] <= PROVED_OPTIMAL
        bound = share_of_variance(facts, path.upper_bounds[j], up=True)
        text += ", proved optimal" if optimal else f"; no choice of as many explains more than {bound}, proved"
    if len(order) < solution.support.size:
        text += f". The {len(order)} largest loadings"
    links = links_of([names[i] for i in order], genes=facts.genes)
    table = Table(
        ["feature", "loading", "since the last"], rows, texts=1, links=links, name=f"loadings-{solution.sparsity}"
    )
    return Turn(f"{solution.sparsity:,}", f"{text}.", table)


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
