"""Drawing curves, and saying in words what they show."""

import math
from collections.abc import Iterable
from typing import Any

from experiments import pages
from experiments.paper.curves import METHODS, OWN_LOADINGS

CLAIM = 'the paper\'s "essentially match"'
SAME = 0.01  # the loss up to which that is taken to be true
WIDE = 50  # ratio of sparsities from which their axis is logarithmic
NOTHING = 1e-4  # a gap that need not be told apart from none
SMALLEST = 0.01  # per cent: distances below it are drawn on a linear scale that ends at none
TICKS = (0.01, 0.1, 1, 10, 100)
COLUMNS = 3  # panels side by side, that can be read at the width of a page


def rows_of(case: dict[str, Any], method: str) -> list[dict[str, Any]]:
    """Return what one method did, by increasing sparsity."""
    return sorted((row for row in case["rows"] if row["method"] == method), key=lambda row: row["sparsity"])


def shape(case: dict[str, Any]) -> str:
    """Return the title with samples x features."""
    matrix = case["matrix"]
    rows = matrix["features"] if matrix["samples"] is None else matrix["samples"]
    numbers = f"{rows:,} × {matrix['features']:,}"
    return f"{case['title']}\n{numbers}"


def captured(panel: Any, case: dict[str, Any], *, ratio: bool = False) -> None:
    """Draw f against the sparsity: refitted values solid, raw ones dashed, what is proved above them."""
    scale = case["matrix"]["features"] if ratio else 1
    bounds = case["bounds"]
    k = [row["sparsity"] / scale for row in bounds]
    top = [min(1.0, row["bound"]) for row in bounds]
    panel.fill_between(k, [row["objective"] for row in bounds], top, color=pages.BOUND, alpha=0.25, linewidth=0)
    panel.plot(k, top, color=pages.BOUND, linewidth=1.4)
    _methods(panel, case, scale, lambda row, which: row[which])
    panel.set_ylim(0, 1.06)
    _finish(panel, k, ratio)


def distance(panel: Any, case: dict[str, Any], *, ratio: bool = False) -> None:
    """Draw how far each method is below the best found, which f hides, and how far that is below the proved bound."""
    scale = case["matrix"]["features"] if ratio else 1
    best = {row["sparsity"]: row["objective"] for row in case["bounds"]}
    k = [row["sparsity"] / scale for row in case["bounds"]]
    gaps = [100 * max(0.0, 1 - row["objective"] / row["bound"]) for row in case["bounds"]]
    panel.fill_between(k, 0, gaps, color=pages.BOUND, alpha=0.25, linewidth=0)
    panel.plot(k, gaps, color=pages.BOUND, linewidth=1.4)
    _methods(panel, case, scale, lambda row, which: 100 * max(0.0, 1 - row[which] / best[row["sparsity"]]))
    panel.set_yscale("symlog", linthresh=SMALLEST, linscale=0.4)
    worst = 100 * max(1 - min(row["raw"], row["refitted"]) / best[row["sparsity"]] for row in case["rows"])
    ticks = [0.0, *(tick for tick in TICKS if tick <= 1.6 * max(worst, *gaps, SMALLEST))]
    panel.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    panel.set_ylim(-0.35 * SMALLEST, max(1.6 * max(worst, *gaps), 2 * SMALLEST))
    panel.minorticks_off()
    _finish(panel, k, ratio)


def _methods(panel: Any, case: dict[str, Any], scale: float, value: Any) -> None:
    for order, method in enumerate(METHODS):
        look, rows = pages.LOOKS[method], rows_of(case, method)
        k = [row["sparsity"] / scale for row in rows]
        size = 8 - 0.8 * order  # later ones are drawn over earlier ones and must not hide them
        line = {"color": look.colour, "linewidth": 1.2, "zorder": 3 + order}
        panel.plot(k, [value(row, "refitted") for row in rows], label=method, **line)
        for row in rows:
            face = "none" if row["cut"] else look.colour
            at = row["sparsity"] / scale, value(row, "refitted")
            panel.plot(
                *at,
                marker=look.marker,
                markersize=size,
                color=look.colour,
                markerfacecolor=face,
                zorder=3 + order,
                clip_on=False,
            )
        if method in OWN_LOADINGS:
            panel.plot(k, [value(row, "raw") for row in rows], **{**line, "linestyle": "--", "linewidth": 0.9})


def _finish(panel: Any, k: list[float], ratio: bool) -> None:
    if max(k) > WIDE * min(k) and not ratio:
        panel.set_xscale("log")
    panel.set_xlabel("sparsity ratio k/n" if ratio else "number of nonzero loadings k")
    panel.grid(alpha=0.3)


