"""Dual matrices under attack: each stored number is altered, and exact arithmetic judges each allowance."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import certpca
from certpca import Certificate, CertificateError, load_certificate, save_certificate, verify
from certpca.bounds.sdp import solve
from certpca.checker import examine, fingerprint
from certpca.checker.data import Prepared, prepare
from certpca.checker.numbers import gamma, largest_eigenvalue
from certpca.checker.rules import sdp_dual
from certpca.results.certificate import Source
from tests.attacks.exact_arithmetic import exact
from tests.brute_force import brute_force

SIZE, SPARSITY = 9, 3


# --- three certificates ---------------------------------------------------------------------------------------------


@cache
def spiked() -> np.ndarray:
    """Few samples with a group of features that move together: a rank-one solution exists."""
    rng = np.random.default_rng(4)
    values = rng.standard_normal((7, SIZE))
    values[:, :SPARSITY] += 3.0 * rng.standard_normal((7, 1))
    return np.asarray(values)


@cache
def ladder() -> np.ndarray:
    """A square root of a matrix with many alike features, none of which a rank-one solution prefers."""
    places = np.arange(SIZE)
    return np.asarray(np.linalg.cholesky(0.8 ** np.abs(places[:, None] - places)).T)


@cache
def ladder_with_others() -> np.ndarray:
    """The same with fewer features, and others that have a little to do with them."""
    inside, places = 5, np.arange(5)
    matrix = 0.5 * np.eye(SIZE)
    matrix[:inside, :inside] = 0.8 ** np.abs(places[:, None] - places)
    across = np.random.default_rng(6).uniform(-0.25, 0.25, (SIZE - inside, inside))
    matrix[inside:, :inside], matrix[:inside, inside:] = across, across.T
    return np.asarray(np.linalg.cholesky(matrix + 0.2 * np.eye(SIZE)).T)


@cache
def certified(form: str) -> Certificate:
    data = DATA[form]()
    with ExitStack() as stack:
        if form == "parted":  # as if there were many features
            stack.enter_context(mock.patch.object(solve, "FEW", 0))
            stack.enter_context(mock.patch.object(solve, "LARGEST_SHARE", 1.0))
        solution = certpca.solve(data, SPARSITY, "sdp-threshold", center=form == "clipped")
    assert solution.certificate is not None
    return solution.certificate


DATA: dict[str, Callable[[], np.ndarray]] = {"clipped": spiked, "dense": ladder, "parted": ladder_with_others}
NUMBERS = {
    "clipped": ("factor", "vector", "repair", "level", "top"),
    "dense": ("matrix", "top"),
    "parted": ("matrix", "directions", "shifts", "weights", "level", "top"),
}
INDICES = {"clipped": "active", "dense": "features", "parted": "features"}


@cache
def optimum(form: str) -> float:
    data = DATA[form]()
    data = data - data.mean(axis=0) if form == "clipped" else data
    return float(brute_force(data.T @ data / certified(form).normalisation["divisor"], SPARSITY)[0])


def source_of(form: str) -> Source:
    return Source(values=DATA[form](), **certified(form).normalisation)


def with_evidence(certificate: Certificate, **changes: Any) -> Certificate:
    evidence = {**certificate.evidence, **changes}
    return replace(certificate, evidence={name: value for name, value in evidence.items() if value is not None})


def stays_valid(form: str, changed: Certificate) -> bool:
    """Whether a certificate is accepted; whatever its evidence proves must be true."""
    try:
        proof = examine(changed, source_of(form))
    except CertificateError:
        with pytest.raises(CertificateError):
            verify(changed, DATA[form]())
        return False
    assert proof.upper_bound >= optimum(form) * (1 - 1e-12)
    if changed.upper_bound < proof.upper_bound:
        with pytest.raises(CertificateError, match="proves only"):
            verify(changed, DATA[form]())
        return False
    verify(changed, DATA[form]())
    return True


@pytest.mark.parametrize("form", DATA)
def test_untouched_certificates_are_accepted(form: str) -> None:
    certificate = certified(form)
    assert certificate.kind == "sdp-dual"
    assert {*NUMBERS[form], INDICES[form]} == set(certificate.evidence)
    assert stays_valid(form, certificate)
    assert not stays_valid(form, replace(certificate, upper_bound=certificate.upper_bound * (1 - 1e-6)))
    assert certificate.upper_bound <= optimum(form) * 1.2


# --- malformed evidence -----------------------------------------------------------------------------------------------


WRONG_NUMBERS: dict[str, Callable[[np.ndarray], Any]] = {
    "not a number": lambda v: np.full_like(v, np.nan),
    "one of them not a number": lambda v: np.where(np.arange(v.size).reshape(v.shape) == v.size - 1, np.nan, v),
    "infinite": lambda v: np.full_like(v, np.inf),
    "minus infinite": lambda v: np.full_like(v, -np.inf),
    "overflowing when converted": lambda v: np.full(v.shape, np.longdouble(10) ** 400),
    "text": lambda v: np.full(v.shape, "1"),
    "objects": lambda v: np.full(v.shape, None, dtype=object),
    "complex": lambda v: v.astype(complex),
    "integers": lambda v: np.ones(v.shape, dtype=int),
    "truth values": lambda v: np.ones(v.shape, dtype=bool),
    "dates": lambda v: np.zeros(v.shape, dtype="M8[s]"),
    "one axis more": lambda v: v[None],
    "empty": lambda v: np.zeros(0),
    "empty with axes": lambda v: np.zeros((0,) * max(v.ndim, 1)),
    "a row more": lambda v: np.concatenate([np.atleast_1d(v), np.atleast_1d(v)[:1]]),
    "a row less": lambda v: v[:-1] if v.ndim else np.zeros(0),
    "a mapping": lambda v: {"values": v},
    "missing": lambda v: None,
}


@pytest.mark.parametrize("form", DATA)
@pytest.mark.parametrize("how", WRONG_NUMBERS)
def test_malformed_numbers_are_refused(how: str, form: str) -> None:
    if how == "overflowing when converted" and np.finfo(np.longdouble).max == np.finfo(float).max:
        pytest.skip("no wider type here")
    for name in NUMBERS[form]:
        value = np.asarray(certified(form).evidence[name])
        with pytest.raises(CertificateError, match="refused"):
            verify(with_evidence(certified(form), **{name: WRONG_NUMBERS[how](value)}), DATA[form]())


WRONG_INDICES: dict[str, Callable[[np.ndarray], Any]] = {
    "unsorted": lambda v: v[::-1].copy(),
    "repeated": lambda v: np.sort(np.concatenate([v[:-1], v[:1]])),
    "repeated, unsigned": lambda v: np.array([1, 0, 1][: v.size], dtype=np.uint8),
    "negative": lambda v: np.sort(v - SIZE),
    "one negative": lambda v: np.concatenate([[-1], v[1:]]),
    "out of range": lambda v: np.concatenate([v[:-1], [SIZE]]),
    "far out of range": lambda v: np.concatenate([v[:-1], [2**62]]),
    "beyond signed numbers": lambda v: np.concatenate([v[:-1].astype(np.uint64), np.array([2**64 - 1], np.uint64)]),
    "fractions": lambda v: v + 0.5,
    "whole fractions": lambda v: v.astype(float),
    "truth values": lambda v: np.ones(v.size, dtype=bool),
    "text": lambda v: v.astype(str),
    "objects": lambda v: v.astype(object),
    "two axes": lambda v: v[None],
    "no axis": lambda v: np.int64(0),
    "empty": lambda v: v[:0],
    "one less": lambda v: v[:-1],
}


@pytest.mark.parametrize("form", DATA)
@pytest.mark.parametrize("how", WRONG_INDICES)
def test_malformed_indices_are_refused(how: str, form: str) -> None:
    name = INDICES[form]
    changed = WRONG_INDICES[how](np.asarray(certified(form).evidence[name]))
    with pytest.raises(CertificateError, match="refused"):
        verify(with_evidence(certified(form), **{name: changed}), DATA[form]())


def test_missing_indices() -> None:
    with pytest.raises(CertificateError, match="lacks 'active'"):
        verify(with_evidence(certified("clipped"), active=None), spiked())
    whole = certified("dense")
    assert whole.evidence["features"].size == SIZE
    assert stays_valid("dense", with_evidence(whole, features=None))  # all of them, then


@pytest.mark.parametrize("form", DATA)
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble])
def test_other_types_of_numbers_prove_what_they_prove(form: str, kind: type) -> None:
    for name in NUMBERS[form]:
        value: np.ndarray = np.asarray(np.asarray(certified(form).evidence[name]).astype(kind))
        stays_valid(form, with_evidence(certified(form), **{name: value}))
        assert stays_valid(form, replace(with_evidence(certified(form), **{name: value}), upper_bound=1e9))


@pytest.mark.parametrize("form", DATA)
@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint64, np.int16, ">i4"])
def test_other_types_of_indices_are_accepted(form: str, kind: Any) -> None:
    name = INDICES[form]
    indices = np.asarray(certified(form).evidence[name]).astype(kind)
    assert stays_valid(form, with_evidence(certified(form), **{name: indices}))


@pytest.mark.parametrize("level", [-1e-300, -1.0, -1e300])
@pytest.mark.parametrize("form", ["clipped", "parted"])
def test_negative_levels_are_refused(level: float, form: str) -> None:
    with pytest.raises(CertificateError, match="level is negative"):
        verify(with_evidence(certified(form), level=np.float64(level)), DATA[form]())


@pytest.mark.parametrize("weight", [0.0, -1.0, 5e-324, 1e-40])
def test_weights_that_hide_a_row_are_refused(weight: float) -> None:
    weights = certified("parted").evidence["weights"].copy()
    weights[1] = weight
    with pytest.raises(CertificateError, match="weights are"):
        verify(with_evidence(certified("parted"), weights=weights), ladder_with_others())


def test_a_completed_matrix_must_leave_features_out_and_have_directions() -> None:
    whole, parted = certified("dense").evidence, certified("parted")
    everything = {**parted.evidence, **whole, "directions": np.ones((SIZE, 1)), "shifts": np.zeros((0, 1))}
    with pytest.raises(CertificateError, match="leaves no feature out"):
        verify(replace(parted, evidence=everything), ladder_with_others())
    none = {"directions": parted.evidence["directions"][:, :0], "shifts": parted.evidence["shifts"][:, :0]}
    with pytest.raises(CertificateError, match="directions"):
        verify(with_evidence(parted, **none), ladder_with_others())


@pytest.mark.parametrize("name", ["directions", "shifts", "weights", "level"])
def test_a_completed_matrix_is_not_one_that_lacks_an_array(name: str) -> None:
    changed = with_evidence(certified("parted"), **{name: None})
    if name == "shifts":  # then it is a dense one, and the features left out are not below its level
        assert not stays_valid("parted", changed)
    else:
        with pytest.raises(CertificateError, match="lacks"):
            verify(changed, ladder_with_others())


def test_a_vector_with_a_zero_is_refused() -> None:
    vector = certified("clipped").evidence["vector"].copy()
    vector[0] = 0.0
    with pytest.raises(CertificateError, match="support"):
        verify(with_evidence(certified("clipped"), vector=vector), spiked())


def test_evidence_of_both_forms_at_once() -> None:
    both = {**certified("clipped").evidence, "matrix": np.zeros(SIZE * (SIZE + 1) // 2)}
    assert not stays_valid("clipped", replace(certified("clipped"), evidence=both))
    stays_valid("dense", replace(certified("dense"), evidence={**both, **certified("dense").evidence}))


# --- well-formed evidence that is wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", DATA)
def test_changed_numbers_prove_less_or_as_much(form: str, rng: np.random.Generator) -> None:
    for name in NUMBERS[form]:
        value = np.asarray(certified(form).evidence[name], dtype=np.float64)
        for size in (1e-12, 1e-6, 1e-3, 1.0, 1e3, 1e8, 1e150):
            stays_valid(form, with_evidence(certified(form), **{name: value + size * rng.standard_normal(value.shape)}))
            stays_valid(form, with_evidence(certified(form), **{name: np.asarray(value * size)}))
        for other in (0.0, 5e-324, 1e-160, 1e154, 1e300, -1.0):
            stays_valid(form, with_evidence(certified(form), **{name: np.full(value.shape, other)}))
        stays_valid(form, with_evidence(certified(form), **{name: np.asarray(-value)}))
        turned = np.asarray(value[..., ::-1]) if value.ndim else value
        stays_valid(form, with_evidence(certified(form), **{name: turned}))


def test_flipped_bits_do_no_harm(rng: np.random.Generator) -> None:
    for form in DATA:
        for _ in range(60):
            name = str(rng.choice([*NUMBERS[form], INDICES[form]]))
            value = np.asarray(certified(form).evidence[name])
            stored = bytearray(value.tobytes())
            stored[int(rng.integers(len(stored)))] ^= 1 << int(rng.integers(8))
            changed = np.frombuffer(bytes(stored), dtype=value.dtype).reshape(value.shape)
            stays_valid(form, with_evidence(certified(form), **{name: changed}))


@pytest.mark.parametrize("form", DATA)
def test_no_suggestion_lowers_the_bound(form: str) -> None:
    plain = examine(certified(form), source_of(form)).upper_bound
    for top in (0.0, -0.0, 5e-324, -1e-300, -1.0, -1e300, 1e-3, 1e3, 1e300):
        changed = with_evidence(certified(form), top=np.float64(top))
        stays_valid(form, changed)
        try:
            proof = examine(changed, source_of(form))
        except CertificateError:
            continue
        assert proof.upper_bound >= plain * (1 - 1e-6)


def test_features_cannot_be_dropped_for_free() -> None:
    whole = certified("dense")
    dual = np.zeros((SIZE, SIZE))
    dual[np.tril_indices(SIZE)] = whole.evidence["matrix"]
    for count in range(1, SIZE):
        for features in (np.arange(count), np.arange(SIZE - count, SIZE), np.arange(SIZE)[::2][:count]):
            part = dual[np.ix_(features, features)][np.tril_indices(features.size)]
            for matrix in (part, np.zeros_like(part)):
                changed = with_evidence(whole, features=features, matrix=matrix, top=np.float64(0.0))
                try:
                    proof = examine(changed, source_of("dense"))
                except CertificateError:
                    continue
                # Entries of a dropped feature are bounded by the largest variance, which is one ninth.
                assert proof.upper_bound >= SPARSITY / SIZE * (1 - 1e-12)


def test_dropped_features_may_be_large_or_zero() -> None:
    for large in (0.0, 1e-200, 1e-20, 1.0, 1e8, 1e150):
        matrix = np.diag([1.0, 2.0, large])
        matrix[0, 1] = matrix[1, 0] = 1.0
        for features in ([0, 1], [0], [2], [0, 2]):
            packed = np.zeros(len(features) * (len(features) + 1) // 2)
            evidence = {"features": np.array(features), "matrix": packed, "top": np.float64(matrix.max())}
            for sparsity in (1, 2, 3):
                bound = proved(Source("matrix", matrix), sparsity, evidence)
                assert bound >= brute_force(matrix, sparsity)[0] * (1 - 1e-12)


@pytest.mark.parametrize("form", DATA)
def test_swapped_evidence_and_kinds(form: str) -> None:
    other = certified("dense" if form == "clipped" else "clipped")
    stays_valid(form, replace(certified(form), evidence=other.evidence))
    for kind in ("trace", "row-sums", "largest-eigenvalue", "l0-dual", "l0-tree", "count-tree"):
        stays_valid(form, replace(certified(form), kind=kind))
    for sparsity in (1, 2):
        assert not stays_valid(form, replace(certified(form), sparsity=sparsity))  # its loadings are too many


@pytest.mark.parametrize("form", DATA)
def test_stored_evidence_is_checked_like_any_other(form: str, tmp_path: Any) -> None:
    save_certificate(certified(form), tmp_path / "a.json")
    stored = load_certificate(tmp_path / "a.json")
    assert isinstance(stored, Certificate)
    assert stays_valid(form, stored)
    assert stored.upper_bound == certified(form).upper_bound


# --- the allowances ---------------------------------------------------------------------------------------------------


def proved(source: Source, sparsity: int, evidence: dict[str, Any]) -> float:
    nothing, empty = np.empty(0, dtype=np.intp), np.empty(0)
    size, mark = source.values.shape[1], fingerprint(source)
    blank = Certificate("sdp-dual", size, sparsity, 0.0, "", source.normalisation(), mark, nothing, empty, evidence)
    return examine(blank, source).upper_bound


Rationals = list[list[Fraction]]
UNDERFLOW = Fraction(1, 10**150)  # squares of smaller numbers vanish; the rule has a floor far above that


def rational(values: Any) -> Rationals:
    return [[Fraction(float(entry)) for entry in row] for row in values]


def product(left: Rationals, right: Rationals) -> Rationals:
    """Multiply by the transpose."""
    return [[sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0)) for b in right] for a in left]


def is_semidefinite(matrix: Rationals) -> bool:
    rest = [row.copy() for row in matrix]
    for pivot, row in enumerate(rest):
        if row[pivot] < 0 or (row[pivot] == 0 and any(row[pivot:])):
            return False
        for below in rest[pivot + 1 :] if row[pivot] else []:
            factor = below[pivot] / row[pivot]
            for column in range(pivot, len(rest)):
                below[column] -= factor * row[column]
    return True


def above(bound: Fraction, matrix: Rationals, sign: int = 1) -> bool:
    """Decide whether the largest eigenvalue of a matrix, or of its negative, is at most the bound."""
    return is_semidefinite(
        [[(bound if i == j else 0) - sign * entry for j, entry in enumerate(row)] for i, row in enumerate(matrix)]
    )


def wild(rng: np.random.Generator, *shape: int) -> np.ndarray:
    plain: np.ndarray = rng.standard_normal(shape)
    options: list[np.ndarray] = [
        plain,
        plain * 10.0 ** rng.uniform(-8, 8, shape),
        plain * 10.0 ** rng.uniform(-8, 8, shape[-1]),
        plain * 10.0 ** rng.uniform(-170, 0, shape),
        plain * 10.0 ** rng.uniform(-160, 70),
        np.where(rng.random(shape) < 0.5, 0.0, plain),
        rng.integers(-2, 3, shape).astype(np.float64),
    ]
    return options[rng.integers(len(options))]


SEEDS = given(seed=st.integers(0, 2**32 - 1))
MANY = settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@MANY
@SEEDS
def test_what_clipping_changes_is_bounded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, width = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    factor, repair = wild(rng, size, width), wild(rng, size) * (rng.random() < 0.6)
    active = np.sort(rng.choice(size, int(rng.integers(1, size + 1)), replace=False))
    vector = wild(rng, active.size)
    vector = np.where(vector == 0, 1.0, vector)
    vector = vector / np.abs(vector).max()
    vector = vector / (np.linalg.norm(vector) * (1 + gamma(size + 8)))
    if rng.random() < 0.5:  # as a solver would have it: further directions are orthogonal to the vector
        factor[active, 1:] -= np.outer(vector, vector @ factor[active, 1:])
    repair[active] = 0.0
    products = np.abs(factor @ factor.T)
    level = float(rng.choice([0.0, products.max() * rng.random(), products.flat[rng.integers(products.size)]]))
    level = max(level, float((factor[active, 0] ** 2).max()) * (1 + gamma(4)))
    pairs = int(rng.choice([1, 4, 1 << 22]))  # blocks of rows
    spread, stray = sdp_dual._clipping(factor, active, vector, repair, level, pairs)

    rows, limit = rational(factor), Fraction(level)
    signs, shifts = np.zeros(size), [Fraction(float(shift)) for shift in repair]
    signs[active] = np.sign(vector)
    whole = product(rows, rows)
    change = [[Fraction(0)] * size for _ in range(size)]
    for i in range(size):
        for j in range(size):
            if i in active and j in active:
                dual = rows[i][0] * rows[j][0]
                assert abs(dual) <= limit + UNDERFLOW
            else:
                shift = shifts[j] * int(signs[i]) + shifts[i] * int(signs[j])
                dual = min(max(whole[i][j] + shift, -limit), limit)
            change[i][j] = dual - whole[i][j]
    reach = UNDERFLOW * (1 + max(abs(entry) for row in rows for entry in row))
    assert above(Fraction(spread) + reach, change)
    assert above(Fraction(spread) + reach, change, sign=-1)
    unit = [Fraction(0)] * size
    for place, entry in zip(active, vector, strict=True):
        unit[place] = Fraction(float(entry))
    image = product([unit], change)[0]
    length = sum(entry**2 for entry in unit)
    assert length <= 1
    assert sum(entry**2 for entry in image) <= length * (Fraction(stray) + reach) ** 2


def clipped_dual(evidence: dict[str, Any]) -> Rationals:
    """Return U as the definition has it, in rational numbers."""
    factor, limit = rational(evidence["factor"]), Fraction(float(evidence["level"]))
    active, whole = evidence["active"], product(factor, factor)
    signs = np.zeros(len(factor), dtype=int)
    signs[active] = np.sign(evidence["vector"])
    limit = max(limit, *(factor[i][0] ** 2 for i in active), Fraction(0))
    repair = [Fraction(0) if i in active else Fraction(float(shift)) for i, shift in enumerate(evidence["repair"])]
    dual = [row.copy() for row in whole]
    for i in range(len(factor)):
        for j in range(len(factor)):
            shifted = whole[i][j] + repair[i] * int(signs[j]) + repair[j] * int(signs[i])
            both = i in active and j in active
            dual[i][j] = factor[i][0] * factor[j][0] if both else min(max(shifted, -limit), limit)
    return dual


def dense_dual(evidence: dict[str, Any], matrix: Rationals) -> Rationals:
    features, dual = evidence["features"].tolist(), [row.copy() for row in matrix]
    packed = iter(evidence["matrix"])
    for row, i in enumerate(features):
        for j in features[: row + 1]:
            dual[i][j] = dual[j][i] = Fraction(float(next(packed)))
    return dual


def parted_dual(evidence: dict[str, Any], matrix: np.ndarray) -> Rationals:
    """Return U as the definition has it but for roundings in the shifts, which give another U that is as good."""
    chosen, size = evidence["features"], matrix.shape[0]
    others = np.setdiff1d(np.arange(size), chosen)
    exact, limit = rational(matrix), Fraction(max(float(evidence["level"]), np.abs(evidence["matrix"]).max()))
    more = rational(evidence["directions"] @ evidence["shifts"].T)
    dual = [[min(max(entry, -limit), limit) for entry in row] for row in exact]
    for a, i in enumerate(chosen):
        for b, j in enumerate(others):
            dual[i][j] = dual[j][i] = min(max(exact[i][j] + more[a][b], -limit), limit)
    packed = iter(evidence["matrix"])
    for row, i in enumerate(chosen):
        for j in chosen[: row + 1]:
            dual[i][j] = dual[j][i] = Fraction(float(next(packed)))
    return dual


@MANY
@SEEDS
def test_bounds_are_at_least_the_exact_dual_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, width = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    data = rng.standard_normal((int(rng.integers(1, 7)), size)) * 10.0 ** rng.uniform(-1, 1, size)
    matrix = data.T @ data
    matrix = matrix * (0.75 / np.abs(matrix).max())  # so that the checker's unit is one
    sparsity = int(rng.integers(1, size + 1))
    chosen = np.sort(rng.choice(size, int(rng.integers(1, size + 1)), replace=False))
    noise = 10.0 ** rng.uniform(-9, 1)
    form = rng.random()
    if form < 0.4 and chosen.size < size:
        part = matrix[np.ix_(chosen, chosen)] * rng.choice([0.0, 0.5, 1.0]) + noise * np.diag(rng.random(chosen.size))
        directions = rng.standard_normal((chosen.size, width))
        shifts = noise * rng.standard_normal((size - chosen.size, width)) * (rng.random() < 0.7)
        evidence = {"features": chosen, "matrix": part[np.tril_indices(chosen.size)], "directions": directions}
        evidence |= {"shifts": shifts, "weights": rng.random(size - chosen.size) + 10.0 ** rng.uniform(-8, 1)}
        evidence["level"] = np.float64(np.abs(matrix).max() * rng.choice([0.0, 0.3, 0.6, 1.2]))
        dual = parted_dual(evidence, matrix)
    elif form < 0.7:
        values, axes = np.linalg.eigh(matrix)
        factor = (axes * np.sqrt(np.maximum(values, 0.0)))[:, ::-1][:, :width]
        factor = factor * rng.choice([0.5, 1.0, 1.5]) + noise * rng.standard_normal(factor.shape)
        evidence = {"factor": factor, "active": chosen, "vector": axes[chosen, -1] + 1e-3}
        evidence["repair"] = noise * rng.standard_normal(size) * (rng.random() < 0.5)
        evidence["level"] = np.float64(np.abs(factor @ factor.T).max() * rng.uniform(0, 1.2))
        dual = clipped_dual(evidence)
    else:
        part = matrix[np.ix_(chosen, chosen)] * rng.choice([0.0, -1.0, 1.0, 2.0])
        part = part + noise * rng.standard_normal(part.shape) + np.eye(chosen.size) * rng.choice([0.0, 1.0])
        evidence = {"features": chosen, "matrix": part[np.tril_indices(chosen.size)]}
        dual = dense_dual(evidence, rational(matrix))
    rest = [[a - b for a, b in zip(*rows, strict=True)] for rows in zip(rational(matrix), dual, strict=True)]
    values = np.linalg.eigvalsh(np.array(rest, dtype=np.float64))
    level = max(abs(entry) for row in dual for entry in row)
    bound = proved(Source("matrix", matrix), sparsity, {**evidence, "top": np.float64(values[-1])})
    # U may be another one by the roundings of a shifted entry.
    slack = Fraction(1, 10**13) * (1 + Fraction(noise)) if "shifts" in evidence else 0
    assert above(Fraction(bound) - sparsity * level + slack, rest)
    event(f"tight: {bound <= float(values[-1] + sparsity * level) * (1 + 1e-6)}")


BY_HAND: dict[str, tuple[np.ndarray, dict[str, Any]]] = {
    # Of a feature beside, A − U keeps its variance but for the level.
    "a variance beside": (
        np.diag([0.25, 0.75]),
        {"features": np.array([0]), "matrix": np.array([0.25]), "top": -1.0, "shifts": np.zeros((1, 1))},
    ),
    # Two features beside that move together: each row of what is left counts with both.
    "rows beside": (
        np.array([[0.1, 0.0, 0.0], [0.0, 0.75, 0.75], [0.0, 0.75, 0.75]]),
        {"features": np.array([0]), "matrix": np.zeros(1), "top": -1.0, "shifts": np.zeros((2, 1))},
    ),
    # One feature in M, one not, which move together: nothing but the coupling is left.
    "what couples": (
        np.full((2, 2), 0.5),
        {"features": np.array([0]), "matrix": np.array([0.25]), "top": 0.25, "shifts": np.full((1, 1), -1.0)},
    ),
    # E is −0.09 on the vector itself, so W lowers there what U leaves as it is.
    "what strays": (
        np.diag([0.75, 0.5]),
        {"factor": np.array([[0.0, 0.3], [0.0, 0.0]]), "active": np.array([0]), "vector": np.ones(1), "top": 0.66},
    ),
    # A vector longer than one would be deflated by more than e.
    "a long vector": (
        np.array([[0.4, 0.4, 0.0], [0.4, 0.4, 0.0], [0.0, 0.0, 0.5]]),
        {"factor": np.array([[0.0], [0.0], [0.1**0.5]]), "active": np.array([0, 1]), "vector": np.ones(2), "top": 0.7},
    ),
    # On S × S nothing is clipped, so a level of zero is none.
    "a level that is too low": (
        np.full((2, 2), 0.5),
        {"factor": np.full((2, 1), 0.5**0.5), "active": np.array([0, 1]), "vector": np.ones(2), "top": 1e-12},
    ),
    # A − U is negative on the feature that stays and zero on the other.
    "a dropped feature": (np.diag([0.25, 0.75]), {"features": np.array([0]), "matrix": np.array([0.75]), "top": -0.5}),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_cases_where_one_term_is_everything(name: str) -> None:
    matrix, given_ = BY_HAND[name]
    evidence = {"repair": np.zeros(matrix.shape[0]), "level": np.float64(0.0), **given_}
    if "shifts" in given_:
        evidence |= {"directions": np.ones((1, 1)), "weights": np.ones(matrix.shape[0] - 1)}
    evidence["top"] = np.float64(given_["top"] + 1e-12)  # what a checker without that term would need
    for sparsity in range(1, matrix.shape[0] + 1):
        bound = proved(Source("matrix", matrix), sparsity, evidence)
        assert bound >= brute_force(matrix, sparsity)[0] * (1 - 1e-15)


def test_roundings_of_the_data_are_covered() -> None:
    """Means far from zero leave few digits to the columns; with U = 0 the bound is the largest eigenvalue itself."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows, size = int(rng.integers(2, 5)), int(rng.integers(4, 6))
        table = rng.standard_normal((rows, size)) + 10.0 ** rng.integers(8, 15)
        source = Source("data", table, center=True, divisor=float(rows))
        judge = exact(source, size)
        assert judge is not None
        bound = proved(source, size, {"matrix": np.zeros(size * (size + 1) // 2), "top": np.float64(judge.optimum)})
        assert judge.within(tuple(range(size)), Fraction(bound))


@MANY
@SEEDS
def test_the_deflated_eigenvalue_is_bounded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    depth, size, width = (int(side) for side in rng.integers(1, 6, 3))
    columns = wild(rng, depth, size)
    columns = columns / (np.abs(columns).max() or 1.0)
    panel = wild(rng, size, width)
    if rng.random() < 0.6:
        _, values, axes = np.linalg.svd(columns)
        rank = min(depth, size, width)
        panel[:, :rank] = axes[:rank].T * values[:rank] * rng.choice([1, 1 - 1e-9, 1 + 1e-12, 1e4, 1e8, 0.5], rank)
        panel = panel @ np.linalg.qr(rng.standard_normal((width, width)))[0]
    guess = float(np.linalg.eigvalsh(columns.T @ columns - panel @ panel.T)[-1])
    guess = float(rng.choice([guess, guess, guess, guess * (1 - 1e-12), guess / 2, -1e300, 0.0]))
    trace = float((columns**2).sum()) * (1 + gamma(size * depth + 4))
    blank = prepare(Source("matrix", np.eye(size)))
    prepared: Prepared = replace(blank, depth=depth, trace=trace, block=lambda part: columns[:, part])
    try:
        top = sdp_dual._deflated_top(prepared, panel, guess)
    except (CertificateError, np.linalg.LinAlgError):  # both are refusals
        return
    gram, deflation = product(rational(columns.T), rational(columns.T)), product(rational(panel), rational(panel))
    rest = [[a - b for a, b in zip(left, right, strict=True)] for left, right in zip(gram, deflation, strict=True)]
    assert above(Fraction(top), rest)


@MANY
@SEEDS
def test_eigenvalues_are_bounded_whatever_is_suggested(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 6))
    matrix = wild(rng, size, size)
    matrix = matrix + matrix.T if rng.random() < 0.6 else matrix @ matrix.T
    true = float(np.linalg.eigvalsh(matrix)[-1])
    guesses = [None, true, true * (1 - 1e-14), true / 2, 0.0, -1e300, 1e300, float(wild(rng, 1)[0])]
    try:
        bound = largest_eigenvalue(matrix, suggestion=guesses[rng.integers(len(guesses))])
    except CertificateError:
        return
    lower = np.tril(matrix) + np.tril(matrix, -1).T
    assert above(Fraction(bound), rational(lower))


# --- what once went wrong ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "sparsity", "gap"), [(64, 64, 1e-4), (64, 33, 1e-2), (90, 45, 1e-2), (200, 30, 1e-2)])
def test_the_search_for_an_eigenvalue_ends_where_it_grows_as_fast_as_its_guess(
    size: int, sparsity: int, gap: float
) -> None:
    """What is left of a matrix of rank one moves with τ, and steps that shrink with their distance never arrived."""
    matrix = np.ones((size, size))
    solver = certpca.solver_named("sdp-threshold", target_gap=gap)
    solution = certpca.solve(matrix, sparsity, solver, covariance=True)
    assert solution.upper_bound >= sparsity
    assert solution.gap <= gap * 1.01
