"""Cells as the arrays and lists that a certificate holds."""

from typing import Any

import numpy as np

from certpca.bounds.count_tree.cells import CountTree
from certpca.bounds.l0_level.evidence import level_evidence
from certpca.results.evidence_forms import within


def tree_evidence(tree: CountTree) -> dict[str, Any]:
    """Pack the groups, and the levels of every cell that was not split."""
    width = tree.cells[0].levels[0].width
    evidence: dict[str, Any] = {"directions": tree.basis[:, :width].astype(np.float32)}
    for number, features in enumerate(tree.groups):
        evidence |= within(f"group{number}", {"features": features})
    for number in tree.leaves():
        cell = tree.cells[number]
        packed = [level_evidence(tree.basis[:, :width], levels) for levels in cell.levels]
        names = ("matrix", "level", "frame", "weights") if packed else ()  # a cell without supports needs none
        own = {name: np.array([each[name] for each in packed]) for name in names}
        evidence |= within(f"cell{number}", {"groups": np.array(cell.groups, dtype=np.int64), **own})
    return evidence


def tree_of(tree: CountTree, number: int = 0) -> Any:
    """Describe how cells were split, in plain lists and numbers."""
    split = tree.splits.get(number)
    if split is None:
        return {"cell": number}
    return {"group": split.group, "most": split.most, "children": [tree_of(tree, part) for part in split.parts]}
