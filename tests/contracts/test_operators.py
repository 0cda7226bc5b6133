"""Contracts of every operator."""

import numpy as np
import pytest

import certpca
from certpca.runtime.arrays import to_vector
from certpca.runtime.errors import InvalidProblemError
from tests.contracts.catalogue import OPERATORS, planted_counts


@pytest.fixture(params=sorted(OPERATORS))
def operator(request, tmp_path):
    return OPERATORS[request.param](planted_counts()[0], tmp_path)


@pytest.fixture(scope="module")
def matrix():
    return np.cov(planted_counts()[0].T)


def test_keeps_its_promises(operator):
    certpca.verify_operator(operator)


def test_stands_for_the_covariance(operator, matrix):
    everything = np.arange(operator.size)
    np.testing.assert_allclose(operator.submatrix(everything), matrix, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(to_vector(operator.columns(everything)), matrix, rtol=1e-4, atol=1e-5)


def test_float64_panels_get_float64_accuracy(operator, matrix):
    panel = np.random.default_rng(0).standard_normal((operator.size, 3))
    there = operator.xp.asarray(panel, dtype=operator.xp.float64, device=operator.device)
    # float32 input to sparse or explicit operators is what it is; all data here are small integers
    np.testing.assert_allclose(to_vector(operator.matmat(there)), matrix @ panel, rtol=1e-9, atol=1e-9)


def test_quadratic_form_is_that_of_the_matrix(operator, matrix):
    support = np.array([1, 4, 7])
    loadings = np.array([0.6, 0.0, -0.8])
    expected = loadings @ matrix[np.ix_(support, support)] @ loadings
    assert operator.quadratic_form(support, loadings) == pytest.approx(expected, rel=1e-9)


def test_questions_about_few_features_agree_with_the_matrix(operator, matrix):
    rng = np.random.default_rng(1)
    supports = np.array([[0, 3, 5], [1, 4, 7], [3, 5, 11]])
    loadings = rng.standard_normal(supports.shape)
    panel = np.zeros((3, operator.size))
    np.put_along_axis(panel, supports, loadings, axis=1)
    images = operator.images(supports, loadings)
    np.testing.assert_allclose(images, panel @ matrix, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        operator.captured(supports, loadings), np.einsum("ij,ij->i", panel @ matrix, panel), rtol=1e-4, atol=1e-5
    )
    rows, columns = np.array([2, 9]), np.array([1, 2, 8])
    np.testing.assert_allclose(operator.entries(rows, columns), matrix[np.ix_(rows, columns)], rtol=1e-4, atol=1e-5)
    assert operator.numbers > 0
    assert (operator.walks > 0) == operator.cost.reads


def test_products_of_the_transposed_factor_are_those_of_the_factor(operator):
    factor = operator.factor()
    scores = operator.adopt(np.random.default_rng(2).standard_normal((factor.depth, 2)))
    expected = to_vector(factor.transposed_times(scores))
    np.testing.assert_allclose(to_vector(operator.transposed_times(scores)), expected, rtol=1e-3, atol=1e-4)


def test_scores_are_those_of_the_samples(operator):
    support, loadings = np.array([1, 4, 7]), np.array([0.6, 0.0, -0.8])
    if operator.rows is None:
        with pytest.raises(InvalidProblemError, match="need samples"):
            operator.scores(support, loadings)
        return
    data = planted_counts()[0].astype(float)
    expected = (data - data.mean(axis=0))[:, support] @ loadings
    np.testing.assert_allclose(operator.scores(support, loadings), expected, rtol=1e-9, atol=1e-9)


def test_only_what_is_read_costs_walks(operator, request):
    name = request.node.callspec.params["operator"]
    assert operator.cost.reads == operator.cost.given_in_file == (name in ("packed-genotypes", "streamed"))
    assert not operator.cost.less_in_samples  # there are more samples than features
    assert not operator.cost.dear


def test_factor_blocks_join_to_a_factor(operator, matrix):
    factor = operator.factor()
    blocks = [to_vector(block) for _, block in factor.blocks(5, operator.xp.float64)]
    assert all(block.shape[0] == factor.depth for block in blocks)
    whole = np.concatenate(blocks, axis=1)
    np.testing.assert_allclose(whole.T @ whole, matrix, rtol=1e-9, atol=1e-9)


def test_restriction_is_an_operator(operator, matrix):
    chosen = np.array([2, 3, 8, 11])
    part = operator.restrict(chosen)
    certpca.verify_operator(part)
    np.testing.assert_allclose(part.submatrix(np.arange(4)), matrix[np.ix_(chosen, chosen)], rtol=1e-6, atol=1e-7)
