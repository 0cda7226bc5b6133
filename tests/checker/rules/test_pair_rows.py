"""The rule of `pair-rows`: whatever is stored, no support captures more than it says."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
from certpca.checker import check, examine, largest_squares
from certpca.checker.data import prepare
from certpca.checker.rules import pair_rows
from certpca.results.certificate import Certificate
from certpca.results.errors import CertificateError
from tests.brute_force import brute_force


def made(data: np.ndarray, k: int, steps: int | None = None) -> Certificate:
    """Certify where few pairs of features matter, from a first dual point that leaves too many for a tree."""
    budget = None if steps is None else certpca.Budget(steps=steps)
    return certpca.certify(data, k, target_gap=1e-6, budget=budget)


def planted(rng: np.random.Generator, rows: int, size: int) -> np.ndarray:
    data = rng.standard_normal((rows, size))
    data[:, :5] += rng.standard_normal((rows, 1))
    return data


def test_optima_are_proved_and_features_decided(rng):
    data = planted(rng, 60, 700)
    certificate = made(data, 5)
    proof = check(certificate, certpca.from_data(data).source())
    assert proof.gap < 1e-6
    assert proof.outside.size > 600
    assert not set(proof.outside.tolist()) & set(certificate.support.tolist())


def test_the_first_bound_alone(rng):
    data = planted(rng, 60, 700)
    found = replace(made(data, 5), tree=None)
    kept = {name: array for name, array in found.evidence.items() if name.startswith("rows0_") and name != "rows0_left"}
    proof = examine(replace(found, evidence=kept), certpca.from_data(data).source())
    assert found.objective < proof.upper_bound < 1.2 * found.objective


def test_the_bound_does_not_depend_on_the_blocks(rng, monkeypatch):
    data = planted(rng, 60, 150)
    evidence, source = dict[str, Any](), certpca.from_data(data).source()
    while "rows0_partners" not in evidence:
        evidence = _drawn(rng, np.cov(data.T), "rows0", near=True)
    certificate = replace(_poor(_certificate(data, 5), data), evidence=evidence)
    whole = examine(certificate, source)
    for height, width, kept in ((64, 48, 1 << 22), (50, 700, 250), (16, 3, 1)):
        monkeypatch.setattr(largest_squares, "HEIGHT", height)
        monkeypatch.setattr(largest_squares, "WIDTH", width)
        monkeypatch.setattr(largest_squares, "KEPT", kept)
        cut = examine(certificate, source)
        assert cut.upper_bound == pytest.approx(whole.upper_bound, rel=1e-13)
        np.testing.assert_array_equal(cut.outside, whole.outside)


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 5), choice=st.data())
@settings(max_examples=120, deadline=None)
def test_any_stored_number_gives_a_valid_bound(seed, k, choice):
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((rng.integers(3, 12), 8)) * 10.0 ** rng.uniform(-2, 2, 8)
    certificate = _certificate(data, k)
    near = choice.draw(st.booleans())  # U like the matrix, or anything
    matrix = np.cov(data.T)
    evidence = _drawn(rng, matrix, "rows0", near)
    proof = examine(replace(certificate, evidence=evidence), certpca.from_data(data).source())
    optimum, support = brute_force(matrix, k)
    assert proof.upper_bound >= optimum * (1 - 1e-13)
    assert not set(proof.outside.tolist()) & set(support)
    poor = replace(_poor(certificate, data), evidence=evidence)
    assert examine(poor, certpca.from_data(data).source()).upper_bound >= optimum * (1 - 1e-13)
    # Leaving out features costs no support, whatever is said to be left.
    left = np.sort(rng.choice(8, int(rng.integers(k, 9)), replace=False))
    shift = {"shift": float(np.diagonal(matrix).min())}
    fixed = {"fix": "squares", **shift, "out": [int(rng.integers(left.size))], "in": []}
    tree = choice.draw(st.sampled_from([[[{"leaf": "eigenvalue"}]], [[fixed, {"leaf": "cheapest", **shift}]]]))
    if left.size - 1 <= k:
        tree = [[{"leaf": "eigenvalue"}]]
    listed = {**evidence, "rows0_left": left, "scale": np.float64(1.0)}
    proof = examine(replace(certificate, evidence=listed, tree=tree), certpca.from_data(data).source())
    assert proof.upper_bound >= optimum * (1 - 1e-13)
    assert not set(proof.outside.tolist()) & set(support)
    assert set(proof.inside.tolist()) <= set(support.tolist())
    if k < left.size:
        again = _drawn(rng, matrix[np.ix_(left, left)], "rows1", near)
        twice = {**evidence, "rows0_left": left, **again}
        proof = examine(replace(certificate, evidence=twice), certpca.from_data(data).source())
        assert proof.upper_bound >= optimum * (1 - 1e-13)
        assert not set(proof.outside.tolist()) & set(support)
        poor = replace(_poor(certificate, data), evidence=twice)
        assert examine(poor, certpca.from_data(data).source()).upper_bound >= optimum * (1 - 1e-13)


def _drawn(rng: np.random.Generator, matrix: np.ndarray, part: str, near: bool) -> dict:
    count = int(rng.integers(1, len(matrix) + 1))
    own = np.sort(rng.choice(len(matrix), count, replace=False))
    spread = rng.uniform(0.5, 1.5, (count, count)) if near else rng.standard_normal((count, count))
    u = matrix[np.ix_(own, own)] * spread
    size = 10.0 ** rng.uniform(-3, 3) * np.abs(np.diagonal(matrix)).max()
    beside = _beside(rng, matrix, own, size, near)
    return {
        **{f"{part}_{name}": value for name, value in beside.items()},
        f"{part}_scale": np.float64(1.0),
        f"{part}_features": own,
        f"{part}_pairs": (np.triu(u) + np.tril(rng.standard_normal((count, count)) * size / 10, -1)).astype(np.float32),
        f"{part}_alpha": rng.uniform(0.01, 1, count) * size,
        f"{part}_shift": np.float64(rng.standard_normal() * size),
        f"{part}_rest": np.float64(rng.uniform(0.01, 1) * size),
    }


def _beside(rng: np.random.Generator, matrix: np.ndarray, own: np.ndarray, size: float, near: bool) -> dict:
    """Draw partners, or none."""
    others = np.setdiff1d(np.arange(len(matrix)), own)
    count = int(rng.integers(0, others.size + 1))
    if count == 0:
        return {}
    partners = np.sort(rng.choice(others, count, replace=False))
    spread = rng.uniform(-0.5, 1.5, (own.size, count)) if near else rng.standard_normal((own.size, count)) * 10
    return {
        "partners": partners,
        "across": (matrix[np.ix_(own, partners)] * spread).astype(np.float32),
        "room": np.float64(rng.uniform(1e-3, 1) * size),
    }


def _poor(certificate: Certificate, data: np.ndarray) -> Certificate:
    """Put a poor component in: bounds are never said to lie below what it captures, which would hide wrong ones."""
    variances = data.var(axis=0, ddof=1)
    worst = int(variances.argmin())
    objective = float(variances[worst]) * (1 - 1e-9)
    return replace(certificate, support=np.array([worst]), loadings=np.ones(1), objective=objective)


def _one_pair(data: np.ndarray, across: float, room: float, small: float = 1e-9) -> Certificate:
    """Bound two features by numbers of the first alone: U is zero, so nothing but λ is left."""
    matrix = np.cov(data.T)
    evidence = {
        "scale": np.float64(1.0),
        "features": np.array([0]),
        "pairs": np.zeros((1, 1), dtype=np.float32),
        "alpha": np.array([small]),
        "shift": np.float64(matrix[1, 1]),
        "rest": np.float64(small),
        "partners": np.array([1]),
        "across": np.array([[across]], dtype=np.float32),
        "room": np.float64(room),
    }
    evidence = {f"rows0_{key}": array for key, array in evidence.items()}
    return replace(_poor(_certificate(data, 2), data), evidence=evidence)


def _two_and_one(rng: np.random.Generator, together: float) -> np.ndarray:
    """Return two features that go together, and a third of the second one's variance that goes with none."""
    columns = np.linalg.qr(rng.standard_normal((30, 3)) - rng.standard_normal((30, 3)).mean(axis=0))[0]
    columns = np.linalg.qr(columns - columns.mean(axis=0))[0]
    second = together * columns[:, 0] + np.sqrt(1 - together**2) * columns[:, 1]
    return np.column_stack([1.3 * columns[:, 0], second, columns[:, 2]])


