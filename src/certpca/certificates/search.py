"""The search for a certificate: cheap bounds first, then the dual, then regions, until the gap is small enough.

What is found is only a suggestion. The bound that a certificate claims is the one the independent checker
derives from its evidence, rounded up.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from certpca.arrays import Indices, Vector, to_vector, top_k
from certpca.budget import Progress
from certpca.certificates.branching import TreeSearch
from certpca.certificates.checker import Examiner
from certpca.certificates.near_one import NearExaminer, examiner_of
from certpca.certificates.proving import ROUNDED_UP, Prover
from certpca.certificates.tree_states import TreeStates
from certpca.errors import CertificateError, DataFileError, InvalidProblemError
from certpca.linalg.eigen import leading_on_support
from certpca.linalg.sample_space import leading_directions
from certpca.linalg.swaps import SwapSearch
from certpca.operators import Operator, on_host
from certpca.operators.base import LARGEST_FORMED_SIZE
from certpca.operators.streamed import is_large_file
from certpca.plain_results import certificate_from_state, certificate_state
from certpca.relaxation.l0_dual import DualPoint, DualProblem, dual_depth, improve
from certpca.relaxation.regions import Cover, Region, Splitting
from certpca.relaxation.sdp import solve_relaxation
from certpca.result import PROVED_OPTIMAL, RANDOM, Certificate

ROW_SUMS_UP_TO = 4096  # features up to which every pair of columns is multiplied
ALWAYS_OPTIMAL = 200  # features up to which the optimum is proved, whatever gap was asked for
TREE_UP_TO = 512  # features left over by screening up to which supports are searched
TREE_NODES = 1000
NODES_BEYOND_TARGET = 50
ROOT_STEPS = 80
ROUNDS_FROM_FILES = 5  # of a local search that walks over a file each time
LARGEST_FACTOR_BYTES = 6 << 30
SECONDS_AN_ENTRY = 3e-7  # of the data, for about twenty walks over them with a proof
DEFAULT_DEPTH = 256  # directions of sample space where there are too many samples for all of them
NEAR = (0.7, 2.0)  # ratios of sparsities at which a density is worth going on from; upwards it is nearly right
WARM_STEPS = 4
CHEAP_STEP = 4e9  # multiplications up to which the relaxation is solved to its end
SHRINK_FROM = 0.1  # share of features that must be excluded before the dual is solved again without them


@dataclass(slots=True)
class Incumbent:
    """The best loadings known, improved from directions of sample space that the dual suggests."""

    operator: Operator
    support: Indices
    loadings: Vector
    objective: float

    @property
    def _most_rounds(self) -> float:
        return ROUNDS_FROM_FILES if is_large_file(self.operator) else math.inf

    def try_images(self, images: Sequence[Vector]) -> float:
        """Start a local search from the largest entries of each image and keep what is better."""
        diagonal = to_vector(self.operator.diagonal())
        for image in images:
            search = SwapSearch(self.operator, top_k(np.abs(image), self.support.size), diagonal)
            rounds = 1
            while search.threshold() and rounds < self._most_rounds:
                rounds += 1
            if search.objective > self.objective * (1 + 1e-9):
                self.support = search.support
                self.objective, self.loadings = leading_on_support(self.operator, self.support)
        return self.objective

    def state(self) -> dict[str, Any]:
        """Return everything but the operator."""
        return {"support": self.support, "loadings": self.loadings, "objective": self.objective}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.support, self.loadings, self.objective = state["support"], state["loadings"], state["objective"]


class Shared:
    """What proofs for several sparsities of one operator have in common, made when it is first needed."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    @cached_property
    def dual(self) -> DualProblem:
        """The dual problem; `at` gives that of a sparsity."""
        return DualProblem(self._operator, 1)

    @cached_property
    def examiner(self) -> Examiner | NearExaminer:
        """The checker, with the data prepared."""
        return examiner_of(self._operator)


