"""Correlations of the returns of 423 stocks, as data with that XᵀX."""

import numpy as np
from benchmarks.machine import SHARED
from benchmarks.peers.problem import Case, Problem, from_matrix


def load() -> Problem:
    return from_matrix(np.load(SHARED / "snp500" / "A.npz")["A"])


CASES = [Case("stocks 423 x 423", 423, 10, load)]
