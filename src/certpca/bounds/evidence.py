"""Dual points and covers of regions as the arrays and lists that a certificate holds."""

from typing import Any

import numpy as np

from certpca.bounds.direction_tree.regions import Cover
from certpca.bounds.l0_dual.problem import DualPoint
from certpca.results.certificate import Certificate
from certpca.results.evidence_forms import within
from certpca.runtime.arrays import Vector


def point_evidence(point: DualPoint, *, roots: bool = True) -> dict[str, Any]:
    """Pack P (lower triangle, single precision), ρ and θ, which only saves the checker time."""
    density = point.density()
    triangle = density[np.tril_indices(density.shape[0])].astype(np.float32)
    return {"density": triangle, "level": np.float64(point.level), **({"theta": point.theta} if roots else {})}


def unpacked(packed: Vector, depth: int) -> Vector:
    """Return the symmetric matrix of a packed lower triangle."""
    matrix = np.zeros((depth, depth))
    matrix[np.tril_indices(depth)] = packed
    return np.asarray(matrix + np.tril(matrix, -1).T)


def cover_evidence(found: Cover, *, roots: bool = False) -> dict[str, Any]:
    """Pack the rays and the dual point of every leaf."""
    evidence: dict[str, Any] = {"rays": np.array(found.rays)}
    for number, leaf in enumerate(found.leaves()):
        region = found.regions[leaf]
        own = point_evidence(region.point, roots=roots)
        evidence |= within(f"leaf{number}", {**own, "weights": np.asarray(region.weights, dtype=np.float64)})
    return evidence


def tree_of(found: Cover) -> Any:
    """Describe how the regions were split, in plain lists and numbers."""
    numbers = {leaf: number for number, leaf in enumerate(found.leaves())}

    def describe(region: int) -> Any:
        if region in numbers:
            return {"leaf": numbers[region]}
        split = found.splits[region]
        return {"cuts": list(split.cuts), "children": [describe(part) for part in split.parts]}

    return describe(0)


def level_of(certificate: Certificate) -> float:
    """Return ρ of a certificate with one dual point."""
    return float(certificate.evidence["level"])