@dataclass(frozen=True, slots=True)
class Goal:
    """When to stop, and with what to begin."""

    target_gap: float
    branching: bool = True
    warm: Certificate | None = None
    semidefinite: bool = False
    known: Certificate | None = None
    depth: int | None = None
    shared: Shared | None = None

    def reached(self, objective: float, bound: float) -> bool:
        """Whether the gap is as small as asked for."""
        # A certificate claims a little more than it proves, so no gap is smaller than that.
        return bound <= 0 or 1 - objective / bound <= max(self.target_gap, 2 * ROUNDED_UP)


def find_certificate(
    operator: Operator, sparsity: int, support: Indices, loadings: Vector, goal: Goal, progress: Progress
) -> Certificate:
    """Return the best certificate that the budget allows; there always is one.

    With a checkpoint, the search goes on where an earlier process left it: each part of it asks for its own state and
    repeats what it would have decided there. Only a search that ended by itself is finished; what one that was cut
    short could prove is kept for the next, which may have less time. Files can be changed, so whatever comes from a
    checkpoint is checked once more.
    """
    shared = Shared(operator) if goal.shared is None else goal.shared
    state = progress.load("certificate")
    if state is not None:
        return verified(certificate_from_state(state), shared.examiner)
    earlier = progress.load("best")
    certificate = _found(operator, sparsity, support, loadings, replace(goal, shared=shared), progress)
    if earlier is not None:
        certificate = min(certificate, certificate_from_state(earlier), key=_bound_of)
    if progress.resumed:
        verified(certificate, shared.examiner)
    if progress.exhausted:
        progress.store("best", lambda: certificate_state(certificate), now=True)
    progress.finish("certificate", lambda: certificate_state(certificate))
    return certificate


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
    incumbent = Incumbent(host, support, loadings, objective)
    known = goal.known
    if known is not None and goal.reached(objective, known.upper_bound):
        return known
    assert goal.shared is not None
    prover = Prover(operator, sparsity, goal.shared.examiner)
    certificate = _search(operator, sparsity, incumbent, goal, progress, prover)
    if known is None or known.upper_bound >= certificate.upper_bound:
        return certificate
    if not incumbent.objective > objective:
        return known
    best = incumbent.support, incumbent.loadings
    return prover.prove(known.kind, dict(known.evidence), *best, tree=known.tree, seconds=progress.seconds)


