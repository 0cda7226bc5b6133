"""What the plots of several components draw."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from certpca.plots.groups import grouped
from certpca.runtime.errors import InvalidDataError, InvalidProblemError
from certpca.runtime.rounded import percent_down
from certpca.search.krylov import leading_eigenpairs
from certpca.verbs.validation import checked_choice, checked_position

if TYPE_CHECKING:
    from certpca.verbs.components import Components

Drawn = tuple[tuple[Any, ...], dict[str, Any]]


def drawn_on(found: "Components", kind: str, ax: Any, settings: dict[str, Any]) -> Any:
    """Draw one of the plots of components."""
    from certpca.plots import draw

    checked_choice(kind, "kind", KINDS)
    values, more = KINDS[kind](found, settings)
    return draw(kind, *values, ax=ax, **more, **settings)


def _whole(found: "Components", settings: dict[str, Any]) -> Drawn:
    del settings
    return (found,), {}


def _scree(found: "Components", settings: dict[str, Any]) -> Drawn:
    """Dense components beside these; twice as many, so that it is seen what follows."""
    del settings
    near = found.operator.near_one()
    count = min(2 * len(found.components) + 2, found.size)
    values = np.ldexp(leading_eigenpairs(near, count, accuracy=1e-4).values, near.power - found.operator.power)
    most = max(found.sparsities)
    label = f"sparse, {most:,} features" if min(found.sparsities) == most else f"sparse, up to {most:,} features"
    sparse = {label: found.explained_variance, f"{label}, adjusted": found.adjusted_variance}
    return (values,), {"sparse": sparse, "total": found.trace}


def _scores(found: "Components", settings: dict[str, Any]) -> Drawn:
    first, second = _two(found, settings)
    table = found.scores()
    groups, names = _labelled(table, settings)
    return (table[:, first], table[:, second], groups, names, tuple(_axes(found)[j] for j in (first, second))), {}


def _pairs(found: "Components", settings: dict[str, Any]) -> Drawn:
    table = found.scores()
    return (table, *_labelled(table, settings), _axes(found)), {}


def _biplot(found: "Components", settings: dict[str, Any]) -> Drawn:
    chosen = list(_two(found, settings))
    table = found.scores()
    groups, names = _labelled(table, settings)
    used = np.flatnonzero(found.loadings[:, chosen].any(axis=1))
    arrows = found.correlations(used) if settings.get("scaling") == "correlation" else found.loadings[used]
    features = found.operator.names_of(used) or [str(feature) for feature in used]
    axes = tuple(_axes(found)[j] for j in chosen)
    return (table[:, chosen], arrows[:, chosen], features, groups, names, axes), {}


KINDS: dict[str, Callable[["Components", dict[str, Any]], Drawn]] = {
    "components": _whole,
    "heatmap": _whole,
    "scree": _scree,
    "scores": _scores,
    "pairs": _pairs,
    "biplot": _biplot,
}


def _two(found: "Components", settings: dict[str, Any]) -> tuple[int, int]:
    """Return the positions of two components, by default the first two."""
    first, second = (
        checked_position(j, len(found.components))
        for j in settings.pop("pair", (0, 1)[: len(found.components)] * 2)[:2]
    )
    if first == second:
        msg = f"this plot needs two different components, got pair={(first, second)} of {len(found.components)}"
        raise InvalidProblemError(msg)
    return first, second


def _labelled(table: Any, settings: dict[str, Any]) -> tuple[list[int], list[str]]:
    labels: Sequence[Any] | None = settings.pop("labels", None)
    if labels is not None and len(labels) != len(table):
        msg = f"there must be one label for each of the {len(table)} samples, got {len(labels)}"
        raise InvalidDataError(msg)
    return grouped(None if labels is None else [str(label) for label in labels], len(table))


def _axes(found: "Components") -> list[str]:
    return [
        f"component {j} ({percent_down(ratio, 1)})" for j, ratio in enumerate(found.explained_variance_ratio, start=1)
    ]
