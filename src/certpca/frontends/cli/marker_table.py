"""Markers as a table in the terminal."""

from typing import TextIO

import numpy as np

from certpca.frontends.cli.terminal import console_for
from certpca.frontends.plain_text import one_line
from certpca.genotypes.markers import MarkerPanel

MOST = 40  # markers that are printed; a file has all
SIGNS = {1: "yes", 0: "no", -1: "-"}


def print_markers(panel: MarkerPanel, stream: TextIO) -> None:
    """Print the markers with the largest loadings, in the order of the file."""
    from rich.table import Table
    from rich.text import Text

    console = console_for(stream)
    size = np.abs(panel.loadings).max(axis=1)
    shown = np.sort(np.argsort(-size, kind="stable")[:MOST])
    table = Table(box=None, pad_edge=False)
    for name in ("chr", "position", "marker", "counted/other", "frequency"):
        table.add_column(name, justify="right" if name in ("position", "frequency") else "left")
    for number in range(1, panel.n_components + 1):
        table.add_column(f"loading {number}", justify="right")
        table.add_column("in every optimum")
    for row in shown:
        cells = [panel.chromosomes[row], f"{int(panel.positions[row]):,}", panel.names[row]]
        cells += [f"{panel.counted[row]}/{panel.other[row]}", f"{panel.means[row] / 2:.3f}"]
        for loading, proved in zip(panel.loadings[row], panel.proved[row], strict=True):
            cells += [f"{loading:+.4f}" if loading else "", SIGNS[int(proved)] if loading else ""]
        table.add_row(*(Text(one_line(cell)) for cell in cells))
    console.print(table)
    if shown.size < panel.size:
        console.print(Text(f"and {panel.size - shown.size:,} with smaller loadings"))
    proved = int((panel.proved == 1).sum())
    if (panel.proved >= 0).any():
        console.print(Text(f"{proved:,} of {int((panel.loadings != 0).sum()):,} loadings proved in every best choice"))
