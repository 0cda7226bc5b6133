"""Tables drawn as coloured cells: the colour is the sign, its strength the magnitude."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from certpca.plots.axes import name_rows, shortened
from certpca.plots.palette import FOUND, INK, LINE, PROVED
from certpca.runtime.arrays import Vector

UNDER_TEXT = 0.6  # of the full colour, so that a text is read
ROW_HEIGHT = 0.19  # inches


def draw_cells(
    ax: Any,
    values: Vector,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    largest: float,
    texts: Sequence[Sequence[str]] | None = None,
    labels: tuple[str, str] = ("positive", "negative"),
) -> None:
    """Draw a cell for each value that is not zero or NaN, in full colour where its magnitude is the largest."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba

    drawn = np.nan_to_num(values)
    for colour, sign, name, gid in ((FOUND, 1, labels[0], "found"), (PROVED, -1, labels[1], "proved")):
        at, column = np.nonzero(sign * drawn > 0)
        if not at.size:
            continue
        corners = [
            [(j, i - 0.5), (j + 1, i - 0.5), (j + 1, i + 0.5), (j, i + 0.5)] for i, j in zip(at, column, strict=True)
        ]
        strength = np.minimum(np.abs(drawn[at, column]) / largest, 1.0) * (1.0 if texts is None else UNDER_TEXT)
        faces = [to_rgba(colour, float(share)) for share in strength]
        ax.add_collection(PolyCollection(corners, facecolors=faces, linewidths=0, gid=gid), autolim=True)
        ax.bar([0], [0], color=colour, alpha=1.0 if texts is None else UNDER_TEXT, label=name)  # for the legend
    for i, line in enumerate(texts or ()):
        for j, text in enumerate(line):
            ax.text(j + 0.5, i, text, ha="center", va="center", fontsize=9, color=INK, parse_math=False)
    for edge in range(1, values.shape[1]):
        ax.axvline(edge, color=LINE, linewidth=0.6, zorder=0)
    name_rows(ax, rows)
    ax.set_xlim(0, values.shape[1])
    ax.set_xticks(np.arange(values.shape[1]) + 0.5, [shortened(name) for name in columns])
    for text in ax.get_xticklabels():
        text.set_parse_math(False)
    ax.grid(visible=False)
    if ax.get_legend_handles_labels()[1]:
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, fontsize=8)  # above, where no cell is
