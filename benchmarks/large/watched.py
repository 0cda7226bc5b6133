"""A program seen from outside: its time, its largest resident size, and how many bytes it read and wrote (Linux).

What it starts itself counts too: a name on the path can be a script that chooses among programs.
"""

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

EVERY = 0.02  # seconds between looks


class FailedError(Exception):
    """A program did not end well; the message is its last line."""


@dataclass(frozen=True)
class Watched:
    """What one run took. Bytes are those of read and write calls, of whatever file, from the cache or not."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    read_bytes: int
    written_bytes: int


def watch(command: list[str], folder: Path, limit: float, environment: dict[str, str] | None = None) -> Watched | None:
    """Run a command in a folder, its words going to `said` there, and return what it took; None beyond the limit."""
    peak = 0
    with (folder / "said").open("w") as said:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **(environment or {})}, stdout=said, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            # Waiting without reaping: what a program has read can be asked once it has ended, and not after.
            while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
                peak = max(peak, _largest(process.pid))
                if time.perf_counter() - begin > limit:
                    return None
                time.sleep(EVERY)
            seconds = time.perf_counter() - begin
            io = Path(f"/proc/{process.pid}/io")  # of ended children too
            read, written = _number(io, "rchar:"), _number(io, "wchar:")
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode:
        words = (folder / "said").read_text(errors="replace").strip().splitlines()
        raise FailedError(words[-1] if words else f"status {process.returncode}, no message")
    return Watched(seconds, used.ru_utime + used.ru_stime, peak, read, written)


def _largest(number: int) -> int:
    """Return the largest resident size so far of a process, or of one that it started."""
    about = Path(f"/proc/{number}")
    try:
        children = (about / "task" / str(number) / "children").read_text().split()
    except OSError:
        children = []
    return max([1024 * _number(about / "status", "VmHWM:"), *(_largest(int(child)) for child in children)])


def _number(file: Path, key: str) -> int:
    try:
        lines = file.read_text().splitlines()
    except OSError:  # between the end of a program and the look at it, or not Linux
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(key)), 0)
