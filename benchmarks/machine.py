"""Where and with what a number was measured, how much memory was used, and where results go."""

import hashlib
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from certpca.runtime.atomic_write import write_text_whole

CHECKOUT = Path(__file__).parents[1]
SHARED = CHECKOUT.parent / "shared" / "data"
PACKAGES = ("certpca", "numpy", "scipy", "scikit-learn", "abess")


def facts() -> dict[str, Any]:
    """Return commit, versions and machine."""
    return {
        "commit": os.environ.get("CERTPCA_COMMIT") or _git("rev-parse", "HEAD"),  # named where a copy has no history
        "source": _source(),
        "uncommitted": bool(_git("status", "--porcelain", "--", "src")),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
    }


def fastest(job: Callable[[], object], repeats: int = 3) -> float:
    """Return the shortest of a few times that a job takes."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        job()
        times.append(time.perf_counter() - begin)
    return min(times)


def peak_bytes() -> int:
    """Return the largest resident size of this process so far.

    Linux's VmHWM is preferred: `ru_maxrss` of a child starts at what its parent had when it forked.
    """
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def resident_bytes() -> int:
    """Return the resident size of this process now."""
    return _status("VmRSS") or peak_bytes()


def write_results(name: str, start: dict[str, Any], content: dict[str, Any]) -> Path:
    """Write results with the facts taken at the start, and whether src changed since: such numbers have no commit."""
    path = Path(__file__).parent / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    content = {"machine": start, "source_changed": _source() != start["source"], **content}
    write_text_whole(path, json.dumps(content, indent=1) + "\n")
    return path


def _status(key: str) -> int:
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith(key))


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _source() -> str:
    digest = hashlib.sha256()
    for path in sorted((CHECKOUT / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    table = Path("/proc/cpuinfo")
    lines = table.read_text().splitlines() if table.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
