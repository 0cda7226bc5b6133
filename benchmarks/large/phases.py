"""Where the walks over a packed file, and the seconds, of one call go: every walk with its phase, width and time.

python -m benchmarks.large.phases FILE.bed [-k 1000] [--verb certify] [--solver auto] [--limit SECONDS]
    [--verify] [--write]
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.machine import facts, peak_bytes, write_results

import certpca
from certpca.genotypes.plink import PlinkFile
from certpca.runtime.limits import with_limits

PLACES = (  # the first that is on the stack names the phase
    ("checker/columns.py", "_sized", "measure"),
    ("checker/columns.py", "_measured", "measure"),
    ("checker/columns.py", "read", "hash"),
    ("checker/", "", "proof"),
    ("bounds/l0_level/leading.py", "", "sharpen"),
    ("bounds/l0_level/search.py", "start", "level start"),
    ("bounds/", "", "level rounds"),
    ("verbs/judge.py", "", "judge"),
    ("search/krylov.py", "", "eigenvectors"),
    ("solvers/", "", "search"),
    ("intake/", "", "intake"),
)


def phase() -> str:
    """Name what asked for a walk."""
    frame, seen = sys._getframe(1), []
    while frame is not None:
        seen.append((frame.f_code.co_filename, frame.f_code.co_name))
        frame = frame.f_back  # type: ignore[assignment]
    for folder, function, name in PLACES:
        if any(f"certpca/{folder}" in file and function in called for file, called in seen):
            return name
    return "other"


class Clock:
    """Walks, vectors, seconds and seconds of the processor of each phase and kind of product."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str, int], list[float]] = {}
        self._inside = False

    @contextmanager
    def timed(self, kind: str, width: int, reader: PlinkFile) -> Iterator[None]:
        """Time one product, but not those that it is made of."""
        if self._inside:
            yield
            return
        self._inside = True
        clock = time.thread_time if kind == "read" else time.process_time  # others work while blocks are read
        before = reader.passes, time.perf_counter(), clock()
        try:
            yield
        finally:
            self._inside = False
            row = self.rows.setdefault((phase(), kind, width), [0.0, 0.0, 0.0, 0.0])
            row[0] += reader.passes - before[0]
            row[1] += time.perf_counter() - before[1]
            row[2] += clock() - before[2]
            row[3] += 1

    def watch(self, name: str, width: Callable[..., int]) -> None:
        """Time every call of a method of readers; `width` tells the vectors from its arguments."""
        plain = getattr(PlinkFile, name)

        def watched(reader: PlinkFile, *arguments: Any) -> Any:
            with self.timed(name, width(*arguments), reader):
                return plain(reader, *arguments)

        setattr(PlinkFile, name, watched)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("-k", type=int, default=1000)
    parser.add_argument("--verb", choices=("certify", "solve"), default="certify")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--limit", type=float, default=math.inf)
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--dear", action="store_true", help="treat a small file as a large one")
    parser.add_argument("--write", action="store_true", help="keep what certify gave, for docs/gaps.md")
    options = parser.parse_args()
    with with_limits(**({"dear_walk": 1} if options.dear else {})):
        measure(options)


def measure(options: argparse.Namespace) -> None:
    """Make one call, and say where its walks went."""
    start, clock = facts(), Clock()
    for name in ("times", "transposed_times", "sample_product"):
        clock.watch(name, lambda panel, *_: panel.shape[1])
    clock.watch("_count", lambda *_: 0)
    clock.watch("read", lambda *_: 0)
    begin, used = time.perf_counter(), time.process_time()
    last = [begin]

    def tell(step: Any) -> None:
        now = time.perf_counter()
        if now - last[0] > 2:
            last[0] = now
            cpu = time.process_time() - used
            print(f"{now - begin:8.1f} s  {cpu:8.1f} cpu  {reader.passes:6.2f}  {step}", flush=True)

    reader = certpca.read_plink(options.file)
    operator = certpca.from_data(reader, missing="mean")
    if options.verb == "solve":
        made: Any = certpca.solve(operator, options.k, options.solver, time_limit=options.limit)
        found = {"objective": made.objective, "details": dict(made.details)}
    else:
        made = certpca.certify(operator, options.k, time_limit=options.limit, listener=tell)
        found = {"kind": made.kind, "objective": made.objective, "upper_bound": made.upper_bound, "gap": made.gap}
    took = {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - used, "walks": reader.passes}
    told(clock, took)
    found |= {**took, "peak_gib": peak_bytes() / 2**30}
    print(json.dumps(found, default=str))
    if options.verify and options.verb == "certify":
        clock.rows.clear()
        begin, used = time.perf_counter(), time.process_time()
        again = certpca.read_plink(options.file)
        proof = certpca.verify(made, certpca.from_data(again, missing="mean"))
        took = {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - used, "walks": again.passes}
        told(clock, took)
        print("verify", json.dumps({"upper_bound": proof.upper_bound, "gap": proof.gap, **took}))
        found["verify_seconds"] = took["seconds"]
    if options.write and options.verb == "certify":
        rows, size = (int(side) for side in reader.shape)
        write_results("packed_certify", start, {**found, "samples": rows, "variants": size, "sparsity": options.k})


def told(clock: Clock, took: dict[str, float]) -> None:
    """Print a table."""
    print(f"{'phase':14} {'product':17} {'vectors':>7} {'calls':>6} {'walks':>6} {'s':>7} {'cpu s':>7} {'cpu/walk':>9}")
    for (name, kind, width), (walks, seconds, cpu, calls) in clock.rows.items():
        each = cpu / max(walks, 1e-9)
        print(f"{name:14} {kind:17} {width:7} {calls:6.0f} {walks:6.2f} {seconds:7.2f} {cpu:7.2f} {each:9.2f}")
    inside = sum(row[2] for row in clock.rows.values())
    print(f"{'beside these':14} {'':40} {'':7} {took['cpu'] - inside:7.2f}", flush=True)


if __name__ == "__main__":
    main()
