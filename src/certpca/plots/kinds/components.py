"""Several components side by side: a column for each, and in it a bar for each loading."""

from typing import Any

import numpy as np

from certpca.plots.axes import name_rows
from certpca.plots.palette import FOUND, PROVED, SOFT
from certpca.results.component_set import ComponentSet
from certpca.runtime.arrays import Indices, Vector

MOST = 40  # features that fit, with their names
ROW_HEIGHT = 0.17  # inches
REACH = 0.45  # of the largest loading, in widths of a column


def draw(ax: Any, components: ComponentSet, *, most: int = MOST) -> None:
    """Draw components as columns and features as rows, at most so many, those with the largest loadings."""
    loadings = components.loadings
    rows = drawn_features(loadings, most)
    names = names_of(components)
    for place in range(len(rows)):
        ax.axhline(place, color=SOFT, linewidth=0.3, alpha=0.4, zorder=0)
    part = loadings[rows]
    scale = REACH / max(float(np.abs(part).max(initial=0.0)), np.finfo(float).tiny)
    for middle in range(1, part.shape[1] + 1):
        ax.axvline(middle, color=SOFT, linewidth=0.8)
    for colour, name, sign in ((FOUND, "found", 1), (PROVED, "proved", -1)):
        at, column = np.nonzero(sign * part > 0)
        if at.size:
            label = f"{'positive' if sign > 0 else 'negative'} loading"
            ax.barh(at, scale * part[at, column], left=column + 1, height=0.75, color=colour, label=label, gid=name)
    name_rows(ax, [names.get(int(row), str(row)) for row in rows])
    ax.set_xticks(range(1, loadings.shape[1] + 1))
    ax.set_xlim(0.5, loadings.shape[1] + 0.5)
    used = int(loadings.any(axis=1).sum())
    ax.set_xlabel("component" if len(rows) == used else f"component ({len(rows)} of {used:,} features used)")
    ax.grid(visible=False)
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, fontsize=8)  # above, where no bar is


def height(components: ComponentSet, *, most: int = MOST) -> float:
    """Return the inches that the names of features need."""
    return 0.9 + ROW_HEIGHT * len(drawn_features(components.loadings, most))


def drawn_features(loadings: Vector, most: int) -> Indices:
    """Return the features to draw, those of the first component first, each by falling magnitude."""
    strength = np.abs(loadings)
    used = np.flatnonzero(strength.any(axis=1))
    kept = used[np.argsort(-strength[used].max(axis=1), kind="stable")[:most]]
    home = strength[kept].argmax(axis=1)
    return np.asarray(kept[np.lexsort((-strength[kept, home], home))])


def names_of(components: ComponentSet) -> dict[int, str]:
    """Return the names of the features that components use, where they have names."""
    names: dict[int, str] = {}
    for component in components.components:
        if component.names is not None:
            for index, name in zip(component.support.tolist(), component.names, strict=True):
                names[index] = name
    return names
