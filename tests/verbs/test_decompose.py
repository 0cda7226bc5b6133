"""Several components: what each explains, on what it was found, and when the search for more ends."""

import os
import signal
from typing import Any

import array_api_strict
import numpy as np
import pytest
import scipy.sparse

import certpca
from certpca import Budget, Status, Step, decompose
from certpca.operators.deflations import DEFLATIONS, Deflation, register, semidefinite_ones
from certpca.runtime.errors import InvalidProblemError
from certpca.verbs.components import joint_variance


@pytest.fixture
def data(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((30, 10)) @ rng.standard_normal((10, 10))


# --- variance -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("deflation", "share"),
    [("schur", 0.650), ("projection", 0.630), ("hotelling", 0.589), ("orthogonal-hotelling", 0.553)],
)
def test_pit_props_with_four_components(deflation: str, share: float) -> None:
    found = decompose(certpca.pitprops(), 4, 5, deflation=deflation)
    assert found.adjusted_variance_ratio.sum() == pytest.approx(share, abs=5e-4)


def test_pit_props_with_the_cardinalities_of_the_literature() -> None:
    """7, 4, 4, 1, 1, 1 is what Zou, Hastie & Tibshirani (2006) found; later methods are compared at it."""
    found = decompose(certpca.pitprops(), 6, [7, 4, 4, 1, 1, 1], certify=True, target_gap=1e-6)
    assert [component.support.size for component in found.components] == [7, 4, 4, 1, 1, 1]
    assert all(component.status is Status.OPTIMAL for component in found.components)
    shares = [0.3074, 0.4606, 0.5858, 0.6612, 0.7161, 0.7551]
    np.testing.assert_allclose(np.cumsum(found.adjusted_variance_ratio), shares, atol=5e-5)
    assert found.total_variance_ratio == pytest.approx(0.8524, abs=5e-5)


@pytest.mark.parametrize("deflation", DEFLATIONS)
@pytest.mark.parametrize("sparsity", [1, 3, 10])
def test_variances_follow_their_definitions(data: np.ndarray, deflation: str, sparsity: int) -> None:
    found = decompose(data, 4, sparsity, deflation=deflation)
    centred = (data - data.mean(axis=0)) / np.sqrt(len(data) - 1)
    scores = centred @ found.loadings
    np.testing.assert_allclose(found.explained_variance, (scores**2).sum(axis=0))
    np.testing.assert_allclose(found.adjusted_variance, np.diag(np.linalg.qr(scores)[1]) ** 2)
    fitted = scores @ np.linalg.lstsq(scores, centred)[0]
    assert found.total_variance == pytest.approx((fitted**2).sum())
    assert found.trace == pytest.approx((centred**2).sum())
    for share, variance in (
        (found.explained_variance_ratio, found.explained_variance),
        (found.adjusted_variance_ratio, found.adjusted_variance),
        (found.total_variance_ratio, found.total_variance),
    ):
        np.testing.assert_allclose(share, variance / found.trace)


@pytest.mark.parametrize("deflation", DEFLATIONS)
@pytest.mark.parametrize("sparsity", [1, 2, 5, 10])
def test_nothing_exceeds_dense_components(data: np.ndarray, deflation: str, sparsity: int) -> None:
    found = decompose(data, 5, sparsity, deflation=deflation)
    values = np.linalg.eigvalsh(np.cov(data.T))[::-1]
    for count in range(1, 6):
        assert found.adjusted_variance[:count].sum() <= values[:count].sum() * (1 + 1e-12)
    assert found.adjusted_variance.sum() <= found.total_variance * (1 + 1e-12)
    assert found.total_variance <= values[:5].sum() * (1 + 1e-12)
    assert (found.explained_variance <= values[0] * (1 + 1e-12)).all()


@pytest.mark.parametrize("deflation", DEFLATIONS)
def test_definitions_agree_on_eigenvectors(data: np.ndarray, deflation: str) -> None:
    found = decompose(data, 4, 10, deflation=deflation)
    values = np.linalg.eigvalsh(np.cov(data.T))[::-1][:4]
    np.testing.assert_allclose(found.explained_variance, values)
    np.testing.assert_allclose(found.adjusted_variance, values)
    np.testing.assert_allclose([component.objective for component in found.components], values)
    assert found.total_variance == pytest.approx(values.sum())


