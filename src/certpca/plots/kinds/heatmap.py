"""Loadings of several components as coloured cells, features x components."""

from typing import Any

import numpy as np

from certpca.plots.cells import ROW_HEIGHT, draw_cells
from certpca.plots.kinds.components import drawn_features, names_of
from certpca.results.component_set import ComponentSet

MOST = 60  # features that fit, with their names


def draw(ax: Any, components: ComponentSet, *, most: int = MOST) -> None:
    """Draw features as rows and components as columns, at most so many features, those with the largest loadings."""
    loadings = components.loadings
    rows = drawn_features(loadings, most)
    part, names = loadings[rows], names_of(components)
    largest = max(float(np.abs(part).max(initial=0.0)), np.finfo(float).tiny)
    labels = (f"positive, full at {largest:.2f}", f"negative, full at −{largest:.2f}")
    columns = [str(j + 1) for j in range(loadings.shape[1])]
    draw_cells(ax, part, [names.get(int(row), str(row)) for row in rows], columns, largest=largest, labels=labels)
    used = int(loadings.any(axis=1).sum())
    ax.set_xlabel("component" if len(rows) == used else f"component ({len(rows)} of {used:,} features used)")


def height(components: ComponentSet, *, most: int = MOST) -> float:
    """Return the inches that the names of features need."""
    return 0.9 + ROW_HEIGHT * len(drawn_features(components.loadings, most))
