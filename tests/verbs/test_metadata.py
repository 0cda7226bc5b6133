"""Scores against metadata: the numbers of SciPy, and columns that cannot be compared refused by name."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import certpca
from certpca.runtime.errors import InvalidDataError, InvalidProblemError


@pytest.fixture
def scores(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((40, 3))


def test_numbers_are_correlated_as_scipy_does(scores: np.ndarray, rng: np.random.Generator) -> None:
    age = scores[:, 1] + rng.standard_normal(40)
    age[3] = np.nan
    found = certpca.associations(scores, {"age": age})
    for j in range(3):
        known = np.isfinite(age)
        expected = stats.pearsonr(age[known], scores[known, j])
        assert found.strengths[0, j] == pytest.approx(expected.statistic)
        assert found.p_values[0, j] == pytest.approx(expected.pvalue)


def test_groups_are_compared_as_in_an_analysis_of_variance(scores: np.ndarray) -> None:
    batch = np.array(list("aabc") * 10)
    found = certpca.associations(scores, {"batch": batch, "flag": batch == "a"})
    assert found.kinds == ("groups", "groups")
    for j in range(3):
        expected = stats.f_oneway(*(scores[batch == group, j] for group in "abc"))
        assert found.p_values[0, j] == pytest.approx(expected.pvalue)
        between = sum((batch == g).sum() * (scores[batch == g, j].mean() - scores[:, j].mean()) ** 2 for g in "abc")
        assert found.strengths[0, j] ** 2 == pytest.approx(between / ((scores[:, j] - scores[:, j].mean()) ** 2).sum())


def test_stars_allow_for_how_many_were_looked_at() -> None:
    rng = np.random.default_rng(0)
    false = 0
    for _ in range(100):
        noise = {f"column {j}": rng.standard_normal(30) for j in range(5)}
        false += bool(certpca.associations(rng.standard_normal((30, 4)), noise).clear.any())
    assert false <= 12  # 5 % of the cases, and some room


def test_frames_tables_and_plots(scores: np.ndarray) -> None:
    pandas = pytest.importorskip("pandas")
    from matplotlib.figure import Figure

    frame = pandas.DataFrame({"sex": ["f", "m"] * 20, "age": np.arange(40), "site": [None, "x", "y", "y"] * 10})
    found = certpca.associations(scores, frame)
    assert found.names == ("sex", "age", "site")
    assert len(str(found).splitlines()) == 4
    axes = Figure().subplots()
    assert found.plot(axes) is axes


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ([1, 2], "metadata must be a DataFrame"),
        ({}, "metadata must be a DataFrame"),
        ({"age": [1, 2]}, "'age' of the metadata has 2 values, but there are 40 samples"),
        ({"age": [1] * 40}, "'age' .* fewer than two values to compare; leave it out"),
        ({"id": [f"s{j}" for j in range(40)]}, "'id' .* makes no groups; leave it out"),
    ],
)
def test_columns_that_say_nothing_are_named(scores: np.ndarray, metadata: Any, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        certpca.associations(scores, metadata)


def test_bad_scores_and_levels(scores: np.ndarray) -> None:
    with pytest.raises(InvalidDataError, match="samples x components and finite"):
        certpca.associations(scores * np.nan, {"age": np.arange(40)})
    with pytest.raises(InvalidProblemError, match="level must lie"):
        certpca.associations(scores, {"age": np.arange(40)}, level=5)