def test_objectives_of_schur_deflation_are_adjusted_variances(data: np.ndarray) -> None:
    found = decompose(data, 5, 3)
    np.testing.assert_allclose([component.objective for component in found.components], found.adjusted_variance)


def test_dependent_components_add_nothing() -> None:
    # Hotelling's deflation looks at the same two features again and again.
    matrix = np.full((3, 3), 0.9) + 0.1 * np.eye(3)
    found = decompose(matrix, 3, [3, 2, 2], covariance=True, deflation="hotelling")
    values = np.linalg.eigvalsh(matrix)[::-1]
    assert found.total_variance <= values.sum() * (1 + 1e-12)
    same = decompose(np.diag([2.0, 2.0, 1.0]), 1, 1, covariance=True)
    doubled = np.repeat(same.loadings, 2, axis=1)
    adjusted, total = joint_variance(same.operator, doubled)
    assert adjusted.tolist() == [2.0, 0.0]
    assert total == pytest.approx(2.0)


# --- what was solved ----------------------------------------------------------------------------


@pytest.mark.parametrize("deflation", DEFLATIONS)
def test_each_component_is_that_of_its_problem(data: np.ndarray, deflation: str) -> None:
    found = decompose(data, 3, [4, 2, 3], deflation=deflation)
    assert found.problem(0) is found.operator
    for j, component in enumerate(found.components):
        alone = certpca.solve(found.problem(j), component.sparsity)
        np.testing.assert_array_equal(alone.support, component.support)
        np.testing.assert_array_equal(alone.component, found.loadings[:, j])
        assert alone.objective == component.objective


FORMS: dict[str, Any] = {
    "float64": np.asarray,
    "float32": lambda data: data.astype(np.float32),
    "int8": lambda data: data.round().astype(np.int8),
    "csr": lambda data: scipy.sparse.csr_array(data.round()),
    "strict": array_api_strict.asarray,
}


@pytest.mark.parametrize(
    ("form", "deflation", "rows"),
    [
        ("float64", "schur", 30),
        ("float64", "projection", 8),
        ("float32", "schur", 8),
        ("int8", "projection", 30),
        ("csr", "schur", 8),
        ("strict", "projection", 30),
    ],
)
def test_certificates_verify_on_their_problems(data: np.ndarray, form: str, deflation: str, rows: int) -> None:
    found = decompose(FORMS[form](data[:rows]), 3, 3, deflation=deflation, certify=True, target_gap=1e-6)
    for j, (component, certificate) in enumerate(zip(found.components, found.certificates, strict=True)):
        assert certificate is not None
        proof = certpca.verify(certificate, found.problem(j))
        assert component.objective <= proof.upper_bound * (1 + 1e-9)
        assert component.gap < 1e-5
    assert certificate is not None
    with pytest.raises(certpca.CertificateError):
        certpca.verify(certificate, found.operator)


def test_the_first_component_is_what_solve_finds(data: np.ndarray) -> None:
    found, alone = decompose(data, 2, 3, "truncated-power", scale=True), certpca.solve(data, 3, "auto", scale=True)
    assert found.components[0].solver == "truncated-power"
    assert found.components[0].objective == pytest.approx(alone.objective)


def test_the_table(data: np.ndarray) -> None:
    lines = str(decompose(data, 3, 3, certify=True)).splitlines()
    assert "3 components of 10 features, one after the other (schur deflation)" in lines[0]
    assert all(line.endswith("%") for line in lines[2:5])  # the gap of each step
    assert lines[5].startswith("sum of the variances")
    assert lines[6].startswith("without counting twice: adjusted")
    assert lines[7] == "proved of each step, for what the earlier ones left; of the set nothing is proved"


# --- when it ends -------------------------------------------------------------------------------


@pytest.mark.parametrize("deflation", semidefinite_ones())
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_ends_when_nothing_is_left(rng: np.random.Generator, deflation: str, kind: Any) -> None:
    data = (rng.standard_normal((40, 2)) @ rng.standard_normal((2, 9))).astype(kind)
    found = decompose(data, 5, 9, deflation=deflation, certify=kind is np.float64)
    assert len(found.components) >= 2
    assert found.total_variance_ratio == pytest.approx(1.0)
    if kind is np.float64:
        assert len(found.components) == 2


