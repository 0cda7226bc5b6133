"""Gene expression of 57 bladder samples (Dyrskjøt 2004): far fewer rows than columns."""

import numpy as np
from benchmarks.machine import SHARED
from benchmarks.peers.objective import Matrix


def load() -> Matrix:
    data: Matrix = np.load(SHARED / "expr_bladderbatch" / "X.npz")["X"]
    return data


CASES = {"expression 57 x 22283": (10, load)}