@given(seed=st.integers(0, 2**32 - 1), together=st.floats(-0.99, 0.99), power=st.floats(-3, 3))
@settings(max_examples=40, deadline=None)
def test_what_lies_beside_the_rows_counts_in_full(seed, together, power):
    """With the best room the bound is the optimum itself; with another it must not be less."""
    data = _two_and_one(np.random.default_rng(seed), together)
    matrix = np.cov(data.T)
    optimum = brute_force(matrix, 2)[0]
    best = optimum - matrix[1, 1]
    tight = examine(_one_pair(data, 0.0, best), certpca.from_data(data).source()).upper_bound
    assert optimum * (1 - 1e-13) <= tight <= optimum * (1 + 1e-5)
    for factor in (0.9, 1.1, 10.0**power):
        other = examine(_one_pair(data, 0.0, best * factor), certpca.from_data(data).source()).upper_bound
        assert other >= optimum * (1 - 1e-13)


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 5))
@settings(max_examples=40, deadline=None)
def test_entries_that_are_worked_out_twice_count_in_so_many_rows(seed, k):
    """The allowance says: what the second look misses, a bound with a feature forced in misses k times at most."""
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((9, 7))
    prepared, evidence = prepare(certpca.from_data(data).source()), _drawn(rng, np.cov(data.T), "rows0", near=True)
    rows = pair_rows._Rows(prepared, {name.removeprefix("rows0_"): array for name, array in evidence.items()}, k)
    before, beside, missed = rows.forced(), pair_rows._Rows._beside_own, float(rows.sums.max()) / 10
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_rows._Rows, "_beside_own", lambda *given: beside(*given) - missed)
        lost = before - rows.forced()
    assert lost.min() >= 0
    assert lost.max() <= (k - 1) * missed * (1 + 1e-12)