def legend(figure: Any, columns: int = 5) -> None:
    """Explain lines and markers once for all panels, below them."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], color=pages.BOUND, linewidth=1.4, label="proved upper bound"),
        Patch(color=pages.BOUND, alpha=0.25, linewidth=0, label="where the optimum can be"),
    ]
    for method in METHODS:
        look = pages.LOOKS[method]
        handles.append(Line2D([], [], color=look.colour, marker=look.marker, markersize=6, label=method))
    grey = "#666666"
    handles.append(Line2D([], [], color=grey, linewidth=1.2, label="refitted"))
    handles.append(Line2D([], [], color=grey, linestyle="--", linewidth=0.9, label="raw loadings"))
    handles.append(Line2D([], [], color=grey, marker="s", linestyle="", markerfacecolor="none", label="cut at a limit"))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=9, frameon=False)


def curves(cases: list[dict[str, Any]], name: str) -> str:
    """Draw a pair of panels for each data set, f above and what methods lose below; a few pairs side by side."""
    columns = min(COLUMNS, len(cases)) if len(cases) != 4 else 2
    blocks = -(-len(cases) // columns)
    figure, panels = pages.pyplot().subplots(
        2 * blocks,
        columns,
        figsize=(max(5.0, 4.2 * columns), 1.0 + 5.2 * blocks),
        height_ratios=[1.25, 1] * blocks,
        layout="constrained",
        squeeze=False,
    )
    for number in range(blocks * columns):
        above, below = panels[2 * (number // columns) : 2 * (number // columns) + 2, number % columns]
        if number >= len(cases):
            above.axis("off")
            below.axis("off")
            continue
        case = cases[number]
        captured(above, case)
        distance(below, case)
        above.set_title(shape(case), fontsize=10)
        above.set_xlabel("")
        below.sharex(above)
        above.tick_params(labelbottom=False)
        if number % columns == 0:
            above.set_ylabel("f: variance / largest eigenvalue")
            below.set_ylabel("% below the best found;\nband: best below bound")
    legend(figure, 4 if columns > 1 else 3)
    return pages.save(figure, name)


def section(title: str, introduction: list[str], cases: list[dict[str, Any]], name: str) -> list[str]:
    """Return the lines of a section with curves, what they show and what that took."""
    picture = curves(cases, name)
    said = [line for case in cases for line in verdicts(case)]
    return [f"## {title}", "", *introduction, "", f"![{title}]({picture})", "", *said, "", proof_times(cases)]


def verdicts(case: dict[str, Any]) -> list[str]:
    """Say where methods do not match each other, and what the bound proves."""
    best = {row["sparsity"]: row["objective"] for row in case["bounds"]}

    def loss(row: dict[str, Any], which: str = "refitted") -> float:
        return 1 - float(row[which]) / float(best[row["sparsity"]])

    def fallen(methods: Iterable[str], which: str) -> list[str]:
        worst = [max(rows_of(case, method), key=lambda row: loss(row, which)) for method in methods]
        far = [row for row in worst if loss(row, which) > SAME]
        return [f"{row['method']} {loss(row, which):.1%} (k = {row['sparsity']:,})" for row in far]

    behind, raw = fallen(METHODS, "refitted"), fallen(OWN_LOADINGS, "raw")
    close = len(best) - len({row["sparsity"] for row in case["rows"] if loss(row) > SAME})
    if behind:
        part = f"agrees with {CLAIM} at {close} of {len(best)} sparsities; elsewhere"
        where = part if close else f"disagrees with {CLAIM}:"
        agreement = f"{where} methods fall behind the best found, at worst by: {', '.join(behind)}"
    else:
        agreement = f"agrees with the paper; all methods, refitted, are within {SAME:.0%} of the best at every sparsity"
    gaps = [(max(0.0, 1 - row["objective"] / row["bound"]), row["sparsity"]) for row in case["bounds"]]
    (least, at_least), (most, at_most) = min(gaps), max(gaps)
    least, most = (math.ceil(gap * 1e4) / 1e4 for gap in (least, most))  # bounds round up
    proved = f"{least:.2%} (k = {at_least:,}) to {most:.2%} (k = {at_most:,})" if most > NOTHING else f"{NOTHING:.2%}"
    return [
        f"- **{named(case)}**: {agreement}.",
        *([f"  With raw loadings, at worst: {', '.join(raw)}."] if raw else []),
        f"  The best found is proved to be within {proved} of the optimum.",
        *_cuts(case),
    ]


def named(case: dict[str, Any]) -> str:
    """Return the title as the beginning of a sentence."""
    title: str = case["title"]
    return title[0].upper() + title[1:]


def _cuts(case: dict[str, Any]) -> list[str]:
    """Name what did not run to its end."""
    reasons = {
        "OUT_OF_BUDGET": "stopped at the limit of {limit:.0f} s",
        "TOO_LARGE": "solved only to the rank-one candidate, since the dense steps need more memory than allowed",
        "SAMPLED": "on sampled directions only",
    }
    said = []
    for reason, words in reasons.items():
        for method in METHODS:
            rows = [row for row in rows_of(case, method) if row["cut"] == reason]
            if rows:
                at = ", ".join(f"{row['sparsity']:,}" for row in rows)
                said.append(f"{method} {words.format(limit=rows[0].get('limit', case['limit']))} (k = {at})")
    return [f"  Hollow markers: {'; '.join(said)}."] if said else []


def proof_times(cases: list[dict[str, Any]]) -> str:
    """Say how long search and proofs took."""
    parts = [
        f"{case['proofs']['seconds']:.0f} s for {case['title']} (search limited to {case['proofs']['limit']:.0f} s)"
        for case in cases
    ]
    return (
        f"Searching and proving all sparsities of a panel together took {', '.join(parts)}; certificates that may "
        "take longer can be tighter, and where one of [gaps.md](gaps.md) for a single sparsity is, it is shown."
    )
