"""Where searches begin: images whose largest entries choose a support.

At small sparsity on real data the support of the leading eigenvector can miss half of the attainable variance, because
small groups of strongly correlated features (linkage blocks, gene modules) are not what the leading eigenvector is
about. So there are many starts: leading eigenvectors, random mixtures of them, which cost no product with the data,
columns of features of large variance, of features drawn at random, and of features that have many near-copies.

Near-copies are found without comparing pairs: under random projections of the samples they have the same signs, so that
features with the same signs, 15 at a time, are likely to be alike, or each other's opposites. What the leading
eigenvectors explain is left out before, as whole populations would look alike by it.
"""

from collections.abc import Iterator

import numpy as np

from certpca.operators.base import Operator
from certpca.runtime.arrays import Indices, Vector, to_numpy, top_k
from certpca.search.krylov import Eigenpairs

EVERY_COLUMN = 512  # up to this size every single feature is a start
PANEL = 64
TABLES, BITS = 4, 16  # how often features are grouped, and by how many signs


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
    for first in range(0, chosen.size, PANEL):
        yield scaled_columns(operator, chosen[first : first + PANEL], diagonal)


def near_copies(
    operator: Operator, pairs: Eigenpairs, diagonal: Vector, sparsity: int, count: int, rng: np.random.Generator
) -> Indices:
    """Return features of different groups of features that are alike, the groups of largest variance first."""
    if operator.rows is None:
        shadows = to_numpy(operator.matmat(operator.adopt(rng.standard_normal((operator.size, TABLES * BITS)))))
    else:
        noise = operator.adopt(rng.standard_normal((operator.rows, TABLES * BITS)))
        shadows = to_numpy(operator.transposed_times(noise))
    vectors = pairs.vectors.astype(shadows.dtype)
    signs = (shadows - vectors @ (vectors.T @ shadows) > 0).reshape(operator.size, TABLES, BITS)
    groups = (signs[:, :, 1:] ^ signs[:, :, :1]) @ (1 << np.arange(BITS - 1))  # opposites have the same number
    score = np.zeros(operator.size)
    for table in groups.T:
        members = np.bincount(table, minlength=1 << (BITS - 1))
        variances = np.bincount(table, weights=diagonal, minlength=1 << (BITS - 1))
        score += (variances * np.minimum(1.0, sparsity / np.maximum(members, 1)))[table]
    chosen: list[int] = []
    taken: set[tuple[int, int]] = set()
    for feature in np.argsort(-score, kind="stable"):
        own = set(enumerate(groups[feature].tolist()))
        if not own & taken:
            chosen.append(int(feature))
            if len(chosen) == count:
                break
        taken |= own
    return np.array(chosen, dtype=np.intp)


def scaled_columns(operator: Operator, chosen: Indices, diagonal: Vector) -> Vector:
    """Return columns of the matrix, divided by standard deviations."""
    scale = np.sqrt(np.maximum(diagonal[chosen], 1e-12 * diagonal.max()))  # rounding can make variances negative
    return np.asarray(to_numpy(operator.columns(chosen)) / scale.astype(operator.dtype))