def _certificate(data: np.ndarray, k: int) -> Certificate:
    certificate = certpca.certify(data, k, budget=certpca.Budget(steps=1), branching=False)
    return replace(certificate, kind="pair-rows", evidence={}, tree=None, outside=0, inside=0)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("alpha", np.array([0.0] * 5), "not positive"),
        ("alpha", np.array([1.0, -1.0, 1.0, 1.0, 1.0]), "not positive"),
        ("alpha", np.array([1e-200] * 5), "not positive"),
        ("alpha", np.ones(4), "wrong shape"),
        ("rest", np.float64(0.0), "not positive"),
        ("rest", np.float64(np.nan), "not finite"),
        ("scale", np.float64(-1.0), "not positive"),
        ("pairs", np.ones((5, 4), dtype=np.float32), "wrong shape"),
        ("features", np.array([0, 1, 2, 3, 8]), "out of range"),
        ("features", np.array([0, 1, 1, 2, 3]), "not sorted"),
        ("pairs", np.full((5, 5), 3e38, dtype=np.float32), "overflow|proves nothing"),
        ("partners", np.array([4, 6]), "among its features"),
        ("partners", np.array([6, 5]), "not sorted"),
        ("partners", np.array([6, 8]), "out of range"),
        ("across", np.ones((5, 3), dtype=np.float32), "wrong shape"),
        ("across", np.full((5, 2), np.nan, dtype=np.float32), "not finite"),
        ("room", np.float64(0.0), "not positive"),
        ("room", np.float64(-1.0), "not positive"),
        ("room", np.float64(np.inf), "not finite"),
    ],
)
def test_nonsense_is_refused(rng, name, value, why):
    data, beside = rng.standard_normal((20, 8)), name in ("partners", "across", "room")
    evidence = {
        "scale": np.float64(1.0),
        "features": np.arange(5),
        "pairs": np.zeros((5, 5), dtype=np.float32),
        "alpha": np.ones(5),
        "shift": np.float64(0.0),
        "rest": np.float64(1.0),
        **({"partners": np.array([5, 7]), "across": np.zeros((5, 2)), "room": np.float64(1.0)} if beside else {}),
        name: value,
    }
    certificate = replace(_certificate(data, 3), evidence={f"rows0_{key}": array for key, array in evidence.items()})
    if why.startswith("overflow"):
        source = certpca.from_data(data * 1e-150).source()
        certificate = replace(certificate, fingerprint=_certificate(data * 1e-150, 3).fingerprint)
    else:
        source = certpca.from_data(data).source()
    with pytest.raises(CertificateError, match=why):
        examine(certificate, source)


@pytest.mark.parametrize("power", [-400, 400])
def test_any_units(power, rng):
    data = planted(rng, 60, 700)
    plain, moved = made(data, 5), made(np.ldexp(data, power), 5)
    assert plain.kind == moved.kind == "pair-rows"
    assert np.ldexp(moved.upper_bound, -2 * power) == pytest.approx(plain.upper_bound, rel=1e-6)
    assert certpca.verify(moved, np.ldexp(data, power)).gap < 1e-5
