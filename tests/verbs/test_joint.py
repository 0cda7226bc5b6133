"""Components chosen together: what is asked, what is proved of the set, and what is refused."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca import Status, decompose
from certpca.runtime.errors import InvalidProblemError
from certpca.verbs import joint

PROBLEMS = ["disjoint", "orthogonal", "uncorrelated", "shared"]


@pytest.fixture
def data(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((30, 8)) @ rng.standard_normal((8, 8))


@pytest.mark.parametrize("together", PROBLEMS)
def test_sets_are_feasible_and_proved(data: np.ndarray, together: str) -> None:
    found = decompose(data, 2, 3, together=together, certify=True, time_limit=20)
    matrix, loadings = np.cov(data.T), found.loadings
    assert found.together == together
    assert found.deflation is None
    assert found.sparsities == (3, 3)
    assert found.objective == pytest.approx(np.trace(loadings.T @ matrix @ loadings))
    np.testing.assert_allclose(np.linalg.norm(loadings, axis=0), 1.0)
    if together == "disjoint":
        assert (loadings != 0).sum(axis=1).max() == 1
    elif together == "uncorrelated":
        assert abs(loadings[:, 0] @ matrix @ loadings[:, 1]) < 1e-10 * matrix.max()
    else:
        assert abs(loadings[:, 0] @ loadings[:, 1]) < 1e-12
    if together == "shared":
        assert loadings.any(axis=1).sum() == 3
    assert found.certificate is not None
    assert found.certificate.problem == together
    assert found.objective <= found.upper_bound * (1 + 1e-12)
    assert found.gap == pytest.approx(1 - found.objective / found.upper_bound, abs=1e-9)
    assert certpca.verify(found.certificate, data).upper_bound <= found.upper_bound
    assert found.problem(1) is found.operator
    assert found.certificates == (None, None)


def test_pit_props_are_proved_as_a_set() -> None:
    found = decompose(certpca.pitprops(), 2, 5, together="disjoint", certify=True, target_gap=1e-6)
    assert found.objective == pytest.approx(5.710358, abs=1e-6)
    assert found.status is Status.OPTIMAL
    assert "proved optimal as a set" in str(found)
    greedy = decompose(certpca.pitprops(), 2, 5, certify=True)
    assert math.isnan(greedy.gap)
    assert greedy.upper_bound == math.inf
    assert greedy.status is Status.CONVERGED


def test_order_follows_the_sparsities_that_were_given(data: np.ndarray) -> None:
    assert [part.support.size for part in decompose(data, 3, [1, 4, 2], together="orthogonal").components] == [1, 4, 2]
    values = decompose(data, 3, 2, together="disjoint").explained_variance
    assert (np.diff(values) <= 0).all()


def test_a_total_is_split(data: np.ndarray) -> None:
    found = decompose(data, 3, total=7, together="disjoint", certify=True, time_limit=20)
    assert sum(found.sparsities) == 7
    assert found.certificate is not None
    assert found.certificate.sparsities == found.sparsities
    assert found.objective >= decompose(data, 3, [3, 2, 2], together="disjoint").objective * (1 - 1e-9)


@pytest.mark.parametrize("together", ["disjoint", "orthogonal"])
def test_never_worse_than_one_after_the_other_even_if_the_search_finds_nothing(
    data: np.ndarray, together: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best component and the best on what it leaves are compared with whatever is found among many features."""
    monkeypatch.setattr(joint, "IN_MEMORY", data.shape[1] - 1)
    poor = np.zeros((data.shape[1], 2))
    poor[[0, 1], [0, 1]] = 1.0
    monkeypatch.setattr(joint, "find_together", lambda *_: poor.copy())
    operator = certpca.from_data(data)
    first = certpca.solve(operator, 3)
    left = np.delete(np.arange(operator.size), first.support)
    second = certpca.solve(operator.restrict(left), 3)
    found = decompose(operator, 2, 3, together=together)
    assert found.objective >= (first.objective + second.objective) * (1 - 1e-9)
    assert not set(found.components[0].support) & set(found.components[1].support)
    assert found.explained_variance[0] >= found.explained_variance[1]


