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

    from certpca.plots import draw, height_of, save_figure, styled

    blocks = [block for section in document.sections for block in section.blocks]
    charts = [block for block in blocks if isinstance(block, Chart)]
    loadings = next((block for block in blocks if isinstance(block, Bars)), None)  # several components have a chart
    bars = [] if loadings is None else loadings.bars
    first = 0 if loadings is None else 1
    rows, columns = max(1, min(len(charts), 2)), first + math.ceil(len(charts) / 2)
    needed = [height_of(chart.plot, *chart.values, **chart.settings) for chart in charts]
    height = max(rows * PANEL[1], BAR_HEIGHT * len(bars) + 1.0, *needed)
    with styled():
        figure = Figure(figsize=(PANEL[0] * max(columns, 1.4), height + 0.6), layout="constrained")
        grid = figure.add_gridspec(rows, columns)
        if loadings is not None:
            names = [plain(shortened(bar.name, LONGEST_NAME)) for bar in bars]
            values = [bar.value for bar in bars]
            most = (height - 1.0) / THICKEST_BAR  # a few bars are not made thicker than they need be
            draw("loadings", names, values, loadings.caption, most, ax=figure.add_subplot(grid[:, 0]))
        for place, chart in enumerate(charts):
            alone = place == len(charts) - 1 and place % 2 == 0
            where = grid[:, first + place // 2] if alone else grid[place % 2, first + place // 2]
            draw(chart.plot, *chart.values, ax=figure.add_subplot(where), **chart.settings)
        heading = f"{plain(document.title)}. {document.badge}.\n{document.headline}"
        figure.suptitle(heading, fontsize=10, wrap=True, parse_math=False)
        save_figure(figure, target, form)