def _search(
    operator: Operator, sparsity: int, incumbent: Incumbent, goal: Goal, progress: Progress, prover: Prover
) -> Certificate:
    def proved(kind: str, evidence: dict[str, Any], tree: Any = None) -> Certificate:
        best = incumbent.support, incumbent.loadings
        return prover.prove(kind, evidence, *best, tree=tree, seconds=progress.seconds)

    kind, cheap = min(_cheap_bounds(incumbent.operator, sparsity), key=lambda item: item[1])
    progress.tick(incumbent.objective, cheap)
    small = goal.branching and operator.size <= ALWAYS_OPTIMAL

    def near_enough(bound: float) -> bool:
        if small:
            return bound <= incumbent.objective * (1 + PROVED_OPTIMAL)
        return goal.reached(incumbent.objective, bound)

    reduced = _too_deep(operator, goal.depth)
    if near_enough(cheap) or progress.exhausted or (reduced and not _can_reduce(operator, goal.depth, progress)):
        return proved(kind, {})
    if reduced:
        certificate = _reduced(operator, sparsity, incumbent, goal, cheap, progress, proved)
        return certificate if certificate.upper_bound < cheap else proved(kind, {})
    warm = _usable(goal.warm, prover.fingerprint)
    # The bound kρ + λ_max(Σ Y_i) of a dual point holds for every k, so another sparsity's may do.
    if warm is not None and near_enough(warm.upper_bound + (sparsity - warm.sparsity) * _level(warm)):
        return proved("l0-dual", dict(warm.evidence))
    assert goal.shared is not None
    problem = goal.shared.dual.at(sparsity)
    point = _root(problem, incumbent, goal, warm, cheap, progress)
    if problem.scale < cheap:
        kind, cheap = "largest-eigenvalue", problem.scale

    def without_branching() -> Certificate:
        dual = proved("l0-dual", point_evidence(point))
        return min(dual, proved(kind, {}), key=_bound_of) if cheap < dual.upper_bound else dual

    certificate = _once(progress, "root-certificate", without_branching)

    def finished() -> bool:
        return goal.reached(incumbent.objective, certificate.upper_bound) or progress.exhausted

    features, screening = np.arange(operator.size), {}
    if not finished() and certificate.outside >= SHRINK_FROM * operator.size:
        screening = {f"screen_{name}": value for name, value in certificate.evidence.items()}
        features = _undecided(certificate, prover, progress)
        point = _without_the_rest(problem, point, features, incumbent, goal, progress)
        # Without roots: a better component may yet leave the checker with fewer features than there are here.
        rest = {**screening, **point_evidence(point, roots=False)}
        certificate = min(
            certificate, _once(progress, "shrunk-certificate", lambda: proved("l0-dual", rest)), key=_bound_of
        )
    searchable = goal.branching and features.size <= TREE_UP_TO and not progress.exhausted
    if searchable and not near_enough(certificate.upper_bound):
        tree, evidence, reached = _tree(features, sparsity, incumbent, goal, small, progress)
        if reached < certificate.upper_bound:
            searched = _once(
                progress, "tree-certificate", lambda: proved("search-tree", {**screening, **evidence}, tree)
            )
            certificate = min(certificate, searched, key=_bound_of)
    if goal.semidefinite and not finished():
        earlier = certificate

        def semidefinite() -> Certificate:
            relaxation = solve_relaxation(operator, sparsity, Progress(), gap=1e-4)
            progress.tick(incumbent.objective, min(relaxation.upper, earlier.upper_bound))
            tighter = relaxation.upper < earlier.upper_bound
            return proved("sdp-dual", relaxation.dual.evidence()) if tighter else earlier

        certificate = min(earlier, _once(progress, "semidefinite-certificate", semidefinite), key=_bound_of)
    if goal.branching and not finished():
        found = _branch(problem, point, features, incumbent, goal, progress)
        if found is not None and found.bound < certificate.upper_bound:
            branched = proved("l0-tree", {**screening, **cover_evidence(found)}, tree_of(found))
            certificate = min(certificate, branched, key=_bound_of)
    return certificate


def _once(progress: Progress, name: str, make: Callable[[], Certificate]) -> Certificate:
    """Make a certificate, or take it from the checkpoint; it is stored unless what led to it was cut short."""
    state = progress.load(name)
    made = make() if state is None else certificate_from_state(state)
    if state is None and not progress.exhausted:
        progress.store(name, lambda: certificate_state(made), now=True)
    return made


def _bound_of(certificate: Certificate) -> float:
    return certificate.upper_bound


def _undecided(certificate: Certificate, prover: Prover, progress: Progress) -> Indices:
    """Return the features that a certificate does not exclude from every optimal support."""
    features: Indices | None = progress.load("features")
    if features is None:
        features = np.setdiff1d(np.arange(certificate.size), prover.examine(certificate).outside)
        progress.store("features", lambda: features, now=True)
    return features


def _too_deep(operator: Operator, wanted: int | None) -> bool:
    """Whether to work with fewer directions than there are: because of time, or of memory, or as asked for."""
    depth = dual_depth(operator)
    asked = wanted is not None and wanted < depth
    return asked or depth > LARGEST_FORMED_SIZE or 4 * depth * operator.size > LARGEST_FACTOR_BYTES


