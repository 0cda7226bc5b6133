"""Drawings of plain values, a file each in `kinds`; matplotlib loads when the first one is drawn."""

from certpca.plots.canvas import draw, height_of, plots, require_drawable, save, save_figure, styled
from certpca.plots.inline_svg import inline_svg

__all__ = ["draw", "height_of", "inline_svg", "plots", "require_drawable", "save", "save_figure", "styled"]
