"""Trees that may grow for a while before rows of pairs, on small data."""

import math
from collections.abc import Iterator
from typing import Any

import pytest

import certpca
from certpca.bounds.makers import count_tree, l0_level, pair_rows, search_tree, trees_at_a_glance
from certpca.bounds.rival_trees import growth, turns
from certpca.runtime.checkpoint import CheckpointFolder
from certpca.runtime.limits import with_limits
from certpca.runtime.threads import at_most_threads
from tests.bounds.count_tree.problems import SPARSITY, blocks

TIGHT = 1e-3  # that both kinds of bounds reach, and levels do not


@pytest.fixture(autouse=True)
def small(monkeypatch) -> Iterator[None]:
    monkeypatch.setattr(search_tree, "applies", lambda _: False)
    monkeypatch.setattr(count_tree, "few_samples", lambda _: True)
    monkeypatch.setattr(trees_at_a_glance, "SOONER", 0.0)
    with with_limits(few_features=16, always_optimal=0, searched_supports=0), at_most_threads(1):
        yield


@pytest.fixture
def made(monkeypatch) -> list[str]:
    """Note who makes something, in order."""
    calls: list[str] = []
    for maker in (trees_at_a_glance, l0_level, pair_rows, count_tree):
        name, plain = maker.__name__.rpartition(".")[2], maker.make

        def make(search, name=name, plain=plain):
            calls.append(name)
            plain(search)

        monkeypatch.setattr(maker, "make", make)
    return calls


def certified(gap: float = TIGHT, **more) -> certpca.Certificate:
    return certpca.certify(blocks(), SPARSITY, target_gap=gap, **more)


def judged(found: certpca.Certificate) -> None:
    assert found.objective <= certpca.verify(found, blocks()).upper_bound <= found.upper_bound


def test_what_trees_reach_by_then_needs_no_pairs(made, monkeypatch):
    monkeypatch.setattr(trees_at_a_glance, "WHILE", 20.0)
    monkeypatch.setattr(turns.Record, "seconds_until", lambda self, gap: 0.0)
    found = certified()
    assert made == ["trees_at_a_glance", "l0_level"]
    assert found.kind == "count-tree"
    assert found.gap <= TIGHT
    judged(found)


def test_pairs_follow_trees_that_promise_too_little(made, monkeypatch):
    monkeypatch.setattr(turns.Record, "seconds_until", lambda self, gap: math.inf)
    found = certified()
    assert made == ["trees_at_a_glance", "l0_level", "pair_rows"]
    assert found.kind == "pair-rows"
    judged(found)


def steps_of(monkeypatch) -> list[tuple[float, ...]]:
    """Note what trees had made of their time before each of their steps."""
    seen, plain = [], growth._Growth._step

    def step(self, rivals):
        seen.append(tuple(record.spent for record in rivals.records.values()))
        return plain(self, rivals)

    monkeypatch.setattr(growth._Growth, "_step", step)
    return seen


@pytest.mark.parametrize("stored", [False, True])
def test_trees_go_on_where_they_were(stored, made, monkeypatch, tmp_path):
    """Where pairs do not reach the gap either; nothing is found twice."""
    monkeypatch.setattr(trees_at_a_glance, "WHILE", 1e-9)
    monkeypatch.setattr(pair_rows, "looked_at", lambda search: None)
    steps = steps_of(monkeypatch)
    more: dict[str, Any] = {"checkpoint": CheckpointFolder(tmp_path, pause=0.0, share=0.0)} if stored else {}
    found = certified(**more)
    assert made == ["trees_at_a_glance", "l0_level", "pair_rows", "count_tree"]
    assert steps[0] == ()
    assert steps.count(()) == 1
    assert found.kind == "count-tree"
    assert found.gap <= TIGHT
    judged(found)


def test_pairs_that_show_something_soon_come_first(made, monkeypatch):
    monkeypatch.setattr(trees_at_a_glance, "SOONER", 1e9)
    found = certified()
    assert made == ["pair_rows"]
    judged(found)


def test_no_trees_before_pairs_for_which_little_time_would_be_left(made):
    certified(time_limit=0.5)
    assert "trees_at_a_glance" not in made
