"""Scores of samples on components that were found before."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import certpca
from certpca.results.component_set import ComponentSet

NAMES = [f"g{j}" for j in range(8)]


@pytest.fixture
def samples(rng):
    return rng.standard_normal((60, 8)) @ rng.standard_normal((8, 8)) + rng.standard_normal(8) * 5


@pytest.mark.parametrize("together", ["greedy", "disjoint"])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("center", [False, True])
def test_it_agrees_with_the_estimator_on_new_samples(samples, together, scale, center):
    model = certpca.SparsePCA(n_components=2, sparsity=3, together=together, scale=scale, center=center)
    model.fit(samples[:40])
    found = certpca.decompose(samples[:40], 2, 3, together=together, scale=scale, center=center)
    np.testing.assert_allclose(certpca.transform(samples[40:], found), model.transform(samples[40:]), atol=1e-12)
    model.set_params(method="regression")
    scores = certpca.transform(samples[40:], found, method="regression")
    np.testing.assert_allclose(scores, model.transform(samples[40:]), atol=1e-12)


@pytest.mark.parametrize("power", [-400, -300, 300])
def test_numbers_far_from_one_keep_their_units(samples, power):
    large = np.ldexp(samples, power)
    found = certpca.decompose(large, 2, 3)
    expected = certpca.transform(samples, certpca.decompose(samples, 2, 3))
    np.testing.assert_allclose(np.ldexp(certpca.transform(large, found), -power), expected, rtol=1e-9, atol=1e-9)


def test_training_scores_have_the_variance_that_is_reported(samples):
    found = certpca.decompose(samples, 3, 3)
    scores = certpca.transform(samples, found)
    np.testing.assert_allclose(scores.var(axis=0, ddof=1), found.explained_variance, rtol=1e-10)
    np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-10)


def test_a_stored_result_gives_the_same_scores(samples, tmp_path):
    found = certpca.decompose(samples, 2, 3, scale=True)
    certpca.save_components(found, tmp_path / "set.json")
    stored = certpca.load_components(tmp_path / "set.json")
    assert type(stored) is ComponentSet
    np.testing.assert_array_equal(certpca.transform(samples, stored), certpca.transform(samples, found))
    one = certpca.solve(samples, 3)
    certpca.save_solution(one, tmp_path / "one.json")
    again = certpca.load_solution(tmp_path / "one.json")
    np.testing.assert_array_equal(certpca.transform(samples, again), certpca.transform(samples, one))
    for solution in certpca.path(samples, [2, 4]).solutions:
        assert certpca.transform(samples, solution).shape == (60, 1)


def test_columns_are_found_by_name_in_any_order_among_others(samples, rng):
    frame = pd.DataFrame(samples, columns=NAMES)
    found = certpca.decompose(frame, 2, 3)
    expected = certpca.transform(frame, found)
    needed = sorted({name for part in found.components for name in part.names or ()})
    shuffled = frame[list(rng.permutation(needed))].assign(other=1.0)
    np.testing.assert_allclose(certpca.transform(shuffled, found), expected)
    np.testing.assert_allclose(certpca.transform(sp.csr_array(samples), found, names=NAMES), expected)
    with pytest.raises(certpca.InvalidDataError, match=f"1 of {len(needed)} features .* '{needed[0]}'"):
        certpca.transform(shuffled.drop(columns=needed[0]), found)
    twice = pd.concat([frame, frame[[needed[0]]]], axis=1)
    with pytest.raises(certpca.InvalidDataError, match="are several columns each"):
        certpca.transform(twice, found)


def test_missing_values_take_the_training_mean(samples):
    found = certpca.solve(samples, 3)
    holed, filled = samples[:5].copy(), samples[:5].copy()
    first = found.support[0]
    holed[2, first], filled[2, first] = np.nan, samples[:, first].mean()
    with pytest.raises(certpca.InvalidDataError, match="missing='mean'"):
        certpca.transform(holed, found)
    np.testing.assert_allclose(certpca.transform(holed, found, missing="mean"), certpca.transform(filled, found))
    other = np.setdiff1d(np.arange(8), found.support)[0]
    elsewhere = samples[:5].copy()
    elsewhere[0, other] = np.nan  # a column that no component uses
    np.testing.assert_allclose(certpca.transform(elsewhere, found), certpca.transform(samples[:5], found))


def test_coded_genotypes_and_files(tmp_path, rng):
    calls = rng.integers(0, 3, (30, 12)).astype(np.int8)
    calls[3, 4] = -9
    found = certpca.solve(calls, 12, missing="mean")
    scores = certpca.transform(calls, found, missing="mean")
    np.testing.assert_allclose(scores.var(ddof=1), found.objective, rtol=1e-9)
    np.save(tmp_path / "calls.npy", calls)
    reader = certpca.open_npy(tmp_path / "calls.npy")
    np.testing.assert_allclose(certpca.transform(reader, found, missing="mean"), scores)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "guess"}, "method must be one of projection, regression"),
        ({"missing": "zero"}, "missing must be one of error, mean"),
        ({"result": "result.json"}, "result must be what solve or decompose returns"),
        ({"data": np.ones((3, 7))}, "they must be 8, as they were then, got 7"),
        ({"data": np.full((3, 8), np.inf)}, "infinite values"),
        ({"names": ["a"]}, "names must have one entry for each of the 8"),
        ({"data": np.ones(8)}, "a table with two axes"),
    ],
)
def test_bad_arguments_are_refused(samples, change, message):
    given = {"data": samples, "result": certpca.solve(samples, 3), **change}
    with pytest.raises(certpca.CertpcaError, match=message):
        certpca.transform(**given)


def test_a_result_about_a_matrix_has_no_scores():
    with pytest.raises(certpca.InvalidProblemError, match="scores need one that was found from samples x features"):
        certpca.transform(np.ones((3, 13)), certpca.solve(certpca.pitprops(), 3))
