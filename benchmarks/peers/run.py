"""Every solver on every dataset, each run in a process of its own, judged by one objective.

    python -m benchmarks.peers.run            # missing runs only; --again repeats, --quick takes the small cases
    python -m benchmarks.peers.run --threads 2 --output peers_two_threads --within 30      # idle machine
    python -m benchmarks.peers.render         # docs/peers.md and its figure

All get the same matrix, its columns centred (a sparse one with its means apart), and one component is asked for.
Libraries are loaded and warmed on a tiny problem before; only the solve is timed; an answer that breaks the sparsity
has no time. Results are written after every run, so that a run that was ended goes on where it stopped; those of
certpca count as missing once its source has changed.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as distribution_version
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.machine import CHECKOUT, facts, write_results
from benchmarks.peers import r_process
from benchmarks.peers.objective import Judge, Verdict
from benchmarks.peers.problem import Case
from benchmarks.peers.results import earlier, quick, read
from benchmarks.peers.timing import CLOSE, OUT_OF_TIME

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results"
OUT_OF_MEMORY = (
    "MemoryError",
    "bad_alloc",
    "Unable to allocate",
    "cannot allocate",
    "out of memory",
    "memory allocation of",
)


@dataclass(frozen=True)
class Limits:
    """What one run may take, and for how long short solves are repeated."""

    seconds: float
    bytes: int
    repeat: float
    threads: int
    grace: float = 30.0  # for what is not timed: starting, warming up, repeating, verifying
    crowd: float = 8.0  # how much longer a run may take on the wall: limits are about the processor

    @property
    def processor(self) -> int:
        """Seconds of processor time after which a process ends."""
        return int(self.threads * (self.seconds + self.grace))


def solvers() -> dict[str, Any]:
    """Import every solver: certpca's first."""
    names = sorted((path.stem for path in (HERE / "solvers").glob("*.py")), key=lambda name: (not _ours(name), name))
    return {name: import_module(f"benchmarks.peers.solvers.{name}") for name in names}


def cases() -> list[Case]:
    """Collect the cases of every dataset, small ones first."""
    names = sorted(path.stem for path in (HERE / "datasets").glob("*.py"))
    found = [case for name in names for case in import_module(f"benchmarks.peers.datasets.{name}").CASES]
    return sorted(found, key=lambda case: (case.features, case.name))


def run(solver: str, module: Any, case: Case, folder: Path, judge: Judge, limits: Limits) -> dict[str, Any]:
    """Run one solver within its limits and have the answer judged."""
    if case.features > getattr(module, "MOST_FEATURES", case.features):
        return {"outcome": "not tried", "note": module.BEYOND}
    loadings = folder / "loadings.npy"
    loadings.unlink(missing_ok=True)
    settings = [folder / "problem", loadings, case.sparsity, limits.seconds / 2, limits.repeat, limits.threads]
    settings += [limits.bytes, limits.processor]
    found = _numbers(["-m", "benchmarks.peers.worker", solver, *map(str, settings)], limits)
    if "outcome" in found:
        return found
    return _judged(found, judge.verdict(np.load(loadings), case.sparsity), case.sparsity, judge.largest)


def _numbers(command: list[str], limits: Limits) -> dict[str, Any]:
    """Return what the worker says, or the outcome where it has no answer."""
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    threads = dict.fromkeys(variables, str(limits.threads))
    late = {"outcome": "over time", "note": f"no answer within {limits.seconds:.0f} s"}
    # A session of its own: what the solver started ends with it.
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", *command], cwd=CHECKOUT, env={**os.environ, **threads}, text=True,
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        said, errors = process.communicate(timeout=limits.crowd * (limits.seconds + limits.grace))
    except subprocess.TimeoutExpired:
        return late
    finally:
        _end(process)
    if process.returncode == -signal.SIGXCPU or OUT_OF_TIME in errors:
        return late
    if process.returncode:
        return _failure(process.returncode, errors, limits)
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    if "missing" in found:
        return {"outcome": "missing", "note": f"skipped: {found['missing']}"}
    return late if found["seconds"] + found["tuning_seconds"] > limits.seconds else found


def _failure(status: int, errors: str, limits: Limits) -> dict[str, Any]:
    within = f"within {limits.bytes / 2**30:.0f} GiB"
    if any(word in errors for word in OUT_OF_MEMORY):
        return {"outcome": "out of memory", "note": f"out of memory {within}"}
    last = (errors.strip().splitlines() or [f"status {status}, no message"])[-1]
    return {"outcome": "crashed", "note": f"crashed {within}: {last[:120]}"}


def _judged(found: dict[str, Any], verdict: Verdict | str, sparsity: int, largest: float) -> dict[str, Any]:
    if isinstance(verdict, str):
        return {"outcome": "no answer", "note": verdict}
    bounds: dict[str, float] = {key: found[key] / largest for key in ("bound", "dual_bound") if key in found}
    notes = [f"{found['fits']} fits"] if found["fits"] > 1 else []
    if verdict.nonzeros < CLOSE * sparsity:
        notes.append(f"only {verdict.nonzeros} of {sparsity} nonzeros")
    return {"outcome": "answered", **found, **bounds, **vars(verdict), "note": ", ".join(notes)}


