"""What plots do to axes."""

from typing import Any

WIDE = 20.0  # ratio of the largest to the smallest from which an axis is logarithmic
FEW_DECADES = 500.0  # ratio up to which there is room for more than powers of ten
NBSP = "\u00a0"
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


def _written(value: float) -> str:
    return f"{value:,.10g}" if SMALL <= value < LARGE else f"{value:.0e}".replace("e+0", "e").replace("e-0", "e−")
