"""Regions of directions that are split several at a time."""

import os
import signal
from functools import cache

import numpy as np
import pytest

import certpca
from certpca.bounds.direction_tree import growth
from certpca.bounds.direction_tree.parts import Parting
from certpca.runtime.threads import at_most_threads

GAP = 0.016  # that takes a dozen turns of three threads


@cache
def noise() -> np.ndarray:
    """Few samples: in 15 directions regions of noise hardly differ, and a gap of 5 % takes minutes."""
    return np.random.default_rng(3).standard_normal((5, 120))


def certified(gap: float = GAP, **more) -> certpca.Certificate:
    return certpca.certify(noise(), 60, target_gap=gap, branching="directions", **more)


def leaves(tree) -> int:
    return 1 if "leaf" in tree else sum(leaves(child) for child in tree["children"])


@pytest.fixture
def workers(monkeypatch) -> list[int]:
    seen, plain = [], growth.RegionGrowth._solved

    def solved(self, partings, cover):
        seen.append(len(partings))
        return plain(self, partings, cover)

    monkeypatch.setattr(growth.RegionGrowth, "_solved", solved)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    return seen


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_as_many_at_a_time_as_there_are_threads(threads, workers):
    with at_most_threads(threads):
        found = certified()
    assert workers[0] == 1  # all directions together
    assert max(workers) == threads
    assert found.kind == "l0-tree"
    assert leaves(found.tree) > 1 + 2 * threads
    assert found.gap <= GAP
    assert found.objective <= certpca.verify(found, noise()).upper_bound <= found.upper_bound


def test_nobody_depends_on_who_is_faster(workers):
    with at_most_threads(3):
        found = [certified() for _ in range(2)]
    assert found[0].tree == found[1].tree
    assert found[0].upper_bound == found[1].upper_bound


def test_regions_that_are_good_enough_are_left_alone(workers):
    """With one region above what is wanted, no thread works on those below it."""
    with at_most_threads(3):
        certified()
    assert workers[-1] < 3


def test_an_interrupt_in_the_middle_of_several_keeps_those_before(workers, monkeypatch):
    killed: list[int] = []
    plain = Parting.step

    def step(self, parts):
        if len(workers) == 3 and not killed:
            killed.append(len(workers))
            os.kill(os.getpid(), signal.SIGINT)
        return plain(self, parts)

    monkeypatch.setattr(Parting, "step", step)
    with at_most_threads(2):
        found = certified(gap=1e-6)
    assert found.status is certpca.Status.INTERRUPTED
    assert len(workers) == 3
    assert found.kind == "l0-tree"
    certpca.verify(found, noise())
