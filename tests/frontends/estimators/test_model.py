"""What SparsePCA stands for as a model: likelihood, covariance, whitening, types, and samples of any kind."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import certpca
from certpca import SparseKernelPCA, SparsePCA


@pytest.fixture
def data(rng):
    return rng.standard_normal((50, 7)) @ rng.standard_normal((7, 7)) + 2.0


def test_dense_components_are_those_of_probabilistic_pca(data):
    ours, theirs = SparsePCA(n_components=3, sparsity=7).fit(data), PCA(n_components=3).fit(data)
    np.testing.assert_allclose(ours.singular_values_, theirs.singular_values_, rtol=1e-6)
    np.testing.assert_allclose(ours.noise_variance_, theirs.noise_variance_, rtol=1e-6)
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-5)
    np.testing.assert_allclose(ours.score_samples(data), theirs.score_samples(data), rtol=1e-5)
    whitened = SparsePCA(n_components=3, sparsity=7, whiten=True).fit_transform(data)
    np.testing.assert_allclose(np.abs(whitened), np.abs(PCA(3, whiten=True).fit_transform(data)), atol=1e-4)


@pytest.mark.parametrize("together", ["greedy", "disjoint"])
@pytest.mark.parametrize("scale", [False, True])
def test_the_likelihood_is_that_of_the_covariance(data, together, scale):
    model = SparsePCA(n_components=2, sparsity=3, together=together, scale=scale).fit(data)
    covariance = model.get_covariance()
    expected = multivariate_normal(model.mean_, covariance).logpdf(data)
    np.testing.assert_allclose(model.score_samples(data), expected)
    np.testing.assert_allclose(model.score_samples(sp.csr_array(data)), expected)
    inside = model.components_ / model.scale_
    np.testing.assert_allclose(inside @ covariance @ inside.T, np.cov(model.transform(data).T), rtol=1e-9)
    # No other noise is more likely.
    for other in (0.9, 1.1):
        changed = covariance + (other - 1) * model.noise_variance_ * _outside(model)
        assert multivariate_normal(model.mean_, changed).logpdf(data).sum() < expected.sum() + 1e-9


def _outside(model):
    basis = np.linalg.qr(model.components_.T)[0]
    rest = np.eye(basis.shape[0]) - basis @ basis.T
    return rest * model.scale_[:, None] * model.scale_


def test_there_is_no_density_where_nothing_is_left_or_samples_stay_in_a_file(data, tmp_path):
    flat = np.outer(np.arange(10.0), [1.0, 2.0, 0.5])
    with pytest.raises(certpca.InvalidProblemError, match="there is no density"):
        SparsePCA(sparsity=3).fit(flat).score_samples(flat)
    np.save(tmp_path / "data.npy", data)
    reader = certpca.open_npy(tmp_path / "data.npy")
    with pytest.raises(certpca.InvalidDataError, match="load some of them"):
        SparsePCA(sparsity=3).fit(reader).score_samples(reader)
    holes = data.copy()
    holes[0, 0] = np.nan
    model = SparsePCA(sparsity=3, missing="mean").fit(data)
    filled = holes.copy()
    filled[0, 0] = data[:, 0].mean()
    np.testing.assert_allclose(model.score_samples(holes), model.score_samples(filled))


@pytest.mark.parametrize("method", ["projection", "regression"])
def test_whitened_scores_are_uncorrelated_and_turn_back(data, method):
    model = SparsePCA(n_components=3, sparsity=4, method=method, whiten=True)
    scores = model.fit_transform(data)
    np.testing.assert_allclose(np.cov(scores.T), np.eye(3), atol=1e-8)
    plain = SparsePCA(n_components=3, sparsity=4, method=method).fit(data)
    rebuilt = plain.inverse_transform(plain.transform(data))
    np.testing.assert_allclose(model.inverse_transform(scores), rebuilt, atol=1e-8)


@pytest.mark.parametrize("made", [SparsePCA(n_components=2, sparsity=3), SparseKernelPCA(n_components=2, sparsity=5)])
def test_single_precision_is_kept(data, made):
    single = made.fit(data.astype(np.float32)).transform(data.astype(np.float32))
    double = made.fit(data).transform(data)
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(single, double, atol=1e-3)


def test_rebuilt_samples_keep_single_precision(data):
    model = SparsePCA(n_components=2, sparsity=3).fit(data)
    assert model.inverse_transform(model.transform(data).astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("made", [SparsePCA(n_components=2, sparsity=3), SparseKernelPCA(sparsity=3)])
def test_verbose_prints_and_silence_is_the_default(data, made, capsys):
    made.fit(data)
    assert capsys.readouterr().out == ""
    name = type(made).__name__
    for limit in (None, 30.0):
        clone(made).set_params(verbose=1, time_limit=limit).fit(data)
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith(f"[{name}] ")
        assert "objective" in lines[0]
        assert f"{made.n_components} of {made.n_components} components" in lines[-1]


BAD: list[tuple[dict, str]] = [
    ({"n_components": 0}, "n_components must be a whole number in 1..7"),
    ({"n_components": 2.5}, "n_components must be"),
    ({"sparsity": 8}, "sparsity must be a whole number in 1..7"),
    ({"sparsity": [3, 3, 3]}, "one for each of 2 components, got 3"),
    ({"include": "nothing"}, "include"),
    ({"exclude": [99]}, "exclude"),
    ({"groups": [[0, 1], [1, 2]]}, "groups"),
    ({"nonnegative": "yes"}, "nonnegative"),
    ({"solver": "auto-magic"}, "auto"),
    ({"solver": 7}, "solver must be a name"),
    ({"total": 5}, "total=5 would have no effect"),
    ({"together": "joint"}, "together must be one of greedy"),
    ({"deflation": "shur"}, "schur"),
    ({"method": "projektion"}, "did you mean 'projection'"),
    ({"whiten": "yes"}, "whiten must be True or False, got 'yes'"),
    ({"certify": 1}, "certify must be True or False, got 1"),
    ({"target_gap": 2.0, "certify": True}, "target_gap must lie in"),
    ({"target_gap": 0.1}, "would have no effect"),
    ({"random_state": "seed"}, "random_state"),
    ({"time_limit": -1}, "time_limit must be a positive number of seconds"),
    ({"center": "no"}, "center must be True or False, got 'no'"),
    ({"scale": "std"}, "scale must be True"),
    ({"missing": "zero"}, 'missing must be "error" or "mean"'),
    ({"verbose": -1}, "verbose must be True, False or a whole number"),
    ({"verbose": "loud"}, "verbose must be True, False or a whole number"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_every_bad_setting_is_refused_with_what_it_must_be(data, change, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        SparsePCA(n_components=2, sparsity=3).set_params(**change).fit(data)
    assert message in str(caught.value)
    assert set(SparsePCA().get_params()) == {name for case, _ in BAD for name in case}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_pipelines_with_a_time_limit_keep_their_shape(data, rng):
    labels = rng.integers(0, 2, 50)
    pipeline = make_pipeline(StandardScaler(), SparsePCA(n_components=4, sparsity=3, certify=True, time_limit=1e-3))
    scores = pipeline.fit_transform(data)
    assert scores.shape == (50, 4)
    assert list(pipeline.get_feature_names_out()) == [f"sparsepca{j}" for j in range(4)]
    assert pipeline.set_output(transform="pandas").fit_transform(data).shape == (50, 4)
    predicted = cross_val_predict(
        make_pipeline(pipeline.set_output(transform="default"), LogisticRegression()), data, labels
    )
    assert predicted.shape == (50,)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
def test_annotated_data_and_files_are_samples_too(data, tmp_path):
    names = [f"g{j}" for j in range(7)]
    frame = pd.DataFrame(data, columns=names)
    model = SparsePCA(n_components=2, sparsity=3, scale=True).fit(frame)
    expected = model.transform(frame)
    ad = pytest.importorskip("anndata")
    cells = ad.AnnData(data)
    cells.var_names = names
    again = SparsePCA(n_components=2, sparsity=3, scale=True).fit(cells)
    np.testing.assert_allclose(again.transform(cells), expected)
    assert list(again.feature_names_in_) == names
    assert list(again.get_feature_names_out()) == ["sparsepca0", "sparsepca1"]
    np.testing.assert_allclose(again.score(cells), model.score(frame))
    cells.write_h5ad(tmp_path / "cells.h5ad")
    backed = ad.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    for file in (certpca.read_h5ad(tmp_path / "cells.h5ad", memory=1e-6), backed):
        streamed = SparsePCA(n_components=2, sparsity=3, scale=True).fit(file)
        np.testing.assert_allclose(streamed.transform(file), expected, atol=1e-8)
        np.testing.assert_allclose(streamed.score(file), model.score(frame))
        np.testing.assert_allclose(streamed.transform(cells), expected, atol=1e-8)
    backed.file.close()
    with pytest.raises(ValueError, match="X has 3 features, but SparsePCA is expecting 7"):
        again.transform(cells[:, :3].copy())
    renamed = cells.copy()
    renamed.var_names = [*names[:-1], "other"]
    with pytest.raises(ValueError, match="'g6' then, 'other' now"):
        again.transform(renamed)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
def test_kernels_take_annotated_data_and_refuse_files(data, tmp_path):
    ad = pytest.importorskip("anndata")
    scores = SparseKernelPCA(sparsity=5).fit_transform(ad.AnnData(data))
    np.testing.assert_allclose(scores, SparseKernelPCA(sparsity=5).fit_transform(data))
    np.save(tmp_path / "data.npy", data)
    with pytest.raises(certpca.InvalidDataError, match="load some of them"):
        SparseKernelPCA(sparsity=5).fit(certpca.open_npy(tmp_path / "data.npy"))


def test_a_fitted_model_is_pickled_whole(data):
    model = SparsePCA(n_components=2, sparsity=3, whiten=True).fit(data)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(data), model.transform(data))
    np.testing.assert_array_equal(again.score_samples(data), model.score_samples(data))


def test_there_is_no_partial_fit_and_the_reason_is_told():
    assert not hasattr(SparsePCA(), "partial_fit")
    assert "There is no `partial_fit`" in (SparsePCA.__doc__ or "")
