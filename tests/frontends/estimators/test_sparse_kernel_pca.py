"""Sparse kernel PCA as scikit-learn sees it."""

import pickle

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

import certpca
from certpca import SparseKernelPCA
from certpca.operators.kernel import KernelOperator


@pytest.fixture(scope="module")
def groups():
    """Three clouds of points in the plane."""
    rng = np.random.default_rng(4)
    centres = np.repeat([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], 20, axis=0)
    return centres + 0.3 * rng.standard_normal(centres.shape)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [(e, c) for e, c in estimator_checks_generator(SparseKernelPCA(sparsity=3))],
    ids=lambda value: getattr(getattr(value, "func", value), "__name__", ""),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize(
    ("kernel", "parameters"), [("linear", {}), ("rbf", {"gamma": 0.5}), ("polynomial", {"gamma": 0.2, "degree": 2})]
)
def test_all_samples_allowed_gives_kernel_pca(groups, kernel, parameters, center):
    sparse = SparseKernelPCA(n_components=1, sparsity=60, kernel=kernel, center=center, **parameters).fit(groups)
    matrix = certpca.from_kernel(
        groups, kernel, center=center, **({"coef0": 1} | parameters if kernel == "polynomial" else parameters)
    )
    whole = matrix.submatrix(np.arange(60))
    values, vectors = np.linalg.eigh(whole)
    scores = whole @ vectors[:, -1] / np.sqrt(values[-1])
    np.testing.assert_allclose(np.abs(sparse.transform(groups)[:, 0]), np.abs(scores), atol=1e-6)
    assert sparse.explained_variance_[0] == pytest.approx(values[-1] / 60, rel=1e-6)


def test_new_points_are_scored_as_kernel_pca_does(groups):
    new = np.random.default_rng(0).standard_normal((7, 2))
    dense = KernelPCA(1, kernel="rbf", gamma=0.5).fit(groups)
    sparse = SparseKernelPCA(n_components=1, sparsity=60, gamma=0.5).fit(groups)
    np.testing.assert_allclose(np.abs(sparse.transform(new)), np.abs(dense.transform(new)), atol=1e-6)


def test_a_linear_kernel_is_the_explicit_problem(groups):
    centred = groups - groups.mean(axis=0)
    explicit = certpca.solve(centred @ centred.T, 5, covariance=True)
    kernel = SparseKernelPCA(n_components=1, sparsity=5, kernel="linear").fit(groups)
    assert kernel.solutions_[0].objective == pytest.approx(explicit.objective, rel=1e-9)
    assert kernel.support_.tolist() == explicit.support.tolist()


def test_precomputed_and_callable_equal_the_named_kernel(groups):
    from sklearn.metrics.pairwise import rbf_kernel

    named = SparseKernelPCA(n_components=2, sparsity=6, gamma=0.5).fit(groups)
    matrix = rbf_kernel(groups, gamma=0.5)
    given = SparseKernelPCA(n_components=2, sparsity=6, kernel="precomputed").fit(matrix)
    own = SparseKernelPCA(n_components=2, sparsity=6, kernel=lambda a, b: rbf_kernel(a, b, gamma=0.5)).fit(groups)
    np.testing.assert_allclose(given.dual_coef_, named.dual_coef_, atol=1e-8)
    np.testing.assert_allclose(own.dual_coef_, named.dual_coef_, atol=1e-8)
    new = groups[:5] + 0.1
    block = rbf_kernel(new, groups, gamma=0.5)
    np.testing.assert_allclose(given.transform(block), named.transform(new), atol=1e-8)
    np.testing.assert_allclose(own.transform(new), named.transform(new), atol=1e-8)


def test_few_samples_separate_the_groups(groups):
    scores = SparseKernelPCA(n_components=2, sparsity=5, gamma=0.2).fit_transform(groups)
    labels = np.repeat([0, 1, 2], 20)
    assert LogisticRegression().fit(scores, labels).score(scores, labels) == 1.0


def test_few_samples_tell_two_moons_apart():
    points, labels = make_moons(200, noise=0.05, random_state=0)
    scores = SparseKernelPCA(n_components=4, sparsity=12, gamma=8.0).fit_transform(points)
    assert LogisticRegression(C=100.0).fit(scores, labels).score(scores, labels) > 0.9


def test_certificates_are_about_the_kernel_matrix(groups):
    model = SparseKernelPCA(n_components=1, sparsity=4, gamma=0.5, certify=True, target_gap=0.05).fit(groups)
    certificate = model.solutions_[0].certificate
    assert certificate is not None
    assert certificate.gap <= 0.05
    operator = certpca.from_kernel(groups, "rbf", gamma=0.5)
    assert certpca.verify(certificate, operator).upper_bound <= certificate.upper_bound


def test_pipeline_grid_search_pandas_and_pickle(groups):
    labels = np.repeat([0, 1, 2], 20)
    search = GridSearchCV(
        make_pipeline(SparseKernelPCA(n_components=2, gamma=0.2), LogisticRegression()),
        {"sparsekernelpca__sparsity": [2, 6]},
        cv=3,
    )
    assert search.fit(groups, labels).best_score_ > 0.9
    model = clone(SparseKernelPCA(n_components=2, sparsity=5, gamma=0.2)).set_output(transform="pandas").fit(groups)
    frame = model.transform(pandas.DataFrame(groups).to_numpy())
    assert list(frame.columns) == ["sparsekernelpca0", "sparsekernelpca1"]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.transform(groups), frame, rtol=1e-12)
    other = model.set_output(transform="polars").transform(groups)
    assert other.columns == ["sparsekernelpca0", "sparsekernelpca1"]
    np.testing.assert_allclose(other.to_numpy(), frame.to_numpy(), rtol=1e-12)


def test_bad_input_is_named(groups):
    with pytest.raises(certpca.CertpcaError, match="square"):
        SparseKernelPCA(kernel="precomputed").fit(groups)
    with pytest.raises(certpca.CertpcaError, match="kernel must be one of"):
        SparseKernelPCA(kernel="laplace").fit(groups)
    with pytest.raises(certpca.CertpcaError, match="sparsity"):
        SparseKernelPCA(sparsity=61).fit(groups)
    with pytest.warns(ConvergenceWarning, match="SparseKernelPCA stopped at the budget"):
        SparseKernelPCA(sparsity=5, time_limit=1e-6).fit(groups)


def test_a_product_with_few_samples_evaluates_few_kernel_values():
    asked = []

    def counted(left, right):
        asked.append(left.shape[0] * right.shape[0])
        return left @ right.T + 1.0

    samples = np.random.default_rng(0).standard_normal((30, 4))
    operator = KernelOperator(samples, counted, centred=True, block_bytes=8 * 30 * 7)  # seven rows at a time
    assert sum(asked) == 30 * 30
    asked.clear()
    panel = np.zeros((30, 2))
    panel[[3, 17, 20]] = [[1.0, 0.0], [0.0, 2.0], [-1.0, 0.5]]
    whole = operator.submatrix(np.arange(30))
    asked.clear()
    np.testing.assert_allclose(operator.matmat(panel), whole @ panel, rtol=1e-12, atol=1e-12)
    assert sum(asked) == 30 * 3
    np.testing.assert_array_equal(operator.matmat(np.zeros((30, 1))), np.zeros((30, 1)))
