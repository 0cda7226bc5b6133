"""Loadings as bars."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from certpca.plots.palette import FOUND, PROVED, SOFT


def draw(ax: Any, names: Sequence[str], loadings: Sequence[float], label: str, rows: float = 0) -> None:
    """Draw a bar for each loading, the first on top, with room for `rows` of them at least."""
    places = np.arange(len(names))
    colours = [FOUND if loading >= 0 else PROVED for loading in loadings]
    ax.barh(places, loadings, color=colours, height=0.8)
    ax.set_yticks(places, names, fontsize=8)
    for text in ax.get_yticklabels():
        text.set_parse_math(False)  # a dollar sign in a name is a dollar sign
    ax.set_ylim(max(len(names), rows) - 0.4, -0.6)
    ax.axvline(0.0, color=SOFT, linewidth=0.8)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x")
    ax.set_xlabel(label)
