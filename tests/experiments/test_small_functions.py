"""The small functions behind pages: pruning, word rules and the limit of recovery."""

import numpy as np
import pytest
from experiments.paper import cases
from scipy.sparse import csr_array

from experiments import components, populations, support_recovery, topics


def test_pruning_keeps_no_pair_above_the_limit_within_the_window(rng):
    base = rng.standard_normal((60, 8))
    values = np.repeat(base, 3, axis=1) + 0.3 * rng.standard_normal((60, 24))
    values -= values.mean(axis=0)
    kept = populations.unlinked(values, np.ones(24, dtype=int), 24, 0.2)
    squares = np.corrcoef(values[:, kept].T) ** 2
    assert squares[~np.eye(kept.size, dtype=bool)].max() < 0.2
    dropped = np.setdiff1d(np.arange(24), kept)
    assert dropped.size > 0
    for column in dropped:  # only what is linked to a kept one further left was dropped
        before = kept[kept < column]
        assert max(np.corrcoef(values[:, column], values[:, other])[0, 1] ** 2 for other in before) >= 0.2


def test_pruning_does_not_look_across_chromosomes(rng):
    column = rng.standard_normal((40, 1))
    values = np.hstack([column, column]) - column.mean()
    assert populations.unlinked(values, np.array([1, 1]), 5, 0.2).tolist() == [0]
    assert populations.unlinked(values, np.array([1, 2]), 5, 0.2).tolist() == [0, 1]


def test_crowded_finds_the_fullest_stretch():
    chromosome = np.array([1, 1, 1, 2, 2])
    position = np.array([0, 5, 100, 0, 3])
    assert populations.crowded(chromosome, position, 10) == pytest.approx(2 / 5)
    assert populations.crowded(chromosome, position, 100) == pytest.approx(3 / 5)


def test_repeated_share_counts_documents_that_use_a_word_again():
    counts = csr_array(np.array([[1, 2, 0], [1, 3, 0], [1, 1, 0]]))
    assert topics.repeated_share(counts) == pytest.approx([0, 2 / 3, 0])


def test_weighted_documents_have_unit_length_and_words_of_every_document_no_weight():
    counts = csr_array(np.array([[1, 2, 0], [1, 0, 4], [1, 1, 1]]))
    weighted = topics.weighted(counts).toarray()
    assert weighted[:, 0] == pytest.approx(0)
    assert np.linalg.norm(weighted, axis=1) == pytest.approx(1)


def test_topics_and_their_gaps_on_planted_words(rng, monkeypatch):
    monkeypatch.setattr(topics, "SECONDS", 0.2)
    data = rng.poisson(0.2, (90, 60)).astype(float)
    data[:30, :10] += 5
    data[60:, 10:20] += 3
    found = topics._topics(csr_array(data), [f"w{j}" for j in range(60)], certify=True)
    lists = [{int(word.lstrip("−w")) for word in topic["list"]} for topic in found[:2]]
    assert lists == [set(range(10)), set(range(10, 20))]
    assert all(0 <= topic["gap"] < 1 for topic in found)


SMALL = support_recovery.SETTINGS["small"]


@pytest.mark.parametrize("name", list(support_recovery.MODELS))
def test_draws_have_the_covariance_of_the_model(name, rng):
    model = support_recovery.MODELS[name]
    signal = model.signals[2]
    data, true = support_recovery.draw(model, SMALL._replace(samples=20000), signal, rng)
    found = np.cov(data[:, true].T)
    assert found == pytest.approx(model.planted(support_recovery.PLANTED, signal), abs=0.08)


def test_fano_limit_agrees_with_the_closed_form_of_the_spiked_model():
    k, signal, samples = support_recovery.PLANTED, 0.3, 50
    divergence = signal**2 / (2 * (1 + signal)) * (2 * k - 1) / k**2
    expected = (samples * divergence + np.log(2)) / np.log(SMALL.features - k + 1)
    setting = SMALL._replace(samples=samples)
    found = support_recovery.most_recoverable(support_recovery.MODELS["spiked"], setting, signal)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("name", list(support_recovery.MODELS))
def test_even_chance_is_where_the_limit_is_one_half(name):
    model = support_recovery.MODELS[name]
    signal = support_recovery.even_chance(model, SMALL)
    assert support_recovery.most_recoverable(model, SMALL, signal) == pytest.approx(0.5, abs=1e-6)


def test_a_strong_signal_is_recovered_by_the_relaxation_and_proved():
    setting = SMALL._replace(samples=400, proof_seconds=20.0)
    found = support_recovery._one(support_recovery.MODELS["block"], setting, 0.6, 0)
    assert found["auto"] == found["sdp-threshold"] == found["decided"] == 1
    assert found["decided, not true"] == 0


def test_nested_populations_have_a_spectrum_that_falls():
    calls = cases.nested_populations(600, 1)
    assert calls.shape == (cases.SAMPLES, 600)
    assert set(np.unique(calls)) <= {0, 1, 2}
    values = np.linalg.eigvalsh(np.cov(calls.T))[::-1]
    assert values[0] > 1.3 * values[1] > 1.3 * values[3]


def test_calls_are_left_out_at_random():
    calls = np.ones((500, 400), dtype=np.int8)
    lost = np.isnan(cases.with_missing_calls(calls, 0.014))
    assert lost.mean() == pytest.approx(0.014, abs=0.002)


def test_spread_of_two_points_is_their_distance():
    assert components.spread(np.array([[0.0, 0.0], [3.0, 4.0]])) == pytest.approx(5)
