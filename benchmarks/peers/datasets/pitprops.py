"""180 rows made to have exactly the correlation matrix of the pit props."""

import numpy as np
from benchmarks.peers.objective import Matrix

import certpca


def load() -> Matrix:
    correlation = certpca.pitprops().submatrix(np.arange(13))
    noise = np.random.default_rng(0).standard_normal((180, 13))
    rows, _ = np.linalg.qr(noise - noise.mean(axis=0))
    return np.asarray(rows @ np.linalg.cholesky(correlation).T, dtype=np.float32)


CASES = {"pit props 180 x 13": (7, load)}
