"""What every method captures at every sparsity of a data set, and what is proved that none can exceed.

Several tables and figures read the same curves: their parts are kept under the name of this module. Values are
fractions of the largest eigenvalue, the paper's f.
"""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.machine import CHECKOUT

import certpca
from certpca.bounds.guarantees import longest_row
from certpca.results.status import Status
from certpca.runtime.arrays import to_vector
from certpca.search.krylov import leading_eigenpairs, leading_on_support
from certpca.solvers.sdp_threshold import SdpThreshold
from experiments.paper.cases import CASES, Problem, density, problem, thinned
from experiments.parallel import Job
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
LIMITS = (20.0, 6.0)  # seconds for one method at one sparsity: full and quick profile,
LONG = (60.0, 20.0)  # and for spca-sdp at the paper's sizes, whose proof alone takes that long
TARGET = 0.005  # gap at which a proof is good enough
PROOFS = "proofs"  # the job beside those of methods
GAPS = CHECKOUT / "benchmarks" / "results" / "gaps.json"  # certificates of single sparsities of the same data
NAMES = {
    "simulated": "simulated",
    "chr1": "chr 1",
    "chr22": "chr 22",
    "hapmap3": "HapMap3",
    "hgdp": "HGDP",
    "bladder": "bladder",
    "lung": "lung",
    "alon": "colon",
}
CUT = (Status.OUT_OF_BUDGET, Status.TOO_LARGE, Status.SAMPLED)


@dataclass(frozen=True)
class Work:
    """A data set to measure: under which name, how to load it, at which sparsities."""

    key: str
    title: str
    load: Callable[[], Problem]
    sparsities: tuple[int, ...]
    proof_seconds: tuple[float, float]


def jobs(keys: Iterable[str], quick: bool) -> list[Job]:
    """Return the work on some data sets: each method at all sparsities, and all proofs together."""
    found = []
    for key in keys:
        large = key.startswith("simulated")
        found.append(Job("paper.curves", f"{key} matrix", 20))
        slow = {"spca-sdp": 400 if large else 200, "auto": 200, "cwpca": 150}
        found += [Job("paper.curves", f"{key} {method}", slow.get(method, 50)) for method in METHODS]
        found.append(Job("paper.curves", f"{key} {PROOFS}", 60 + CASES[key].proof_seconds[quick]))
    return found


def do(run: Run, name: str) -> None:
    """Do one of these."""
    key, what = name.split(" ")
    work = work_on(run, key)
    if what == PROOFS:
        _proofs(run, work)
    elif what == "matrix":
        matrix_of(run, work)
    else:
        for sparsity in work.sparsities:
            _row(run, work, sparsity, what)


def work_on(run: Run, key: str) -> Work:
    """Return what is to be measured on one of the data sets known here."""
    case = CASES[key]
    size = run.of("paper.curves").part(f"{key}: size", lambda: problem(key).operator.size)
    wanted = case.sparsities(size)
    if run.quick:
        wanted = thinned(wanted, 2 if key.startswith("simulated") else 3)
    return Work(key, case.title, lambda: problem(key), wanted, case.proof_seconds)


def of_case(run: Run, key: str) -> dict[str, Any]:
    """Measure one of the data sets known here."""
    return of_work(run, work_on(run, key))


def of_work(run: Run, work: Work) -> dict[str, Any]:
    """Measure all methods at all sparsities and prove bounds."""
    matrix = matrix_of(run, work)
    largest = matrix["spectrum"][0]
    rows = [_row(run, work, sparsity, method) for sparsity in work.sparsities for method in METHODS]
    shares = ("raw", "refitted", "bound")
    rows = [{**row, **{name: None if row[name] is None else row[name] / largest for name in shares}} for row in rows]
    proofs = dict(_proofs(run, work))
    for name in ("objectives", "bounds"):
        proofs[name] = [value / largest for value in proofs[name]]
    return {
        "key": work.key,
        "title": work.title,
        "limit": LIMITS[run.quick],
        "matrix": matrix,
        "rows": rows,
        "proofs": proofs,
        "bounds": _bounds(rows, proofs, [] if run.quick else _single(work.key, matrix)),
    }


def matrix_of(run: Run, work: Work) -> dict[str, Any]:
    """Return what is known of a matrix before anything is solved."""
    found: dict[str, Any] = run.of("paper.curves").part(f"{work.key}: matrix", lambda: _matrix(work.load()))
    return found


