"""One solver on one problem, in a process of its own: limits, warming up, what it used.

python -m benchmarks.peers.worker SOLVER PROBLEM LOADINGS SPARSITY PATIENCE REPEAT THREADS BYTES SECONDS
"""

import json
import resource
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
from benchmarks.machine import peak_bytes
from benchmarks.peers.problem import centred, load
from benchmarks.peers.timing import Effort, NotAvailable


def work(
    solver: str, problem: Path, loadings: Path, sparsity: int, effort: Effort, memory: int, seconds: int
) -> dict[str, object]:
    """Solve; loadings go to a file, numbers are returned."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))  # of what it starts, too: each for itself
    module = import_module(f"benchmarks.peers.solvers.{solver}")
    noise = np.random.default_rng(0).standard_normal((60, 12))
    more = np.random.default_rng(1).standard_normal((60, getattr(module, "WARM_FEATURES", 0)))
    try:  # once or twice on a tiny problem, to load and compile what is needed
        module.solve(centred(noise.astype(np.float32)), 4, Effort(1.0, 0.0))
        if more.size:
            module.solve(centred(more), 8, Effort(1.0, 0.0))
    except NotAvailable as missing:
        return {"missing": str(missing)}
    except ModuleNotFoundError as missing:
        return {"missing": f"{module.PACKAGE} is not installed ({missing.name})"}
    answer = module.solve(load(problem), sparsity, effort)
    np.save(loadings, answer.vector)
    numbers = {"seconds": answer.seconds, "tuning_seconds": answer.tuning_seconds, "fits": answer.fits}
    numbers["wall_seconds"] = answer.wall_seconds
    return {**numbers, "peak_bytes": peak_bytes(), **answer.facts}


if __name__ == "__main__":
    name, problem, loadings, sparsity, patience, repeat, threads, memory, seconds = sys.argv[1:]
    effort = Effort(float(patience), float(repeat), int(threads))
    found = work(name, Path(problem), Path(loadings), int(sparsity), effort, int(memory), int(seconds))
    print(json.dumps(found))
