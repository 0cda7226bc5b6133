"""What plots do to axes."""

from collections.abc import Sequence
from typing import Any

WIDE = 20.0  # ratio of the largest to the smallest from which an axis is logarithmic
FEW_DECADES = 500.0  # ratio up to which there is room for more than powers of ten
NBSP = "\u00a0"
LONGEST_NAME = 32  # that fits beside an axis
LARGE, SMALL = 1e6, 1e-3  # beyond, numbers along an axis get an exponent


def logarithmic(axis: Any) -> None:
    """Space an axis by ratios, with round numbers written out."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < FEW_DECADES * low else (1,), numticks=9))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _written(value)))
    axis.set_minor_locator(NullLocator())


def variance(axis: Any, total: float | None) -> float:
    """Label an axis for variances and return their unit: a hundredth of the total where that is known."""
    from matplotlib.ticker import ScalarFormatter

    class Percent(ScalarFormatter):
        def __call__(self, value: float, place: int | None = None) -> str:
            return f"{super().__call__(value, place)}{NBSP}%"

    if total is None:
        axis.set_label_text("variance captured")
        return 1.0
    axis.set_label_text("share of the variance")
    axis.set_major_formatter(Percent(useOffset=False))
    return total / 100


def legend(ax: Any, where: str = "best") -> None:
    """Explain what is drawn; a dollar sign in a label is a dollar sign."""
    labels = ax.get_legend_handles_labels()[1]
    if labels:
        for text in ax.legend(loc=where, fontsize=8, ncols=1 + len(labels) // 8).get_texts():
            text.set_parse_math(False)


def name_rows(ax: Any, names: Sequence[str], rows: float = 0) -> None:
    """Write names along rows, the first on top, with room for so many at least."""
    ax.set_yticks(range(len(names)), [shortened(name) for name in names], fontsize=8)
    for text in ax.get_yticklabels():
        text.set_parse_math(False)  # a dollar sign in a name is a dollar sign
    ax.set_ylim(max(len(names), rows) - 0.4, -0.6)


def shortened(name: str, most: int = LONGEST_NAME) -> str:
    """Cut off what is too long for an axis."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _written(value: float) -> str:
    return f"{value:,.10g}" if SMALL <= value < LARGE else f"{value:.0e}".replace("e+0", "e").replace("e-0", "e−")
