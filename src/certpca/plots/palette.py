"""The colours of all drawings, on light and on dark ground, after Okabe & Ito: colour-blind readers tell them apart."""

from typing import Any

# Names are those of the variables in the style sheet of a page.
PALETTE = {
    "ink": ("#1c2024", "#e8eaed"),
    "soft": ("#59626c", "#a3adb8"),
    "line": ("#d9dee4", "#38404a"),
    "found": ("#0072b2", "#56b4e9"),
    "proved": ("#c24e00", "#f0a35c"),
    "green": ("#009e73", "#22b88b"),
    "orange": ("#e69f00", "#e69f00"),
    "pink": ("#cc79a7", "#d98fb8"),
    "sky": ("#56b4e9", "#9ad3f5"),
}
LIGHT = {name: light for name, (light, _) in PALETTE.items()}
DARK = {name: dark for name, (_, dark) in PALETTE.items()}

INK, SOFT, LINE = LIGHT["ink"], LIGHT["soft"], LIGHT["line"]
FOUND, PROVED, CRITERION = LIGHT["found"], LIGHT["proved"], LIGHT["green"]
GROUPS = tuple(LIGHT[name] for name in ("found", "orange", "green", "pink", "sky", "proved"))
SHAPES = "os^D"  # groups differ in shape too

STYLE: dict[Any, Any] = {  # settings of matplotlib
    "axes.axisbelow": True,
    "axes.edgecolor": SOFT,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9.0,
    "grid.color": LINE,
    "legend.edgecolor": "none",
    "legend.framealpha": 0.85,
    "lines.linewidth": 1.6,
    "svg.fonttype": "path",
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
}


def variables(colours: dict[str, str]) -> str:
    """Write colours as variables of a style sheet."""
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())
