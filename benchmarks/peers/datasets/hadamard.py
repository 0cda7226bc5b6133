"""The paper's synthetic data, rotated Hadamard matrices: 128 x 4,096 as there, and a small copy.

A quarter of the features carries the largest loadings, alike but for noise; that many are asked for.
"""

from functools import partial

from benchmarks.peers.problem import Case, Problem, uncentred

import certpca


def load(log_samples: int, log_features: int) -> Problem:
    return uncentred(certpca.rotated_hadamard(log_samples, log_features).data)


CASES = [
    Case("Hadamard 33 x 256", 256, 64, partial(load, 5, 8), quick=True),
    Case("Hadamard 129 x 4096", 4096, 1024, partial(load, 7, 12)),
]