def test_it_is_said_what_the_bound_is_for(data: np.ndarray) -> None:
    """Of a total that is split, the split that was found; else the sparsities that were asked for."""
    found = decompose(data, 3, total=7, together="disjoint", certify=True, time_limit=20)
    assert f"components of {', '.join(map(str, found.sparsities))} features" in found.verdict()
    assert "components of 2 features each" in decompose(data, 2, 2, together="disjoint", certify=True).verdict()


@pytest.mark.parametrize("power", [-200, 200])
def test_units_do_not_matter(data: np.ndarray, power: int) -> None:
    plain = decompose(data, 2, 2, together="disjoint", certify=True)
    scaled = decompose(np.ldexp(data, power), 2, 2, together="disjoint", certify=True)
    np.testing.assert_array_equal(plain.loadings, scaled.loadings)
    assert scaled.objective == pytest.approx(math.ldexp(plain.objective, 2 * power))
    assert scaled.gap == pytest.approx(plain.gap, abs=1e-9)


def test_a_checkpoint_keeps_the_set(data: np.ndarray, tmp_path: Path) -> None:
    first = decompose(data, 2, 3, together="orthogonal", checkpoint=tmp_path / "states")
    heard: list[certpca.Step] = []
    again = decompose(data, 2, 3, together="orthogonal", checkpoint=tmp_path / "states", listener=heard.append)
    np.testing.assert_array_equal(first.loadings, again.loadings)
    assert not heard  # nothing was searched again


def test_limits_leave_a_whole_set(data: np.ndarray) -> None:
    found = decompose(data, 2, 3, together="orthogonal", time_limit=1e-6)
    assert found.status is Status.OUT_OF_BUDGET
    assert found.sparsities == (3, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sparsity": 9}, r"sparsity must be a whole number in 1\.\.8"),
        ({"sparsity": [3, 3]}, "one for each of 3 components, got 2"),
        ({"sparsity": 3, "together": "disjoint"}, r"need 9 features in all, but there are 8; up to 2 each would fit"),
        ({"sparsity": [3, 3, 4], "together": "shared"}, "have one sparsity"),
        ({"sparsity": 2, "together": "shared"}, "need 3 shared features at least, got 2"),
        ({"sparsity": 2, "together": "uncorrelated"}, "components need 1, 2, 3 loadings at least"),
        ({"together": "disjoint"}, "give sparsity, or a total to split among them"),
        ({"sparsity": 2, "total": 5, "together": "disjoint"}, "but not both"),
        (
            {"total": 9, "together": "disjoint"},
            r"total must be a whole number in 3\.\.8 for 3 components of 8 features",
        ),
        ({"total": 5, "together": "uncorrelated"}, r"total must be a whole number in 6\.\.24"),
        ({"total": 5, "together": "shared"}, "nothing to split"),
        ({"n_components": 9, "sparsity": 1, "together": "disjoint"}, r"n_components must be a whole number in 1\.\.8"),
    ],
)
def test_bad_questions(data: np.ndarray, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        decompose(data, **{"n_components": 3, **arguments})


@pytest.mark.parametrize("together", ["uncorrelated", "shared"])
def test_more_components_than_the_rank(rng: np.random.Generator, together: str) -> None:
    data = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 9))
    with pytest.raises(InvalidProblemError, match="has rank 2, so at most 2 components fit"):
        decompose(data, 3, 4, together=together)


def test_the_estimator_knows_the_set(data: np.ndarray) -> None:
    model = certpca.SparsePCA(n_components=2, total=5, together="disjoint", certify=True).fit(data)
    found = decompose(data, 2, total=5, together="disjoint", certify=True)
    np.testing.assert_array_equal(model.components_, found.loadings.T)
    assert model.gap_ == pytest.approx(found.gap, abs=1e-9)
    assert model.certificate_ is not None
    assert certpca.verify(model.certificate_, data).upper_bound <= model.upper_bound_
