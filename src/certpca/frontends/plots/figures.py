"""Figures. matplotlib loads when the first one is drawn."""

import io
import math
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from certpca.results.files import write_bytes_whole
from certpca.results.path import Path
from certpca.results.solution import Solution
from certpca.runtime.arrays import Vector
from certpca.runtime.budget import Step
from certpca.runtime.errors import DataFileError

SIZE = (6.4, 4.0)
# Okabe & Ito's colours, which colour-blind readers tell apart.
FOUND, PROVED, CRITERION = "#0072B2", "#D55E00", "#009E73"
GROUPS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
SHAPES = "os^D"
OTHERS = "#777777"


def draw_path(path: Path, ax: Any = None) -> Any:
    """Draw what is captured at each sparsity and, where it is proved, the band that holds the optimum."""
    ax = _axes(ax)
    sparsities, bounds = path.sparsities, path.upper_bounds
    proved = np.isfinite(bounds)
    if proved.any():
        ax.fill_between(
            sparsities[proved],
            path.objectives[proved],
            bounds[proved],
            color=PROVED,
            alpha=0.25,
            linewidth=0,
            label="where the optimum can be",
        )
        ax.plot(sparsities[proved], bounds[proved], color=PROVED, linewidth=1.2, label="proved upper bound")
    ax.plot(sparsities, path.objectives, color=FOUND, marker="o", markersize=4, linewidth=1.5, label="captured")
    if sparsities[-1] > 50 * sparsities[0]:
        ax.set_xscale("log")
    ax.set_xlabel("number of nonzero loadings")
    ax.set_ylabel("variance captured")
    ax.grid(alpha=0.3)
    ax.legend(loc="lower right", fontsize=8)
    return ax


def draw_choice(path: Path, scores: Vector, errors: Vector, label: str, chosen: int, ax: Any = None) -> Any:
    """Draw a path with the criterion on an axis of its own and the recommended sparsity marked."""
    ax = draw_path(path, ax)
    other = ax.twinx()
    style = {"color": CRITERION, "marker": "s", "markersize": 3, "linestyle": "--", "linewidth": 1, "label": label}
    if errors.any():
        other.errorbar(path.sparsities, scores, yerr=errors, capsize=2, **style)
    else:
        other.plot(path.sparsities, scores, **style)
    other.set_ylabel(label, color=CRITERION)
    ax.axvline(chosen, color="black", linewidth=1, linestyle=":", label=f"recommended: {chosen}")
    handles, labels = ax.get_legend_handles_labels()
    more_handles, more_labels = other.get_legend_handles_labels()
    ax.legend(handles + more_handles, labels + more_labels, loc="lower right", fontsize=8)
    return ax


def draw_loadings(names: Sequence[str], loadings: Vector, count: int, ax: Any = None) -> Any:
    """Draw loadings as bars, the first on top; `count` is how many there are in all."""
    ax = _axes(ax)
    places = np.arange(len(names))
    ax.barh(places, loadings, color=np.where(loadings >= 0, FOUND, PROVED), height=0.8)
    ax.set_yticks(places, names, fontsize=8)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)  # a dollar sign in a name is a dollar sign
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.grid(axis="x", alpha=0.3)
    ax.set_xlabel("loading" if len(names) == count else f"loading (the {len(names)} largest of {count:,})")
    return ax


def drawn_steps(solution: Solution) -> list[Step]:
    """Return the steps of a run at which something was known."""
    return [step for step in solution.history if math.isfinite(step.objective)]


def draw_history(solution: Solution, ax: Any = None) -> Any:
    """Draw objective and upper bound over the time of a run."""
    ax = _axes(ax)
    steps = drawn_steps(solution)
    times = [step.seconds for step in steps] + [max(solution.seconds, steps[-1].seconds)]
    objectives = [step.objective for step in steps]
    proved = [(step.seconds, step.upper_bound) for step in steps if math.isfinite(step.upper_bound)]
    if proved:
        bounds = [*proved, (times[-1], proved[-1][1])]
        ax.step(*zip(*bounds, strict=True), where="post", color=PROVED, linestyle="--", label="upper bound")
        # The first bounds and objectives can be far off; the drawing is about how the two meet.
        low = max(min(objectives), 0.5 * objectives[-1])
        high = min(max(bound for _, bound in proved), 1.6 * objectives[-1])
        room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        ax.set_ylim(low - room, high + room)
    ax.step(times, [*objectives, objectives[-1]], where="post", color=FOUND, label="captured")
    if times[0] > 0 and times[-1] > 20 * times[0]:
        ax.set_xscale("log")
    ax.set_xlabel("seconds")
    ax.set_ylabel("variance captured")
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8)
    return ax


def draw_scores(first: Vector, second: Vector, groups: Sequence[int], texts: Sequence[str], ax: Any = None) -> Any:
    """Draw samples by their scores on two components; groups are numbered from 0, -1 is all others."""
    ax = _axes(ax)
    numbers = np.asarray(groups)
    kinds = [*range(numbers.max() + 1), *([-1] if (numbers < 0).any() else [])]
    for place, kind in enumerate(kinds):
        chosen = numbers == kind
        ax.scatter(
            first[chosen],
            second[chosen],
            s=12,
            color=GROUPS[kind % len(GROUPS)] if kind >= 0 else OTHERS,
            marker=SHAPES[(kind + kind // len(GROUPS)) % len(SHAPES)] if kind >= 0 else "o",
            linewidth=0,
            alpha=0.8,
            label=texts[place] if texts else None,
        )
    ax.set_xlabel("component 1")
    ax.set_ylabel("component 2")
    ax.grid(alpha=0.3)
    if texts:
        legend = ax.legend(fontsize=7, ncols=1 + len(texts) // 8)
        for text in legend.get_texts():
            text.set_parse_math(False)
    return ax


def require_drawable(file: str) -> None:
    """Find out before the work that the ending of a file says no format a figure can have."""
    from matplotlib.backend_bases import FigureCanvasBase

    ending = PurePath(file).suffix[1:].lower()
    if ending and ending not in FigureCanvasBase.filetypes:
        known = ", ".join(sorted(FigureCanvasBase.filetypes))
        msg = f"the figure cannot be written to {file}: Format {ending!r} is not supported (supported formats: {known})"
        raise DataFileError(msg)


def save_path(path: Path, file: str) -> None:
    """Draw a path into a file, whole or not at all; its ending says the format."""
    from matplotlib.figure import Figure  # without pyplot, so that no window system is asked for

    figure = Figure(figsize=SIZE, layout="constrained")
    draw_path(path, figure.subplots())
    stream = io.BytesIO()
    try:
        figure.savefig(stream, format=PurePath(file).suffix[1:] or "png", dpi=150)
    except ValueError as error:  # an ending that matplotlib does not know
        msg = f"the figure cannot be written to {file}: {error}"
        raise DataFileError(msg) from error
    write_bytes_whole(file, lambda target: target.write(stream.getvalue()))


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=SIZE, layout="constrained")[1]
