"""SparsePCA behaves as scikit-learn expects and computes what it says."""

import pickle
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import certpca
from certpca import SparsePCA
from certpca.results.solution import Candidate
from certpca.results.status import Status
from certpca.runtime.errors import InvalidDataError, InvalidProblemError


@parametrize_with_checks(
    [
        SparsePCA(),
        SparsePCA(scale=False, center=False),
        SparsePCA(missing="mean"),
        SparsePCA(n_components=2, method="regression"),
    ]
)
def test_scikit_learn_conventions(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture
def data(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((40, 8)) @ rng.standard_normal((8, 8)) + 3.0


MODES = [{"center": center, "scale": scale} for center in (True, False) for scale in (True, False)]


def _standardised(data: np.ndarray, center: bool, scale: bool) -> np.ndarray:
    values: np.ndarray = data - data.mean(axis=0) if center else data
    if scale:
        values = values / np.sqrt((values**2).sum(axis=0) / (len(data) - center))
    return values


@pytest.mark.parametrize("mode", MODES)
def test_attributes_follow_their_definitions(data: np.ndarray, mode: dict[str, Any]) -> None:
    model = SparsePCA(sparsity=3, **mode).fit(data)
    solution = certpca.solve(data, 3, **mode)
    np.testing.assert_array_equal(model.components_, solution.component[None, :])
    np.testing.assert_array_equal(model.support_, solution.support)
    assert model.explained_variance_.tolist() == [solution.objective]
    assert model.explained_variance_ratio_.tolist() == [solution.explained_variance_ratio]
    assert model.solution_.objective == solution.objective
    assert (model.n_components_, model.n_features_in_) == (1, 8)
    zero, one = np.zeros(8), np.ones(8)
    np.testing.assert_allclose(model.mean_, data.mean(axis=0) if mode["center"] else zero)
    if not mode["scale"]:
        np.testing.assert_array_equal(model.scale_, one)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix, lambda x: x.astype(np.float32)])
def test_scores_are_projections_of_standardised_data(data: np.ndarray, mode: dict[str, Any], form: Any) -> None:
    data = data.round(2)
    model = SparsePCA(sparsity=3, **mode).fit(form(data))
    expected = _standardised(data, **mode) @ model.components_.T
    np.testing.assert_allclose(model.transform(form(data)), expected, rtol=1e-5, atol=1e-5)
    assert (expected**2).sum() / (len(data) - mode["center"]) == pytest.approx(model.explained_variance_[0], rel=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_inverse_transform_is_in_the_units_of_the_data(data: np.ndarray, mode: dict[str, Any]) -> None:
    model = SparsePCA(sparsity=3, **mode).fit(data)
    scores = model.transform(data)
    rebuilt = model.inverse_transform(scores)
    assert rebuilt.shape == data.shape
    expected = (scores @ model.components_) * model.scale_ + model.mean_
    np.testing.assert_allclose(rebuilt, expected)
    np.testing.assert_allclose(model.transform(rebuilt), scores)


def test_all_features_equal_dense_pca(data: np.ndarray) -> None:
    model, dense = SparsePCA(sparsity=8).fit(data), PCA(1).fit(data)
    assert model.explained_variance_[0] == pytest.approx(dense.explained_variance_[0])
    np.testing.assert_allclose(np.abs(model.transform(data)), np.abs(dense.transform(data)), rtol=1e-5, atol=1e-6)
    sign = np.sign(model.components_ @ dense.components_.T)
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(data)), dense.inverse_transform(sign * dense.transform(data)), atol=1e-5
    )


def test_scores_do_not_depend_on_the_other_rows(data: np.ndarray) -> None:
    model = SparsePCA(sparsity=3, scale=True).fit(data)
    whole = model.transform(data)
    np.testing.assert_allclose(model.transform(data[:1]), whole[:1])
    np.testing.assert_allclose(model.transform(data[5:9]), whole[5:9])


@pytest.mark.parametrize("scores", [np.zeros(3), np.zeros((3, 2)), np.zeros((1, 1, 1))])
def test_inverse_transform_of_a_wrong_shape(data: np.ndarray, scores: np.ndarray) -> None:
    with pytest.raises(InvalidProblemError, match=r"scores must have shape \(n_samples, 1\), got"):
        SparsePCA(sparsity=3).fit(data).inverse_transform(scores)


# --- parameters ---------------------------------------------------------------------------------


def test_default_sparsity_is_ten_or_all(data: np.ndarray, rng: np.random.Generator) -> None:
    assert SparsePCA().fit(data).solution_.sparsity == 8
    assert SparsePCA().fit(rng.standard_normal((20, 30))).solution_.sparsity == 10


