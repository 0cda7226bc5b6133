"""Loadings as bars."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from certpca.plots.axes import name_rows
from certpca.plots.palette import FOUND, PROVED, SOFT


def draw(ax: Any, names: Sequence[str], loadings: Sequence[float], label: str, rows: float = 0) -> None:
    """Draw a bar for each loading, the first on top, with room for `rows` of them at least."""
    places = np.arange(len(names))
    colours = [FOUND if loading >= 0 else PROVED for loading in loadings]
    ax.barh(places, loadings, color=colours, height=0.8)
    name_rows(ax, names, rows)
    ax.axvline(0.0, color=SOFT, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x")
    ax.set_xlabel(label)
