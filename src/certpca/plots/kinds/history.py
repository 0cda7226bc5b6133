"""What is captured, and the upper bound, over the time of a run."""

import math
from typing import Any

from certpca.plots.axes import WIDE, legend, logarithmic, variance
from certpca.plots.palette import FOUND, PROVED
from certpca.results.solution import Solution
from certpca.runtime.budget import Step

LEAST_RANGE = 0.02  # relative; improvements smaller than this are drawn small


def drawn_steps(solution: Solution) -> list[Step]:
    """Return the steps of a run at which something was known; a drawing takes two."""
    steps = [step for step in solution.history if math.isfinite(step.objective) and step.seconds > 0]
    return steps if len(steps) > 1 and steps[-1].seconds > steps[0].seconds else []


def draw(ax: Any, solution: Solution, *, total: float | None = None) -> None:
    """Draw the history of a solution; `total` is the variance that shares are of."""
    unit, steps = variance(ax.yaxis, total), drawn_steps(solution)
    end, final = max(solution.seconds, steps[-1].seconds), steps[-1].objective
    found = [(step.seconds, step.objective / unit) for step in steps]
    proved = [(step.seconds, step.upper_bound / unit) for step in steps if math.isfinite(step.upper_bound)]
    lines = [(found, FOUND, "-", "captured by the best found"), (proved, PROVED, "--", "upper bound")]
    for points, colour, style, label in lines:
        if points:
            held = zip(*points, (end, points[-1][1]), strict=True)
            ax.step(*held, where="post", color=colour, linestyle=style, label=label)
    # The first bounds and objectives can be far off; the drawing is about how the two meet.
    low = min(max(min(step.objective for step in steps), 0.5 * final), (1 - LEAST_RANGE) * final) / unit
    high = max([min(bound, 1.6 * final / unit) for _, bound in proved] + [(1 + LEAST_RANGE) * final / unit])
    room = 0.06 * (high - low)
    if room > 0:
        ax.set_ylim(low - room, high + room)
    if end > WIDE * steps[0].seconds:
        logarithmic(ax.xaxis)
    ax.set_xlabel("seconds")
    legend(ax)
