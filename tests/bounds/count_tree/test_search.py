import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest

import certpca
from certpca.bounds.count_tree import search as searching
from certpca.bounds.count_tree.cells import CountTree
from certpca.frontends.cli.main import main
from certpca.runtime import budget
from certpca.runtime.checkpoint import CheckpointFolder
from certpca.runtime.threads import at_most_threads
from tests.bounds.count_tree.problems import SPARSITY, blocks, certified

TIGHT = 1e-3  # a gap that levels for all supports do not reach here


@cache
def branched() -> certpca.Certificate:
    with at_most_threads(1):
        return certified(TIGHT)


def numbers(tree):
    return [tree["cell"]] if "cell" in tree else [number for child in tree["children"] for number in numbers(child)]


def test_a_tree_closes_half_of_what_one_level_leaves_open():
    root = certified(TIGHT, branching=False)
    tree = branched()
    assert (root.kind, tree.kind) == ("l0-level", "count-tree")
    assert len(numbers(tree.tree)) >= 3
    assert root.gap > TIGHT
    assert tree.gap <= max(TIGHT, root.gap / 2)
    assert tree.objective == pytest.approx(root.objective)
    proof = certpca.verify(tree, blocks())
    assert tree.objective * (1 - 1e-12) <= proof.upper_bound <= tree.upper_bound


def test_no_random_support_is_above_it(rng):
    matrix, bound = np.cov(blocks().T), branched().upper_bound
    for _ in range(500):
        block = int(rng.integers(3))
        support = np.unique(rng.integers(20 * block, 20 * block + int(rng.integers(20, 41)), SPARSITY) % 60)
        assert np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-1] <= bound


def test_files_keep_it(tmp_path):
    certificate, file, table = branched(), tmp_path / "bound.json", tmp_path / "data.npy"
    np.save(table, blocks())
    certpca.save_certificate(certificate, file)
    loaded = certpca.load_certificate(file)
    assert loaded.tree == certificate.tree
    assert set(loaded.evidence) == set(certificate.evidence)
    assert certpca.verify(loaded, blocks()).upper_bound == certpca.verify(certificate, blocks()).upper_bound
    assert main(["verify", str(file), str(table)]) == 0
    other = blocks()
    other[0, 0] += 1.0
    with pytest.raises(certpca.CertificateError, match="other data"):
        certpca.verify(loaded, other)


@pytest.mark.parametrize("power", [-515, 495])
def test_units_do_not_matter(power):
    moved = np.ldexp(blocks(), power)
    found = certified(TIGHT, moved)
    assert found.kind == "count-tree"
    assert np.ldexp(found.upper_bound, -2 * power) == pytest.approx(branched().upper_bound, rel=1e-4)
    certpca.verify(found, moved)


@contextmanager
def watched(monkeypatch, act) -> Iterator[list[CountTree]]:
    """Keep the trees after every step, and do something then."""
    seen, plain = [], searching.CountSearch.step

    def step(self, tree):
        found = plain(self, tree)
        seen.append(found)
        act(len(seen))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(searching.CountSearch, "step", step)
        yield seen


class Killed(BaseException):
    """Ends a run at once."""


@pytest.mark.parametrize("steps", [1, 2])
def test_a_run_that_was_killed_makes_the_same_tree(steps, tmp_path, monkeypatch):
    def kill(count):
        if count == steps:
            raise Killed

    folder = CheckpointFolder(tmp_path / "states", pause=0.0, share=0.0)
    with at_most_threads(1):
        with watched(monkeypatch, kill), pytest.raises(Killed):
            certified(TIGHT, checkpoint=folder)
        assert (tmp_path / "states" / "proof.trees.npz").exists()
        again = certified(TIGHT, checkpoint=tmp_path / "states")
    assert again.tree == branched().tree
    assert again.upper_bound == pytest.approx(branched().upper_bound, rel=1e-4)  # features are in single precision
    certpca.verify(again, blocks())


def test_one_that_is_interrupted_returns_the_tree_it_has(monkeypatch):
    def interrupt(count):
        if count == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with at_most_threads(1), watched(monkeypatch, interrupt) as seen:
        certificate = certified(1e-9)
    assert certificate.status is certpca.Status.INTERRUPTED
    assert len(seen) <= 3
    assert certificate.kind == "count-tree"
    assert certpca.verify(certificate, blocks()).upper_bound <= certificate.upper_bound


def test_one_that_is_out_of_time_returns_the_tree_it_has(monkeypatch):
    passed = [0.0]
    monkeypatch.setattr(budget, "clock", lambda: time.perf_counter() + passed[0])

    def wait(count):
        passed[0] = 1e4 * (count >= 2)

    with at_most_threads(1), watched(monkeypatch, wait) as seen:
        certificate = certified(1e-9, time_limit=5000.0)
    assert len(seen) == 2
    assert certificate.status is certpca.Status.OUT_OF_BUDGET
    assert certificate.kind == "count-tree"
    assert certpca.verify(certificate, blocks()).upper_bound <= certificate.upper_bound


def test_a_search_ends_where_the_worst_cell_cannot_be_split(monkeypatch):
    rng = np.random.default_rng(0)
    scores, data = rng.standard_normal((12, 2)), 0.5 * rng.standard_normal((12, 40))
    data += np.repeat(scores, 20, axis=1)
    with at_most_threads(1), watched(monkeypatch, lambda _: None) as seen:
        certificate = certified(1e-9, data, budget=certpca.Budget(steps=120))
    assert [tree.stuck for tree in seen] == [False] * (len(seen) - 1) + [True]
    assert certificate.kind == "count-tree"