def versions(modules: dict[str, Any]) -> dict[str, str | None]:
    """Return the versions of all peers, those in R included."""
    made: dict[str, str | None] = {}
    for package in sorted({module.PACKAGE for module in modules.values()}):
        if package.startswith("R: "):
            made[package] = r_process.version(package.removeprefix("R: "))
            continue
        try:
            made[package] = distribution_version(package)
        except PackageNotFoundError:
            made[package] = None
    return made


def main() -> None:
    options = _arguments()
    limits = Limits(options.limit, int(options.memory * 2**30), options.repeat, options.threads)
    name = options.output or ("peers_quick" if options.quick else "peers")
    start = facts()
    modules = solvers()
    rows = {} if options.fresh else _kept(name)
    available = versions(modules)
    header = {"quick": options.quick, "within": options.within, "limits": vars(limits), "peers": available}
    listed = cases()
    allowed = quick(read("peers")["rows"], options.within) if options.within else None
    order = {(case.name, solver): place for place, (case, solver) in enumerate((c, s) for c in listed for s in modules)}
    for case in listed:
        if (options.quick and not case.quick) or options.case not in case.name:
            continue
        wanted = [
            solver
            for solver in modules
            if any(part in solver for part in options.only)
            and (allowed is None or (case.name, solver) in allowed)
            and (options.again or _stale(rows.get((case.name, solver)), solver, start["source"]))
        ]
        if not wanted:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            problem = case.load()
            problem.save(folder / "problem")
            judge = Judge(problem)
            for solver in wanted:
                row = {"case": case.name, "rows": problem.rows, "features": case.features, "sparsity": case.sparsity}
                row |= {"sparse": problem.means is not None, "solver": solver, "source": start["source"]}
                row["optimum"] = None if case.optimum is None else case.optimum / judge.largest
                row["load"] = os.getloadavg()[0]
                module = modules[solver]
                if available[module.PACKAGE] is None:
                    name_of = module.PACKAGE.replace("R: ", "R package ")
                    row |= {"outcome": "missing", "note": f"skipped: {name_of} is not installed"}
                else:
                    row |= run(solver, module, case, folder, judge, limits)
                rows[case.name, solver] = row
                print(_line(row), flush=True)
                kept = [rows[key] for key in sorted(rows, key=lambda key: order.get(key, len(order)))]
                write_results(name, start, {**header, "rows": kept})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small cases and tight limits, to peers_quick.json")
    parser.add_argument("--limit", type=float, help="seconds for each run, tuning included (60; quick: 10)")
    parser.add_argument("--memory", type=float, default=16.0, help="GiB of address space for each run")
    parser.add_argument("--repeat", type=float, help="seconds for which short solves are repeated (2; quick: 0.5)")
    parser.add_argument("--threads", type=int, default=1, help="threads of BLAS and of numba")
    parser.add_argument("--only", nargs="*", default=[""], help="solvers whose name contains one of these")
    parser.add_argument("--case", default="", help="cases whose name contains this")
    parser.add_argument("--within", type=float, help="only what answered within so many seconds in peers.json")
    parser.add_argument("--again", action="store_true", help="repeat what is there already")
    parser.add_argument("--output", default="", help="name of the results, without ending (peers; quick: peers_quick)")
    parser.add_argument("--fresh", action="store_true", help="forget all earlier results")
    options = parser.parse_args()
    options.limit = options.limit or (10.0 if options.quick else 60.0)
    options.repeat = options.repeat if options.repeat is not None else (0.5 if options.quick else 2.0)
    return options


def _kept(name: str) -> dict[tuple[str, str], dict[str, Any]]:
    path = RESULTS / f"{name}.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    return {(row["case"], row["solver"]): row for row in rows if "outcome" in row}


def _stale(row: dict[str, Any] | None, solver: str, source: str) -> bool:
    if row is None or row["outcome"] == "missing" or earlier(row):
        return True
    return _ours(solver) and bool(row["source"] != source)


def _ours(solver: str) -> bool:
    return solver.startswith("certpca")


def _end(process: "subprocess.Popen[str]") -> None:
    """End the process and all it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.communicate()


def _line(row: dict[str, Any]) -> str:
    head = f"{row['case']:32} {row['solver']:26}"
    if row["outcome"] != "answered":
        return f"{head} {row['note']}"
    bound = f" bound {row['bound']:.5f}{'' if row['proved'] else ' (claimed)'}" if "bound" in row else ""
    return (
        f"{head} {row['seconds']:9.4g} s +{row['tuning_seconds']:8.4g} s  f {row['refitted']:.5f}{bound}  {row['note']}"
    )


if __name__ == "__main__":
    main()