@pytest.mark.parametrize("sparsity", [0, 9, 2.5, "3"])
def test_bad_sparsity_is_found_when_fitting(data: np.ndarray, sparsity: Any) -> None:
    with pytest.raises(InvalidProblemError, match=r"whole number in 1\.\.8"):
        SparsePCA(sparsity=sparsity).fit(data)


def test_solver_by_name_or_object(data: np.ndarray) -> None:
    assert SparsePCA(sparsity=3, solver="truncated-power").fit(data).solution_.solver == "truncated-power"
    solver = certpca.solver_named("svd-threshold", components=2)
    assert SparsePCA(sparsity=3, solver=solver).fit(data).solution_.details["components"] == 2


class Drawing:
    """A solver that keeps the random numbers it was given."""

    name: ClassVar[str] = "drawing"
    paper_name: ClassVar[str] = ""
    runs_on_device: ClassVar[bool] = False
    drawn: ClassVar[list[float]] = []

    def propose(self, operator: Any, sparsity: int, progress: Any, rng: np.random.Generator) -> Candidate:
        self.drawn.append(rng.random())
        return Candidate(np.arange(sparsity), Status.CONVERGED)


def drawn_for(data: np.ndarray, seed: Any) -> float:
    """Return the first random number that a solver gets."""
    SparsePCA(sparsity=3, solver=Drawing(), random_state=seed).fit(data)
    return Drawing.drawn.pop()


def test_random_state(data: np.ndarray) -> None:
    for seed in (0, 7):
        assert drawn_for(data, seed) == np.random.default_rng(seed).random()
    assert len({drawn_for(data, None) for _ in range(3)}) == 3
    SparsePCA(sparsity=3, solver=Drawing()).fit(data)
    assert Drawing.drawn.pop() == drawn_for(data, 0)
    legacy = [drawn_for(data, np.random.RandomState(seed)) for seed in (7, 7, 8)]
    assert legacy[0] == legacy[1] != legacy[2]


@pytest.mark.parametrize("component", [2, -1, True])
def test_a_problem_that_was_not_solved(data: np.ndarray, component: int) -> None:
    model = SparsePCA(n_components=2, sparsity=3).fit(data)
    with pytest.raises(InvalidProblemError, match=r"component must lie in 0\.\.1"):
        model.problem(data, component)


def test_same_seed_same_component(rng: np.random.Generator) -> None:
    noise = rng.standard_normal((20, 50))
    first, again = (SparsePCA(sparsity=5, random_state=3).fit(noise).components_ for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_time_limit_warns(rng: np.random.Generator) -> None:
    noise = rng.standard_normal((30, 60))
    with pytest.warns(ConvergenceWarning, match="SparsePCA stopped at the budget.*allow more time"):
        model = SparsePCA(sparsity=5, time_limit=1e-6).fit(noise)
    assert model.support_.size == 5


def test_not_fitted() -> None:
    with pytest.raises(NotFittedError):
        SparsePCA().transform(np.eye(3))
    with pytest.raises(NotFittedError):
        SparsePCA().inverse_transform(np.eye(3))


def test_clone_and_pickle(data: np.ndarray) -> None:
    model = SparsePCA(sparsity=3, scale=True, solver="coordinatewise", random_state=4)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    model.fit(data)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.transform(data), model.transform(data))
    assert loaded.solution_.status is model.solution_.status
    assert not hasattr(clone(model), "components_")


# --- several components -------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"deflation": "projection"}, {"together": "disjoint", "scale": True}])
def test_several_components_are_those_of_decompose(data: np.ndarray, options: dict[str, Any]) -> None:
    model = SparsePCA(n_components=3, sparsity=[4, 2, 1], **options).fit(data)
    found = certpca.decompose(data, 3, [4, 2, 1], **options)
    np.testing.assert_array_equal(model.components_, found.loadings.T)
    np.testing.assert_array_equal(model.explained_variance_, found.explained_variance)
    np.testing.assert_array_equal(model.explained_variance_ratio_, found.explained_variance_ratio)
    np.testing.assert_array_equal(model.adjusted_variance_, found.adjusted_variance)
    np.testing.assert_array_equal(model.adjusted_variance_ratio_, found.adjusted_variance_ratio)
    assert (model.total_variance_, model.total_variance_ratio_) == (found.total_variance, found.total_variance_ratio)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(found.loadings.any(axis=1)))
    assert (model.n_components_, model.solution_) == (3, model.solutions_[0])
    assert model.certificates_ == (None, None, None)


def test_certificates_verify_on_the_training_data(data: np.ndarray) -> None:
    model = SparsePCA(n_components=2, sparsity=3, certify=True).fit(data)
    for j, certificate in enumerate(model.certificates_):
        assert certificate is not None
        assert certpca.verify(certificate, model.problem(data, j)).upper_bound <= certificate.upper_bound


