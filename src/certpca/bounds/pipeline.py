"""The search for a certificate: cheap bounds first, then the dual, then regions, until the gap is small enough.

What is found is only a suggestion. The bound that a certificate claims is the one the independent checker
derives from its evidence, rounded up.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.bounds.direction_tree.search import split_regions
from certpca.bounds.dual_steps import root_point, without_the_rest
from certpca.bounds.evidence import cover_evidence, level_of, point_evidence, tree_of
from certpca.bounds.goals import Goal, Incumbent, Known, Shared
from certpca.bounds.l0_dual.features import dual_depth
from certpca.bounds.l0_dual.problem import DualPoint, DualProblem
from certpca.bounds.near_one import NearExaminer
from certpca.bounds.proving import Prover
from certpca.bounds.sdp import solve_relaxation
from certpca.bounds.sdp.clipped import DIRECTIONS
from certpca.bounds.stalling import Stall
from certpca.bounds.support_tree.nodes import Tree
from certpca.bounds.support_tree.search import TreeSearch, searched
from certpca.checker import Examiner
from certpca.checker.limits import LARGEST_DENSE
from certpca.checker.screening import SCREEN
from certpca.operators import Operator, on_host
from certpca.operators.base import LARGEST_FORMED_SIZE
from certpca.results.certificate import PROVED_OPTIMAL, RANDOM, Certificate
from certpca.results.errors import CertificateError
from certpca.results.evidence_forms import parts_of, within
from certpca.results.solution import ending
from certpca.results.status import Status
from certpca.runtime.arrays import Indices, Vector, to_vector
from certpca.runtime.budget import Late, Progress, never
from certpca.runtime.errors import DataFileError, InvalidProblemError
from certpca.runtime.resumable import once
from certpca.search.krylov import leading_directions, leading_eigenpairs, leading_on_support

ROW_SUMS_UP_TO = 4096  # features up to which every pair of columns is multiplied
ALWAYS_OPTIMAL = 200  # features up to which the optimum is proved, whatever gap was asked for
TREE_UP_TO = 512  # features left over by screening up to which supports are searched
TREE_NODES = 1000
NODES_BEYOND_TARGET = 50
LARGEST_FACTOR_BYTES = 6 << 30
SECONDS_AN_ENTRY = 3e-7  # of the data, for about twenty walks over them with a proof
DEFAULT_DEPTH = 256  # directions of sample space where there are too many samples for all of them
FEWEST_STEPS = 1  # towards a dual point: with time for that as predicted, which is rather long, the problem is posed
SHRINK_FROM = 0.1  # share of features that must be excluded before the dual is solved again without them


def find_certificate(
    operator: Operator, sparsity: int, support: Indices, loadings: Vector, goal: Goal, progress: Progress
) -> Certificate:
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
    certificate = _found(operator, sparsity, support, loadings, replace(goal, shared=shared), progress)
    if earlier is not None:
        certificate = min(certificate, earlier, key=_bound_of)
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


def verified(certificate: Certificate, examiner: Examiner | NearExaminer) -> Certificate:
    """Return a certificate from a checkpoint if it holds."""
    try:
        examiner.check(certificate)
    except CertificateError as error:
        msg = f"a certificate in the checkpoint does not hold ({error}); remove the folder to start again"
        raise DataFileError(msg) from error
    return certificate


def _found(
    operator: Operator, sparsity: int, support: Indices, loadings: Vector, goal: Goal, progress: Progress
) -> Certificate:
    host = on_host(operator)
    objective = host.quadratic_form(support, loadings)
    incumbent = Incumbent(host, Known(support, loadings, objective), progress.late)
    known = goal.known
    if known is not None and goal.reached(objective, known.upper_bound):
        return known
    assert goal.shared is not None
    prover = Prover(operator, sparsity, goal.shared.examiner, goal.shared.costs)
    certificate = _Proof(operator, sparsity, incumbent, goal, progress, prover).found()
    if known is None or known.upper_bound >= certificate.upper_bound:
        return certificate
    if not incumbent.objective > objective:
        return known
    best = incumbent.best.support, incumbent.best.loadings
    return prover.prove(known.kind, dict(known.evidence), *best, tree=known.tree, seconds=progress.seconds)


class _Proof:
    """The search for one certificate: cheap bounds first, then the dual, then regions, each where there is time for it.

    With a limit on time a certificate is `in_hand` from the start, the one by the trace, which costs next to nothing.
    """

    def __init__(
        self, operator: Operator, sparsity: int, incumbent: Incumbent, goal: Goal, progress: Progress, prover: Prover
    ) -> None:
        assert goal.shared is not None
        self._operator, self._sparsity, self._incumbent = operator, sparsity, incumbent
        self._goal, self._progress, self._prover, self._shared = goal, progress, prover, goal.shared
        self._costs = prover.costs
        self._small = goal.branching and operator.size <= ALWAYS_OPTIMAL
        self._in_hand: Certificate | None = None
        if progress.timed:
            self._take("trace", {})
            if "largest-eigenvalue" in self._costs.known:
                self._take("largest-eigenvalue", {})
        self._screening: dict[str, Any] = {}  # evidence that leaves features out,
        self._screening_seconds = 0.0  # and how long the checker takes to do that again
        self._features = np.arange(operator.size)

    def found(self) -> Certificate:
        """Return the best certificate there is time for."""
        operator, goal, progress = self._operator, self._goal, self._progress
        bounds = _cheap_bounds(self._incumbent.operator, self._sparsity, progress.late)
        kind, cheap = min(bounds, key=lambda item: item[1])
        progress.tick(self._incumbent.objective, cheap)
        reduced = _too_deep(operator, goal.depth)
        if self._near_enough(cheap) or progress.exhausted:
            return self._closed_form(kind, cheap)
        if reduced:
            return self._reduced(kind, cheap)
        warm = _usable(goal.warm, self._prover.fingerprint)
        if warm is not None:
            # The bound kρ + λ_max(Σ Y_i) of a dual point holds for every k, so another sparsity's may do.
            if self._near_enough(warm.upper_bound + (self._sparsity - warm.sparsity) * level_of(warm)):
                return self._proved("l0-dual", dict(warm.evidence))
            if self._in_hand is not None:  # the checker remembers this point, so that it costs nothing
                self._take("l0-dual", dict(warm.evidence))
        posing = 0.0 if self._shared.posed else self._costs.posing()
        if not self._fits(posing + FEWEST_STEPS * self._costs.step() + self._costs.dual()):
            progress.run_out()
            return self._largest_eigenvalue(kind, cheap)
        problem = self._shared.dual.at(self._sparsity)
        with progress.setting_aside(self._costs.dual()):
            point = root_point(problem, self._incumbent, goal, warm, cheap, progress)
        if problem.scale < cheap:
            kind, cheap = "largest-eigenvalue", problem.scale
        certificate = once(
            lambda: self._root_certificate(point, kind, cheap), progress, "root-certificate", Certificate
        )
        if not self._finished(certificate) and certificate.outside >= SHRINK_FROM * operator.size:
            shrunk = self._shrunk(certificate, problem, point)
            if shrunk is None:
                return certificate
            certificate, problem, point = shrunk
        certificate = self._searched(certificate)
        if goal.semidefinite and not self._finished(certificate):
            name, earlier = "semidefinite-certificate", certificate
            certificate = min(
                earlier, once(lambda: self._semidefinite(earlier), progress, name, Certificate), key=_bound_of
            )
        if goal.branching and not self._finished(certificate):
            certificate = self._branched(certificate, problem, point)
        return certificate

    def _proved(self, kind: str, evidence: dict[str, Any], tree: Any = None) -> Certificate:
        best = self._incumbent.best.support, self._incumbent.best.loadings
        return self._prover.prove(kind, evidence, *best, tree=tree, seconds=self._progress.seconds)

    def _take(self, kind: str, evidence: dict[str, Any]) -> None:
        """Take a certificate in hand if it is the best so far."""
        made = self._proved(kind, evidence)
        self._in_hand = made if self._in_hand is None else min(self._in_hand, made, key=_bound_of)

    def _fits(self, seconds: float) -> bool:
        return self._progress.remaining > seconds

    def _near_enough(self, bound: float) -> bool:
        if self._small:
            return bound <= self._incumbent.objective * (1 + PROVED_OPTIMAL)
        return self._goal.reached(self._incumbent.objective, bound)

    def _finished(self, certificate: Certificate) -> bool:
        return self._goal.reached(self._incumbent.objective, certificate.upper_bound) or self._progress.exhausted

    def _closed_form(self, kind: str, bound: float) -> Certificate:
        """Prove a bound that needs no evidence, unless what is in hand is as good or time is short."""
        if self._in_hand is None:
            return self._proved(kind, {})
        if bound < self._in_hand.upper_bound:
            if self._fits(self._costs.closed_form(kind)):
                self._take(kind, {})
            else:
                self._progress.run_out()
        return self._in_hand

    def _largest_eigenvalue(self, kind: str, cheap: float) -> Certificate:
        """Prove the better of the cheap bound and the largest eigenvalue, where there is no time for a dual point."""
        late = self._progress.late
        value = float(leading_eigenpairs(self._incumbent.operator, 1, accuracy=1e-3, late=late).values[0])
        return self._closed_form("largest-eigenvalue", value) if value < cheap else self._closed_form(kind, cheap)

    def _reduced(self, kind: str, cheap: float) -> Certificate:
        """Work with a few directions of sample space."""
        operator, goal, progress = self._operator, self._goal, self._progress
        seconds = self._costs.reduced(DEFAULT_DEPTH if goal.depth is None else goal.depth)
        if dual_depth(operator) > LARGEST_FORMED_SIZE:
            seconds = SECONDS_AN_ENTRY / 2 * dual_depth(operator) * operator.size
        if not _can_reduce(operator, goal.depth, progress) or not self._fits(seconds):
            progress.run_out()
            return self._closed_form(kind, cheap)
        with progress.setting_aside(seconds):
            sort, evidence = _reduced(operator, self._sparsity, self._incumbent, goal, cheap, progress)
        certificate = self._proved(sort, evidence)
        return certificate if certificate.upper_bound < cheap else self._closed_form(kind, cheap)

    def _root_certificate(self, point: DualPoint, kind: str, cheap: float) -> Certificate:
        if self._in_hand is not None and (cheap <= point.bound or not self._fits(self._costs.dual() / 2)):
            return self._closed_form(kind, cheap)
        dual = self._proved("l0-dual", point_evidence(point))
        return min(dual, self._closed_form(kind, cheap), key=_bound_of) if cheap < dual.upper_bound else dual

    def _shrunk(
        self, certificate: Certificate, problem: DualProblem, point: DualPoint
    ) -> tuple[Certificate, DualProblem, DualPoint] | None:
        """Solve the dual again without the features that are in no optimal support; None where there is no time."""
        costs, progress, size = self._costs, self._progress, self._operator.size
        self._screening = within(SCREEN, certificate.evidence)
        self._features = _undecided(certificate, self._prover, progress)
        self._screening_seconds = costs.dual(screened=True)
        proof = self._screening_seconds + costs.dual(self._features.size, roots=False)
        if not self._fits(proof + FEWEST_STEPS * costs.step() * self._features.size / size):
            progress.run_out()
            return None
        with progress.setting_aside(proof):
            problem, point = without_the_rest(problem, point, self._features, self._incumbent, self._goal, progress)
        if progress.timed and point.bound >= certificate.upper_bound:
            return certificate, problem, point
        # Without roots: a better component may yet leave the checker with fewer features than there are here.
        rest = {**self._screening, **point_evidence(point, roots=False)}
        shrunk = once(lambda: self._proved("l0-dual", rest), progress, "shrunk-certificate", Certificate)
        return min(certificate, shrunk, key=_bound_of), problem, point

    def _searched(self, certificate: Certificate) -> Certificate:
        """Search over supports, where few features are left."""
        goal, progress = self._goal, self._progress
        searchable = goal.branching and self._features.size <= TREE_UP_TO and not progress.exhausted
        if not searchable or self._near_enough(certificate.upper_bound):
            return certificate
        with progress.setting_aside(self._screening_seconds):
            tree, evidence, reached = _tree(
                self._features, self._sparsity, self._incumbent, goal, self._small, progress
            )
        if not reached < certificate.upper_bound:
            return certificate
        whole = {**self._screening, **evidence}
        searched = once(lambda: self._proved("search-tree", whole, tree), progress, "tree-certificate", Certificate)
        return min(certificate, searched, key=_bound_of)

    def _semidefinite(self, earlier: Certificate) -> Certificate:
        """Solve the semidefinite relaxation."""
        progress, aside = self._progress, 0.0
        if progress.timed:
            aside = min(self._costs.clipped(DIRECTIONS), progress.remaining / 2)
        with progress.setting_aside(aside):
            relaxation = solve_relaxation(self._operator, self._sparsity, progress.part(quiet=True), gap=1e-4)
        progress.tick(self._incumbent.objective, min(relaxation.upper, earlier.upper_bound))
        evidence = relaxation.dual.evidence()
        tighter = relaxation.upper < earlier.upper_bound and self._fits(self._costs.of("sdp-dual", evidence))
        return self._proved("sdp-dual", evidence) if tighter else earlier

    def _branched(self, certificate: Certificate, problem: DualProblem, point: DualPoint) -> Certificate:
        """Split the directions of sample space."""
        progress, roots = self._progress, not self._screening
        leaf = self._costs.dual(self._features.size, roots=roots)
        with progress.setting_aside(self._screening_seconds):
            found = split_regions(problem, point, self._features, self._incumbent, self._goal, progress, leaf)
        if found is None or not found.bound < certificate.upper_bound:
            return certificate
        evidence = {**self._screening, **cover_evidence(found, roots=roots)}
        return min(certificate, self._proved("l0-tree", evidence, tree_of(found)), key=_bound_of)


def _bound_of(certificate: Certificate) -> float:
    return certificate.upper_bound


def _undecided(certificate: Certificate, prover: Prover, progress: Progress) -> Indices:
    """Return the features that a certificate does not exclude from every optimal support."""

    def left() -> Indices:
        return np.setdiff1d(np.arange(certificate.size), prover.examine(certificate).outside)

    return once(left, progress, "features", Indices)


def _too_deep(operator: Operator, wanted: int | None) -> bool:
    """Whether to work with fewer directions than there are: because of time, or of memory, or as asked for."""
    depth = dual_depth(operator)
    asked = wanted is not None and wanted < depth
    return asked or depth > LARGEST_FORMED_SIZE or 4 * depth * operator.size > LARGEST_FACTOR_BYTES


def _can_reduce(operator: Operator, wanted: int | None, progress: Progress) -> bool:
    """Whether a certificate of smaller depth is possible, and can be checked in the time that is left."""
    source = operator.source()
    possible = source.kind == "data" and source.values.shape[0] <= operator.size
    if wanted is not None and wanted > LARGEST_FORMED_SIZE:
        msg = f"a certificate of smaller depth has at most {LARGEST_FORMED_SIZE} directions, got {wanted}"
        raise InvalidProblemError(msg)
    if wanted is None:
        return possible and progress.remaining > SECONDS_AN_ENTRY * source.values.shape[0] * operator.size
    if not possible:
        msg = "a certificate of smaller depth is for data with at most as many samples as features"
        raise InvalidProblemError(msg)
    return True


def _reduced(
    operator: Operator,
    sparsity: int,
    incumbent: Incumbent,
    goal: Goal,
    cheap: float,
    progress: Progress,
) -> tuple[str, dict[str, Any]]:
    """Solve the dual along a few directions of sample space; the checker bounds what the others can add."""
    count = DEFAULT_DEPTH if goal.depth is None else goal.depth
    # What is stored is single precision; the problem is posed for what the checker will make of that.

    def directions() -> tuple[NDArray[np.float32], float]:
        found, variances = leading_directions(operator, count, np.random.default_rng(0))
        return found.astype(np.float32), float(variances[count:].max(initial=0.0))

    basis, tail = once(directions, progress, "directions", tuple[NDArray[np.float32], float])
    axes, triangle = np.linalg.qr(basis.astype(np.float64))
    problem = DualProblem(operator, sparsity, axes * np.where(np.diagonal(triangle) < 0, -1.0, 1.0))
    point = root_point(problem, incumbent, goal, None, cheap, progress, tail=tail)
    sure = dual_depth(operator) <= LARGEST_FORMED_SIZE
    return "l0-reduced" if sure else f"l0-reduced{RANDOM}", {"basis": basis, **point_evidence(point)}


def _tree(
    features: Indices, sparsity: int, incumbent: Incumbent, goal: Goal, small: bool, progress: Progress
) -> tuple[Any, dict[str, Any], float]:
    """Search over supports; on small problems until the optimum is proved, as long as that takes few nodes."""
    matrix = incumbent.operator.submatrix(features)
    support = np.searchsorted(features, incumbent.best.support)
    search = TreeSearch(matrix, sparsity, PROVED_OPTIMAL if small else max(goal.target_gap, PROVED_OPTIMAL))
    stall = Stall(progress)

    def enough(tree: Tree) -> bool:
        reached = goal.reached(tree.value, tree.upper_bound) and (not small or tree.nodes >= NODES_BEYOND_TARGET)
        return reached or tree.nodes >= TREE_NODES or stall.over(tree.value, tree.upper_bound)

    found = searched(search, support, progress, enough=enough)
    if found.value > incumbent.objective * (1 + 1e-9):
        incumbent.best = incumbent.refitted(features[found.best.support])
    return *search.certificate(found), found.upper_bound


def _cheap_bounds(operator: Operator, sparsity: int, late: Late = never) -> list[tuple[str, float]]:
    """Estimate the closed-form bounds; the checker proves the one that is used."""
    diagonal = np.sort(to_vector(operator.diagonal()))[::-1]
    bounds = [("trace", float(diagonal[:sparsity].sum()))]
    if operator.size <= ROW_SUMS_UP_TO and not late():
        worst = 0.0
        for start in range(0, operator.size, 512):
            part = np.abs(to_vector(operator.columns(np.arange(start, min(start + 512, operator.size)))))
            ordered = np.partition(part, operator.size - sparsity, axis=0)[operator.size - sparsity :]
            worst = max(worst, float(ordered.sum(axis=0).max()))
        bounds.append(("row-sums", worst))
    fits = dual_depth(operator) <= LARGEST_DENSE
    if operator.size <= 512 or (sparsity == operator.size and fits and not late()):
        value = leading_on_support(operator, np.arange(operator.size), late=late)[0]
        bounds.append(("largest-eigenvalue", value))
    return bounds


def _usable(warm: Certificate | None, fingerprint: str) -> Certificate | None:
    """Return an earlier certificate if it holds one dual point for all features of the same data."""
    same = warm is not None and warm.kind == "l0-dual" and warm.fingerprint == fingerprint
    return warm if same and warm is not None and SCREEN not in parts_of(warm.evidence) else None
