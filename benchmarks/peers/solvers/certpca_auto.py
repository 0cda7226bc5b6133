"""certpca's default, `auto`."""

from benchmarks.peers.objective import Matrix
from benchmarks.peers.timing import Answer, timed

import certpca


def solve(data: Matrix, sparsity: int, _patience: float) -> Answer:
    return timed(lambda: certpca.solve(data, sparsity).component)
