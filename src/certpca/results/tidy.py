"""Results as tables with a row for each loading, or for each component: what pandas, R and spreadsheets take."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from certpca.runtime.arrays import Vector

if TYPE_CHECKING:
    import pandas

    from certpca.results.solution import Solution


def loadings_frame(numbered: Iterable[tuple[int, "Solution"]], number: str) -> "pandas.DataFrame":
    """Return a row for each nonzero loading, those of a component together and the largest first.

    Parameters
    ----------
    numbered
        Components, each with what it is called by: its number, or its sparsity.
    number
        What that is, the name of the first column.
    """
    import pandas

    tables = []
    for called, solution in numbered:
        order = np.argsort(-np.abs(solution.loadings), kind="stable")
        names = np.asarray(solution.names or [""] * solution.support.size, dtype=object)
        loadings = solution.loadings[order]
        columns = {
            number: np.full(order.size, called),
            "feature": names[order],
            "position": solution.support[order] + 1,  # from 1, as --columns counts
            "loading": loadings,
            "sign": np.where(loadings < 0, "-", "+").astype(object),
        }
        tables.append(pandas.DataFrame(columns))
    return pandas.concat(tables, ignore_index=True)


def summary_frame(rows: Iterable[dict[str, Any]]) -> "pandas.DataFrame":
    """Return a row for each component; what is not finite, such as a bound that nobody proved, is left empty."""
    import pandas

    return pandas.DataFrame(list(rows)).replace([math.inf, -math.inf], math.nan)


def summary_row(solution: "Solution") -> dict[str, Any]:
    """Return what is known of a component, as a row."""
    return {
        "sparsity": solution.sparsity,
        "nonzero": int(solution.support.size),
        "objective": solution.objective,
        "variance_ratio": solution.explained_variance_ratio,
        "upper_bound": solution.upper_bound,
        "gap": solution.gap,
        "status": solution.status.name,
    }


def scores_frame(scores: Vector, sample_names: Iterable[str] | None = None) -> "pandas.DataFrame":
    """Return a row for each sample: its name, or its number from 1, and a column for each component."""
    import pandas

    samples = list(sample_names) if sample_names is not None else list(range(1, len(scores) + 1))
    columns = {f"component{j + 1}": column for j, column in enumerate(scores.T)}
    return pandas.DataFrame({"sample": samples, **columns})
