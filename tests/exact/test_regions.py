"""Levels in regions of directions: what any evidence proves is true, and evidence that is malformed is refused."""

import hashlib
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certpca.exact import certpca_exact as exact
from certpca.exact.certpca_exact import Refused
from tests.golden.make import FOLDER

HOW = {"kind": "data", "center": False, "scale": False, "divisor": 1.0, "missing": None, "fill_missing": False}
TREES = [
    {"leaf": 0},
    {"cuts": [1, -1], "children": [{"leaf": 0}]},
    {"cuts": [1, 2, -1], "children": [{"leaf": 0}, {"leaf": 1}]},
    {
        "cuts": [1, 2, -1],
        "children": [{"leaf": 0}, {"cuts": [2, 3, -1], "children": [{"leaf": 1}, {"leaf": 2}]}],
    },
    {"cuts": [1, 2, -1], "children": [{"leaf": 0}, {"cuts": [3, -2, -3], "children": [{"leaf": 1}, {"leaf": 2}]}]},
]
Arrays = dict[str, Any]


def best_disjoint(matrix: np.ndarray, sparsities: list[int]) -> float:
    """Return the optimum of two components by trying all supports."""
    every = range(len(matrix))
    first, second = (
        [(set(s), np.linalg.eigvalsh(matrix[np.ix_(s, s)])[-1]) for s in itertools.combinations(every, k)]
        for k in sparsities
    )
    return float(max(x + y for s, x in first for t, y in second if not s & t))


def arrays_of(rng: np.random.Generator, tree: dict[str, Any], n: int, d: int, size: float) -> Arrays:
    """Return evidence at random, of the size of the matrix."""
    priced = np.flatnonzero(rng.random(n) < 0.6)
    arrays: Arrays = {
        "rays": rng.standard_normal((3, d)),
        "directions": np.eye(d),
        "priced": priced,
        "prices": size * rng.random(len(priced)) * rng.integers(0, 2, len(priced)),
    }
    for leaf, pairs in exact.regions(tree, 3):
        half = rng.standard_normal((d, int(rng.integers(1, d + 1))))
        level, r = size * rng.choice([0.02, 0.3]) * half @ half.T, size * rng.choice([0.0, 0.2])
        inverse = np.linalg.pinv(level + (r + 1e-9 * size) * np.eye(d))
        values, vectors = np.linalg.eigh(inverse)
        arrays |= {
            f"leaf{leaf}_matrix": level[np.tril_indices(d)] + 1e-9 * size * np.eye(d)[np.tril_indices(d)],
            f"leaf{leaf}_level": np.float64(r),
            f"leaf{leaf}_frame": np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T,
            f"leaf{leaf}_weights": rng.random(d + 1),
            f"leaf{leaf}_sigmas": size * rng.random(len(pairs)) * rng.choice([0.1, 1.0]),
        }
    return arrays


def at_least(values: np.ndarray, arrays: Arrays, tree: dict[str, Any], sparsities: list[int]) -> float:
    """Return a number that no Y_i can bring the formula below: Y_i ⪰ 0, Y_i ⪰ B_i in single directions."""
    d, n = values.shape
    prices = np.zeros(n)
    prices[arrays["priced"]] = arrays["prices"]
    worst = dict.fromkeys(sparsities, 0.0)
    for leaf, pairs in exact.regions(tree, 3):
        level = np.zeros((d, d))
        level[np.tril_indices(d)] = arrays[f"leaf{leaf}_matrix"]
        level = level + level.T - np.diag(np.diag(level)) + arrays[f"leaf{leaf}_level"] * np.eye(d)
        rest = np.zeros((d, d))
        for pair, sigma in zip(pairs, arrays[f"leaf{leaf}_sigmas"], strict=True):
            r, s = (np.sign(c) * arrays["rays"][abs(c) - 1] for c in pair)
            rest -= sigma * (np.outer(r, s) + np.outer(s, r)) / 2
        for k, column in itertools.product(worst, values.T):
            x = column / np.linalg.norm(column)
            for _ in range(8):
                gains = np.array([a * (a @ x) - level @ x - w * x for a, w in zip(values.T, prices, strict=True)]) @ x
                worst[k] = max(worst[k], float(x @ (k * level + rest) @ x + gains.clip(0).sum()))
                chosen = values[:, gains > 0]
                matrix = chosen @ chosen.T + (k - chosen.shape[1]) * level + rest
                x = np.linalg.eigh(matrix)[1][:, -1]
    return float(prices.sum() + sum(worst[k] for k in sparsities))


def as_evidence(arrays: Arrays) -> exact.Evidence:
    kinds = {name: np.asarray(array) for name, array in arrays.items()}
    return exact.Evidence(
        {x: exact.Array("i" if y.dtype.kind == "i" else "f", y.shape, y.ravel().tolist()) for x, y in kinds.items()}
    )