@pytest.mark.parametrize("method", ["projection", "regression"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_scores_of_several_components(data: np.ndarray, method: str, mode: dict[str, Any], form: Any) -> None:
    model = SparsePCA(n_components=3, sparsity=4, method=method, deflation="hotelling", **mode).fit(form(data))
    standardised, components = _standardised(data, **mode), model.components_
    assert np.abs(components @ components.T - np.eye(3)).max() > 0.1  # far from orthogonal
    best = np.linalg.lstsq(components.T, standardised.T)[0].T
    scores = model.transform(form(data))
    np.testing.assert_allclose(scores, best if method == "regression" else standardised @ components.T, atol=1e-9)
    np.testing.assert_allclose(model.transform(data[:3]), scores[:3])
    rebuilt = model.inverse_transform(scores)
    np.testing.assert_allclose((rebuilt - model.mean_) / model.scale_, best @ components, atol=1e-9)
    np.testing.assert_allclose(model.transform(rebuilt), scores, atol=1e-9)
    lost = ((standardised - best @ components) ** 2).sum() / (standardised**2).sum()
    assert model.score(form(data)) == pytest.approx(1 - lost)


def test_the_scale_of_scores_does_not_depend_on_the_number_of_rows(data: np.ndarray) -> None:
    once, often = (SparsePCA(n_components=2, sparsity=3).fit(rows) for rows in (data, np.tile(data, (50, 1))))
    np.testing.assert_allclose(often.transform(data), once.transform(data), atol=1e-6)


def test_all_features_and_components_equal_dense_pca(data: np.ndarray) -> None:
    model, dense = SparsePCA(n_components=3, sparsity=8).fit(data), PCA(3).fit(data)
    np.testing.assert_allclose(model.explained_variance_, dense.explained_variance_)
    np.testing.assert_allclose(model.explained_variance_ratio_, dense.explained_variance_ratio_)
    np.testing.assert_allclose(np.abs(model.transform(data)), np.abs(dense.transform(data)), atol=1e-5)
    held_out = data[::2] + 1.0
    rebuilt = dense.inverse_transform(dense.transform(held_out))
    lost = ((held_out - rebuilt) ** 2).sum() / ((held_out - dense.mean_) ** 2).sum()
    assert model.score(held_out) == pytest.approx(1 - lost, rel=1e-6)


def test_score_passes_over_missing_values(data: np.ndarray, rng: np.random.Generator) -> None:
    holes = np.where(rng.random(data.shape) < 0.1, np.nan, data)
    model = SparsePCA(n_components=2, sparsity=3, missing="mean").fit(holes)
    filled = np.where(np.isnan(holes), model.mean_, holes)
    assert model.score(holes) == pytest.approx(model.score(filled))
    assert model.score(sp.csc_array(holes)) == pytest.approx(model.score(filled))
    assert model.score(np.full((2, 8), np.nan)) == 0.0


def test_grid_search_over_sparsity(data: np.ndarray) -> None:
    search = GridSearchCV(make_pipeline(StandardScaler(), SparsePCA(n_components=2)), {"sparsepca__sparsity": [1, 8]})
    assert search.fit(data).best_params_ == {"sparsepca__sparsity": 8}


def test_names_of_several_scores(data: np.ndarray) -> None:
    frame = pd.DataFrame(data, columns=list("abcdefgh"))
    scores = SparsePCA(n_components=2, sparsity=3).set_output(transform="pandas").fit_transform(frame)
    assert list(scores.columns) == ["sparsepca0", "sparsepca1"]
    polars = SparsePCA(n_components=2, sparsity=3).set_output(transform="polars").fit_transform(frame)
    assert polars.columns == ["sparsepca0", "sparsepca1"]


def test_fewer_components_than_asked_for_warn(rng: np.random.Generator) -> None:
    data = rng.standard_normal((20, 1)) @ rng.standard_normal((1, 5))
    with pytest.warns(ConvergenceWarning, match="found 1 of 3 components"):
        model = SparsePCA(n_components=3, sparsity=5).fit(data)
    assert model.transform(data).shape == (20, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 9}, r"n_components must be a whole number in 1\.\.8"),
        ({"n_components": 2, "sparsity": [3]}, "one for each of 2 components"),
        ({"n_components": 2, "deflation": "hotelling", "certify": True}, "use deflation='schur'"),
        ({"method": "ridge"}, "method must be one of projection, regression"),
    ],
)
def test_bad_questions_about_several_components(data: np.ndarray, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        SparsePCA(**options).fit(data)


def test_a_fitted_model_does_not_hold_the_data(rng: np.random.Generator) -> None:
    small, large = (SparsePCA(n_components=2, sparsity=3).fit(rng.standard_normal((rows, 8))) for rows in (50, 5000))
    assert len(pickle.dumps(large)) < len(pickle.dumps(small)) + 4000


# --- missing values -----------------------------------------------------------------------------


def test_nan_is_refused_by_default(data: np.ndarray) -> None:
    holes = data.copy()
    holes[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        SparsePCA(sparsity=3).fit(holes)
    with pytest.raises(ValueError, match="NaN"):
        SparsePCA(sparsity=3).fit(data).transform(holes)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_nan_counts_as_the_mean(data: np.ndarray, rng: np.random.Generator, form: Any) -> None:
    holes = np.where(rng.random(data.shape) < 0.1, np.nan, data)
    filled = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)
    model, expected = SparsePCA(sparsity=3, missing="mean").fit(form(holes)), SparsePCA(sparsity=3).fit(filled)
    np.testing.assert_array_equal(model.support_, expected.support_)
    np.testing.assert_allclose(model.components_, expected.components_)
    np.testing.assert_allclose(model.transform(form(holes)), expected.transform(filled))
    nothing = np.full((1, 8), np.nan)
    np.testing.assert_allclose(model.transform(form(nothing)), [[0.0]], atol=1e-12)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64])
