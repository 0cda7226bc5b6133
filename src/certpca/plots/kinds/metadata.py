"""How strongly components go with what else is known of the samples."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from certpca.plots.cells import ROW_HEIGHT, draw_cells
from certpca.runtime.arrays import Vector


def draw(
    ax: Any, strengths: Vector, names: Sequence[str], *, clear: Any = None, components: Sequence[str] | None = None
) -> None:
    """Draw correlations, columns of metadata x components; those that are `clear` get a star. NaN is not known."""
    values = np.asarray(strengths, dtype=np.float64)
    stars = np.zeros(values.shape, dtype=bool) if clear is None else np.asarray(clear)
    texts = [
        [
            "–" if np.isnan(value) else f"{value:.2f}{'*' if star else ''}".replace("-", "−")
            for value, star in zip(*line, strict=True)
        ]
        for line in zip(values, stars, strict=True)
    ]
    columns = components or [str(j + 1) for j in range(values.shape[1])]
    draw_cells(
        ax,
        values,
        names,
        columns,
        largest=1.0,
        texts=texts,
        labels=("rises with it, or groups differ", "falls with it"),
    )
    ax.set_xlabel("component")


def height(strengths: Vector, *_: Any, **__: Any) -> float:
    """Return the inches that the names need."""
    return 0.9 + 1.4 * ROW_HEIGHT * len(strengths)
