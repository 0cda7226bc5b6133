"""Finding, computing and keeping artefacts: what was computed is not computed again, whatever interrupts it.

Parts of a computation are kept in .cache/experiments, and are used again as long as neither the package nor the modules
that compute them have changed. Finished results, with commit, versions and machine, go to experiments/results.
"""

import hashlib
import json
import os
import pkgutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.machine import CHECKOUT, facts

from certpca.runtime.atomic_write import write_text_whole

HERE = Path(__file__).parent
RESULTS = HERE / "results"
CACHE = CHECKOUT / ".cache" / "experiments"
SEED = 0
PRESENTATION = ("experiments.pages", "experiments.running")  # changes there change no number


class NotKeptError(Exception):
    """A part that was to be read has not been computed."""


@dataclass(frozen=True)
class Run:
    """One computation of one artefact.

    Parameters
    ----------
    name
        Of the artefact.
    quick
        Fewer cases and tighter limits: minutes instead of hours for everything.
    files
        Files that the user brought, by the name of the data set.
    stale
        Use parts that were computed by other code as well.
    kept_only
        Compute nothing: a part that is not kept raises `NotKeptError`.
    parts
        Seconds that parts took when they were computed, by owner and group; filled by `part`.
    reused
        What of these seconds was not spent again; filled by `part`.
    """

    name: str
    quick: bool
    files: dict[str, Path]
    stale: bool = False
    kept_only: bool = False
    parts: dict[str, float] = field(default_factory=dict)
    reused: list[float] = field(default_factory=list)

    def of(self, name: str) -> "Run":
        """Return the run under the name of a module whose parts several artefacts use."""
        return replace(self, name=name)

    def part(self, label: str, job: Callable[[], Any]) -> Any:
        """Return what a job gives, from the cache where that has it; it must be something JSON can hold.

        What stands before a colon in the label is the group under which its time is counted.
        """
        folder = CACHE / self.name
        file = folder / f"{'quick' if self.quick else 'full'}-{hashlib.sha256(label.encode()).hexdigest()[:16]}.json"
        code = _code(self.name)
        before = _read(file)
        if before is not None and (self.stale or before["code"] == code):
            self._count(label, before["seconds"])
            self.reused.append(before["seconds"])
            return before["value"]
        if self.kept_only:
            raise NotKeptError(label)
        begin = time.perf_counter()
        value = json.loads(json.dumps(job()))  # what is returned is what a later run would read
        seconds = time.perf_counter() - begin
        folder.mkdir(parents=True, exist_ok=True)
        write_text_whole(file, json.dumps({"label": label, "code": code, "seconds": seconds, "value": value}))
        self._count(label, seconds)
        self.say(f"{label}: {seconds:.1f} s")
        return value

    def say(self, text: str) -> None:
        """Tell how far the work is."""
        print(f"  {self.name}: {text}", file=sys.stderr, flush=True)

    def _count(self, label: str, seconds: float) -> None:
        group = f"{self.name} {label.split(':', maxsplit=1)[0]}"
        self.parts[group] = self.parts.get(group, 0.0) + seconds


def _read(file: Path) -> dict[str, Any] | None:
    """Return a cached part, or None where there is none that can be used."""
    try:
        content: dict[str, Any] = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return content if {"code", "seconds", "value"} <= content.keys() else None


@cache
def artefacts() -> dict[str, ModuleType]:
    """Return every module that makes an artefact, by name, in order.

    One that cannot be imported is there too, and fails when it is computed: the others must not suffer.
    """
    found = {}
    for info in pkgutil.walk_packages([str(HERE)], "experiments."):
        if info.name.endswith("__main__"):
            continue
        name = info.name.removeprefix("experiments.")
        try:
            module = import_module(info.name)
        except Exception as error:
            module = _broken(name, error)
        if hasattr(module, "compute") and hasattr(module, "render"):
            found[name] = module
    return found


def _broken(name: str, error: Exception) -> ModuleType:
    """Return a module that says why the real one is not there."""
    module = ModuleType(f"experiments.{name}")

    def compute(run: Run) -> None:
        del run
        msg = f"experiments.{name} cannot be imported"
        raise ImportError(msg) from error

    parts = {"TITLE": f"(cannot be imported: {error})", "NEEDS": (), "compute": compute, "render": compute}
    module.__dict__.update(parts)
    return module


@cache
def _code(name: str) -> str:
    """Say which code computes an artefact: the package, the module, and the modules here that it uses."""
    digest = hashlib.sha256()
    for file in sorted(_sources(import_module(f"experiments.{name}"), set())):
        digest.update(Path(file).read_bytes())
    return f"{facts()['source']}-{digest.hexdigest()[:16]}"


def _sources(module: ModuleType, seen: set[str]) -> set[str]:
    """Return the files of a module of experiments and of those that its names come from."""
    seen.add(module.__file__ or "")
    for value in list(vars(module).values()):
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(home, str) and home.startswith("experiments.") and home not in PRESENTATION:
            other = sys.modules.get(home)
            if other is not None and other.__file__ not in seen:
                _sources(other, seen)
    return seen - {""}


def kept(name: str, *, quick: bool = False) -> dict[str, Any] | None:
    """Return the finished result of an artefact, if there is one."""
    file = _place(quick) / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else None


def threads_here() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def keep(run: Run, start: dict[str, Any], seconds: float, result: Any, threads: int | None = None) -> None:
    """Write a finished result with where it comes from; those of the quick profile stay out of sight.

    Its time is what it takes from nothing, parts that were in the cache included.
    """
    folder = _place(run.quick)
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "profile": "quick" if run.quick else "full",
        "seed": SEED,
        "seconds": round(seconds + sum(run.reused), 1),
        "parts": {group: round(spent, 1) for group, spent in run.parts.items()},
        "machine": start | {"threads": threads_here() if threads is None else threads},
        "source_changed": facts()["source"] != start["source"],
        "result": result,
    }
    write_text_whole(folder / f"{run.name}.json", json.dumps(content, indent=1) + "\n")


def _place(quick: bool) -> Path:
    return CACHE / "results" if quick else RESULTS


def total_seconds(contents: list[dict[str, Any]]) -> float:
    """Add the times of results; a part that several of them use counts once."""
    parts: dict[str, float] = {}
    rest = 0.0
    for content in contents:
        own = content.get("parts", {})
        parts.update(own)
        rest += max(0.0, content["seconds"] - sum(own.values()))
    return rest + sum(parts.values())
