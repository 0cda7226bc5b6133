"""The picture of the peers: what each captured against the time it took, one panel for each case."""

from math import ceil
from typing import Any

from benchmarks.peers.results import League, Row, label, ours, total

from experiments import pages

OURS = pages.BLUE
COLOURS = (pages.ORANGE, pages.GREEN, pages.PINK, pages.AMBER, pages.SKY, pages.BLACK)
MARKERS = "osD^v<>Php*X"
COLUMNS = 3
SHOWN = 0.75  # answers below this share of the best one are drawn at the lower edge


def draw(found: list[League]) -> str:
    """Write docs/figures/peers.png and .svg."""
    plt = pages.pyplot()
    lines = ceil(len(found) / COLUMNS)
    figure, grid = plt.subplots(lines, COLUMNS, figsize=(12.5, 3.1 * lines + 1.7), squeeze=False)
    looks = _looks(found)
    handles: dict[str, Any] = {}
    for axes, league in zip(grid.flat, found, strict=False):
        _panel(axes, league, looks, handles)
    for axes in list(grid.flat)[len(found) :]:
        axes.remove()
    for axes in grid[:, 0]:
        axes.set_ylabel("variance captured,\nshare of dense component")
    for column in range(COLUMNS):
        shown = [axes for axes in grid[:, column] if axes.figure is not None]
        if shown:
            shown[-1].set_xlabel("seconds, tuning included")
    names = sorted(handles, key=lambda name: (not name.startswith("certpca"), name.startswith("proved"), name))
    room = 1.45 / (3.1 * lines + 1.7)
    figure.tight_layout(rect=(0, room, 1, 1))
    figure.legend([handles[name] for name in names], names, loc="lower center", ncols=4, frameon=False, fontsize=9)
    return pages.save(figure, "peers")


def _looks(found: list[League]) -> dict[str, tuple[str, str]]:
    """Give every solver a colour and a marker: blue is certpca."""
    names = list(dict.fromkeys(row["solver"] for league in found for row in league.answered))
    mine = [name for name in names if name.startswith("certpca")]
    others = [name for name in names if name not in mine]
    looks = {name: (OURS, MARKERS[place % len(MARKERS)]) for place, name in enumerate(mine)}
    for place, name in enumerate(others):
        looks[name] = (COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)])
    return looks


def _panel(axes: Any, league: League, looks: dict[str, tuple[str, str]], handles: dict[str, Any]) -> None:
    best = max((row["refitted"] for row in league.answered), default=1.0)
    top = max(best, league.bound or best)
    values = [row["refitted"] for row in league.answered]
    near = [value for value in values if value >= SHOWN * best]
    low = min(near if 3 * len(near) >= 2 * len(values) else values, default=best)  # few outliers, or no outliers
    pad = max(top - low, 0.01 * top) * 0.15
    floor = low - 1.5 * pad
    # certpca last, so that it lies on top.
    for row in sorted(league.answered, key=ours):
        _point(axes, row, looks[row["solver"]], floor, handles)
    if league.bound is not None:
        line = axes.axhline(league.bound, color=OURS, linestyle="--", linewidth=1.2)
        handles["proved: none can capture more"] = line
    axes.set_ylim(floor - 0.6 * pad, top + pad)
    axes.set_xscale("log")
    sparsity = league.rows[0]["sparsity"]
    axes.set_title(
        f"{league.case}, k = {sparsity}"
        + (f"\npeers without an answer: {len(league.silent)}" if league.silent else ""),
        fontsize=10,
    )
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.tick_params(labelsize=8)


def _point(axes: Any, row: Row, look: tuple[str, str], floor: float, handles: dict[str, Any]) -> None:
    colour, marker = look
    hidden = row["refitted"] < floor
    height = floor if hidden else row["refitted"]
    style = {"color": colour, "marker": marker, "linestyle": "none", "markersize": 7 if ours(row) else 6}
    filled = {} if ours(row) else {"markerfacecolor": "white", "markeredgewidth": 1.4}
    (drawn,) = axes.plot(total(row), height, **style, **filled, clip_on=False, zorder=3)
    handles.setdefault(label(row).replace("`", ""), drawn)
    if row["tuning_seconds"] > 0.05 * row["seconds"]:
        axes.plot([row["seconds"], total(row)], [height, height], color=colour, linewidth=0.8, alpha=0.6, zorder=2)
    if hidden:
        axes.annotate(
            f"↓ {row['refitted']:.3g}", (total(row), height), (0, 5), textcoords="offset points",
            ha="center", fontsize=7, color=colour,
        )  # fmt: skip
