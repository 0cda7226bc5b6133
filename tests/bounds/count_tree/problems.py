"""Small data on which blocks of features compete, and makers that leave them to trees of counts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.bounds.makers import pair_rows, pair_rows_at_a_glance, pair_rows_later, search_tree
from certpca.runtime.limits import with_limits

SPARSITY = 6


def blocks(samples: int = 12, count: int = 3, size: int = 20) -> np.ndarray:
    """Return blocks of features that share a score each: levels mix the scores, which no support can."""
    rng = np.random.default_rng(0)
    data = 0.5 * rng.standard_normal((samples, count * size))
    for block in range(count):
        data[:, block * size : block * size + size] += rng.standard_normal((samples, 1))
    return data


@contextmanager
def counts_only() -> Iterator[None]:
    """Treat small data like large ones, whose supports no other maker searches."""
    with pytest.MonkeyPatch.context() as patch, with_limits(few_features=16, always_optimal=0, searched_supports=0):
        for maker in (pair_rows, pair_rows_at_a_glance, pair_rows_later, search_tree):
            patch.setattr(maker, "applies", lambda _: False)
        yield


def certified(target_gap: float, data: np.ndarray | None = None, **more: Any) -> certpca.Certificate:
    """Certify with levels, and a tree of counts where these are not enough."""
    with counts_only():
        return certpca.certify(blocks() if data is None else data, SPARSITY, target_gap=target_gap, **more)
