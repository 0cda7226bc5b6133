"""The picture of the peers: how much longer each took than `auto`, and how much of its variance it lost."""

from typing import Any

from benchmarks.peers.results import League, Row, total

from experiments import pages

DEFAULT = "certpca_auto"
SAME = 1e-5  # losses below this are drawn in the band of answers that are as good
BAND = 4.0  # its lower and upper end are this factor, and its square, below that
LARGE = 512  # features from which a case is drawn filled
FIELD = {
    "R irlba": ("r_irlba",),
    "R msPCA, nsprcomp": ("r_mspca", "r_nsprcomp"),
    "R elasticnet, PMA, sparsepca, pcaPP, ADMM": ("r_",),
    "abess, skscope": ("abess", "skscope"),
    "scikit-learn": ("sklearn",),
    "SPAMS, sparsecca, AManPG": ("spams", "sparsecca", "manifold"),
    "SDP by SCS or Clarabel": ("cvxpy",),
}
LOOKS = (
    (pages.ORANGE, "o"), (pages.GREEN, "s"), (pages.PINK, "^"), (pages.AMBER, "D"),
    (pages.SKY, "v"), (pages.BLACK, "P"), ("#888888", "X"),
)  # fmt: skip


def draw(found: list[League]) -> str:
    """Write docs/figures/peers.png and .svg."""
    plt = pages.pyplot()
    figure, axes = plt.subplots(figsize=(7.6, 5.6))
    drawn: set[str] = set()
    same: dict[str, int] = {}
    for league in found:
        auto = league.of(DEFAULT)
        if auto is None:
            continue
        for row in league.peers:
            _point(axes, row, auto, drawn, same)
    _decorate(axes)
    figure.tight_layout()
    return pages.save(figure, "peers")


def group_of(solver: str) -> str:
    """Return the part of the field that a peer belongs to: the first that names it."""
    return next(name for name, starts in FIELD.items() if solver.startswith(starts))


def _point(axes: Any, row: Row, auto: Row, drawn: set[str], same: dict[str, int]) -> None:
    name = group_of(row["solver"])
    colour, marker = LOOKS[list(FIELD).index(name)]
    lost = 1 - row["refitted"] / auto["refitted"]
    if lost < SAME:  # spread over the band, so that they can be told apart
        step = same[name] = same.get(name, list(FIELD).index(name)) + 3
        lost = SAME / BAND ** (0.5 + (step % 7) / 7)
    large = row["features"] > LARGE
    axes.plot(
        total(row) / total(auto), 100 * lost, marker=marker, color=colour, linestyle="none", markersize=6,
        markerfacecolor=colour if large else "white", markeredgewidth=1.2, alpha=0.85,
        label=None if name in drawn else name,
    )  # fmt: skip
    drawn.add(name)


def _decorate(axes: Any) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(130.0, 100 * SAME / BAND**2)  # the best on top
    ticks = [100.0, 10.0, 1.0, 0.1, 0.01, 100 * SAME / BAND]
    axes.set_yticks(ticks, ["100 %", "10 %", "1 %", "0.1 %", "0.01 %", "none"])
    axes.yaxis.set_minor_locator(pages.no_ticks())
    axes.axhspan(100 * SAME, 100 * SAME / BAND**2, color=pages.BLUE, alpha=0.08)
    axes.axvline(1.0, color=pages.BLUE, linewidth=1.4)
    axes.set_xlabel("time, as a multiple of that of certpca's auto (tuning included)")
    axes.set_ylabel("variance lost against certpca's auto")
    low, high = axes.get_xlim()
    for place, words, side in ((low, " sooner", "left"), (high, "later ", "right")):
        axes.text(place, 115.0, words, ha=side, va="bottom", color=pages.BLUE, fontsize=9)
    axes.grid(alpha=0.25, linewidth=0.6)
    legend = axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=8.5)
    for handle in legend.legend_handles:
        handle.set_markerfacecolor(handle.get_color())