def _can_reduce(operator: Operator, wanted: int | None, progress: Progress) -> bool:
    """Whether a certificate of smaller depth is possible, and can be checked in the time that is left."""
    source = operator.source()
    possible = source.kind == "data" and source.values.shape[0] <= operator.size
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
    proved: Callable[[str, dict[str, Any]], Certificate],
) -> Certificate:
    """Solve the dual along a few directions of sample space; the checker bounds what the others can add."""
    count = DEFAULT_DEPTH if goal.depth is None else goal.depth
    # What is stored is single precision; the problem is posed for what the checker will make of that.
    stored = progress.load("directions")
    if stored is None:
        found, variances = leading_directions(operator, count, np.random.default_rng(0))
        stored = {"basis": found.astype(np.float32), "next": float(variances[count:].max(initial=0.0))}
        progress.store("directions", lambda: stored, now=True)
    basis = stored["basis"]
    directions, triangle = np.linalg.qr(basis.astype(np.float64))
    problem = DualProblem(operator, sparsity, directions * np.where(np.diagonal(triangle) < 0, -1.0, 1.0))
    point = _root(problem, incumbent, goal, None, cheap, progress, tail=stored["next"])
    sure = dual_depth(operator) <= LARGEST_FORMED_SIZE
    return proved("l0-reduced" if sure else f"l0-reduced{RANDOM}", {"basis": basis, **point_evidence(point)})


def _tree(
    features: Indices, sparsity: int, incumbent: Incumbent, goal: Goal, small: bool, progress: Progress
) -> tuple[Any, dict[str, Any], float]:
    """Search over supports; on small problems until the optimum is proved, as long as that takes few nodes."""
    matrix = incumbent.operator.submatrix(features)
    support = np.searchsorted(features, incumbent.support)
    search = TreeSearch(matrix, sparsity, support, PROVED_OPTIMAL if small else max(goal.target_gap, PROVED_OPTIMAL))
    states = TreeStates(search, progress)
    states.take_up()
    for at in search.steps(lambda: progress.exhausted):
        going = progress.tick(at.value, at.upper_bound, at.note)
        reached = goal.reached(at.value, at.upper_bound) and (not small or at.nodes >= NODES_BEYOND_TARGET)
        if not going or reached or at.nodes >= TREE_NODES:
            break
        states.store()
    states.store(now=True)
    if search.best.value * search.scale > incumbent.objective * (1 + 1e-9):
        incumbent.support = features[search.best.support]
        incumbent.objective, incumbent.loadings = leading_on_support(incumbent.operator, incumbent.support)
    return *search.certificate(), search.upper_bound


def _cheap_bounds(operator: Operator, sparsity: int) -> list[tuple[str, float]]:
    """Estimate the closed-form bounds; the checker proves the one that is used."""
    diagonal = np.sort(to_vector(operator.diagonal()))[::-1]
    bounds = [("trace", float(diagonal[:sparsity].sum()))]
    if operator.size <= ROW_SUMS_UP_TO:
        worst = 0.0
        for start in range(0, operator.size, 512):
            part = np.abs(to_vector(operator.columns(np.arange(start, min(start + 512, operator.size)))))
            ordered = np.partition(part, operator.size - sparsity, axis=0)[operator.size - sparsity :]
            worst = max(worst, float(ordered.sum(axis=0).max()))
        bounds.append(("row-sums", worst))
    if operator.size <= 512 or sparsity == operator.size:
        value = leading_on_support(operator, np.arange(operator.size))[0]
        bounds.append(("largest-eigenvalue", value))
    return bounds


