"""Five kinds of data, made with fixed seeds, so that anybody can run this again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.peers.datasets import text

import certpca


@dataclass(frozen=True)
class Data:
    """Samples x features, the sparsity asked for, and the sparsities of a path."""

    title: str
    make: Callable[[], Any]
    sparsity: int
    path: tuple[int, ...]


def _small() -> Any:
    """Draw 180 samples with the correlations of the pit props."""
    matrix = certpca.pitprops().submatrix(np.arange(13))
    values, vectors = np.linalg.eigh(matrix)
    return np.random.default_rng(0).standard_normal((180, 13)) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T


def _dense(rows: int, size: int) -> Any:
    """Hide a few sparse factors in noise: neither easy nor hopeless."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((12, size)) * (rng.random((12, size)) < 0.05)
    return rng.standard_normal((rows, 12)) @ factors + rng.standard_normal((rows, size))


DATA = {
    "small": Data("small, 180 x 13", _small, 5, (2, 3, 5, 8)),
    "dense": Data("dense, 2,000 x 5,000", lambda: _dense(2000, 5000), 50, (10, 20, 50, 100, 200, 500)),
    "wide": Data("wide, 100 x 50,000", lambda: _dense(100, 50_000), 50, (10, 20, 50, 100, 200, 500)),
    "text": Data("text, 20,000 x 50,000, sparse", lambda: text.load().values, 50, (10, 20, 50, 100, 200, 500)),
    "genotypes": Data(
        "genotypes, 2,240 x 37,493",
        lambda: certpca.balding_nichols(2240, 37_493).data,
        624,
        (50, 100, 200, 400, 624, 1200),
    ),
}