@given(st.integers(0, 2**32 - 1), st.sampled_from(TREES))
@settings(max_examples=60, deadline=None)
def test_any_evidence_gives_a_bound_of_every_pair_of_components(seed: int, tree: dict[str, Any]) -> None:
    rng, n, d = np.random.default_rng(seed), 6, 4
    values = np.outer(rng.standard_normal(d), rng.standard_normal(n)) * rng.integers(0, 3) + rng.standard_normal((d, n))
    matrix, sparsities = values.T @ values, [2, int(rng.integers(1, 4))]
    problem = exact.Problem(values.tolist(), HOW)
    arrays = arrays_of(rng, tree, n, d, float(np.diag(matrix).max()))
    claim = exact.SetClaim("priced-regions", "disjoint", sparsities, [], [], tree, as_evidence(arrays), 0)
    bound, best = exact.priced_regions(problem, claim) / 4.0**problem.h, best_disjoint(matrix, sparsities)
    best = max(best, at_least(values, arrays, tree, sparsities))
    assert bound >= best * (1 - 1e-12)
    claim.goal = int(bound * (1 - 2**-20) * 4.0**problem.h)  # missed by so little that other directions are tried
    turned = exact.priced_regions(problem, claim) / 4.0**problem.h
    assert best * (1 - 1e-12) <= turned <= bound


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.01, 0.3, 3.0]))
@settings(max_examples=60, deadline=None)
def test_covers_with_prices_cover(seed: int, price: float) -> None:
    """Z zᵀ ⪰ aaᵀ − R − wI, by a direction and by a multiple of a; nothing where R + wI does so by itself."""
    rng, d = np.random.default_rng(seed), 4
    problem = exact.Problem(rng.standard_normal((d, d)).tolist(), HOW)
    half = rng.standard_normal((d, d))
    r = half @ half.T + 0.01 * np.eye(d)
    values, vectors = np.linalg.eigh(r)
    frame = (vectors / np.sqrt(values)).T
    level = exact.Level(np.eye(d).tolist(), r[np.tril_indices(d)].tolist(), 0.0, frame.tolist(), [1.0] * 5, problem.h)
    for column in problem.factor:
        a = np.array([exact.real(x, problem.h) for x in column])
        multiple = level._multiple(column, [exact.real(x, exact.BITS) for x in column], problem.fixed(price))
        for found in (level.cover(column, price), multiple):
            z = np.array([exact.real(x, problem.h) for x in found])
            assert np.linalg.eigvalsh(np.outer(z, z) - np.outer(a, a) + r + price * np.eye(d))[0] >= -1e-12
            if a @ np.linalg.solve(r + price * np.eye(d), a) < 1 - 1e-9:
                assert not z.any()


def altered(folder: Path, change: Callable[[dict[str, Any], Arrays], object]) -> Path:
    """Write the golden certificate with something changed, its digest right."""
    fields = json.loads((FOLDER / "priced-regions.json").read_text())
    with np.load(FOLDER / fields["evidence"]["file"]) as stored:
        arrays = dict(stored)
    change(fields, arrays)
    file = folder / fields["evidence"]["file"]
    np.savez(file, **arrays)
    fields["evidence"]["digest"] = hashlib.blake2b(file.read_bytes(), digest_size=20).hexdigest()
    (folder / "altered.json").write_text(json.dumps(fields))
    return folder / "altered.json"


def put(name: str, how: Callable[[Any], Any]) -> Callable[[dict[str, Any], Arrays], object]:
    """Return a change of one array."""
    return lambda _, arrays: arrays.update({name: how(arrays[name])})


def drop(name: str) -> Callable[[dict[str, Any], Arrays], object]:
    return lambda _, arrays: arrays.pop(name)


def say(name: str, value: Any) -> Callable[[dict[str, Any], Arrays], object]:
    return lambda fields, _: fields.update({name: value})


CHANGES = [
    (put("leaf1_sigmas", lambda x: -x), "a weight is negative"),
    (put("leaf7_sigmas", lambda x: x[:1]), "leaf7_sigmas has a wrong type or shape"),
    (drop("leaf7_sigmas"), "lacks leaf7_sigmas"),
    (drop("leaf9_matrix"), "lacks leaf9_matrix"),
    (drop("directions"), "lacks directions"),
    (drop("priced"), "lacks priced"),
    (drop("prices"), "lacks prices"),
    (put("prices", lambda x: -x), "a price is negative"),
    (put("priced", lambda x: x[::-1].copy()), "not increasing"),
    (put("leaf1_level", lambda x: -x), "leaf1_level is negative"),
    (put("leaf1_matrix", lambda x: -100 * abs(x)), "not semidefinite"),
    (put("rays", lambda x: 1e-4 * x), "a ray is out of range"),
    (lambda _, arrays: arrays.update(lifted=np.zeros((12, 1))), "'lifted' that is not known"),
    (say("tree", {"leaf": 99}), "lacks leaf99"),
    (say("tree", {"cuts": [1, 2, -1], "children": [{"leaf": 1}, {"leaf": 1}]}), "a leaf is named twice"),
    (say("tree", {"cuts": [1, 2], "children": [{"leaf": 1}]}), "does not cover"),
    (say("tree", {"cuts": [1, 0, -1], "children": [{"leaf": 1}, {"leaf": 4}]}), "a cut is no ray"),
    (say("tree", None), "not an object"),
    (say("problem", "orthogonal"), "says nothing about the problem"),
    (say("upper_bound", 18.7415879), "what is proved"),
    (put("leaf5_sigmas", lambda x: 0 * x), "what is proved"),
]


@pytest.mark.parametrize(("change", "why"), CHANGES, ids=[f"{i} {why}" for i, (_, why) in enumerate(CHANGES)])
def test_altered_regions_are_refused(
    change: Callable[[dict[str, Any], Arrays], object], why: str, tmp_path: Path
) -> None:
    with pytest.raises(Refused, match=why):
        exact.check_file(altered(tmp_path, change), exact.read_table(FOLDER / "wide.npy"))


def test_unaltered_regions_are_confirmed(tmp_path: Path) -> None:
    (verdict,) = exact.check_file(altered(tmp_path, lambda *_: None), exact.read_table(FOLDER / "wide.npy"))
    assert verdict.kind == "priced-regions"
