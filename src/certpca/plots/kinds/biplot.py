"""Samples and features on two components, in one drawing whose scaling is written on it.

``"form"``: points are the scores, arrows the loadings. ``"correlation"``: points are scores divided by their standard
deviation, arrows the correlations of features with the scores; they end inside a circle, on it where the two components
tell everything about a feature. Arrows have units of their own: all are drawn longer by one factor, which is told.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from certpca.plots.axes import shortened
from certpca.plots.groups import draw_points
from certpca.plots.palette import INK, LINE, PROVED
from certpca.runtime.arrays import Vector
from certpca.runtime.errors import InvalidProblemError

SCALINGS = {"form": "loadings", "correlation": "correlations"}
MOST = 20  # arrows that can be told apart
NAME_HEIGHT, NAME_WIDTH = 0.035, 0.25  # of the drawing, that a name takes
REACH = 0.85  # of the way to the farthest point, for the longest arrow


def draw(
    ax: Any,
    scores: Vector,
    arrows: Vector,
    features: Sequence[str],
    groups: Sequence[int],
    names: Sequence[str],
    labels: tuple[str, str] = ("component 1", "component 2"),
    *,
    scaling: str = "form",
    most: int = MOST,
) -> None:
    """Draw samples (rows of `scores`) and features (rows of `arrows`, loadings or correlations) on two components.

    At most so many arrows are drawn, the longest.
    """
    if scaling not in SCALINGS:
        msg = f"scaling must be one of {', '.join(SCALINGS)}, got {scaling!r}"
        raise InvalidProblemError(msg)
    points = np.asarray(scores, dtype=np.float64)[:, :2]
    if scaling == "correlation":
        spread = points.std(axis=0, ddof=1)
        points = points / np.where(spread > 0, spread, 1.0)
    draw_points(ax, points[:, 0], points[:, 1], groups, names, 3.0)
    ends = np.asarray(arrows, dtype=np.float64)[:, :2]
    length = np.hypot(*ends.T)
    order = [int(j) for j in np.argsort(-length, kind="stable")[:most] if length[j] > 0]
    unit = 1.0 if scaling == "correlation" else float(length.max(initial=0.0))
    factor = _round(REACH * float(np.abs(points).max(initial=0.0)) / (unit or 1.0)) or 1.0
    span = 2.4 * max(float(np.abs(points).max(initial=0.0)), factor * unit)
    places = _apart(factor * ends[order], span)
    head = {"arrowstyle": "-|>", "color": PROVED, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
    for j, place in zip(order, places, strict=True):
        ax.annotate("", factor * ends[j], (0, 0), arrowprops=head)
        align = "left" if ends[j, 0] >= 0 else "right"
        name = shortened(features[j], 22)
        ax.text(*place, name, fontsize=7, color=INK, parse_math=False, ha=align, va="center")
    if scaling == "correlation":
        angle = np.linspace(0, 2 * np.pi, 181)
        ax.plot(factor * np.cos(angle), factor * np.sin(angle), color=LINE, linewidth=1.0, zorder=0, gid="circle")
    ax.plot([], [], color=PROVED, label=_told(scaling, factor, len(order), int((length > 0).sum())))
    ax.axhline(0, color=LINE, linewidth=0.8, zorder=0)
    ax.axvline(0, color=LINE, linewidth=0.8, zorder=0)
    ax.margins(0.12)
    ax.set_aspect("equal", adjustable="datalim")
    unitless = " / standard deviation" if scaling == "correlation" else ""
    ax.set_xlabel(f"{labels[0]}{unitless}")
    ax.set_ylabel(f"{labels[1]}{unitless}")
    shown = ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, fontsize=8)  # above, where no arrow is
    for text in shown.get_texts():
        text.set_parse_math(False)


def _apart(tips: Vector, span: float) -> list[tuple[float, float]]:
    """Return places for names beside tips, moved up or down where names would lie on each other."""
    taken: list[tuple[float, float]] = []
    step, wide = NAME_HEIGHT * span, NAME_WIDTH * span
    for x, y in 1.03 * tips:
        moves = (sign * n * step for n in range(len(tips) + 1) for sign in (1, -1))
        free = (y + move for move in moves if not any(abs(x - a) < wide and abs(y + move - b) < step for a, b in taken))
        taken.append((float(x), float(next(free, y))))
    return taken


def _told(scaling: str, factor: float, drawn: int, known: int) -> str:
    which = "" if drawn == known else f", {drawn} of {known:,}"
    circle = f"; the circle is 1, drawn at {factor:g}" if scaling == "correlation" else ""
    return f"{SCALINGS[scaling]} × {factor:g}{which}{circle}"


def _round(value: float) -> float:
    return float(f"{value:.1g}") if value > 0 else 0.0
