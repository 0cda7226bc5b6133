"""What every method captures at every sparsity of a data set, and what is proved that none can exceed.

Several tables and figures read the same curves: their parts are kept under the name of this module. Values are
fractions of the largest eigenvalue, the paper's f.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import certpca
from certpca.bounds.guarantees import longest_row
from certpca.results.status import Status
from certpca.runtime.arrays import to_vector
from certpca.search.krylov import leading_eigenpairs, leading_on_support
from certpca.solvers.sdp_threshold import SdpThreshold
from experiments.paper.cases import CASES, Problem, density, problem
from experiments.running import SEED, Run

METHODS: dict[str, Any] = {  # in the paper's words
    "spca-svd": "svd-threshold",
    "spca-sdp": SdpThreshold(target_gap=1e-5, memory=2.0),
    "dec": "decomposition",
    "cwpca": "coordinatewise",
    "spca-lowrank": "spannogram",
    "auto": "auto",
}
OWN_LOADINGS = ("spca-svd", "spca-sdp", "spca-lowrank")  # the others refit by themselves
LIMITS = (25.0, 6.0)  # seconds for one method at one sparsity: full and quick profile
TARGET = 0.01  # gap at which a proof is good enough
CUT = (Status.OUT_OF_BUDGET, Status.TOO_LARGE, Status.SAMPLED)


@dataclass(frozen=True)
class Work:
    """A data set to measure: under which name, how to load it, at which sparsities."""

    key: str
    title: str
    load: Callable[[], Problem]
    sparsities: tuple[int, ...]
    proof_seconds: tuple[float, float]


def of_case(run: Run, key: str) -> dict[str, Any]:
    """Measure one of the data sets known here."""
    case = CASES[key]
    size = run.of("paper.curves").part(f"{key}: size", lambda: problem(key).operator.size)
    wanted = case.sparsities(size)
    if run.quick:
        wanted = thinned(wanted, 2 if key == "simulated" else 3)
    return of_work(run, Work(key, case.title, lambda: problem(key), wanted, case.proof_seconds))


def thinned(values: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Keep a few, ends included."""
    return tuple(values[place] for place in sorted({round(x) for x in np.linspace(0, len(values) - 1, count)}))


def of_work(run: Run, work: Work) -> dict[str, Any]:
    """Measure all methods at all sparsities and prove bounds."""
    shared = run.of("paper.curves")
    matrix = shared.part(f"{work.key}: matrix", lambda: _matrix(work.load()))
    limit = LIMITS[run.quick]

    def row(sparsity: int, method: str) -> dict[str, Any]:
        label = f"{work.key}: {method}, k = {sparsity}"
        solved: dict[str, Any] = shared.part(label, lambda: _solved(work.load(), matrix, sparsity, method, limit))
        return solved

    rows = [row(sparsity, method) for sparsity in work.sparsities for method in METHODS]
    seconds = work.proof_seconds[run.quick]
    label = f"{work.key}: proofs of k = {', '.join(map(str, work.sparsities))}"
    proofs = shared.part(label, lambda: _proved(work.load(), matrix, work.sparsities, seconds))
    return {
        "key": work.key,
        "title": work.title,
        "limit": limit,
        "matrix": matrix,
        "rows": rows,
        "proofs": proofs,
        "bounds": _bounds(rows, proofs),
    }


def _matrix(found: Problem) -> dict[str, Any]:
    """Say what the theorems need to know of a matrix."""
    operator = found.operator
    spectrum = leading_eigenpairs(operator, min(6, operator.size)).values
    plain = isinstance(found.data, np.ndarray)
    return {
        "samples": found.samples,
        "features": operator.size,
        "spectrum": spectrum.tolist(),
        "trace": operator.trace(),
        "largest_variance": float(to_vector(operator.diagonal()).max()),
        "longest_row": longest_row(operator, float(spectrum[0])),
        "density": density(found.data) if plain else None,
    }


def _solved(found: Problem, matrix: dict[str, Any], sparsity: int, method: str, limit: float) -> dict[str, Any]:
    budget = certpca.Budget(seconds=limit)
    begin = time.perf_counter()
    solution = certpca.solve(found.operator, sparsity, METHODS[method], refit=False, rng=SEED, budget=budget)
    seconds = time.perf_counter() - begin
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt  # an answer cut short must not be kept as the answer
    best = solution.objective
    if method in OWN_LOADINGS:
        best = max(best, leading_on_support(found.operator, solution.support, start=solution.loadings)[0])
    largest = matrix["spectrum"][0]
    return {
        "method": method,
        "sparsity": sparsity,
        "raw": solution.objective / largest,
        "refitted": best / largest,
        "seconds": seconds,
        "cut": solution.status.name if solution.status in CUT else "",
        "bound": None if solution.certificate is None else solution.certificate.upper_bound / largest,
        "details": {name: float(value) for name, value in solution.details.items()},
    }


def _proved(found: Problem, matrix: dict[str, Any], sparsities: tuple[int, ...], seconds: float) -> dict[str, Any]:
    """Search and prove all sparsities together."""
    budget = certpca.Budget(seconds=seconds)
    path = certpca.path(found.operator, sparsities, certify=True, target_gap=TARGET, rng=SEED, budget=budget)
    if any(solution.status is Status.INTERRUPTED for solution in path.solutions):
        raise KeyboardInterrupt
    largest = matrix["spectrum"][0]
    return {
        "sparsities": path.sparsities.tolist(),
        "objectives": (path.objectives / largest).tolist(),
        "bounds": (path.upper_bounds / largest).tolist(),
        "kinds": [solution.certificate.kind for solution in path.solutions if solution.certificate is not None],
        "seconds": path.seconds,
        "limit": seconds,
    }


def _bounds(rows: list[dict[str, Any]], proofs: dict[str, Any]) -> list[dict[str, Any]]:
    """Bracket the optimum of each sparsity by the best component and the smallest bound that anything gave."""
    brackets = []
    best = 0.0
    for sparsity, objective, bound in zip(proofs["sparsities"], proofs["objectives"], proofs["bounds"], strict=True):
        mine = [row for row in rows if row["sparsity"] == sparsity]
        best = max([best, objective, *(row["refitted"] for row in mine)])  # a smaller support is one of a larger size
        lowest = min([bound, *(row["bound"] for row in mine if row["bound"] is not None)])
        brackets.append({"sparsity": sparsity, "objective": best, "bound": lowest})
    for smaller, larger in zip(brackets[-2::-1], brackets[:0:-1], strict=True):
        smaller["bound"] = min(smaller["bound"], larger["bound"])  # what no larger support reaches, no smaller one does
    return brackets
