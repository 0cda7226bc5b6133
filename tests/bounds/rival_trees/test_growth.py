"""Cells of counts and regions of directions on one problem: both grow, the better one is proved."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import certpca
from certpca.bounds.count_tree.growth import CountGrowth
from certpca.bounds.direction_tree.growth import RegionGrowth
from certpca.bounds.makers import count_tree, l0_dual, l0_screened
from certpca.bounds.rival_trees import growth, turns
from certpca.runtime.checkpoint import CheckpointFolder
from certpca.runtime.threads import at_most_threads
from tests.bounds.count_tree.problems import SPARSITY, blocks, certified, counts_only

TIGHT = 1e-3


def noted(plain, calls):
    def call(about):
        calls.append(plain)
        return plain(about)

    return call


class Killed(BaseException):
    """Ends a run at once."""


@contextmanager
def in_turns(order: str) -> Iterator[list[str]]:
    """Let the trees make steps in an order that does not depend on any clock: c is for cells, r for regions."""
    taken: list[str] = []

    def turn(records, enough):
        del enough
        over = [record.over for record in records]
        if all(over):
            return None
        number = "cr".index(order[sum(len(record.seen) for record in records) % len(order)])
        return number if number < len(over) and not over[number] else over.index(False)

    plain = growth._Growth._after

    def after(self, kind, tree, record, seconds):
        taken.append(kind.name)
        return plain(self, kind, tree, record, seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "next_turn", turn)
        patch.setattr(growth._Growth, "_after", after)
        patch.setattr(count_tree, "few_samples", lambda _: True)
        yield taken


@pytest.mark.parametrize(("order", "kind"), [("cr", None), ("c", "count-tree"), ("r", "l0-tree")])
def test_whoever_has_the_turns_proves_the_bound(order, kind):
    data = blocks(samples=3)  # which have few directions
    with in_turns(order) as taken, at_most_threads(1):
        found = certified(TIGHT / 10, data)
    assert set(taken) == {{"c": "counts", "r": "cover"}[letter] for letter in order}
    assert found.kind in ({kind} if kind else {"count-tree", "l0-tree"})
    assert found.gap <= TIGHT / 10
    assert found.objective <= certpca.verify(found, data).upper_bound <= found.upper_bound


@contextmanager
def killed_after(steps: int) -> Iterator[None]:
    """End a run when both trees together have made so many steps."""
    told = growth._Growth._told

    def kill(self, rivals):
        if sum(len(record.seen) for record in rivals.records.values()) == steps:
            raise Killed
        return told(self, rivals)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth._Growth, "_told", kill)
        yield


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_a_run_that_was_killed_goes_on_with_both(steps, tmp_path):
    with in_turns("cr") as taken, at_most_threads(1):
        whole = certified(TIGHT)
    folder = CheckpointFolder(tmp_path, pause=0.0, share=0.0)
    with in_turns("cr"), at_most_threads(1):
        with killed_after(steps), pytest.raises(Killed):
            certified(TIGHT, checkpoint=folder)
        assert (tmp_path / "proof.trees.npz").exists()
        again = certified(TIGHT, checkpoint=tmp_path)
    assert len(taken) >= steps
    assert again.kind == whole.kind
    assert again.upper_bound == pytest.approx(whole.upper_bound, rel=TIGHT)  # as near as either had to come
    certpca.verify(again, blocks())


@pytest.mark.parametrize("order", ["r", "cr", "crr"])
def test_a_process_without_time_for_regions_goes_on_with_the_cells(order, tmp_path, monkeypatch):
    folder = CheckpointFolder(tmp_path, pause=0.0, share=0.0)
    with in_turns(order), at_most_threads(1), killed_after(3), pytest.raises(Killed):
        certified(TIGHT, checkpoint=folder)
    monkeypatch.setattr(count_tree, "few_samples", lambda _: False)
    again = certified(TIGHT, checkpoint=tmp_path)
    assert again.kind == "count-tree"
    assert again.gap <= TIGHT
    certpca.verify(again, blocks())


def test_a_process_that_cannot_go_on_with_regions_leaves_them(tmp_path, monkeypatch):
    folder = CheckpointFolder(tmp_path, pause=0.0, share=0.0)
    with in_turns("cr"), at_most_threads(1):
        with killed_after(3), pytest.raises(Killed):
            certified(TIGHT, checkpoint=folder)
        monkeypatch.setattr(RegionGrowth, "ready", lambda self: False)
        again = certified(TIGHT, checkpoint=tmp_path)
    assert again.kind == "count-tree"
    assert again.gap <= TIGHT


def test_regions_that_one_process_has_no_time_for_may_begin_in_the_next(tmp_path, monkeypatch):
    folder = CheckpointFolder(tmp_path, pause=0.0, share=0.0)
    with in_turns("rc"), at_most_threads(1), monkeypatch.context() as patch:
        patch.setattr(RegionGrowth, "ready", lambda self: False)
        with killed_after(1), pytest.raises(Killed):
            certified(TIGHT, checkpoint=folder)
    with in_turns("r") as taken, at_most_threads(1):
        certified(TIGHT, checkpoint=tmp_path, listener=lambda step: "cover" not in taken)
    assert "cover" in taken


def test_the_dual_point_is_found_once(monkeypatch):
    """Makers that come after the trees do not find again what regions began with."""
    made: list[object] = []
    for maker in (l0_dual, l0_screened):
        monkeypatch.setattr(maker, "make", noted(maker.make, made))
    with in_turns("cr"), at_most_threads(1), monkeypatch.context() as patch:
        patch.setattr(growth, "stalled", lambda seen: len(seen) >= 2)
        certified(1e-9, budget=certpca.Budget(steps=200))
    assert made
    assert len(made) == len(set(made))


def test_a_tree_learns_of_loadings_that_its_rival_found(monkeypatch):
    heard = []
    plain = RegionGrowth.step

    def step(self, cover):
        heard.append((cover.known.objective, self._search.incumbent.objective))
        return plain(self, cover)

    monkeypatch.setattr(RegionGrowth, "step", step)
    with in_turns("cr"), at_most_threads(1):
        certified(1e-9, budget=certpca.Budget(steps=60))
    assert heard
    assert all(known == best for known, best in heard)


def test_regions_wait_for_many_samples_to_be_affordable(monkeypatch):
    """Where a dual point costs more than cells do, cells have all the time."""
    grown = []

    def grow(search, kinds, name):
        grown.append([kind.name for kind in kinds])
        search.over = True

    monkeypatch.setattr(count_tree, "grow", grow)
    monkeypatch.setattr(count_tree, "ROOT_CELLS", 0)
    certified(TIGHT)
    monkeypatch.setattr(count_tree, "ROOT_CELLS", 1e9)
    certified(TIGHT)
    assert grown == [["counts"], ["counts", "cover"]]


def test_where_no_dual_point_is_found_cells_go_on(monkeypatch):
    monkeypatch.setattr(RegionGrowth, "ready", lambda self: False)
    with in_turns("cr") as taken, at_most_threads(1):
        found = certified(TIGHT)
    assert set(taken) == {"counts"}
    assert found.kind == "count-tree"


def test_the_clock_decides_by_itself(monkeypatch):
    """With the real rule and no head start both begin; what comes of it holds whoever wins."""
    begun: list[object] = []
    starts = {kind.start for kind in (CountGrowth, RegionGrowth)}
    for kind in (CountGrowth, RegionGrowth):
        monkeypatch.setattr(kind, "start", noted(kind.start, begun))
    monkeypatch.setattr(turns, "HEAD_START", 0.0)
    monkeypatch.setattr(count_tree, "few_samples", lambda _: True)
    data = np.tile(blocks(), 2) + 0.3 * np.random.default_rng(1).standard_normal((12, 120))
    with counts_only():
        found = certpca.certify(data, 2 * SPARSITY, target_gap=1e-9, time_limit=4.0)
    assert set(begun) == starts
    assert found.objective <= certpca.verify(found, data).upper_bound <= found.upper_bound
