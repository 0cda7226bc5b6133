"""Every plot of components, its numbers, and what cannot be drawn."""

import re
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import certpca
from certpca.runtime.errors import InvalidDataError, InvalidProblemError
from certpca.verbs.component_plots import KINDS


@pytest.fixture(scope="module")
def data() -> np.ndarray:
    rng = np.random.default_rng(2)
    return rng.standard_normal((50, 3)) @ rng.standard_normal((3, 12)) + 0.5 * rng.standard_normal((50, 12))


@pytest.fixture(scope="module")
def found(data: np.ndarray) -> certpca.Components:
    return certpca.decompose(data, 3, 4, names=[f"f{j}" for j in range(12)])


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_on_the_axes_given(kind: str, found: certpca.Components) -> None:
    axes = Figure().subplots()
    assert found.plot(kind, axes) is axes
    assert axes.has_data()


def test_scores_and_correlations_are_those_of_numpy(data: np.ndarray, found: certpca.Components) -> None:
    scores = (data - data.mean(axis=0)) @ found.loadings
    np.testing.assert_allclose(found.scores(), scores, atol=1e-9)
    expected = np.corrcoef(data.T, scores.T)[:12, 12:]
    np.testing.assert_allclose(found.correlations(np.arange(12)), expected, atol=1e-9)


@pytest.mark.parametrize("scaling", ["form", "correlation"])
def test_biplot_says_how_it_is_scaled_and_is(scaling: str, data: np.ndarray, found: certpca.Components) -> None:
    axes: Any = Figure().subplots()
    found.plot("biplot", axes, scaling=scaling, pair=(0, 2))
    label = axes.get_legend_handles_labels()[1][-1]
    told = re.match(r"(loadings|correlations) × ([\d.]+)", label)
    assert told is not None
    factor = float(told[2])
    used = np.flatnonzero(found.loadings[:, [0, 2]].any(axis=1))
    expected = found.correlations(used) if scaling == "correlation" else found.loadings[used]
    tips = np.array([arrow.xy for arrow in axes.texts if getattr(arrow, "arrow_patch", None) is not None])
    order = np.argsort(-np.hypot(*expected[:, [0, 2]].T), kind="stable")
    np.testing.assert_allclose(tips, factor * expected[:, [0, 2]][order], atol=1e-9)
    points = np.stack([axes.lines[0].get_xdata(), axes.lines[0].get_ydata()], axis=1)
    scores = found.scores()[:, [0, 2]]
    np.testing.assert_allclose(points, scores / (scores.std(axis=0, ddof=1) if scaling == "correlation" else 1.0))


def test_ellipse_holds_its_share_of_normal_points() -> None:
    from matplotlib.path import Path

    from certpca.plots.groups import draw_ellipses

    rng = np.random.default_rng(0)
    points = rng.standard_normal((2000, 2)) @ np.array([[2.0, 1.0], [0.0, 0.5]]) + 7
    axes = Figure().subplots()
    draw_ellipses(axes, points[:, 0], points[:, 1], [0] * 2000, 0.9)
    assert Path(axes.lines[0].get_xydata()).contains_points(points).mean() == pytest.approx(0.9, abs=0.02)


def test_scree_shows_sparse_below_dense(found: certpca.Components) -> None:
    axes = Figure().subplots()
    found.plot("scree", axes)
    dense, sparse = (np.asarray(line.get_ydata(), dtype=float) for line in axes.lines[:2])
    assert sparse[0] <= dense[0] * (1 + 1e-9)


@pytest.mark.parametrize(
    ("kind", "settings", "error", "message"),
    [
        ("pie", {}, InvalidProblemError, "kind must be one of components, heatmap"),
        ("scores", {"labels": ["a"]}, InvalidDataError, "one label for each of the 50 samples, got 1"),
        ("scores", {"pair": (0, 3)}, InvalidProblemError, r"component must lie in 0..2, got 3"),
        ("biplot", {"pair": (1, 1)}, InvalidProblemError, "two different components"),
        ("biplot", {"scaling": "nice"}, InvalidProblemError, "scaling must be one of form, correlation, got 'nice'"),
        ("scores", {"ellipses": 1.5}, InvalidProblemError, r"ellipses must lie in \(0, 1\)"),
        ("scores", {"texts": ["a"]}, InvalidDataError, "one name for each of the 50 samples"),
        ("scores", {"colour": "red"}, InvalidProblemError, "the plot scores has no setting 'colour'"),
    ],
)
def test_what_cannot_be_drawn(kind: str, settings: Any, error: Any, message: str, found: certpca.Components) -> None:
    with pytest.raises(error, match=message):
        found.plot(kind, Figure().subplots(), **settings)


def test_one_component_and_a_matrix_have_no_plots_of_samples(data: np.ndarray) -> None:
    with pytest.raises(InvalidProblemError, match="two different components"):
        certpca.decompose(data, 1, 4).plot("scores", Figure().subplots())
    with pytest.raises(InvalidProblemError, match="scores need samples"):
        certpca.decompose(certpca.pitprops(), 2, 4).plot("pairs", Figure().subplots())
