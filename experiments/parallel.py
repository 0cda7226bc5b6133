"""Computing artefacts in several processes, each held to its own cores, within a limit on time.

An artefact may say into which jobs its parts fall: `jobs(quick)` returns a `Job` for each, and `do(run, name)` of the
module that a job names computes it. What a job computes is kept part by part (`Run.part`), so a process that is killed
loses the part it was at, and the next call goes on there. Artefacts without jobs are one job each, done after all
others, since they may read what those keep.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from benchmarks.machine import CHECKOUT

from experiments import data, running

WHOLE = "whole"  # the job of an artefact that has no others
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Job(NamedTuple):
    """One piece of work: the module that does it, its name there, and about how long it takes."""

    module: str
    name: str
    seconds: float = 60.0


@dataclass
class _Worker:
    """A process at work, and the cores it is held to."""

    job: Job
    process: "subprocess.Popen[bytes]"
    cores: tuple[int, ...]


def jobs_of(names: Iterable[str], *, quick: bool) -> list[Job]:
    """Return the jobs of artefacts, long ones first; one that several need is there once."""
    found: dict[tuple[str, str], Job] = {}
    for name in names:
        module = running.artefacts()[name]
        if data.missing(module.NEEDS) or hasattr(module, "FILES"):
            continue
        own: list[Job] = module.jobs(quick) if hasattr(module, "jobs") else [Job(name, WHOLE)]
        found |= {job[:2]: job for job in own}
    return sorted(found.values(), key=lambda job: (job.name == WHOLE, -job.seconds))


def work(names: list[str], *, workers: int, threads: int, seconds: float, quick: bool, stale: bool) -> int:
    """Do the jobs of artefacts, and return how many were left undone."""
    waiting = jobs_of(names, quick=quick)
    deadline = time.monotonic() + seconds
    free = _blocks(workers, threads)
    busy: list[_Worker] = []
    unfinished = 0
    try:
        while (waiting or busy) and time.monotonic() < deadline:
            while waiting and free and not (waiting[0].name == WHOLE and any(one.job.name != WHOLE for one in busy)):
                job, cores = waiting.pop(0), free.pop(0)
                busy.append(_Worker(job, _started(job, cores, threads, quick=quick, stale=stale), cores))
            time.sleep(0.1)
            for worker in [one for one in busy if one.process.poll() is not None]:
                busy.remove(worker)
                free.append(worker.cores)
                if worker.process.returncode:
                    unfinished += 1
                    print(f"  {worker.job.module} {worker.job.name}: FAILED", file=sys.stderr, flush=True)
    finally:
        for worker in busy:
            worker.process.kill()
            worker.process.wait()
    for job in [worker.job for worker in busy] + waiting:
        print(f"  {job.module} {job.name}: no time left; the same command goes on with it", file=sys.stderr, flush=True)
    return unfinished + len(busy) + len(waiting)


def _blocks(workers: int, threads: int) -> list[tuple[int, ...]]:
    """Deal cores out; where there are too few, workers share them."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    starts = range(0, workers * threads, threads)
    return [tuple(cores[(start + place) % len(cores)] for place in range(threads)) for start in starts]


def _started(job: Job, cores: tuple[int, ...], threads: int, *, quick: bool, stale: bool) -> "subprocess.Popen[bytes]":
    settings = {**os.environ, **dict.fromkeys(THREADS, str(threads))}
    told = [job.module, job.name, ",".join(map(str, cores)), str(running.CACHE), *["quick"] * quick, *["stale"] * stale]
    return subprocess.Popen([sys.executable, "-m", "experiments.parallel", *told], cwd=CHECKOUT, env=settings)


def _do(module: ModuleType, run: running.Run, name: str) -> None:
    if name == WHOLE:
        run.part(WHOLE, lambda: module.compute(run))
    else:
        module.do(run, name)


def main(arguments: list[str]) -> None:
    """Do one job; this is what a worker runs."""
    module, name, cores, cache, *how = arguments
    with contextlib.suppress(AttributeError, OSError):
        os.sched_setaffinity(0, {int(core) for core in cores.split(",")})
    running.CACHE = Path(cache)
    run = running.Run(module, "quick" in how, {}, "stale" in how)
    _do(import_module(f"experiments.{module}"), run, name)


if __name__ == "__main__":
    main(sys.argv[1:])
