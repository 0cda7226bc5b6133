"""Stability: what half-samples find again, with its bound, beside what is proved of the sample."""

from typing import Any

import numpy as np
import pytest

import certpca
from certpca.runtime.errors import InvalidProblemError
from certpca.verbs.half_samples import errors_expected, halves

PLANTED = 5


@pytest.fixture(scope="module")
def data() -> np.ndarray:
    rng = np.random.default_rng(3)
    values = rng.standard_normal((90, 50))
    values[:, :PLANTED] += 2 * rng.standard_normal((90, 1))
    return values


@pytest.fixture(scope="module")
def found(data: np.ndarray) -> certpca.Stability:
    names = [f"gene {j}" for j in range(50)]
    return certpca.stability(data, PLANTED, subsamples=12, certify=True, target_gap=1e-6, names=names)


def test_planted_features_are_found_again(found: certpca.Stability) -> None:
    assert found.stable_features.tolist() == list(range(PLANTED))
    assert found.names is not None
    assert found.names[3] == "gene 3"
    assert found.found_again == 1.0
    assert found.frequencies.sum() == pytest.approx(PLANTED)  # every half selects as many


def test_two_questions_have_two_sentences(found: certpca.Stability) -> None:
    first, second = str(found).splitlines()
    assert first.startswith("Best in this sample: no choice of 5 of the 50 features captures more, proved")
    assert second.startswith("Found again in 100% of 12 half-samples")
    assert "at most 0.84 are expected" in second  # 25 / (0.6 · 50) = 0.8333, rounded up


def test_the_best_of_a_sample_need_not_be_found_again() -> None:
    """Equal variances without any signal: an optimum is proved, and halves choose something else."""
    noise = np.random.default_rng(0).standard_normal((60, 40))
    answer = certpca.stability(noise, 3, subsamples=10, certify=True, target_gap=1e-6)
    assert answer.solution.gap <= 1e-6
    assert answer.found_again < 0.6
    assert answer.in_sample.startswith("Best in this sample: no choice")
    assert "0 of 3 in at least 80%" in answer.in_others


def test_without_a_proof_nothing_is_called_proved(data: np.ndarray) -> None:
    assert "not proved" in certpca.stability(data, 3, subsamples=2).in_sample


def test_a_known_solution_is_taken_with_its_certificate(data: np.ndarray, found: certpca.Stability) -> None:
    again = certpca.stability(data, PLANTED, subsamples=12, solution=found.solution)
    assert again.solution is found.solution
    np.testing.assert_array_equal(again.stable_features, found.stable_features)


def test_plot_shows_the_component_and_its_rivals(found: certpca.Stability) -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert found.plot(axes) is axes
    assert set(range(PLANTED)) <= set(found.drawn().tolist())
    assert axes.get_yticklabels()[0].get_text().startswith("gene")


def test_halves_come_in_complementary_pairs() -> None:
    drawn = list(halves(11, 6, np.random.default_rng(0)))
    for first, second in zip(drawn[::2], drawn[1::2], strict=True):
        assert len(first) == len(second) == 5
        assert not set(first) & set(second)


def test_bound_is_that_of_meinshausen_and_buhlmann_and_holds_in_simulations() -> None:
    """Exchangeable noise: the mean number of stable features must stay below the bound."""
    assert errors_expected(10, 100, 0.9) == pytest.approx(100 / (0.8 * 100))
    rng, counts = np.random.default_rng(5), []
    for _ in range(12):
        noise = rng.standard_normal((30, 20))
        counts.append(certpca.stability(noise, 2, subsamples=8, stable=0.6, rng=rng).stable_features.size)
    assert np.mean(counts) <= errors_expected(2, 20, 0.6)


def test_share_follows_from_the_errors_allowed(data: np.ndarray) -> None:
    answer = certpca.stability(data, 3, subsamples=4, expected_errors=0.3)
    assert answer.stable == pytest.approx((1 + 9 / (0.3 * 50)) / 2)
    assert answer.expected_errors == pytest.approx(0.3)


def test_a_run_that_was_stopped_goes_on(data: np.ndarray, tmp_path: Any) -> None:
    first = certpca.stability(data, 4, subsamples=6, checkpoint=tmp_path / "states")
    again = certpca.stability(data, 4, subsamples=6, checkpoint=tmp_path / "states")
    np.testing.assert_array_equal(first.frequencies, again.frequencies)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"subsamples": 7}, "subsamples must be an even number.*8 would do"),
        ({"subsamples": 0}, "subsamples must be a whole number of at least 2"),
        ({"stable": 0.5}, r"stable must lie in \(0.5, 1\]"),
        ({"stable": 0.9, "expected_errors": 1}, "give one of the two"),
        ({"expected_errors": -1}, "expected_errors must be a positive number"),
        ({"expected_errors": 0.1}, "no share keeps the expected errors below 0.18; choose a sparsity of at most 2"),
        ({"target_gap": 0.1}, "add certify=True"),
    ],
)
def test_settings_without_meaning_are_refused(data: np.ndarray, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        certpca.stability(data, 3, **settings)


def test_a_solution_of_other_data_and_a_matrix_are_refused(data: np.ndarray, found: certpca.Stability) -> None:
    with pytest.raises(InvalidProblemError, match="other data or for a larger sparsity"):
        certpca.stability(data, 2, solution=found.solution)
    with pytest.raises(InvalidProblemError, match="certify=True would have no effect"):
        certpca.stability(data, PLANTED, solution=found.solution, certify=True)
    with pytest.raises(InvalidProblemError, match="stability needs the rows"):
        certpca.stability(certpca.pitprops(), 3)
