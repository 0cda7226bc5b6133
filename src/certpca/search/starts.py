"""Where searches begin: images whose largest entries choose a support.

At small sparsity on real data the support of the leading eigenvector can miss half of the attainable variance, because
small groups of strongly correlated features (linkage blocks, gene modules) are not what the leading eigenvector is
about. So there are many starts: leading eigenvectors, random mixtures of them, which cost no product with the data,
columns of features of large variance, and of features drawn at random.
"""

from collections.abc import Iterator

import numpy as np

from certpca.operators.base import Operator
from certpca.runtime.arrays import Vector, to_numpy, top_k
from certpca.search.krylov import Eigenpairs

EVERY_COLUMN = 512  # up to this size every single feature is a start
PANEL = 64


def starting_images(
    operator: Operator, pairs: Eigenpairs, diagonal: Vector, starts: int, rng: np.random.Generator
) -> Iterator[Vector]:
    """Lay out panels of starting images, one in each column."""
    size, vectors = operator.size, pairs.vectors
    weights = np.sqrt(np.maximum(pairs.values, 0.0))
    mixing = rng.standard_normal((vectors.shape[1], max(1, starts // 3)))
    leading = np.concatenate([vectors, vectors @ (weights[:, None] * mixing)], axis=1)
    columns = max(1, starts - leading.shape[1])
    yield leading
    if size <= EVERY_COLUMN:
        chosen = np.arange(size)
    else:
        large = top_k(diagonal, columns // 2)
        others = np.setdiff1d(np.flatnonzero(diagonal > 0), large)
        share = diagonal[others] / diagonal[others].sum() if others.size else None
        count = min(others.size, columns - large.size)
        drawn = rng.choice(others, size=count, replace=False, p=share) if count else others
        chosen = np.concatenate([large, drawn])
    scale = np.sqrt(np.maximum(diagonal, 1e-12 * diagonal.max()))  # rounding can make variances negative
    for first in range(0, chosen.size, PANEL):
        part = chosen[first : first + PANEL]
        yield to_numpy(operator.columns(part)) / scale[part].astype(operator.dtype)
