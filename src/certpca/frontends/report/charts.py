"""The drawings of a report: path, history and scores."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from certpca.frontends.report.blocks import Chart, Key
from certpca.frontends.report.facts import Facts, Scores
from certpca.frontends.report.svg import Axis, Frame, key_marker, marker, padded
from certpca.frontends.report.words import NBSP, counted, duration, number, percent, percent_down, percent_up
from certpca.results.certificate import PROVED_OPTIMAL
from certpca.results.path import Path
from certpca.runtime import rounded
from certpca.runtime.arrays import Vector

WIDE = 20.0  # ratio of the largest to the smallest from which an axis is logarithmic
LEAST_RANGE = 0.02  # relative; improvements smaller than this are drawn small
MOST_POINTS = 4000  # beyond, a drawing shows some of the samples
MOST_GROUPS = 14

FOUND_KEY = key_marker('<path class="found" d="M1 6H21"/><circle class="foundpoint" cx="11" cy="6" r="3"/>')
STEP_KEY = key_marker('<path class="found" d="M1 6H21"/>')
BOUND_KEY = key_marker('<path class="proved" d="M1 6H21"/>')
BAND_KEY = key_marker('<rect class="band" x="1" y="1" width="20" height="10"/>')


def path_chart(facts: Facts, path: Path) -> Chart | None:
    """Draw what is captured at each sparsity and the band in which the optimum is proved to lie."""
    if len(path.solutions) < 2:
        return None
    scale, label, suffix = _unit(facts)
    sparsities = [float(sparsity) for sparsity in path.sparsities]
    captured, bounds = path.objectives * scale, path.upper_bounds * scale
    proved = np.isfinite(bounds)
    top = float(max(captured.max(), bounds[proved].max() if proved.any() else 0.0))
    log = sparsities[-1] > WIDE * sparsities[0]
    across = (
        Axis(sparsities[0] / 1.15, sparsities[-1] * 1.15, "number of nonzero loadings", log=True)
        if log
        else padded(sparsities[0], sparsities[-1], "number of nonzero loadings")
    )
    frame = Frame(across, Axis(0.0, top * 1.06 or 1.0, label, suffix=suffix), "path")
    if not frame.drawable:
        return None
    marks, legend = [], [Key(FOUND_KEY, "captured")]
    own = facts.solution.sparsity
    if across.low <= own <= across.high:
        marks.append(f'<path class="mark" d="M{frame.x(own)} {frame.y(0.0)}V{frame.y(frame.up.high)}"/>')
        legend.append(Key(key_marker('<path class="mark" d="M11 0V12"/>'), f"this report: {own:,}"))
    xs = [sparsity for sparsity, known in zip(sparsities, proved, strict=True) if known]
    if xs:
        low, high = captured[proved].tolist(), bounds[proved].tolist()
        band = frame.path([*xs, *xs[::-1]], [*high, *low[::-1]], closed=True)
        marks.append(f'<path class="band" d="{band}"/><path class="proved" d="{frame.path(xs, high)}"/>')
        legend += [Key(BOUND_KEY, "proved upper bound"), Key(BAND_KEY, "where the optimum can be")]
    marks.append(f'<path class="found" d="{frame.path(sparsities, captured.tolist())}"/>')
    marks += [
        f'<circle class="foundpoint" cx="{frame.x(x)}" cy="{frame.y(y)}" r="3"/>'
        for x, y in zip(sparsities, captured.tolist(), strict=True)
    ]
    words = (
        f"From {counted(int(sparsities[0]), 'loading')} to {int(sparsities[-1]):,}, the variance captured rises from "
        f"{_amount(captured[0], suffix)} to {_amount(captured[-1], suffix)}."
    )
    if xs:
        words += _gaps_in_words(path.gaps[proved])
    title = "Variance captured for each number of loadings"
    return Chart(title, words, frame.drawn(marks, title, words), legend)


def history_chart(facts: Facts) -> Chart | None:
    """Draw objective and bound over time."""
    steps = [step for step in facts.solution.history if math.isfinite(step.objective) and step.seconds > 0]
    if len(steps) < 2 or steps[-1].seconds <= steps[0].seconds:
        return None
    scale, label, suffix = _unit(facts)
    end = max(facts.solution.seconds, steps[-1].seconds)
    times = [step.seconds for step in steps] + [end]
    objectives = [step.objective * scale for step in steps]
    bounds = [step.upper_bound * scale for step in steps]
    finite = [bound for bound in bounds if math.isfinite(bound)]
    final = objectives[-1]
    # The first bounds and objectives can be far off; the drawing is about how the two meet.
    low = min(max(min(objectives), 0.5 * final), (1 - LEAST_RANGE) * final)
    high = max(min(max(finite), 1.6 * final) if finite else final, (1 + LEAST_RANGE) * final)
    log = end > WIDE * times[0]
    across = Axis(times[0], end * 1.05, "seconds", log=True) if log else Axis(0.0, end * 1.02, "seconds")
    frame = Frame(across, padded(low, high, label, suffix), "history")
    if not frame.drawable:
        return None
    marks = [f'<path class="found" d="{_stairs(frame, times, objectives)}"/>']
    legend = [Key(STEP_KEY, "captured by the best found")]
    if finite:
        first = bounds.index(finite[0])
        marks.insert(0, f'<path class="proved" d="{_stairs(frame, times[first:], bounds[first:])}"/>')
        legend.append(Key(BOUND_KEY, "upper bound"))
    words = f"After {duration(end)} the best found captures {_amount(final, suffix)}"
    words += (
        f" and the upper bound is {_amount(bounds[-1], suffix, up=True)}."
        if finite
        else "; no upper bound was computed."
    )
    title = "Variance captured and upper bound over time"
    return Chart(title, words, frame.drawn(marks, title, words), legend)


def scores_chart(facts: Facts, scores: Scores) -> Chart:
    """Draw each sample by its scores on two components, groups in colours and shapes of their own."""
    first, second = scores.first, scores.second
    shown = np.arange(0, first.size, math.ceil(first.size / MOST_POINTS))
    frame = Frame(
        padded(float(first.min()), float(first.max()), _axis_label(1, facts.solution.explained_variance_ratio)),
        padded(float(second.min()), float(second.max()), _axis_label(2, scores.second_ratio)),
        "scores",
    )
    groups, legend = _groups(scores.labels, first.size)
    marks = [marker(frame.x(first[i]), frame.y(second[i]), groups[i]) for i in shown.tolist()]
    words = f"{counted(first.size, 'sample')}"
    if shown.size < first.size:
        words = f"{shown.size:,} of {words}, evenly picked"
    words += f"; scores range from {_rough(first.min())} to {_rough(first.max())} on component 1"
    words += f" and from {_rough(second.min())} to {_rough(second.max())} on component 2."
    title = "Scores of the samples on two components"
    return Chart(title, words, frame.drawn(marks, title, words), legend)


def _unit(facts: Facts) -> tuple[float, str, str]:
    """Measure variance in per cent of the total where that is known."""
    if facts.trace > 0 and math.isfinite(100 / facts.trace):
        return 100 / facts.trace, "share of the variance", f"{NBSP}%"
    return 1.0, "variance captured", ""


def _amount(value: float, suffix: str, *, up: bool = False) -> str:
    """Write what is captured, or a bound, which is rounded up."""
    if suffix:
        return (percent_up if up else percent_down)(value / 100)
    return (rounded.up if up else rounded.down)(value)


def _rough(value: float) -> str:
    return number(float(f"{value:.3g}"))


def _gaps_in_words(gaps: Vector) -> str:
    if gaps.max() <= PROVED_OPTIMAL:
        return " All of them are proved optimal."
    return f" The largest proved gap is {percent_up(float(gaps.max()))}."


def _axis_label(component: int, ratio: float) -> str:
    return f"component {component} ({percent(ratio, 1)} of the variance)"


def _stairs(frame: Frame, times: Sequence[float], values: Sequence[float]) -> str:
    """Hold each value until the next one comes."""
    xs = [time for time in times for _ in (0, 1)][1:-1]
    ys = [value for value in values for _ in (0, 1)]
    return frame.path(xs, ys)


def _groups(labels: Sequence[str] | None, samples: int) -> tuple[list[int], list[Key]]:
    """Give the largest groups a number each, and all others -1; say so in a legend."""
    if labels is None:
        return [0] * samples, []
    sizes = Counter(labels)
    kept = sorted(sizes, key=lambda label: (-sizes[label], label))
    if len(kept) > MOST_GROUPS:
        kept = kept[: MOST_GROUPS - 1]
    kept.sort()
    places = {label: place for place, label in enumerate(kept)}
    legend = [
        Key(key_marker(marker(11, 6, place, 4.0)), f"{label or '(none)'} ({sizes[label]:,})")
        for label, place in places.items()
    ]
    rest = samples - sum(sizes[label] for label in kept)
    if rest:
        others = f"{len(sizes) - len(kept)} other labels ({rest:,})"
        legend.append(Key(key_marker(marker(11, 6, -1, 4.0)), others))
    return [places.get(label, -1) for label in labels], legend


def group_numbers(labels: Sequence[str] | None, samples: int) -> tuple[list[int], list[str]]:
    """Return the group of each sample and the texts of the legend, for other drawings."""
    groups, legend = _groups(labels, samples)
    return groups, [key.text for key in legend]
