"""The records of a tree as plain lists and numbers, and back."""

from collections.abc import Callable

import numpy as np

from certpca.bounds.pair_bound.points import PairPoint
from certpca.bounds.support_tree.nodes import Operation


def plain(root: list[Operation], number_of: Callable[[PairPoint], int]) -> tuple[list[list[Operation]], dict[int, int]]:
    """Return all records in plain lists and numbers, the root's first, and the number of each by its identity."""
    plain: list[list[Operation]] = []
    waiting = [root]  # numbers are given in the order of this list
    for record in waiting:
        entries: list[Operation] = []
        for operation in record:
            entry = dict(operation)
            if "point" in entry:
                entry["point"] = number_of(entry["point"])
            for name in ("in", "out"):
                if "split" in entry:
                    waiting.append(entry[name])
                    entry[name] = len(waiting) - 1
                elif name in entry:
                    entry[name] = [int(feature) for feature in entry[name]]
            entries.append(entry)
        plain.append(entries)
    return plain, {id(record): number for number, record in enumerate(waiting)}


def restored(plain: list[list[Operation]], points: list[PairPoint]) -> list[list[Operation]]:
    """Return the records of which `plain` made plain ones."""
    records: list[list[Operation]] = [[] for _ in plain]
    for record, entries in zip(records, plain, strict=True):
        for entry in entries:
            operation = dict(entry)
            if "point" in operation:
                operation["point"] = points[operation["point"]]
            for name in ("in", "out"):
                if "split" in operation:
                    operation[name] = records[operation[name]]
                elif name in operation:
                    operation[name] = np.array(operation[name], dtype=np.intp)
            record.append(operation)
    return records
