"""Measure whether calls end when they are told to, proof included.

    python -m benchmarks.limits.run [--data text --job certify --limit 2 --again]

Every verb and solver on five kinds of data, with 2 and 20 seconds allowed; 20 only where the run with 2 was cut short
or proved something. One process for each kind of data, with libraries loaded and kernels compiled before any clock
starts; a call that takes five times its limit is killed with it. Rows are written after every run, and a second call
makes up what is missing.
"""

import argparse
import json
import queue
import subprocess
import sys
import threading
from typing import Any

from benchmarks.limits.data import DATA
from benchmarks.limits.verbs import JOBS
from benchmarks.machine import CHECKOUT, facts, write_results
from benchmarks.render import RESULTS

LIMITS = (2.0, 20.0)
KILLED_AFTER = 5.0  # times the limit
STARTING_SECONDS = 600.0


class Worker:
    """A process that holds one kind of data."""

    def __init__(self, data: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.limits.worker", data],
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        if self._answer(STARTING_SECONDS) != {"ready": True}:
            self.end()
            msg = f"the process for {data} did not start"
            raise SystemExit(msg)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put('{"failed": "the process ended"}\n')

    def _answer(self, seconds: float) -> dict[str, Any] | None:
        try:
            answer: dict[str, Any] = json.loads(self._lines.get(timeout=seconds))
        except queue.Empty:
            return None
        return answer

    def run(self, job: str, limit: float) -> dict[str, Any]:
        """Return what came of a job; the process is gone if it had to be killed."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"job": job, "limit": limit}) + "\n")
        self._process.stdin.flush()
        self._answer(STARTING_SECONDS)
        answer = self._answer(KILLED_AFTER * limit)
        if answer is None:
            self.end()
            return {"killed": True, "seconds": KILLED_AFTER * limit}
        return answer

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None


def _ended_by_itself(row: dict[str, Any]) -> bool:
    """Whether more time would change nothing: well within the limit, with nothing left to prove."""
    cut_short = {"OUT_OF_BUDGET", "INTERRUPTED"} & set(row.get("statuses", []))
    return (row["seconds"] < 0.8 * row["limit"] and not cut_short) or "refused" in row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=DATA, action="append", help="only these kinds of data")
    parser.add_argument("--job", action="append", default=[], help="only jobs whose name contains this")
    parser.add_argument("--limit", type=float, choices=LIMITS, action="append", help="only these limits")
    parser.add_argument("--again", action="store_true", help="repeat what was measured before")
    options = parser.parse_args()
    start = facts()
    file = RESULTS / "limits.json"
    known = json.loads(file.read_text())["rows"] if file.exists() else []
    rows = {(row["data"], row["job"], row["limit"]): row for row in known}
    jobs = [job for job in JOBS if not options.job or any(part in job for part in options.job)]
    for data in options.data or DATA:
        worker: Worker | None = None
        for limit in options.limit or LIMITS:
            for job in jobs:
                key = (data, job, limit)
                earlier = rows.get((data, job, LIMITS[0]))
                idle = limit > LIMITS[0] and earlier is not None and _ended_by_itself(earlier)
                if idle or (key in rows and not options.again):
                    continue
                if worker is None or not worker.alive:
                    worker = Worker(data)
                row = {"data": data, "job": job, "limit": limit, **worker.run(job, limit)}
                rows[key] = row
                print(_line(row), flush=True)
                write_results("limits", start, {"rows": list(rows.values())})
        if worker is not None:
            worker.end()


def _line(row: dict[str, Any]) -> str:
    words = [f"{row['data']:10s} {row['job']:34s} {row['limit']:4.0f} s: {row['seconds']:7.2f}"]
    words += [f"cpu {row['cpu_seconds']:6.2f}"] if "cpu_seconds" in row else []
    told = ("killed", "refused", "failed", "answers", "statuses", "kinds", "largest_gap")
    words += [f"{name} {row[name]}" for name in told if name in row]
    return "  ".join(words)


if __name__ == "__main__":
    main()