def test_time_is_shared(rng: np.random.Generator) -> None:
    noise = rng.standard_normal((30, 60))
    found = decompose(noise, 3, 5, budget=Budget(seconds=1e-6))
    assert len(found.components) == 3  # what is returned does not depend on how fast a machine is
    assert {component.status for component in found.components} == {Status.OUT_OF_BUDGET}
    assert len(decompose(noise, 3, 5, budget=Budget(seconds=600, steps=1)).components) == 3


@pytest.mark.parametrize("by", ["listener", "ctrl-c"])
def test_the_user_ends_the_run_with_what_is_finished(rng: np.random.Generator, by: str) -> None:
    noise = rng.standard_normal((30, 60))
    first = len(_steps(noise, 1))

    def stop(step: Step) -> bool | None:
        heard.append(step)
        if len(heard) <= first:
            return None
        if by == "listener":
            return False
        os.kill(os.getpid(), signal.SIGINT)
        return None

    heard: list[Step] = []
    before = signal.getsignal(signal.SIGINT)
    found = decompose(noise, 4, 5, listener=stop)
    assert [component.status for component in found.components] == [Status.CONVERGED, Status.INTERRUPTED]
    assert found.adjusted_variance.shape == (2,)
    assert signal.getsignal(signal.SIGINT) is before


def _steps(data: np.ndarray, n_components: int) -> list[Step]:
    heard: list[Step] = []
    decompose(data, n_components, 5, listener=heard.append)
    return heard


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_components": 0}, r"n_components must be a whole number in 1\.\.10"),
        ({"n_components": 11}, r"n_components must be a whole number in 1\.\.10"),
        ({"n_components": 2.0}, "n_components must be a whole number"),
        ({"sparsity": 11}, r"sparsity must be a whole number in 1\.\.10"),
        ({"sparsity": [3, 0, 3]}, r"sparsity must be a whole number in 1\.\.10"),
        ({"sparsity": [3, 3]}, "one for each of 3 components, got 2"),
        ({"deflation": "gauss"}, "deflation must be one of schur, projection"),
        ({"deflation": "hotelling", "certify": True}, "use deflation='schur' or 'projection'"),
        ({"solver": "nonsense"}, "nonsense"),
    ],
)
def test_bad_questions(data: np.ndarray, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        decompose(data, **{"n_components": 3, "sparsity": 3, **arguments})


@pytest.mark.parametrize("component", [-1, 2])
def test_a_problem_that_was_not_solved(data: np.ndarray, component: int) -> None:
    with pytest.raises(InvalidProblemError, match=r"component must lie in 0\.\.1"):
        decompose(data, 2, 3).problem(component)


def test_hotelling_certifies_one_component(data: np.ndarray) -> None:
    assert decompose(data, 1, 3, deflation="hotelling", certify=True).components[0].gap < 0.01


@pytest.fixture
def toy_deflation() -> Any:
    """One class is the whole addition: half of Schur's step."""

    @register
    class Half(Deflation):
        name = "half"
        semidefinite = False

        def vectors(self, x: np.ndarray, image: np.ndarray, value: float) -> tuple[np.ndarray, np.ndarray]:
            return image / value, image / 4

    yield Half.name
    del DEFLATIONS["half"]


def test_a_deflation_is_a_class(data: np.ndarray, toy_deflation: str) -> None:
    found = decompose(data, 2, 4, deflation=toy_deflation)
    matrix = np.cov(data.T)
    g = matrix @ found.components[0].component
    expected = matrix - np.outer(g, g) / (2 * found.components[0].objective)
    np.testing.assert_allclose(found.problem(1).submatrix(np.arange(10)), expected, atol=1e-10)
    best = certpca.solve(expected, 4, "branch-and-bound", covariance=True)
    assert found.components[1].objective == pytest.approx(best.objective)
    with pytest.raises(InvalidProblemError, match=r"half deflation can leave .*use deflation='schur' or 'projection'"):
        decompose(data, 2, 4, deflation=toy_deflation, certify=True)
    with pytest.raises(InvalidProblemError, match=r"one of schur, .*, half, got 'gauss'"):
        decompose(data, 2, 4, deflation="gauss")
