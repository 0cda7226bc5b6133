"""Small runs that go through every part of a search, and what has to be the same about their answers."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import array_api_strict
import numpy as np
import pytest

import certpca
from certpca.runtime.arrays import Vector
from certpca.runtime.checkpoint import CheckpointFolder

Run = Callable[..., Any]


def every_step(folder: str | Path) -> CheckpointFolder:
    """Store at every step, however short."""
    return CheckpointFolder(folder, pause=0.0, share=0.0)


def planted(samples: int, size: int, groups: int, strength: float) -> Vector:
    """Return noise in which groups of eight features share a direction."""
    rng = np.random.default_rng(0)
    data = rng.standard_normal((samples, size))
    for group in range(groups):
        data[:, 8 * group : 8 * group + 8] += strength * rng.standard_normal((samples, 1))
    return data


def _cover(**more: Any) -> certpca.Certificate:
    return certpca.certify(planted(15, 600, 0, 0.0), 310, target_gap=0.0485, branching="directions", **more)


def _shrunk(**more: Any) -> certpca.Certificate:
    return certpca.certify(planted(25, 500, 3, 1.5), 8, target_gap=1e-3, branching="directions", **more)


def _tree(**more: Any) -> certpca.Certificate:
    return certpca.certify(planted(60, 40, 0, 0.0), 8, **more)


def _reduced(**more: Any) -> certpca.Certificate:
    return certpca.certify(planted(30, 250, 0, 0.0), 8, depth=25, target_gap=1e-3, **more)


def _semidefinite(**more: Any) -> certpca.Certificate:
    return certpca.certify(planted(30, 90, 2, 1.0), 8, semidefinite=True, branching=False, target_gap=1e-3, **more)


def _branch_and_bound(**more: Any) -> certpca.Solution:
    return certpca.solve(planted(60, 40, 0, 0.0), 6, certpca.solver_named("branch-and-bound", workers=2), **more)


def _certified(**more: Any) -> certpca.Solution:
    return certpca.solve(planted(60, 40, 0, 0.0), 8, certify=True, **more)


def _device(**more: Any) -> certpca.Certificate:
    return certpca.certify(array_api_strict.asarray(planted(20, 190, 3, 1.0)), 6, **more)


def _path(**more: Any) -> certpca.Path:
    return certpca.path(planted(25, 190, 3, 1.5), [4, 8, 12], certify=True, target_gap=0.01, **more)


def _path_of_one_solver(**more: Any) -> certpca.Path:
    return certpca.path(planted(40, 30, 0, 0.0), [3, 5], "branch-and-bound", **more)


def _components(**more: Any) -> certpca.Components:
    return certpca.decompose(planted(25, 300, 3, 1.5), 2, 8, certify=True, **more)


def _choice(**more: Any) -> certpca.Path:
    data = planted(25, 100, 3, 1.5)
    return certpca.choose_sparsity(data, [4, 8], method="cross-validation", folds=2, certify=True, **more).path


RUNS: dict[str, Run] = {
    "cover": _cover,
    "shrunk": _shrunk,
    "tree": _tree,
    "reduced": _reduced,
    "semidefinite": _semidefinite,
    "branch-and-bound": _branch_and_bound,
    "certified": _certified,
    "device": _device,
    "path": _path,
    "path-of-one-solver": _path_of_one_solver,
    "components": _components,
    "choice": _choice,
}


def said(answer: Any) -> list[Any]:
    """Return what an answer says, but for the time it took."""
    if isinstance(answer, certpca.Path):
        return [part for solution in answer.solutions for part in said(solution)]
    if isinstance(answer, certpca.Components):
        return [part for solution in answer.components for part in said(solution)]
    if isinstance(answer, certpca.Certificate):
        facts = [answer.kind, answer.outside, *answer.support.tolist()]
        return [*facts, pytest.approx(answer.upper_bound, rel=1e-9), pytest.approx(answer.objective, rel=1e-9)]
    facts = [answer.status.name, *answer.support.tolist(), pytest.approx(answer.objective, rel=1e-9)]
    return facts if answer.certificate is None else [*facts, *said(answer.certificate)]


@cache
def uninterrupted(name: str) -> Any:
    """Return the answer of a run without checkpoints."""
    return RUNS[name]()


def assert_as_if_uninterrupted(answer: Any, name: str) -> None:
    """Compare with the answer of a run without checkpoints."""
    plain = [part.expected if hasattr(part, "expected") else part for part in said(answer)]
    assert plain == said(uninterrupted(name))


def assert_proves_as_much(answer: certpca.Certificate, name: str) -> None:
    """Compare with a run without limits where one of time may have cut a node short.

    Later nodes then decide the same support by other fixings, of which the proof counts others.
    """
    assert_as_if_uninterrupted(replace(answer, outside=uninterrupted(name).outside), name)


def names_in(folder: Path) -> set[str]:
    """Return the names of the states in a checkpoint."""
    return {file.name.removesuffix(".npz") for file in folder.glob("*.npz")}