def _row(run: Run, work: Work, sparsity: int, method: str) -> dict[str, Any]:
    label = f"{work.key}: {method}, k = {sparsity}"
    limit = (LONG if method == "spca-sdp" and work.key.startswith("simulated") else LIMITS)[run.quick]
    solved: dict[str, Any] = run.of("paper.curves").part(label, lambda: _solved(work.load(), sparsity, method, limit))
    return solved


def _proofs(run: Run, work: Work) -> dict[str, Any]:
    label = f"{work.key}: proofs of k = {', '.join(map(str, work.sparsities))}"
    seconds = work.proof_seconds[run.quick]
    proved: dict[str, Any] = run.of("paper.curves").part(label, lambda: _proved(work.load(), work.sparsities, seconds))
    return proved


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


def _solved(found: Problem, sparsity: int, method: str, limit: float) -> dict[str, Any]:
    """Solve, and return variances in the units of the data."""
    budget = certpca.Budget(seconds=limit)
    begin = time.perf_counter()
    solution = certpca.solve(found.operator, sparsity, METHODS[method], refit=False, rng=SEED, budget=budget)
    seconds = time.perf_counter() - begin
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt  # an answer cut short must not be kept as the answer
    best = solution.objective
    if method in OWN_LOADINGS:
        best = max(best, leading_on_support(found.operator, solution.support, start=solution.loadings)[0])
    return {
        "method": method,
        "sparsity": sparsity,
        "raw": solution.objective,
        "refitted": best,
        "seconds": seconds,
        "limit": limit,
        "cut": solution.status.name if solution.status in CUT else "",
        "bound": None if solution.certificate is None else solution.certificate.upper_bound,
        "details": {name: float(value) for name, value in solution.details.items()},
    }


def _proved(found: Problem, sparsities: tuple[int, ...], seconds: float) -> dict[str, Any]:
    """Search and prove all sparsities together, in the units of the data."""
    budget = certpca.Budget(seconds=seconds)
    path = certpca.path(found.operator, sparsities, certify=True, target_gap=TARGET, rng=SEED, budget=budget)
    if any(solution.status is Status.INTERRUPTED for solution in path.solutions):
        raise KeyboardInterrupt
    return {
        "sparsities": path.sparsities.tolist(),
        "objectives": path.objectives.tolist(),
        "bounds": path.upper_bounds.tolist(),
        "kinds": [solution.certificate.kind for solution in path.solutions if solution.certificate is not None],
        "seconds": path.seconds,
        "limit": seconds,
    }


def _single(key: str, matrix: dict[str, Any]) -> list[tuple[int, float]]:
    """Return sparsities and what certificates for them alone prove (docs/gaps.md), the largest eigenvalue being one."""
    if key not in NAMES or not GAPS.exists():
        return []
    found = [row for row in json.loads(GAPS.read_text())["rows"] if row["data"] == NAMES[key] and "gap" in row]
    shape = matrix["samples"], matrix["features"]
    mine = [row for row in found if (row["samples"], row["features"]) == shape]
    return [(row["sparsity"], row["upper_bound"] / matrix["spectrum"][0]) for row in mine]


def _bounds(
    rows: list[dict[str, Any]], proofs: dict[str, Any], single: Iterable[tuple[int, float]] = ()
) -> list[dict[str, Any]]:
    """Bracket the optimum of each sparsity by the best component and the smallest bound that anything gave."""
    brackets = []
    best = 0.0
    for sparsity, objective, bound in zip(proofs["sparsities"], proofs["objectives"], proofs["bounds"], strict=True):
        mine = [row for row in rows if row["sparsity"] == sparsity]
        best = max([best, objective, *(row["refitted"] for row in mine)])  # a smaller support is one of a larger size
        others = [row["bound"] for row in mine if row["bound"] is not None]
        lowest = min([bound, *others, *(value for k, value in single if k >= sparsity)])
        brackets.append({"sparsity": sparsity, "objective": best, "bound": lowest})
    for smaller, larger in zip(brackets[-2::-1], brackets[:0:-1], strict=True):
        smaller["bound"] = min(smaller["bound"], larger["bound"])  # what no larger support reaches, no smaller one does
    return brackets
