"""Levels as the arrays that a certificate holds."""

from typing import Any

import numpy as np

from certpca.bounds.l0_level.model import Levels
from certpca.bounds.l0_level.search import Found
from certpca.runtime.arrays import Vector

LEAST = 1e-9  # of the level's largest eigenvalue, that the smallest is kept above, so that a checker can see it,
ROUNDED = 1e-5  # and of r: single precision leaves directions not quite orthonormal


def level_evidence(directions: Vector, levels: Levels) -> dict[str, Any]:
    """Pack W (single precision) and R − rI on it, r, and the frame and weights that suggest dual matrices.

    r is lowered below every eigenvalue of R where all directions have levels of their own: it stands for none then.
    """
    matrix = levels.matrix()
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    level = levels.level
    values = np.maximum(values, max(LEAST * values[-1], ROUNDED * level))
    if directions.shape[0] == directions.shape[1]:
        level = 0.5 * float(values[0])
    rest = (vectors * (values - level)) @ vectors.T
    width = levels.width
    return {
        "directions": directions.astype(np.float32),
        "matrix": rest[np.tril_indices(width)],
        "level": np.float64(level),
        "frame": np.asarray(levels.frame, dtype=np.float64),
        "weights": np.append(levels.weights, levels.rest_weight),
    }


def set_evidence(found: Found) -> dict[str, Any]:
    """Pack levels of several components, with prices of features or with what is lifted out of a sum."""
    levels = found.levels
    evidence = level_evidence(found.directions, levels)
    if levels.priced.size:
        order = np.argsort(levels.priced)
        return evidence | {"priced": levels.priced[order], "prices": levels.prices[order]}
    return evidence | {"lifted": found.lifted.astype(np.float32)}
