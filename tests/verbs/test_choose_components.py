"""The number of components: planted ones are counted, noise has none, and what cannot be answered is refused."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import certpca
from certpca.runtime.errors import InvalidProblemError
from certpca.verbs.choose_components import LABELS, ComponentMethod

METHODS: list[ComponentMethod] = list(LABELS)  # type: ignore[arg-type]


def planted(rows: int, size: int, count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.standard_normal((size, count)))[0] if count else np.zeros((size, 0))
    strength = 3 * np.sqrt(1 + size / rows)
    noise = rng.standard_normal((rows, size))
    return np.asarray(noise + strength * rng.standard_normal((rows, count)) @ directions.T)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("rows", "size"), [(200, 40), (60, 300)])
@pytest.mark.parametrize("count", [1, 3])
def test_planted_components_are_counted(method, rows, size, count):
    """One of twenty data sets may have one more: thresholds are those that noise exceeds with 5 %."""
    choices = [certpca.choose_components(planted(rows, size, count, seed), method=method) for seed in range(5)]
    assert np.median([choice.n_components for choice in choices]) == count
    choice = next(choice for choice in choices if choice.n_components == count)
    assert choice.reason.startswith(f"{count} component")
    assert choice.eigenvalues.shape == choice.thresholds.shape == (min(rows - 1, size),)
    assert (choice.eigenvalues[:count] > choice.thresholds[:count]).all()
    assert choice.eigenvalues[count] <= choice.thresholds[count]


@pytest.mark.parametrize("method", METHODS)
def test_noise_has_no_components(method):
    counts = [certpca.choose_components(planted(80, 50, 0, seed), method=method).n_components for seed in range(10)]
    assert np.mean(counts) <= 0.3


def test_nothing_found_is_said():
    choice = certpca.choose_components(planted(50, 20, 0), method="gavish-donoho")
    assert choice.n_components == 0
    assert choice.reason.startswith("no component stands out")


def test_parallel_analysis_of_pit_props_is_known():
    """Horn's criterion keeps the eigenvalues 4.22, 2.38 and 1.88 of pit props and not 1.11; 180 props were measured."""
    choice = certpca.choose_components(certpca.pitprops(), samples=180)
    assert choice.n_components == 3
    np.testing.assert_allclose(choice.eigenvalues[:4], [4.22, 2.38, 1.88, 1.11], atol=0.01)
    assert "normal noise was drawn 20 times" in choice.reason


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_units_do_not_matter(scale):
    data = planted(60, 20, 2)
    own, other = certpca.choose_components(data), certpca.choose_components(data * scale)
    assert own.n_components == other.n_components == 2
    np.testing.assert_allclose(other.thresholds, own.thresholds * scale**2, rtol=1e-9)


def test_sparse_data_and_missing_values(rng):
    data = np.where(rng.random((80, 30)) < 0.3, planted(80, 30, 1), 0.0)
    thin = certpca.choose_components(sp.csr_array(data))
    dense = certpca.choose_components(data)
    assert thin.n_components == dense.n_components
    np.testing.assert_allclose(thin.eigenvalues, dense.eigenvalues, atol=1e-9)
    data[0, :3] = np.nan
    assert certpca.choose_components(data, missing="mean").n_components >= 0


def test_large_matrices_are_compared_by_their_leading_eigenvalues(monkeypatch):
    monkeypatch.setattr("certpca.verbs.choose_components.LARGEST_SIDE", 20)
    monkeypatch.setattr("certpca.verbs.choose_components.LEADING", 5)
    data = planted(60, 40, 2)
    choice = certpca.choose_components(data)
    assert choice.n_components == 2
    assert choice.eigenvalues.size == 5
    assert "of the 5 looked at" in choice.reason
    with pytest.raises(InvalidProblemError, match=r'needs all 40 eigenvalues.* use method="parallel"'):
        certpca.choose_components(data, method="gavish-donoho")


def test_a_limit_leaves_fewer_repeats_and_says_so():
    choice = certpca.choose_components(planted(60, 20, 1), listener=lambda step: False)
    assert "2 of 20 times, when time was up" in choice.reason


@pytest.mark.parametrize(
    ("data", "settings", "message"),
    [
        ("rows", {"method": "scree"}, "method must be one of parallel, gavish-donoho, marchenko-pastur"),
        ("rows", {"samples": 60}, "samples=60 would have no effect: the data tell"),
        ("rows", {"repeats": 1}, "repeats must be a whole number of at least 2"),
        ("rows", {"method": "gavish-donoho", "repeats": 5}, 'it is for method="parallel"'),
        ("matrix", {}, "give samples=, or the data themselves"),
        ("matrix", {"samples": 2}, "samples must be a whole number above 2"),
        ("matrix", {"samples": 18.5}, "samples must be a whole number above 2"),
        ("few", {}, "at least three samples"),
    ],
)
def test_settings_without_meaning_are_refused(data: str, settings: dict[str, Any], message: str):
    given = {"rows": planted(60, 20, 1), "matrix": certpca.pitprops(), "few": np.eye(2)}[data]
    with pytest.raises(InvalidProblemError, match=message):
        certpca.choose_components(given, **settings)


def test_data_that_stay_in_a_file_are_answered_with_another_method(tmp_path):
    np.save(tmp_path / "data.npy", planted(60, 20, 1))
    there = certpca.open_npy(tmp_path / "data.npy")
    with pytest.raises(InvalidProblemError, match='in a file that is read by columns; use method="gavish-donoho"'):
        certpca.choose_components(there)
    assert certpca.choose_components(there, method="gavish-donoho").n_components == 1


def test_plot_marks_the_recommendation():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    choice = certpca.choose_components(planted(60, 20, 2))
    assert choice.plot(axes) is axes
    assert "recommended: 2" in [text.get_text() for text in axes.get_legend().get_texts()]
    assert str(choice) == choice.reason
