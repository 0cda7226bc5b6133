"""Pages and pictures under docs/: one look for all of them."""

import re
from pathlib import Path
from typing import Any, NamedTuple

from certpca.runtime.atomic_write import write_text_whole

DOCS = Path(__file__).parents[1] / "docs"
# Safe for colour-blind readers (Okabe and Ito).
BLUE, ORANGE, GREEN, PINK, AMBER, SKY, BLACK = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000",
)  # fmt: skip


class Look(NamedTuple):
    """How a method is drawn, everywhere."""

    colour: str
    marker: str


LOOKS = {
    "auto": Look(BLUE, "o"),
    "spca-svd": Look(GREEN, "x"),
    "spca-sdp": Look(PINK, "s"),
    "dec": Look(AMBER, "^"),
    "cwpca": Look(SKY, "v"),
    "spca-lowrank": Look(BLACK, "D"),
}
BOUND = ORANGE  # of everything that is proved


def pyplot() -> Any:
    """Return matplotlib's pyplot, set up for files."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "certpca"  # the same picture is the same file
    from matplotlib import pyplot as plt

    return plt


def no_ticks() -> Any:
    """Return what leaves an axis without ticks."""
    from matplotlib.ticker import NullLocator

    return NullLocator()


def save(figure: Any, name: str) -> str:
    """Write a figure as PNG and SVG, and return what a page says to show it."""
    (DOCS / "figures").mkdir(exist_ok=True, parents=True)
    figure.savefig(DOCS / "figures" / f"{name}.png", dpi=150, metadata={"Software": None})
    figure.savefig(DOCS / "figures" / f"{name}.svg", metadata={"Date": None})
    pyplot().close(figure)
    return f"figures/{name}.png"


def table(head: list[str], rows: list[list[Any]], *, left: int = 1) -> list[str]:
    """Return the lines of a Markdown table whose first columns are text and whose others are numbers."""
    ruler = ["---"] * left + ["--:"] * (len(head) - left)
    return [f"| {' | '.join(map(str, row))} |" for row in (head, ruler, *rows)]


def write(name: str, lines: list[str]) -> None:
    """Write docs/NAME.md."""
    write_text_whole(DOCS / f"{name}.md", "\n".join(lines) + "\n")


def write_section(page: str, order: list[str], section: str, lines: list[str]) -> None:
    """Put one section into docs/PAGE.md, which several artefacts write together, and leave its others alone."""
    file = DOCS / f"{page}.md"
    text = file.read_text() if file.exists() else ""
    sections = dict(re.findall(r"<!-- section (\S+) -->\n(.*?)\n<!-- /section -->", text, flags=re.DOTALL))
    sections[section] = "\n".join(lines)
    whole = [f"<!-- section {name} -->\n{sections[name]}\n<!-- /section -->" for name in order if name in sections]
    DOCS.mkdir(parents=True, exist_ok=True)
    write_text_whole(file, "\n\n".join(whole) + "\n")
