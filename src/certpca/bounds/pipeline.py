"""The search for a certificate: makers are tried in the order of what they cost, until the gap is small enough.

What is found is only a suggestion. The bound that a certificate claims is the one the independent checker
derives from its evidence, rounded up.
"""

from dataclasses import replace

from certpca.bounds.goals import Goal, Incumbent, Known, Shared
from certpca.bounds.makers import makers
from certpca.bounds.near_one import AnyExaminer
from certpca.bounds.proof_search import ProofSearch
from certpca.bounds.proving import Prover
from certpca.operators import Operator, on_host
from certpca.results.certificate import Certificate
from certpca.results.errors import CertificateError
from certpca.results.solution import ending
from certpca.results.status import Status
from certpca.runtime.budget import Progress
from certpca.runtime.errors import DataFileError
from certpca.runtime.threads import threads_for

LEVELS = frozenset({"trace", "l0-level"})  # what is tried where levels alone are asked for: all else takes long


def find_certificate(operator: Operator, sparsity: int, known: Known, goal: Goal, progress: Progress) -> Certificate:
    """Return the best certificate that the budget allows; there always is one, and the cheapest is made in any case.

    With a limit on time, the time that the checker will need is set aside, and only what can be proved by then is
    searched for; a bound by the trace, which costs next to nothing, is in hand from the start.

    With a checkpoint, the search goes on where an earlier process left it: each part of it asks for its own state and
    repeats what it would have decided there. Only a search that ended by itself is finished; what one that was cut
    short could prove is kept for the next, which may have less time. Files can be changed, so whatever comes from a
    checkpoint is checked once more.
    """
    shared = Shared(operator) if goal.shared is None else goal.shared
    finished: Certificate | None = progress.load("certificate", Certificate)
    if finished is not None:
        return replace(verified(finished, shared.examiner), status=_status(finished, goal, progress))
    earlier: Certificate | None = progress.load("best", Certificate)
    with threads_for(operator.numbers):
        certificate = _found(operator, sparsity, known, goal, shared, progress)
    if earlier is not None and earlier.upper_bound < certificate.upper_bound:
        certificate = earlier
    if progress.resumed:
        verified(certificate, shared.examiner)
    certificate = replace(certificate, seconds=progress.seconds)
    if not progress.whole:
        progress.store("best", certificate, now=True)
    progress.finish("certificate", certificate)
    return replace(certificate, status=_status(certificate, goal, progress))


def _status(certificate: Certificate, goal: Goal, progress: Progress) -> Status:
    if goal.reached(certificate.objective, certificate.upper_bound):
        return Status.CONVERGED
    return ending(progress, Status.STALLED if progress.stalled else Status.CONVERGED)


def verified(certificate: Certificate, examiner: AnyExaminer) -> Certificate:
    """Return a certificate from a checkpoint if it holds."""
    try:
        examiner.check(certificate)
    except CertificateError as error:
        msg = f"a certificate in the checkpoint does not hold ({error}); remove the folder to start again"
        raise DataFileError(msg) from error
    return certificate


def _found(
    operator: Operator, sparsity: int, known: Known, goal: Goal, shared: Shared, progress: Progress
) -> Certificate:
    """Return the better of a certificate that came with the component and one that is searched for."""
    given = goal.known
    if given is not None and goal.reached(known.objective, given.upper_bound):
        return given
    incumbent = Incumbent(on_host(operator), known, progress.late, sparsity)
    prover = Prover(operator, sparsity, shared.examiner, shared.costs)
    # Proofs that are shared out go on from what is proved; else a point of its own may rule features out.
    start = given if goal.shared is not None else None
    search = ProofSearch(operator, sparsity, incumbent, goal, progress, prover, shared, best=start)
    made = _made(search)
    if given is None or (made is not given and given.upper_bound >= made.upper_bound):
        return made
    if not incumbent.objective > known.objective:
        return given
    return search.proved(given.kind, dict(given.evidence), given.tree)


def _made(search: ProofSearch) -> Certificate:
    """Let the makers try, cheap ones first, each where it applies and fits; a bound in closed form is what is left."""
    for maker in makers():
        if search.over:
            break
        if search.goal.levels_only and not LEVELS.intersection(maker.KINDS):
            continue
        if not maker.applies(search):
            continue
        needed = maker.seconds(search)
        if needed == 0.0 or search.fits(needed):
            maker.make(search)
        else:
            search.progress.run_out()
    search.prove_estimate()
    assert search.best is not None
    return search.best
