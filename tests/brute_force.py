"""The judge of small cases: every support is tried."""

from itertools import combinations

import numpy as np


def brute_force(matrix, sparsity):
    """Return the optimum and one support that reaches it."""
    best, winner = -np.inf, None
    for support in combinations(range(matrix.shape[0]), sparsity):
        value = np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-1]
        if value > best * (1 + 1e-12) or winner is None:
            best, winner = float(value), np.array(support)
    return best, winner


def constrained_brute_force(matrix, sparsity, constraints):
    """Return the optimum over what constraints allow."""
    return best_allowed(matrix, sparsity, constraints)[0]


def best_allowed(matrix, sparsity, constraints):
    """Return the optimum over what constraints allow and the features of loadings that reach it.

    Every union of groups is tried, and of every sign pattern the best.

    Non-negative loadings that are best are positive on some features and the leading eigenvector there, as a local
    maximum of a quadratic form on a sphere is a global one: so all sets of features are tried whose leading eigenvector
    has one sign.
    """
    size, best, winner = matrix.shape[0], -np.inf, None
    for support in _allowed(size, sparsity, constraints):
        inner = (
            (part for count in range(1, len(support) + 1) for part in combinations(support, count))
            if constraints.nonnegative
            else [support]
        )
        for part in inner:
            values, vectors = np.linalg.eigh(matrix[np.ix_(part, part)])
            leading = vectors[:, -1] * np.sign(vectors[:, -1].sum() or 1.0)
            if values[-1] > best and (not constraints.nonnegative or (leading >= -1e-12).all()):
                best, winner = float(values[-1]), np.array(part)
    return best, winner


def _allowed(size, sparsity, constraints):
    """List the largest supports: with what is included, without what is excluded, groups whole."""
    for count in range(1, sparsity + 1):
        for support in combinations(range(size), count):
            chosen = set(support)
            whole = all(chosen.isdisjoint(group) or chosen.issuperset(group) for group in constraints.groups)
            if chosen.issuperset(constraints.include) and chosen.isdisjoint(constraints.exclude) and whole:
                yield support
