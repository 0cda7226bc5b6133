"""As `l0_reduced`, with λ_max(RRᵀ) bounded but for a stated probability, where there are many samples.

    Z* ≤ bound of WᵀF + λ,   with λ ≥ λ_max(RRᵀ) but for probability `FAILURE`, or the k largest squared columns of R.

Proof: docs/mathematics.md, 6.1 and 10.2.

Allowance. `random_spaces`, with Z = F: both factors of a product round relative to the norm of F.
"""

import math

import numpy as np

from certpca.checker.data import Prepared
from certpca.checker.numbers import Vector, gamma
from certpca.checker.proved import Proved, bound_alone
from certpca.checker.random_spaces import STARTS, RandomSpace
from certpca.checker.rules import l0_reduced
from certpca.checker.rules.l0_reduced import leading_part, projection_slip
from certpca.results.certificate import FAILURE, Certificate

SENTENCE = f"{l0_reduced.SENTENCE} that holds unless the checker's random numbers mislead (probability {FAILURE:g})"
EVIDENCE = l0_reduced.EVIDENCE
PRODUCTS = 14
OTHER_DRAWS = 0.02  # relative; by how much Ritz values of other random numbers may be larger. A tenth of it was seen.
HOPELESS = 0.5


def prove(prepared: Prepared, certificate: Certificate, objective: float) -> Proved:
    """Add the bounds for both parts of sample space, as proved now and as other random numbers will confirm it."""
    del objective
    lead = leading_part(prepared, certificate)
    rest = _random_rest(prepared, lead.basis, lead.drift, certificate.sparsity)
    again = (lead.bound + rest * (1 + OTHER_DRAWS)) * (1 + gamma(8))
    bound = prepared.lift((lead.bound + rest) * (1 + gamma(8)))
    return bound_alone(prepared, bound, prepared.lift(again))


def _longest_columns(prepared: Prepared, basis: Vector, k: int) -> float:
    """Bound what is left by its k largest columns."""
    squares = np.empty(prepared.size)
    for columns, block in prepared.blocks():
        squares[columns] = ((block - basis @ (basis.T @ block)) ** 2).sum(axis=0)
    together = float(np.sort(squares)[-k:].sum()) * (1 + gamma(prepared.depth + prepared.size))
    return (math.sqrt(together) + projection_slip(prepared, basis)) ** 2 * (1 + gamma(8))


def _random_rest(prepared: Prepared, basis: Vector, drift: float, k: int) -> float:
    """Bound the largest eigenvalue of what is left, except with probability `FAILURE`."""
    depth, size = prepared.depth, prepared.size
    space = RandomSpace(basis, drift, math.sqrt(prepared.trace), depth + size)
    for _ in range(max(1, min(PRODUCTS, depth // min(STARTS, depth)))):
        panel = space.panel()
        image = np.zeros(panel.shape[::-1])
        for _, block in prepared.blocks():
            image += (block.T @ panel).T @ block.T  # a third of the time of the same product turned round
        space.take(image.T)
    found = space.bounded()
    if found.short > HOPELESS:  # what is left is so small that roundings hide it
        return _longest_columns(prepared, basis, k)
    return found.bound
