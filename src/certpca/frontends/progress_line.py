"""A step of a run in one line."""

import math

from certpca.results.certificate import share_lost
from certpca.runtime.budget import Step
from certpca.runtime.rounded import down, percent_up, up


def progress_line(step: Step) -> str:
    """Describe a step in one line."""
    line = f"{step.seconds:8.1f} s   objective {down(step.objective)}"
    if math.isfinite(step.upper_bound):
        gap = share_lost(step.objective, step.upper_bound)
        line += f"   upper bound {up(step.upper_bound)}   gap {percent_up(gap)}"
    if step.note:
        line += f"   {step.note}"
    return line
