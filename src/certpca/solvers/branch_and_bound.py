"""Prove a component optimal: branch and bound over features.

The start is the best of `auto`. How nodes are bounded, fixed and split, `bounds/support_tree` says; the answer comes
with a certificate of kind ``search-tree``.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from certpca.bounds.proving import Prover
from certpca.bounds.support_tree.nodes import Tree
from certpca.bounds.support_tree.search import constrained_tree, searched
from certpca.checker.limits import MOST_NODES
from certpca.operators.base import Operator
from certpca.results.certificate import PROVED_OPTIMAL
from certpca.results.solution import Candidate
from certpca.results.status import Status
from certpca.runtime.arrays import Indices
from certpca.runtime.budget import Progress
from certpca.runtime.errors import InvalidProblemError
from certpca.runtime.resumable import once
from certpca.search.constrained import fitted_on
from certpca.solvers.auto import Auto
from certpca.solvers.base import ALL_CONSTRAINTS, register

ROUNDINGS = 1e-7  # what the proof may add to the gap
SEARCHING = 0.7  # share of the time for the tree, the rest being for its start
MOST_VISITED = MOST_NODES // 3  # each visit may leave two open nodes; the checker walks over all of them
LARGEST = 4096  # features: the search holds several matrices of that size


@register
@dataclass(frozen=True, slots=True)
class BranchAndBound:
    """Search all supports, with bounds that skip most of them (proves the optimum of small and medium problems).

    Parameters
    ----------
    target_gap
        Stop when the component is proved to be within this share of the optimum.
    nodes
        Largest number of nodes; zero for as many as can be checked, which are three million.
    memory
        GiB that stored dual points may take.
    workers
        Nodes visited at the same time. One step is one visit of each.
    """

    target_gap: float = 1e-6
    nodes: int = 0
    memory: float = 4.0
    workers: int = 1
    name: ClassVar[str] = "branch-and-bound"
    paper_name: ClassVar[str] = ""
    runs_on_device: ClassVar[bool] = False
    honours: ClassVar[tuple[str, ...]] = ALL_CONSTRAINTS

    def __post_init__(self) -> None:
        """Check the settings."""
        if not 0 <= self.target_gap < 1:
            msg = f"target_gap must lie in [0, 1), got {self.target_gap}"
            raise InvalidProblemError(msg)
        if self.nodes < 0 or self.workers < 1 or not self.memory > 0:
            msg = "nodes must not be negative, and workers and memory must be positive"
            raise InvalidProblemError(msg)

    def propose(self, operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Candidate:
        """Start from `auto` and search."""
        if operator.size > LARGEST:
            msg = (
                f"branch-and-bound holds matrices of {operator.size} x {operator.size}, allowed up to {LARGEST} "
                "features; use solver='auto' with certify=True"
            )
            raise InvalidProblemError(msg)
        aim = max(self.target_gap - ROUNDINGS, 0.0)
        start = once(lambda: self._start(operator, sparsity, progress, rng), progress, "start", Indices)
        search = constrained_tree(operator, np.arange(operator.size), start, sparsity, aim)
        prover = Prover(operator, sparsity)

        def reached(tree: Tree) -> bool:
            return tree.upper_bound <= tree.value * (1 + aim)

        def full(tree: Tree) -> bool:
            return tree.nodes >= (self.nodes or MOST_VISITED) or tree.stored_bytes > self.memory * 2**30

        found = searched(
            search,
            start,
            progress,
            enough=lambda tree: reached(tree) or full(tree),
            proof_seconds=prover.costs.preparing() if progress.timed else 0.0,
            workers=self.workers,
        )
        finished = not found.open or reached(found)
        support = found.best.support
        loadings = fitted_on(operator, support).loadings
        tree, evidence = search.certificate(found)
        certificate = prover.prove("search-tree", evidence, support, loadings, tree=tree, seconds=progress.seconds)
        progress.tick(certificate.objective, certificate.upper_bound)
        status = _status(certificate.gap, self.target_gap) if finished else Status.OUT_OF_BUDGET
        details = {
            "nodes": float(found.nodes),
            "root_bound": found.root_bound,
            "stored_bytes": float(found.stored_bytes),
        }
        return Candidate(support, status, loadings, details=details, certificate=certificate, fitted=True)

    @staticmethod
    def _start(operator: Operator, sparsity: int, progress: Progress, rng: np.random.Generator) -> Indices:
        with progress.setting_aside(SEARCHING * progress.remaining if progress.timed else 0.0):
            return Auto().propose(operator, sparsity, progress, rng).support


def _status(proved: float, asked: float) -> Status:
    """Say how a search ended by what is proved, not by what was asked for."""
    if proved <= PROVED_OPTIMAL:
        return Status.OPTIMAL
    return Status.WITHIN_GAP if proved <= asked else Status.STALLED
