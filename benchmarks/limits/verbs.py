"""Every verb and every solver as a job: from data and a limit to a few words about what came back."""

import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.limits.data import Data

import certpca
from certpca.frontends.report import write_report

Outcome = dict[str, Any]
Job = Callable[[Any, Data, certpca.Budget], Outcome]
COMPONENTS = 3


def _of_solutions(solutions: Iterable[certpca.Solution]) -> Outcome:
    found = list(solutions)
    kinds = [solution.certificate.kind for solution in found if solution.certificate is not None]
    gaps = [solution.gap for solution in found if solution.certificate is not None]
    return {
        "answers": len(found),
        "statuses": sorted({solution.status.name for solution in found}),
        "objective": float(found[-1].objective),
        **({"kinds": sorted(set(kinds)), "largest_gap": float(np.max(gaps))} if kinds else {}),
    }


def _solver(name: str) -> Job:
    def job(values: Any, data: Data, budget: certpca.Budget) -> Outcome:
        return _of_solutions([certpca.solve(values, data.sparsity, name, budget=budget)])

    return job


def _solve_certify(values: Any, data: Data, budget: certpca.Budget) -> Outcome:
    return _of_solutions([certpca.solve(values, data.sparsity, certify=True, budget=budget)])


def _certify(values: Any, data: Data, budget: certpca.Budget) -> Outcome:
    made = certpca.certify(values, data.sparsity, budget=budget)
    return {"answers": 1, "kinds": [made.kind], "largest_gap": made.gap, "objective": made.objective}


def _path(*, certify: bool) -> Job:
    def job(values: Any, data: Data, budget: certpca.Budget) -> Outcome:
        found = certpca.path(values, data.path, certify=certify, budget=budget)
        gaps = {"largest_gap": float(found.gaps.max())} if certify else {}
        return {**_of_solutions(found.solutions), **gaps}

    return job


def _decompose(*, certify: bool) -> Job:
    def job(values: Any, data: Data, budget: certpca.Budget) -> Outcome:
        found = certpca.decompose(values, COMPONENTS, data.sparsity, certify=certify, budget=budget)
        return _of_solutions(found.components)

    return job


def _choose(method: Any) -> Job:
    def job(values: Any, data: Data, budget: certpca.Budget) -> Outcome:
        choice = certpca.choose_sparsity(values, data.path, method=method, budget=budget)
        return {**_of_solutions(choice.path.solutions), "sparsity": choice.sparsity}

    return job


def _solve_sdp(values: Any, data: Data, budget: certpca.Budget) -> Outcome:
    found = certpca.solve_sdp(values, data.sparsity, budget=budget)
    return {"answers": 1, "statuses": [found.status.name], "largest_gap": found.gap, "objective": found.lower}


def _estimator(*, certify: bool) -> Job:
    def job(values: Any, data: Data, budget: certpca.Budget) -> Outcome:
        model = certpca.SparsePCA(
            n_components=COMPONENTS, sparsity=data.sparsity, certify=certify, time_limit=budget.seconds
        ).fit(values)
        return _of_solutions(model.solutions_)

    return job


def _kernel_estimator(values: Any, data: Data, budget: certpca.Budget) -> Outcome:
    samples = values.astype(np.float32) if values.dtype.kind != "f" else values
    model = certpca.SparseKernelPCA(
        n_components=COMPONENTS, sparsity=min(data.sparsity, 50), time_limit=budget.seconds
    ).fit(samples)
    return _of_solutions(model.solutions_)


def _report(values: Any, data: Data, budget: certpca.Budget) -> Outcome:
    solution = _known(values, data)
    with tempfile.TemporaryDirectory() as folder:
        write_report(solution, Path(folder) / "report.html", data=values, sparsities=data.path, budget=budget)
    return {"answers": 1}


_solutions: dict[str, certpca.Solution] = {}


def _known(values: Any, data: Data) -> certpca.Solution:
    """Return the solution that a report is about; it is made before the clock starts."""
    if data.title not in _solutions:
        _solutions[data.title] = certpca.solve(values, data.sparsity, "svd-threshold")
    return _solutions[data.title]


def prepare(name: str, values: Any, data: Data) -> None:
    """Do what is not to be timed."""
    if name == "report":
        _known(values, data)


JOBS: dict[str, Job] = {
    **{f"solve {name}": _solver(name) for name in certpca.available_solvers()},
    "solve, certified": _solve_certify,
    "certify": _certify,
    "path": _path(certify=False),
    "path, certified": _path(certify=True),
    "decompose": _decompose(certify=False),
    "decompose, certified": _decompose(certify=True),
    "choose_sparsity, elbow": _choose("elbow"),
    "choose_sparsity, cross-validation": _choose("cross-validation"),
    "choose_sparsity, stability": _choose("stability"),
    "solve_sdp": _solve_sdp,
    "SparsePCA.fit": _estimator(certify=False),
    "SparsePCA.fit, certified": _estimator(certify=True),
    "SparseKernelPCA.fit": _kernel_estimator,
    "report": _report,
}


def warm_up() -> None:
    """Load libraries and compile kernels, in single and double precision."""
    warnings.simplefilter("ignore")  # estimators warn about limits, which is what is measured here
    rng = np.random.default_rng(0)
    tiny = Data("", lambda: None, 3, (2, 4))
    budget = certpca.Budget(seconds=2)
    for values in (rng.standard_normal((30, 40)), rng.standard_normal((30, 40)).astype(np.float32)):
        for job in JOBS.values():
            job(values, tiny, budget)
    wide = rng.standard_normal((90, 50_000)).astype(np.float32)  # large enough for single precision in the dual
    certpca.certify(wide, 5, budget=certpca.Budget(seconds=5))
    _solutions.clear()
