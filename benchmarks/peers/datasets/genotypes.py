"""Simulated genotypes, 2,240 individuals: every seventh variant up to 5,000, and all 37,493."""

from functools import partial

import numpy as np
from benchmarks.machine import SHARED
from benchmarks.peers.problem import Case, Problem, centred


def load(step: int, variants: int) -> Problem:
    genotypes = np.load(SHARED / "simulated" / "chr1_like.npz")["G"]
    return centred(genotypes[:, ::step][:, :variants].astype(np.float32))


CASES = [
    Case("genotypes 2240 x 5000", 5000, 83, partial(load, 7, 5000)),
    Case("genotypes 2240 x 37493", 37493, 624, partial(load, 1, 37493)),
]
