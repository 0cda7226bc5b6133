"""Proofs for several sparsities of one matrix, upwards: each goes on from its neighbour's.

The dual point of a sparsity is nearly right for a slightly larger one, and far from it for a smaller one.
"""

from collections.abc import Sequence

import numpy as np

from certpca.bounds.goals import Goal, Known, Shared
from certpca.bounds.pipeline import find_certificate
from certpca.bounds.proving import Prover
from certpca.operators import Operator
from certpca.results.certificate import Certificate
from certpca.runtime.arrays import to_vector
from certpca.runtime.budget import Progress

FIRST = 3  # time for the first proof, which starts from nothing, relative to the others
SECURING = 0.25  # share of the time that is left that a bound for all sparsities may take


def path_certificates(
    operator: Operator,
    sparsities: Sequence[int],
    known: Sequence[Known],
    largest: float,
    target_gap: float,
    progress: Progress,
) -> list[Certificate]:
    """Prove a bound for each sparsity; a certificate may hold better loadings than those that are known."""
    found: list[Certificate] = []
    shared = Shared(operator)
    if progress.timed:
        _secure(operator, sparsities, known, largest, shared, progress)
    for j, (sparsity, best) in enumerate(zip(sparsities, known, strict=True)):
        goal = Goal(target_gap, warm=found[-1] if found else None, largest=largest, shared=shared)
        weight, others = (1, len(sparsities) - 1 - j) if j else (FIRST, len(sparsities) - 1)
        states = None if progress.checkpoint is None else progress.checkpoint.part(f"k{sparsity}")
        part = progress.part(weight / (weight + others), states)
        found.append(find_certificate(operator, sparsity, best, goal, part))
        progress.earlier += part.earlier
    return found


def _secure(
    operator: Operator,
    sparsities: Sequence[int],
    known: Sequence[Known],
    largest: float,
    shared: Shared,
    progress: Progress,
) -> None:
    """Prove the largest eigenvalue first, where that is cheap: it bounds every sparsity, whatever comes next."""
    trace = float(np.sort(to_vector(operator.diagonal()))[-sparsities[-1] :].sum())
    cost = shared.costs.preparing() + shared.costs.closed_form("largest-eigenvalue")
    if largest < trace and cost < SECURING * progress.remaining:
        prover = Prover(operator, sparsities[0], shared.examiner, shared.costs)
        prover.prove("largest-eigenvalue", {}, known[0].support, known[0].loadings)
