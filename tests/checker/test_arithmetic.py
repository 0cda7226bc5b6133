"""The checker tries the arithmetic before it trusts it, names it, and allows for underflow; a form is what it is."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
from certpca import Certificate, CertificateError
from certpca.checker import arithmetic, examine, fingerprint
from certpca.checker.data import prepare
from certpca.checker.dual_points import dual_vectors
from certpca.checker.numbers import UNDERFLOW
from certpca.frontends.cli.main import main
from certpca.results.certificate import Source

# --- the library ------------------------------------------------------------------------------------------------------


def test_the_library_here_passes() -> None:
    assert arithmetic.wrong_products() == ""
    assert arithmetic.wrong_factorisations() == ""
    assert arithmetic.wrong_eigenvalues() == ""


def forgetful(left: Any, right: Any) -> Any:
    """Leave out the last term where the length is odd."""
    inner = left.shape[-1] - left.shape[-1] % 2
    return np.matmul(left[..., :inner], right[:inner])


def rough(left: Any, right: Any) -> Any:
    return np.matmul(left.astype(np.float32), right.astype(np.float32)).astype(np.float64)


def off_by_one(left: Any, right: Any) -> Any:
    """One entry of a large product is wrong by one."""
    product = np.array(np.matmul(left, right))
    if product.size > 10_000:
        product[product.shape[0] // 2, product.shape[1] // 3] += 1.0
    return product


def wrong_at_strides(left: Any, right: Any) -> Any:
    """Take what lies together in memory for what was asked for."""
    if left.ndim == 2 and left.strides[1] > 8 and not left.flags.f_contiguous:
        return np.matmul(np.ascontiguousarray(left.base[:, : left.shape[1]]), right)
    return np.matmul(left, right)


def wrong_squares(left: Any, right: Any) -> Any:
    """Fill only half of AAᵀ."""
    product = np.matmul(left, right)
    same = left.ndim == right.ndim == 2 and left.shape == right.T.shape and np.shares_memory(left, right)
    return np.triu(product) if same else product


def noisy(left: Any, right: Any) -> Any:
    return np.matmul(left, right) * (1 + 1e-15)


@pytest.mark.parametrize("multiply", [forgetful, rough, off_by_one, wrong_at_strides, wrong_squares, noisy])
def test_wrong_products_are_noticed(multiply: Any) -> None:
    assert "is wrong for" in arithmetic.wrong_products(multiply)


def test_a_factorisation_that_never_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    true = np.linalg.cholesky

    def lenient(matrix: Any) -> Any:
        try:
            return true(matrix)
        except np.linalg.LinAlgError:
            return np.eye(len(matrix))

    monkeypatch.setattr(np.linalg, "cholesky", lenient)
    assert "does not see a negative eigenvalue" in arithmetic.wrong_factorisations()
    monkeypatch.setattr(np.linalg, "cholesky", lambda matrix: true(matrix) * (1 + 1e-15))
    assert "is wrong" in arithmetic.wrong_factorisations()
    monkeypatch.setattr(np.linalg, "eigvalsh", lambda matrix: np.zeros(len(matrix)))
    assert "is wrong" in arithmetic.wrong_eigenvalues()


@pytest.fixture
def data(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((9, 6))


def test_nothing_is_checked_with_wrong_arithmetic(data: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = certpca.certify(data, 3)
    arithmetic.require_trusted.cache_clear()
    monkeypatch.setattr(arithmetic, "wrong_products", lambda: "2 x 2 is 5")
    with pytest.raises(CertificateError, match=r"cannot be trusted \(NumPy .*\): 2 x 2 is 5"):
        certpca.verify(certificate, data)
    monkeypatch.undo()
    arithmetic.require_trusted.cache_clear()
    certpca.verify(certificate, data)


def test_it_is_tried_once_in_a_process(data: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = certpca.certify(data, 3)
    monkeypatch.setattr(arithmetic, "wrong_products", lambda: pytest.fail("tried again"))
    certpca.verify(certificate, data)


def test_the_verdict_names_what_computed_it(data: np.ndarray, tmp_path: Path, capsys: Any) -> None:
    certificate = certpca.certify(data, 3)
    named = certpca.verify(certificate, data).arithmetic
    assert named.startswith(f"NumPy {np.__version__}, ")
    assert len(named.split(", ")) >= 2
    certpca.save_certificate(certificate, tmp_path / "c.json")
    np.save(tmp_path / "d.npy", data)
    assert main(["verify", str(tmp_path / "c.json"), str(tmp_path / "d.npy")]) == 0
    assert named in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "c.json"), str(tmp_path / "d.npy"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["arithmetic"] == named


def test_a_library_that_does_not_name_itself_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "show_config", lambda **_: {})
    arithmetic.names.cache_clear()
    assert arithmetic.names() == f"NumPy {np.__version__}, unknown BLAS"
    arithmetic.names.cache_clear()


# --- underflow --------------------------------------------------------------------------------------------------------


def test_every_bound_allows_for_underflow_unless_all_data_are_zero() -> None:
    for values in (np.full((3, 2), 1e-100), np.array([[1.0, 0.0], [0.0, 1e-200]])):
        for source in (Source("data", values), Source("matrix", values[:2, :2] + values[:2, :2].T)):
            prepared = prepare(source)
            assert prepared.lift(0.0) >= UNDERFLOW
            assert prepared.dense(np.arange(2))[1] >= UNDERFLOW
    nothing = prepare(Source("data", np.zeros((3, 2))))
    assert nothing.lift(0.0) == 0.0
    assert nothing.form(np.arange(2), np.ones(2)) == (0.0, 0.0)
    assert prepare(Source("matrix", np.zeros((2, 2)))).lift(0.0) == 0.0


TINY = st.sampled_from([0.0, 1.0, 1e-80, 1e-153, 1e-154, 1e-155, 1e-160, 1e-161, 1e-162, 1e-170, 1e-300, 5e-324])
SMALL = st.builds(lambda size, factor: size * factor, TINY, st.floats(-1, 1))


@settings(max_examples=500, deadline=None)
@given(
    a=st.tuples(SMALL, SMALL),
    level=st.builds(lambda x: x * x, SMALL) | st.sampled_from([0.0, 5e-324, 1e-320, 1e-310]),
    theta=st.sampled_from([5e-324, 1e-310, 1e-200, 1e-3, 1.0]),
    weight=st.floats(0.01, 0.99),
)
def test_dual_matrices_dominate_even_where_products_vanish(
    a: tuple[float, float], level: float, theta: float, weight: float
) -> None:
    """Y − aaᵀ + ρI is positive semidefinite in exact arithmetic, up to what is allowed for underflow."""
    column, weights = np.array(a)[:, None], np.array([weight, 1 - weight])
    with np.errstate(all="ignore"):
        z, stray = dual_vectors(column.copy(), weights, level, np.array([theta]))
    assert np.isfinite(z).all()
    left, right = (Fraction(float(value)) for value in z[:, 0])
    first, second = Fraction(a[0]), Fraction(a[1])
    # |z + e|² ≥ … for an error e of length √stray: the squares move by at most this much.
    slack = Fraction(UNDERFLOW) + 2 * Fraction(math.sqrt(stray)) * (abs(left) + abs(right)) + Fraction(stray)
    upper = left * left - first * first + Fraction(level) + slack
    lower = right * right - second * second + Fraction(level) + slack
    across = left * right - first * second
    assert upper + lower >= 0
    assert upper * lower - across * across >= 0


# --- forms ------------------------------------------------------------------------------------------------------------


def trace_claim(matrix: np.ndarray, support: list[int], loadings: list[float], objective: float) -> Certificate:
    source = Source("matrix", matrix)
    return Certificate(
        kind="trace",
        size=matrix.shape[0],
        sparsity=2,
        upper_bound=1e3,
        matrix="",
        normalisation=source.normalisation(),
        fingerprint=fingerprint(source),
        support=np.array(support, dtype=np.intp),
        loadings=np.array(loadings),
        objective=objective,
    )


def test_a_negative_form_is_no_lower_bound_of_zero() -> None:
    matrix = np.diag([-1.0, -2.0, -3.0])
    proof = certpca.verify(trace_claim(matrix, [1], [1.0], -2.0), matrix)
    assert proof.objective == pytest.approx(-2.0, rel=1e-12)
    assert proof.objective <= -2.0
    assert proof.upper_bound >= -1.0
    with pytest.raises(CertificateError, match=r"capture 0\.0, but they capture -2\.0"):
        certpca.verify(trace_claim(matrix, [1], [1.0], 0.0), matrix)


def test_without_loadings_zero_is_claimed_only_where_some_form_reaches_it() -> None:
    with pytest.raises(CertificateError, match="no loadings"):
        certpca.verify(trace_claim(np.diag([-1.0, -2.0]), [], [], 0.0), np.diag([-1.0, -2.0]))
    assert certpca.verify(trace_claim(np.diag([-1.0, 2.0]), [], [], 0.0), np.diag([-1.0, 2.0])).objective == 0.0


def test_what_data_capture_is_not_negative(rng: np.random.Generator) -> None:
    """Roundings may make it so, but variance is none the less."""
    values = np.hstack([np.ones((5, 1)), rng.standard_normal((5, 2))])
    source = Source("data", values, center=True, divisor=4.0)
    certificate = replace(
        trace_claim(np.eye(3), [0], [1.0], 0.0), normalisation=source.normalisation(), fingerprint=fingerprint(source)
    )
    assert examine(certificate, source).objective == 0.0
