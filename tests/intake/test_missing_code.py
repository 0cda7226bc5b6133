"""Whether -9 marks a missing value is decided for all data together, once, and holds for every part of them."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import certpca
from certpca.runtime.errors import InvalidDataError


def genotypes(rows: int = 40, size: int = 8) -> np.ndarray:
    rng = np.random.default_rng(0)
    data = rng.integers(0, 3, (rows, size)).astype(np.int8)
    data[:, :3] = np.clip(data[:, :1] + rng.integers(0, 2, (rows, 3)), 0, 2)
    return data


def with_holes() -> np.ndarray:
    data = genotypes()
    data[[1, 5, 9], [0, 1, 2]] = -9
    return data


@pytest.mark.parametrize("method", ["projection", "regression"])
def test_a_row_scores_the_same_in_every_batch(method: str) -> None:
    data = with_holes()
    fitted = certpca.SparsePCA(n_components=2, sparsity=3, missing="mean", method=method).fit(data)
    assert fitted.missing_code_ == -9
    whole = fitted.transform(data)
    odd = data[:2].copy()
    odd[0, 4] = -3  # another negative number in the batch, which used to turn -9 into a number
    np.testing.assert_allclose(fitted.transform(np.vstack([odd, data[1:2]]))[1:], whole[[1, 1]])
    for rows in (slice(1, 2), slice(5, 9), slice(0, 40, 3)):
        np.testing.assert_allclose(fitted.transform(data[rows]), whole[rows])
    for batch in (data.astype(np.int64), data.astype(np.float64), sp.csr_array(data), sp.csc_array(data.astype(float))):
        np.testing.assert_allclose(fitted.transform(batch), whole)
        assert fitted.score(batch) == pytest.approx(fitted.score(data))


def test_minus_nine_is_a_number_where_the_model_saw_it_as_one() -> None:
    data = genotypes().astype(np.int16) - 1  # has other negative numbers
    data[[1, 5], 0] = -9
    fitted = certpca.SparsePCA(sparsity=3, missing="mean").fit(data)
    assert fitted.missing_code_ is None
    whole = fitted.transform(data)
    single = data[[1]].copy()
    single[single == -1] = 0  # -9 is the only negative number of this batch
    expected = fitted.transform(single.astype(np.float64))
    np.testing.assert_allclose(fitted.transform(single), expected)
    np.testing.assert_allclose(fitted.transform(data[[1]]), whole[[1]])
    floats = certpca.SparsePCA(sparsity=3, missing="mean").fit(data.astype(np.float64))
    assert floats.missing_code_ is None
    np.testing.assert_allclose(floats.transform(single), expected)


def test_integers_without_negative_numbers_take_later_marks_for_missing() -> None:
    data = genotypes()
    fitted = certpca.SparsePCA(sparsity=3, missing="mean").fit(data)
    assert fitted.missing_code_ == -9
    batch = data[:4].copy()
    batch[0, fitted.support_] = -9
    np.testing.assert_allclose(fitted.transform(batch)[0], 0.0, atol=1e-12)
    nan = batch.astype(np.float64)
    nan[0, fitted.support_] = np.nan
    np.testing.assert_allclose(fitted.transform(nan), fitted.transform(batch))
    with pytest.raises(InvalidDataError, match="missing values"):
        certpca.SparsePCA(sparsity=3).fit(data).transform(batch)


def test_samples_without_marks_are_scored_as_ever() -> None:
    data = genotypes()
    fitted = certpca.SparsePCA(sparsity=3).fit(data)
    np.testing.assert_allclose(fitted.transform(data), (data - fitted.mean_) @ fitted.components_.T, atol=1e-12)


@pytest.mark.parametrize(
    "settings", [{"method": "cross-validation", "folds": 3}, {"method": "stability", "subsamples": 6}]
)
def test_folds_do_not_decide_anew(settings: dict[str, Any]) -> None:
    """A fold in which -9 is the only negative number would take it for a mark, and refuse it or put a mean there."""
    data = genotypes(60).astype(np.int16)
    data[::7, 0] = -9
    data[0, 5] = -1  # so -9 is a number; most folds do not have this row
    options: dict[str, Any] = {**settings, "rng": 1}
    found = certpca.choose_sparsity(data, [2, 3, 5], **options)
    floats = certpca.choose_sparsity(data.astype(np.float64), [2, 3, 5], **options)
    np.testing.assert_allclose(found.scores, floats.scores, rtol=1e-6)
    assert found.sparsity == floats.sparsity


def test_components_of_some_features_do_not_decide_anew() -> None:
    """Features left over by disjoint components may have no other negative number."""
    data = genotypes().astype(np.int16)
    data[3, 0], data[4, 6] = -1, -9
    found = certpca.decompose(data, 2, 3, together="disjoint")
    floats = certpca.decompose(data.astype(np.float64), 2, 3, together="disjoint")
    for one, other in zip(found.components, floats.components, strict=True):
        assert one.support.tolist() == other.support.tolist()
        assert one.objective == pytest.approx(other.objective, rel=1e-9)
