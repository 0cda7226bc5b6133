"""Some directions apart: what any evidence proves is true, and it is what the first checker proves."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certpca.checker.data import prepare
from certpca.checker.set_rules import rules
from certpca.exact import certpca_exact as exact
from certpca.exact.certpca_exact import Refused
from certpca.results.certificate import Source
from tests.attacks.test_level_sets import drafted
from tests.exact.test_regions import HOW, as_evidence

Arrays = dict[str, Any]
SIZE, DEPTH = 7, 5


def best_on_one_support(matrix: np.ndarray, sparsity: int, count: int) -> float:
    """Return the optimum by trying all supports."""
    every = itertools.combinations(range(len(matrix)), sparsity)
    return max(float(np.linalg.eigvalsh(matrix[np.ix_(s, s)])[::-1][:count].sum()) for s in every)


def arrays_of(rng: np.random.Generator, values: np.ndarray) -> Arrays:
    """Return evidence at random, of the size of the matrix."""
    width = int(rng.integers(1, DEPTH + 1))
    squares = (values**2).sum(axis=0)
    priced = np.flatnonzero(rng.random(SIZE) < 0.8)
    loose = rng.choice([0.0, 1e-6, 0.02])
    frame = np.linalg.qr(rng.standard_normal((DEPTH, DEPTH)))[0] + loose * rng.standard_normal((DEPTH, DEPTH)) / DEPTH
    return {
        "frame": frame,
        "weights": rng.exponential(size=width) + 1e-3,
        "roots": rng.exponential(size=SIZE) * rng.choice([0.0, 0.1, 1.0]),
        "priced": priced,
        "prices": (squares * rng.random(SIZE) * rng.choice([0.1, 0.7, 1.2]))[priced],
        "lifted": 0.5 * rng.standard_normal((width, int(rng.integers(0, width + 1)))),
    }


def claimed(arrays: Arrays, sparsity: int, count: int) -> exact.SetClaim:
    return exact.SetClaim("shared-split", "shared", [sparsity] * count, [], [], None, as_evidence(arrays), 0)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_any_evidence_gives_a_bound_and_the_first_checker_proves_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spike = np.outer(rng.standard_normal(DEPTH), rng.standard_normal(SIZE)) * rng.integers(0, 3)
    values = spike + rng.standard_normal((DEPTH, SIZE))
    sparsity, count = int(rng.integers(1, SIZE)), int(rng.integers(1, 4))
    arrays, problem = arrays_of(rng, values), exact.Problem(values.tolist(), HOW)
    bound = exact.shared_split(problem, claimed(arrays, sparsity, count)) / 4.0**problem.h
    assert bound >= best_on_one_support(values.T @ values, sparsity, count) * (1 - 1e-12)
    prepared = prepare(Source("data", values))
    first = rules()["shared-split"].prove(
        prepared, drafted("shared-split", SIZE, (sparsity,) * count, arrays, problem="shared"), 0.0
    )
    assert bound == pytest.approx(first.bound * prepared.unit, rel=1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-9, 0.3, 0.999999, 1.0, 1.000001]))
@settings(max_examples=60, deadline=None)
def test_covers_with_prices_cover(seed: int, share: float) -> None:
    """Z zᵀ ⪰ bbᵀ − wI; nothing where the price is all there is."""
    rng = np.random.default_rng(seed)
    b = rng.standard_normal(4)
    column = [exact.fix(x, exact.BITS) for x in b]
    price = exact.fix(share * float(b @ b), 2 * exact.BITS)
    shares = rng.random(4).tolist() if rng.random() < 0.8 else [0.0] * 4
    z = np.array([exact.real(x, exact.BITS) for x in exact.priced_cover(column, price, shares)])
    assert np.linalg.eigvalsh(np.outer(z, z) - np.outer(b, b) + share * float(b @ b) * np.eye(4))[0] >= -1e-12
    if share > 1:
        assert not z.any()
    if share < 1:
        assert z.any()


CHANGES: list[tuple[Arrays, str]] = [
    ({"frame": np.eye(4)}, "wrong type or shape"),
    ({"frame": 3.0 * np.eye(5)}, "too long"),
    ({"frame": 1.2 * np.eye(5)}, "not close to orthonormal"),
    ({"frame": np.full((5, 5), np.nan)}, "too large"),
    ({"weights": np.array([1.0, 0.0])}, "not positive"),
    ({"weights": np.zeros(0)}, "not positive"),
    ({"weights": np.ones(6)}, "not positive, or too many"),
    ({"roots": np.full(7, -1.0)}, "negative"),
    ({"roots": np.ones(6)}, "wrong type or shape"),
    ({"prices": np.full(7, -1.0)}, "a price is negative"),
    ({"lifted": np.zeros((3, 1))}, "wrong type or shape"),
    ({"lifted": np.zeros((2, 3))}, "more directions are lifted"),
]


@pytest.mark.parametrize(("change", "why"), CHANGES, ids=[f"{i} {why}" for i, (_, why) in enumerate(CHANGES)])
def test_evidence_that_is_none_is_refused(change: Arrays, why: str, rng: np.random.Generator) -> None:
    values = rng.standard_normal((DEPTH, SIZE))
    arrays = {
        "frame": np.eye(5),
        "weights": np.ones(2),
        "roots": np.ones(7),
        "priced": np.arange(7),
        "prices": np.ones(7),
        "lifted": np.zeros((2, 0)),
    }
    problem = exact.Problem(values.tolist(), HOW)
    assert exact.shared_split(problem, claimed(arrays, 3, 2)) > 0
    with pytest.raises(Refused, match=why):
        exact.shared_split(problem, claimed({**arrays, **change}, 3, 2))
