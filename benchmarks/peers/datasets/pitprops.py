"""180 rows made to have exactly the correlation matrix of the pit props."""

import numpy as np
from benchmarks.peers.problem import Case, Problem, centred

from certpca.datasets.examples import pitprops_matrix


def load() -> Problem:
    noise = np.random.default_rng(0).standard_normal((180, 13))
    rows, _ = np.linalg.qr(noise - noise.mean(axis=0))
    return centred(np.asarray(rows @ np.linalg.cholesky(pitprops_matrix()).T))


# The optimum is the published one of exhaustive enumeration.
CASES = [Case("pit props 180 x 13", 13, 7, load, quick=True, optimum=3.9961896449)]
