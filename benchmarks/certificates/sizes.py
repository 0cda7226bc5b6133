"""What certificates of each data set took: the table to look up how long a proof will take, from the measured gaps."""

import math
from collections import defaultdict
from typing import Any


def table(rows: list[dict[str, Any]]) -> str:
    """Return one line for each data set, the smallest first: the ranges over its sparsities."""
    by_data: dict[tuple[int, int, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if "gap" in row:
            by_data[row["features"], row["samples"] or 0, row["data"]].append(row)
    lines = [
        "| samples × features | data | k | proved gap | seconds | verify s | GiB |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for (features, samples, data), found in sorted(by_data.items()):
        size = f"{features:,} (matrix)" if not samples else f"{samples:,} × {features:,}"
        values = [
            _range([row["sparsity"] for row in found], ",d"),
            _range([math.ceil(1e4 * row["gap"]) / 100 for row in found], ".2f", " %"),
            _range([row["seconds"] for row in found], ".1f"),
            _range([row["verify_seconds"] for row in found], ".1f"),
            _range([row["peak_gib"] for row in found], ".1f"),
        ]
        lines.append(f"| {size} | {data} | {' | '.join(values)} |")
    return "\n".join(lines)


def _range(values: list[Any], form: str, unit: str = "") -> str:
    low, high = (f"{value:{form}}" for value in (min(values), max(values)))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"