def _root(
    problem: DualProblem,
    incumbent: Incumbent,
    goal: Goal,
    warm: Certificate | None,
    cheap: float,
    progress: Progress,
    tail: float = 0.0,
) -> DualPoint:
    """Improve the dual point for all directions until the relaxation itself is what is left of the gap.

    What directions that the problem leaves out add to the bound, about, is the `tail`.
    """
    best: DualPoint | None = None
    value, stalled, first, done = -np.inf, 0, 0, False
    enough = 1e-3 if incumbent.operator.size * problem.depth**2 <= CHEAP_STEP else 0.02
    steps = _Steps(problem, incumbent, warm)
    if (stored := progress.load("root")) is not None:
        best, value, stalled = problem.point(stored["best"]), stored["value"], stored["stalled"]
        incumbent.restore(stored["incumbent"])
        problem.restore(stored["problem"])
        if stored["steps"] is None:
            return best
        first = stored["step"] + 1
        steps.restore(stored["steps"])

    def state() -> dict[str, Any]:
        assert best is not None
        return {
            "best": best.state(),
            "value": value,
            "stalled": stalled,
            "step": step,
            "incumbent": incumbent.state(),
            "problem": problem.state(),
            "steps": None if done else steps.state(),
        }

    for step, point in enumerate(steps, first):
        value = max(value, point.value)
        if best is None or point.bound < best.bound:
            stalled = 0 if best is None or best.bound - point.bound > 0.01 * (best.bound - value) else stalled + 1
            best = point
        else:
            stalled += 1
        if step % 8 == 4:
            leading = to_vector(point.basis[:, -3:])
            incumbent.try_images([_image(problem, leading[:, column]) for column in range(leading.shape[1])])
        bound = min(best.bound + tail, cheap)
        going = progress.tick(incumbent.objective, bound)
        rest = best.bound - value  # what is left for the optimiser; the relaxation itself cannot go below `value`
        nearly = rest <= max(1e-10 * best.bound, enough * max(value + tail - incumbent.objective, 0.0))
        done = goal.reached(incumbent.objective, bound) or nearly or stalled >= 12 or step >= ROOT_STEPS
        progress.store("root", state, now=done or not going)
        if done or not going:
            return best
    raise AssertionError


