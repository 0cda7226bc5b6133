"""A result held against data: whatever the data decide is computed again from them, and nothing else is believed."""

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from certpca.checker import Examiner
from certpca.operators import Operator
from certpca.results.certificate import Certificate
from certpca.results.errors import CertificateError
from certpca.results.proof import Proof
from certpca.results.solution import Solution
from certpca.results.status import Status
from certpca.runtime.rounded import down, up
from certpca.search.krylov import leading_eigenpairs

SAME = 1e-6  # relative; what roundings of another machine or a text file may change
SAME_EIGENVALUE = 1e-3  # relative; the largest eigenvalue of a large matrix is computed to no more


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """What came of holding a result against the data.

    `solution` is the result with everything that the data decide taken from them. Where there is a `refusal`, it is the
    result as it came.
    """

    solution: Solution
    refusal: str = ""
    proof: Proof | None = None
    seconds: float = 0.0


def held_against(operator: Operator, solution: Solution, examiner: Examiner) -> Check:
    """Recompute a result and verify its certificate."""
    begin = time.perf_counter()
    refusal = contradiction(solution)
    if refusal:
        return Check(solution, refusal)
    captured = operator.quadratic_form(solution.support, solution.loadings)
    refusal = _other_data(operator, solution, captured)
    if refusal:  # before the eigenvalue, which takes longer
        return Check(solution, refusal)
    recomputed = _recomputed(operator, solution, captured)
    refusal = _false_share(solution, recomputed)
    proof, certificate = None, solution.certificate
    if certificate is not None and not refusal:
        try:
            proof = examiner.check(certificate)
        except CertificateError as error:
            refusal = str(error)
    if refusal:
        return Check(solution, refusal)
    if certificate is not None and proof is not None:
        proved = replace(
            certificate,
            upper_bound=proof.upper_bound,
            objective=proof.objective,
            outside=int(proof.outside.size),
            inside=int(proof.inside.size),
            matrix=proof.matrix,
        )
        recomputed = replace(recomputed, certificate=proved)
    return Check(recomputed, proof=proof, seconds=time.perf_counter() - begin)


def contradiction(solution: Solution) -> str:
    """Say what cannot be right in a result by itself, or with its certificate: files can be mixed up, or forged."""
    support, length = solution.support, float(np.linalg.norm(solution.loadings))
    if not math.isclose(length, 1.0, rel_tol=SAME):
        return f"the loadings are no unit vector, their length is {length:.6g}"
    if not bool((support[1:] > support[:-1]).all()):
        return "the support names a feature twice, or is not sorted"
    if support.size > solution.sparsity and solution.status is not Status.WIDER_SUPPORT:
        return f"there are {support.size:,} loadings, more than the {solution.sparsity:,} that were asked for"
    return "" if solution.certificate is None else _other_certificate(solution, solution.certificate)


def _other_certificate(solution: Solution, certificate: Certificate) -> str:
    for what in ("size", "sparsity"):
        own, other = getattr(solution, what), getattr(certificate, what)
        if own != other:
            return f"the {what} is {own:,} in the result but {other:,} in its certificate"
    if solution.constraints != certificate.constraints:
        return "the result and its certificate are about different constraints"
    comparable = solution.support.size <= certificate.sparsity
    if comparable and solution.objective > certificate.upper_bound * (1 + SAME):
        captured, bound = down(solution.objective), up(certificate.upper_bound)
        return f"the loadings capture {captured}, more than the upper bound {bound}"
    return ""


def _other_data(operator: Operator, solution: Solution, captured: float) -> str:
    if math.isclose(captured, solution.objective, rel_tol=SAME):
        return ""
    reason = f"the loadings capture {captured:.6g} there, not {solution.objective:.6g}"
    if operator.description != solution.matrix:
        reason += f"; the result is about the {solution.matrix}, the data as read give the {operator.description}"
    return f"the data are not what the result was made from: {reason}"


def _recomputed(operator: Operator, solution: Solution, captured: float) -> Solution:
    """Take from the data what they decide."""
    trace = operator.trace()
    largest = max(float(leading_eigenpairs(operator, 1, rng=0).values[0]), captured)
    return replace(
        solution,
        objective=captured,
        names=operator.names_of(solution.support),
        explained_variance_ratio=captured / trace if trace > 0 else 0.0,
        relative_objective=captured / largest if largest > 0 else 0.0,
        matrix=operator.description,
    )


def _false_share(solution: Solution, recomputed: Solution) -> str:
    """Say which share of the variance is another one than the result says."""
    share, claimed = recomputed.explained_variance_ratio, solution.explained_variance_ratio
    if not math.isclose(share, claimed, rel_tol=SAME):
        return f"the loadings explain {share:.4%} of the variance, not {claimed:.4%} as the result says"
    share, claimed = recomputed.relative_objective, solution.relative_objective
    told = not math.isnan(claimed)  # a limit may have left no time for the largest eigenvalue
    if told and not math.isclose(share, claimed, rel_tol=SAME_EIGENVALUE):
        return f"the loadings capture {share:.4f} of what a dense component does, not {claimed:.4f} as the result says"
    return ""
