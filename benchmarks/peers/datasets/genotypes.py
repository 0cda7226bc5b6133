"""Simulated genotypes, 2,240 individuals: every seventh variant up to 5,000, and all 37,493."""

from functools import partial

import numpy as np
from benchmarks.machine import SHARED
from benchmarks.peers.objective import Matrix


def load(step: int, variants: int) -> Matrix:
    genotypes = np.load(SHARED / "simulated" / "chr1_like.npz")["G"]
    data: Matrix = genotypes[:, ::step][:, :variants].astype(np.float32)
    return data


CASES = {
    "genotypes 2240 x 5000": (83, partial(load, 7, 5000)),
    "genotypes 2240 x 37493": (624, partial(load, 1, 37493)),
}
