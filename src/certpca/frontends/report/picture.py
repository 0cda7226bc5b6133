"""A report as one picture: the drawings of its sections side by side."""

import math
from pathlib import Path

from certpca.frontends.report.blocks import Bars, Chart, Document
from certpca.frontends.report.escape import plain, shortened

BAR_HEIGHT, THICKEST_BAR = 0.19, 0.32  # inches
LONGEST_NAME = 32
PANEL = (5.4, 3.6)


def save_picture(document: Document, target: str | Path, form: str) -> None:
    """Draw the loadings and every chart into one file."""
    from matplotlib.figure import Figure

    from certpca.plots import draw, save_figure, styled

    blocks = [block for section in document.sections for block in section.blocks]
    charts = [block for block in blocks if isinstance(block, Chart)]
    (loadings,) = (block for block in blocks if isinstance(block, Bars))
    rows, columns = max(1, min(len(charts), 2)), 1 + math.ceil(len(charts) / 2)
    height = max(rows * PANEL[1], BAR_HEIGHT * len(loadings.bars) + 1.0)
    with styled():
        figure = Figure(figsize=(PANEL[0] * max(columns, 1.4), height + 0.6), layout="constrained")
        grid = figure.add_gridspec(rows, columns)
        names = [plain(shortened(bar.name, LONGEST_NAME)) for bar in loadings.bars]
        values = [bar.value for bar in loadings.bars]
        most = (height - 1.0) / THICKEST_BAR  # a few bars are not made thicker than they need be
        draw("loadings", names, values, loadings.caption, most, ax=figure.add_subplot(grid[:, 0]))
        for place, chart in enumerate(charts):
            alone = place == len(charts) - 1 and place % 2 == 0
            where = grid[:, 1 + place // 2] if alone else grid[place % 2, 1 + place // 2]
            draw(chart.plot, *chart.values, ax=figure.add_subplot(where), **chart.settings)
        heading = f"{plain(document.title)}. {document.badge}.\n{document.headline}"
        figure.suptitle(heading, fontsize=10, wrap=True, parse_math=False)
        save_figure(figure, target, form)