def test_minus_nine_genotypes_count_as_the_mean(kind: Any) -> None:
    genotypes = certpca.balding_nichols(60, 12, missing=0.1).data
    as_nan = np.where(genotypes == -9, np.nan, genotypes)
    model, expected = (SparsePCA(sparsity=4, missing="mean").fit(form) for form in (genotypes.astype(kind), as_nan))
    np.testing.assert_array_equal(model.support_, expected.support_)
    np.testing.assert_allclose(model.transform(genotypes.astype(kind)), expected.transform(as_nan), atol=1e-6)


def test_minus_nine_genotypes_are_refused_by_default() -> None:
    genotypes = certpca.balding_nichols(60, 12, missing=0.1).data
    complete = np.where(genotypes == -9, 0, genotypes)
    with pytest.raises(InvalidDataError, match=r"coded -9.*missing='mean'"):
        SparsePCA(sparsity=4).fit(genotypes)
    with pytest.raises(InvalidDataError, match=r"coded -9.*missing='mean'"):
        SparsePCA(sparsity=4).fit(complete).transform(genotypes)


# --- in company ---------------------------------------------------------------------------------


def test_dataframe_in_dataframe_out(data: np.ndarray) -> None:
    frame = pd.DataFrame(data, columns=list("abcdefgh"))
    plain = SparsePCA(sparsity=3).fit(frame)
    assert plain.feature_names_in_.tolist() == list("abcdefgh")
    assert plain.get_feature_names_out().tolist() == ["sparsepca0"]
    pandas = SparsePCA(sparsity=3).set_output(transform="pandas").fit_transform(frame)
    assert isinstance(pandas, pd.DataFrame)
    assert list(pandas.columns) == ["sparsepca0"]
    polars = (
        SparsePCA(sparsity=3).set_output(transform="polars").fit_transform(pl.DataFrame(data, schema=list("abcdefgh")))
    )
    assert isinstance(polars, pl.DataFrame)
    np.testing.assert_allclose(pandas.to_numpy(), polars.to_numpy())
    np.testing.assert_allclose(pandas.to_numpy(), plain.transform(frame))


def test_pipeline_with_a_scaler_equals_scale(data: np.ndarray) -> None:
    pipeline = make_pipeline(StandardScaler(), SparsePCA(sparsity=3)).fit(data)
    alone = SparsePCA(sparsity=3, scale=True).fit(data)
    np.testing.assert_array_equal(pipeline[-1].support_, alone.support_)
    ratio = np.sqrt(len(data) / (len(data) - 1))  # StandardScaler divides by the number of rows
    np.testing.assert_allclose(pipeline.transform(data), ratio * alone.transform(data), rtol=1e-6)


def test_sparse_input_is_not_made_dense(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    # With at most 64 samples eigenvectors come from dense blocks of columns, which this one is.
    data = sp.random_array((80, 400), density=0.05, rng=rng, format="csr")
    shapes: list[tuple[int, ...]] = []
    toarray = sp.csc_array.toarray

    def watch(self: Any, *arguments: Any, **named: Any) -> Any:
        shapes.append(self.shape)
        return toarray(self, *arguments, **named)

    monkeypatch.setattr(sp.csc_array, "toarray", watch)
    SparsePCA(sparsity=5).fit(data).transform(data)
    assert max((shape[1] for shape in shapes), default=0) < 400
