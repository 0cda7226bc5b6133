"""A report as one picture: the drawings that the facts allow, side by side."""

import io
import math
import warnings
from pathlib import Path
from typing import Any

from certpca.frontends.plots.figures import draw_history, draw_loadings, draw_path, draw_scores, drawn_steps
from certpca.frontends.report.charts import group_numbers
from certpca.frontends.report.compose import by_magnitude
from certpca.frontends.report.escape import plain, shortened
from certpca.frontends.report.facts import Facts
from certpca.frontends.report.words import badge, feature_names, headline
from certpca.results.files import write_bytes_whole

BAR_HEIGHT, THICKEST_BAR = 0.19, 0.32  # inches
LONGEST_NAME = 32
PANEL = (5.4, 3.6)


def save_picture(facts: Facts, target: str | Path, form: str, *, title: str | None, largest: int) -> None:
    """Draw loadings and, where they are known, path, scores and history into one file."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    solution = facts.solution
    panels: list[Any] = []
    if facts.path is not None:
        path = facts.path
        panels.append(lambda ax: draw_path(path, ax))
    if facts.scores is not None:
        scores = facts.scores
        groups, texts = group_numbers(scores.labels, scores.first.size)
        texts = [plain(shortened(text, LONGEST_NAME)) for text in texts]
        panels.append(lambda ax: draw_scores(scores.first, scores.second, groups, texts, ax))
    if len(drawn_steps(solution)) > 1:
        panels.append(lambda ax: draw_history(solution, ax))
    order, names = by_magnitude(facts)[:largest], feature_names(facts)
    rows = max(1, min(len(panels), 2))
    columns = 1 + math.ceil(len(panels) / 2)
    height = max(rows * PANEL[1], BAR_HEIGHT * len(order) + 1.0)
    figure = Figure(figsize=(PANEL[0] * max(columns, 1.4), height + 0.6), layout="constrained")
    grid = figure.add_gridspec(rows, columns)
    bars = figure.add_subplot(grid[:, 0])
    labels = [plain(shortened(names[j], LONGEST_NAME)) for j in order]
    draw_loadings(labels, solution.loadings[order], solution.support.size, bars)
    # A few bars are not made thicker than they need be.
    bars.set_ylim(max(len(order), (height - 1.0) / THICKEST_BAR) - 0.4, -0.6)
    for place, draw in enumerate(panels):
        alone = place == len(panels) - 1 and place % 2 == 0
        draw(figure.add_subplot(grid[:, 1 + place // 2] if alone else grid[place % 2, 1 + place // 2]))
    heading = plain(title or f"{solution.support.size:,} of {solution.size:,} features. {badge(facts)}.")
    figure.suptitle(f"{heading}\n{headline(facts)}", fontsize=10, wrap=True, parse_math=False)
    stream = io.BytesIO()
    with warnings.catch_warnings(), rc_context({"svg.fonttype": "path"}):
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a box is drawn in its place
        figure.savefig(stream, format=form, dpi=150)
    write_bytes_whole(target, lambda file: file.write(stream.getvalue()))