class _Steps:
    """Go on from the density of an earlier certificate; if a few steps do not do, begin at the incumbent's direction.

    The central path is hard to find again from a point close to its end for another sparsity: if that point is not good
    at once, it will not be soon.
    """

    def __init__(self, problem: DualProblem, incumbent: Incumbent, warm: Certificate | None) -> None:
        self._problem = problem
        # Rounded, so that loadings that differ in their last digits, as they do between files and arrays, start alike.
        direction = problem.directions(incumbent.support, incumbent.loadings).astype(np.float32)
        self._begin = problem.start(direction.astype(np.float64))
        self._warm_steps: int | None = None  # that are left; None once the path is the problem's own
        if warm is not None and NEAR[0] * warm.sparsity <= problem.sparsity <= NEAR[1] * warm.sparsity:
            density = unpacked(np.asarray(warm.evidence["density"], dtype=np.float64), problem.depth)
            again = problem.at(problem.sparsity)
            again.warm_start(_level(warm), None)
            self._path = improve(again, 0.95 * problem.adopt(density) + 0.05 * self._begin)
            self._warm_steps = WARM_STEPS
        else:
            self._path = improve(problem, self._begin)

    def __iter__(self) -> "_Steps":
        return self

    def __next__(self) -> DualPoint:
        if self._warm_steps == 0:
            self._path, self._warm_steps = improve(self._problem, self._begin), None
        if self._warm_steps is not None:
            self._warm_steps -= 1
        return next(self._path)

    def state(self) -> dict[str, Any]:
        """Return where the steps stand."""
        return {"warm_steps": self._warm_steps, "path": self._path.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self._warm_steps = state["warm_steps"]
        own = self._warm_steps is None
        self._path = improve(self._problem if own else self._problem.at(self._problem.sparsity), self._begin)
        self._path.restore(state["path"])


def _usable(warm: Certificate | None, fingerprint: str) -> Certificate | None:
    """Return an earlier certificate if it holds one dual point for all features of the same data."""
    same = warm is not None and warm.kind == "l0-dual" and warm.fingerprint == fingerprint
    return warm if same and warm is not None and "screen_level" not in warm.evidence else None


def _level(certificate: Certificate) -> float:
    return float(certificate.evidence["level"])


def _image(problem: DualProblem, direction: Vector) -> Vector:
    return np.asarray(problem.image(direction[:, None])[:, 0])


def _without_the_rest(
    problem: DualProblem,
    point: DualPoint,
    features: Indices,
    incumbent: Incumbent,
    goal: Goal,
    progress: Progress,
) -> DualPoint:
    """Solve the dual again with only the features that can be in an optimal support."""
    problem.keep(features)
    start = problem.adopt(point.density())
    problem.warm_start(point.level, None)
    steps = improve(problem, 0.95 * start + 0.05 * problem.tail())
    best: DualPoint | None = None
    first, done = 0, False
    if (stored := progress.load("shrunk")) is not None:
        best = problem.point(stored["best"])
        problem.restore(stored["problem"])
        if stored["steps"] is None:
            return best
        first = stored["step"] + 1
        steps.restore(stored["steps"])

    def state() -> dict[str, Any]:
        assert best is not None
        return {
            "best": best.state(),
            "step": step,
            "problem": problem.state(),
            "steps": None if done else steps.state(),
        }

    for step, again in enumerate(steps, first):
        best = again if best is None or again.bound < best.bound else best
        going = progress.tick(incumbent.objective, best.bound)
        nearly = best.bound - again.value <= 0.02 * max(again.value - incumbent.objective, 0.0)
        done = step >= ROOT_STEPS // 2 or goal.reached(incumbent.objective, best.bound) or nearly
        progress.store("shrunk", state, now=done or not going)
        if done or not going:
            break
    assert best is not None
    return best


def _branch(
    problem: DualProblem,
    point: DualPoint,
    features: Indices,
    incumbent: Incumbent,
    goal: Goal,
    progress: Progress,
) -> Cover | None:
    def search(directions: Sequence[Vector]) -> float:
        images = []
        for direction in directions:
            image = np.zeros(incumbent.operator.size)
            image[features] = _image(problem, direction)
            images.append(image)
        return incumbent.try_images(images)

    splitting = Splitting(problem, point, incumbent.objective, goal.target_gap, search, progress.checkpoint)
    if (stored := progress.load("cover")) is not None:
        splitting.restore(stored["splitting"])
        incumbent.restore(stored["incumbent"])

    def state() -> dict[str, Any]:
        return {"splitting": splitting.state(), "incumbent": incumbent.state()}

    found = None
    for found in splitting:
        going = progress.tick(incumbent.objective, found.bound)
        done = goal.reached(incumbent.objective, found.bound) or not going
        progress.store("cover", state, now=done)
        if done:
            break
    return found


# --- evidence -------------------------------------------------------------------------------------------------------


def point_evidence(point: DualPoint, *, roots: bool = True) -> dict[str, Any]:
    """Pack P (lower triangle, single precision), ρ and θ, which only saves the checker time."""
    density = point.density()
    triangle = density[np.tril_indices(density.shape[0])].astype(np.float32)
    return {"density": triangle, "level": np.float64(point.level), **({"theta": point.theta} if roots else {})}


def unpacked(packed: Vector, depth: int) -> Vector:
    """Return the symmetric matrix of a packed lower triangle."""
    matrix = np.zeros((depth, depth))
    matrix[np.tril_indices(depth)] = packed
    return np.asarray(matrix + np.tril(matrix, -1).T)


def cover_evidence(found: Cover) -> dict[str, Any]:
    """Pack the rays and the dual point of every leaf."""
    evidence: dict[str, Any] = {"rays": np.array(found.rays)}
    for number, leaf in enumerate(found.leaves()):
        for name, value in point_evidence(leaf.point, roots=False).items():  # roots of all leaves would be many
            evidence[f"leaf{number}_{name}"] = value
        evidence[f"leaf{number}_weights"] = np.asarray(leaf.weights, dtype=np.float64)
    return evidence


def tree_of(found: Cover) -> Any:
    """Describe how the regions were split, in plain lists and numbers."""
    numbers = {id(leaf): number for number, leaf in enumerate(found.leaves())}

    def describe(region: Region) -> Any:
        if not region.children:
            return {"leaf": numbers[id(region)]}
        return {"cuts": list(region.cuts), "children": [describe(child) for child in region.children]}

    return describe(found.root)
