"""The picture of the peers: how much longer each took than `auto`, and how much of its variance it lost."""

from typing import Any

from benchmarks.peers.results import SET_UP, League, Row, total

from experiments import pages

DEFAULT = "certpca_auto"
SAME = 1e-5  # losses below this count as none
FIELD = {
    "R irlba": ("r_irlba",),
    "R msPCA, nsprcomp": ("r_mspca", "r_nsprcomp"),
    "R elasticnet, PMA,\nsparsepca, pcaPP, ADMM": ("r_",),
    "abess, skscope": ("abess", "skscope"),
    "scikit-learn": ("sklearn",),
    "SPAMS, sparsecca,\nAManPG": ("spams", "sparsecca", "manifold"),
    "SDP by SCS or Clarabel": ("cvxpy",),
}
LOOKS = (
    (pages.ORANGE, "o"), (pages.GREEN, "s"), (pages.PINK, "^"), (pages.AMBER, "D"),
    (pages.SKY, "v"), (pages.BLACK, "P"), ("#888888", "X"),
)  # fmt: skip
ALONG = 4  # rows over which markers of a group are spread


def draw(found: list[League]) -> str:
    """Write docs/figures/peers.png and .svg."""
    plt = pages.pyplot()
    figure, (same, less) = plt.subplots(2, sharex=True, figsize=(7.6, 7.6), height_ratios=(1.25, 1))
    drawn = [0] * len(FIELD)
    for league in found:
        auto = league.of(DEFAULT)
        if auto is None:
            continue
        for row in league.peers:
            place = list(FIELD).index(group_of(row["solver"]))
            lost = 1 - row["refitted"] / auto["refitted"]
            if lost < SAME:  # a row for each group, its markers apart
                _point(same, row, auto, place, place + 0.6 * ((drawn[place] % ALONG + 0.5) / ALONG - 0.5))
                drawn[place] += 1
            else:
                _point(less, row, auto, place, 100 * lost)
    _decorate(same, less)
    figure.tight_layout(h_pad=0.4)
    return pages.save(figure, "peers")


def group_of(solver: str) -> str:
    """Return the part of the field that a peer belongs to: the first that names it."""
    return next(name for name, starts in FIELD.items() if solver.startswith(starts))


def _point(axes: Any, row: Row, auto: Row, place: int, height: float) -> None:
    colour, marker = LOOKS[place]
    axes.plot(
        total(row) / total(auto), height, marker=marker, color=colour, linestyle="none", markersize=6.5,
        markerfacecolor="white" if total(auto) < SET_UP else colour, markeredgewidth=1.2, alpha=0.85,
    )  # fmt: skip


def _decorate(same: Any, less: Any) -> None:
    same.set_ylim(len(FIELD) - 0.5, -0.5)  # the first on top
    same.set_yticks(range(len(FIELD)), list(FIELD))
    for between in range(1, len(FIELD)):
        same.axhline(between - 0.5, color="black", alpha=0.12, linewidth=0.6)
    same.set_title("captured as much as certpca's auto", loc="right", fontsize=10.5)
    less.set_title("captured less", loc="right", fontsize=10.5)
    less.set_xscale("log")
    less.set_yscale("log")
    less.set_ylim(130.0, 100 * SAME)  # the best on top
    less.set_yticks([100.0, 10.0, 1.0, 0.1, 0.01], ["100 %", "10 %", "1 %", "0.1 %", "0.01 %"])
    less.yaxis.set_minor_locator(pages.no_ticks())
    less.set_ylabel("variance lost")
    less.set_xlabel("time, as a multiple of that of certpca's auto (tuning included)")
    less.xaxis.set_major_formatter(lambda value, _: f"{value:,g}×")
    for axes in (same, less):
        axes.axvline(1.0, color=pages.BLUE, linewidth=1.6)
        axes.grid(axis="x", alpha=0.25, linewidth=0.6)
    less.grid(axis="y", alpha=0.25, linewidth=0.6)
    for words, side, x in (("← sooner ", "right", 1.0), (" later →", "left", 1.0)):
        same.annotate(
            words, (x, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 4), textcoords="offset points",
            ha=side, va="bottom", color=pages.BLUE, fontsize=10,
        )  # fmt: skip
    filled = less.plot([], [], marker="o", color="#444444", linestyle="none", label="auto takes 10 ms or more")
    hollow = less.plot(
        [], [], marker="o", color="#444444", markerfacecolor="white", linestyle="none", label="less: mostly set-up"
    )
    less.legend(handles=[*filled, *hollow], loc="upper right", fontsize=9, frameon=True)
