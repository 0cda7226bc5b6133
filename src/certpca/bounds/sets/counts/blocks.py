"""Blocks of features for which components compete: a component is drawn to them, and they are too many for it."""

import numpy as np

from certpca.runtime.arrays import Indices, Vector

DRAWN = 0.6  # share of the least pull on a feature of a component that another one is counted from
OWN = 0.5  # share of the features of a component that must not be in a block already


def contested_blocks(matrix: Vector, loadings: Vector) -> list[Indices]:
    """Return blocks with no feature in common, those of the components that capture most first.

    The pull of a component on a feature is the covariance of its score with it. A feature of a component that pulls it
    more is left to that one. Components of the same block, such as the next best of it, make no other.
    """
    pull, held = np.abs(matrix @ loadings), loadings != 0
    order = np.argsort(-(loadings * (matrix @ loadings)).sum(axis=0), kind="stable")
    taken = np.zeros(matrix.shape[0], dtype=bool)
    blocks = []
    for component in order:
        own, mine = held[:, component], pull[:, component]
        elsewhere = (held & (pull > mine[:, None])).any(axis=1)
        block = (mine >= DRAWN * mine[own].min()) & ~taken & ~elsewhere
        if (own & ~taken).sum() >= OWN * own.sum() and block.sum() > own.sum():
            blocks.append(np.flatnonzero(block))
            taken |= block
    return blocks
