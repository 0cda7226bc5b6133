"""Choosing the sparsity: planted features are counted, and what cannot be answered is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import certpca
from certpca.runtime.errors import InvalidProblemError
from certpca.verbs.choose import Method

PLANTED = 10
GRID = (2, 5, 8, 10, 12, 15, 20, 30)
METHODS: tuple[Method, ...] = ("elbow", "cross-validation", "stability")


@pytest.fixture(scope="module")
def data():
    """One strong direction on the first ten of forty features."""
    rng = np.random.default_rng(5)
    loadings = np.zeros(40)
    loadings[:PLANTED] = rng.choice([-1.0, 1.0], PLANTED) * rng.uniform(0.8, 1.2, PLANTED)
    return rng.standard_normal((80, 1)) * loadings + rng.standard_normal((80, 40))


@pytest.fixture(scope="module")
def choices(data):
    more: dict[str, Any] = {"stability": {"subsamples": 6}, "cross-validation": {"rule": "paired"}}
    return {method: certpca.choose_sparsity(data, GRID, method=method, **more.get(method, {})) for method in METHODS}


@pytest.mark.parametrize("method", METHODS)
def test_planted_features_are_counted(choices, method):
    choice = choices[method]
    assert choice.sparsity in (8, PLANTED, 12)
    assert choice.reason.startswith(f"{choice.sparsity} features")
    assert str(choice) == choice.reason
    assert choice.scores.shape == choice.errors.shape == (len(GRID),)
    assert choice.solution.sparsity == choice.sparsity


def test_elbow_is_the_largest_height_above_the_chord(choices):
    choice = choices["elbow"]
    assert choice.scores[[0, -1]] == pytest.approx(0.0)
    assert choice.path.sparsities[np.argmax(choice.scores)] == choice.sparsity


@pytest.mark.parametrize("rule", ["one-standard-error", "best"])
def test_cross_validation_takes_the_fewest_within_one_error(data, rule):
    choice = certpca.choose_sparsity(data, GRID, method="cross-validation", rule=rule)
    best = np.argmax(choice.scores)
    close = choice.scores >= choice.scores[best] - choice.errors[best] * (rule != "best")
    assert choice.path.sparsities[close][0] == choice.sparsity
    assert ((choice.scores > 0) & (choice.scores < 1)).all()


def test_differences_to_the_best_are_a_stricter_rule(choices):
    choice = choices["cross-validation"]
    close = choice.scores + choice.errors >= choice.scores.max()
    assert choice.path.sparsities[close][0] == choice.sparsity
    assert choice.errors[np.argmax(choice.scores)] == 0.0


def test_share_is_what_regression_on_the_score_explains(data):
    choice = certpca.choose_sparsity(data, GRID, method="share", share=0.9)
    centred = data - data.mean(axis=0)
    largest = np.linalg.svd(centred, compute_uv=False)[0] ** 2
    for solution, score in zip(choice.path.solutions, choice.scores, strict=True):
        along = centred @ solution.component
        assert score == pytest.approx(((centred.T @ along) ** 2).sum() / (along @ along) / largest)
    assert choice.sparsity == choice.path.sparsities[choice.scores >= 0.9][0]


@pytest.mark.parametrize("share", [0.3, 0.62, 0.95, 1.0])
def test_fewest_features_are_found_between_the_sizes_of_the_grid(share):
    """On pit props the path has every sparsity, and every bound."""
    every = certpca.path(certpca.pitprops(), range(1, 14))
    relative = np.array([solution.relative_objective for solution in every.solutions])
    choice = certpca.choose_sparsity(certpca.pitprops(), method="share", share=share, measure="captured")
    assert choice.sparsity == np.argmax(relative >= share - 1e-12) + 1
    assert (np.diff(choice.path.objectives) >= 0).all()


def test_too_few_features_are_proved_to_be_too_few():
    problem = certpca.pitprops()
    choice = certpca.choose_sparsity(problem, method="share", measure="captured", certify=True, target_gap=1e-6)
    fewer = choice.sparsity - 1
    assert f"no choice of {fewer} captures as much, proved" in choice.reason
    largest = np.linalg.eigvalsh(problem.submatrix(np.arange(13)))[-1]
    assert certpca.certify(problem, fewer, target_gap=1e-6).upper_bound < 0.8 * largest


def test_share_that_no_sparsity_reaches_is_said():
    choice = certpca.choose_sparsity(certpca.pitprops(), [1, 2], method="share", share=0.99)
    assert choice.sparsity == 2
    assert "none of those tried reaches 99%" in choice.reason


SHORT = {"wine": 5, "breast": 15, "alon": 300}  # of 13, 30 and 2,000 features, where differences ask for 8, 24, 2,000


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("method", ["share", "cross-validation"])
def test_lists_are_short_where_every_feature_adds_a_little(name, method):
    from sklearn import datasets

    options: dict[str, Any] = {"scale": True}
    if name == "alon":
        file = Path(__file__).parents[3] / "shared" / "data" / "expr_alon" / "X.npz"
        if not file.exists():
            pytest.skip("the data of Alon et al. are not beside the checkout")
        with np.load(file) as held:
            values, options = np.log2(np.maximum(held["X"].astype(float), 1)), {}
    else:
        values = datasets.load_wine().data if name == "wine" else datasets.load_breast_cancer().data
    choice = certpca.choose_sparsity(values, method=method, **options)
    assert choice.sparsity <= SHORT[name]


def test_frequencies_tell_planted_features_from_noise(choices):
    frequencies = choices["stability"].frequencies
    at = GRID.index(PLANTED)
    assert frequencies.shape == (len(GRID), 40)
    np.testing.assert_allclose(frequencies.sum(axis=1), GRID)  # as many features as loadings, in every half
    assert frequencies[at, :PLANTED].min() > frequencies[at, PLANTED:].max()


def test_all_features_are_not_stable_only_because_they_are_all(rng):
    choice = certpca.choose_sparsity(rng.standard_normal((20, 6)), [2, 6], method="stability", subsamples=4)
    assert choice.scores[-1] == 0.0
    assert choice.sparsity == 2
    assert "no sparsity reaches 80%" in choice.reason


def test_proved_gap_is_part_of_the_reason():
    choice = certpca.choose_sparsity(certpca.pitprops(), [2, 6, 13], certify=True)
    assert np.isfinite(choice.path.upper_bounds).all()
    assert "proved to be within" in choice.reason


def test_default_grid_goes_from_one_feature_to_all():
    choice = certpca.choose_sparsity(certpca.pitprops())
    assert (choice.path.sparsities[0], choice.path.sparsities[-1]) == (1, 13)


def test_sparse_and_dense_rows_agree(data):
    dense = np.where(np.abs(data) > 0.5, data, 0.0)
    first, second = (
        certpca.choose_sparsity(table, [5, 10, 20], method="cross-validation", folds=3)
        for table in (dense, sp.csr_array(dense))
    )
    np.testing.assert_allclose(first.scores, second.scores, rtol=1e-6)


@pytest.mark.parametrize("integer", [False, True])
def test_missing_values_of_rows_left_out_take_the_mean(rng, integer):
    data = rng.integers(0, 3, (40, 12)).astype(np.int8) if integer else rng.standard_normal((40, 12))
    data[rng.random(data.shape) < 0.1] = -9 if integer else np.nan
    choice = certpca.choose_sparsity(data, [3, 6], method="cross-validation", missing="mean")
    assert ((choice.scores > 0) & (choice.scores < 0.9)).all()


def test_explained_share_is_that_of_standardised_rows(data):
    choice = certpca.choose_sparsity(data, [40], method="cross-validation", folds=2, scale=True)
    order = np.random.default_rng(0).permutation(80)
    shares = []
    for left_out in np.array_split(order, 2):
        train = data[np.setdiff1d(order, left_out)]
        rows = (data[left_out] - train.mean(axis=0)) / train.std(axis=0, ddof=1)
        loadings = np.linalg.eigh(np.corrcoef(train.T))[1][:, -1]
        shares.append(((rows @ loadings) ** 2).sum() / (rows**2).sum())
    assert choice.scores[0] == pytest.approx(np.mean(shares))


@pytest.mark.parametrize("method", METHODS[1:])
def test_methods_that_need_rows_say_so(method):
    with pytest.raises(InvalidProblemError, match="needs the rows of the data"):
        certpca.choose_sparsity(certpca.pitprops(), [3, 5], method=method)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "guess"}, "method must be one of elbow, share, cross-validation, stability"),
        ({"folds": 1}, "folds"),
        ({"stable": 0.0}, "stable"),
        ({"method": "cross-validation", "folds": 41}, "two rows in each of 41 parts"),
        ({"share": 0.8}, 'share=0.8 would have no effect: it is for method="share"'),
        ({"measure": "captured"}, 'it is for method="share"'),
        ({"rule": "best"}, 'it is for method="cross-validation"'),
        ({"method": "share", "share": 1.2}, r"share must lie in \(0, 1\], got 1.2"),
        ({"method": "share", "share": "80%"}, "share must lie"),
        ({"method": "share", "measure": "explaind"}, "measure must be one of explained, captured.*explained"),
        ({"method": "cross-validation", "rule": "1se"}, "rule must be one of one-standard-error, paired, best"),
    ],
)
def test_settings_without_meaning_are_refused(data, settings, message):
    with pytest.raises(InvalidProblemError, match=message):
        certpca.choose_sparsity(data, [3, 5], **settings)


@pytest.mark.parametrize("method", METHODS)
def test_plot_shows_band_criterion_and_choice(choices, method):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert choices[method].plot(axes) is axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert f"recommended: {choices[method].sparsity}" in labels
    assert "captured" in labels
    assert axes.get_xlabel()
    assert axes.get_ylabel()


def test_band_is_drawn_where_it_is_proved():
    import matplotlib as mpl

    mpl.use("Agg")
    axes = certpca.choose_sparsity(certpca.pitprops(), [2, 6, 13], certify=True).plot()
    assert "where the optimum can be" in [text.get_text() for text in axes.get_legend().get_texts()]
    mpl.pyplot.close(axes.figure)
