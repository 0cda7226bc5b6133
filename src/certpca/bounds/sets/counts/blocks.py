"""Blocks of features for which components compete: a component is drawn to them, and they are too many for it."""

import numpy as np

from certpca.runtime.arrays import Indices, Vector

DRAWN = 0.6  # share of the least pull on a feature of a component that another one is counted from
MOST = 16  # blocks: fewer than a certificate may have
OWN = 0.5  # share of the features of a component from which on it is of a block


def contested_blocks(matrix: Vector, loadings: Vector) -> list[Indices]:
    """Return blocks with no feature in common, those of the components that capture most first.

    The pull of a component on a feature is the covariance of its score with it. A component most of whose features are
    in the block competes for it, and makes no other; features of the rest that these pull more are left to them.
    """
    pull, held = np.abs(matrix @ loadings), loadings != 0
    order = np.argsort(-(loadings * (matrix @ loadings)).sum(axis=0), kind="stable")
    taken = np.zeros(matrix.shape[0], dtype=bool)
    blocks: list[Indices] = []
    for component in order:
        own, mine = held[:, component], pull[:, component]
        block = (mine >= DRAWN * mine[own].min()) & ~taken
        others = (held & block[:, None]).sum(axis=0) < OWN * held.sum(axis=0)
        block &= ~(held & others & (pull > mine[:, None])).any(axis=1)
        if len(blocks) < MOST and (own & taken).sum() < OWN * own.sum() and block.sum() > own.sum():
            blocks.append(np.flatnonzero(block))
            taken |= block
    return blocks
