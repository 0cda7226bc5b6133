"""Small random problems, and every certificate that searches prove on the way to an answer for them."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from tests.golden.valid import Any_, as_if, closed_form, kept

import certpca
from certpca import Budget
from certpca.runtime.errors import CertpcaError

STEPS = 30  # of a search: bad bounds are cases too
TOGETHER = ("disjoint", "orthogonal", "uncorrelated", "shared")


def drawn_data(rng: np.random.Generator) -> tuple[np.ndarray, dict[str, Any]]:
    """Return a table with few features, of one of several kinds, and how it is to become a matrix."""
    rows, size = int(rng.integers(3, 16)), int(rng.integers(3, 11))
    data = rng.standard_normal((rows, 2)) @ rng.standard_normal((2, size)) + rng.standard_normal((rows, size))
    counts = rng.integers(0, 3, (rows, size)).astype(np.int8)
    half = rng.standard_normal((size, size))
    holes, gaps, hole = data.copy(), counts.copy(), (int(rng.integers(rows)), int(rng.integers(size)))
    holes[hole], gaps[hole] = np.nan, -9
    kinds: list[tuple[np.ndarray, dict[str, Any]]] = [
        (counts, {}),
        (np.round(half + half.T, 3), {"covariance": True}),
        (np.cov(data.T), {"covariance": True}),
        (np.round(data, 2), {"scale": True}),
        (data * 10.0 ** rng.uniform(-4, 4, size), {"center": bool(rng.integers(2))}),
        (holes, {"missing": "mean"}),
        (gaps, {"missing": "mean"}),
        (np.asfortranarray(data.astype(np.float32)), {}),
        (data * 10.0 ** rng.uniform(-30, 30), {}),
    ]
    return kinds[int(rng.integers(len(kinds)))]


def _searches(values: np.ndarray, options: dict[str, Any], rng: np.random.Generator) -> list[Callable[[], Any]]:
    """Return calls that prove something, among them some that treat these data like large ones."""
    size = values.shape[1]
    k = int(rng.integers(1, size + 1)) if rng.random() < 0.2 else int(rng.integers(2, size))
    gap = float(rng.choice([1e-6, 1e-3, 0.02]))
    limits: dict[str, Any] = {"trees": bool(rng.integers(2))}
    if rng.random() < 0.3:
        limits["largest_factored"] = int(rng.integers(2, 8))

    def large(**more: Any) -> None:
        with as_if(**limits):
            certpca.certify(values, k, target_gap=gap, budget=Budget(steps=STEPS), **options, **more)

    def several() -> None:
        together, count = str(rng.choice(TOGETHER)), int(rng.integers(2, 4))
        each = max(1, int(rng.integers(1, 1 + size // count)))
        with as_if(**limits):
            budget = Budget(steps=STEPS)
            certpca.decompose(
                values, count, each, together=together, certify=True, target_gap=gap, budget=budget, **options
            )

    def closed() -> None:
        prepared = certpca.from_matrix(values) if options.get("covariance") else certpca.from_data(values, **options)
        closed_form(str(rng.choice(["trace", "row-sums", "largest-eigenvalue"])), prepared, k)

    return [
        lambda: certpca.certify(values, k, target_gap=gap, budget=Budget(steps=STEPS), **options),
        large,
        lambda: large(branching="directions"),
        lambda: large(branching=False),
        lambda: large(depth=int(rng.integers(1, 4))),
        several,
        several,
        lambda: certpca.solve(values, k, "sdp-threshold", budget=Budget(steps=STEPS), **options),
        closed,
    ]


def drawn_certificates(rng: np.random.Generator) -> tuple[np.ndarray, list[Any_]]:
    """Return a table and certificates about it, of at most one search and at most one of each kind."""
    values, options = drawn_data(rng)
    searches = _searches(values, options, rng)
    with kept() as found, suppress(CertpcaError):  # some data are refused, such as constant columns for correlations
        searches[int(rng.integers(len(searches)))]()
    return values, list({one.kind: one for one in found}.values())
