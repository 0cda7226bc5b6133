"""Running examples, for the site and for tests; what was run is not run again until something changes.

python -m website.executed_examples FOLDER [NAME ...]   writes pages, pictures, notebooks and scripts there
"""

import base64
import contextlib
import hashlib
import io
import json
import multiprocessing
import os
import platform
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.machine import facts

import certpca
from certpca.runtime.atomic_write import write_text_whole
from website.examples import ROOT, SCRIPTS, Output, cells, files, names

CACHE = ROOT / ".cache" / "examples"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "matplotlib", "pandas")


def executed(name: str) -> list[Output]:
    """Run an example from top to bottom, in a folder that is gone afterwards."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    known: dict[str, Any] = {"__name__": "__main__"}
    outputs = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for number, cell in enumerate(cells(name)):
            printed = io.StringIO()
            if cell.code:
                with contextlib.redirect_stdout(printed):
                    exec(compile(cell.text, f"examples/{name}.py, cell {number}", "exec"), known)
            text = "\n".join(line.rstrip() for line in printed.getvalue().rstrip().splitlines())
            outputs.append(Output(text, tuple(map(_png, pyplot.get_fignums()))))
            pyplot.close("all")
    return outputs


def _png(number: int) -> bytes:
    from matplotlib import pyplot

    drawn = io.BytesIO()
    pyplot.figure(number).savefig(drawn, dpi=110, metadata={"Software": None})
    return drawn.getvalue()


def run(name: str) -> list[Output]:
    """Run an example in a process of its own, and keep what it gave."""
    processes = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=processes) as pool:
        outputs = pool.submit(executed, name).result()
    content = [
        {"text": part.text, "pictures": [base64.b64encode(png).decode() for png in part.pictures]} for part in outputs
    ]
    CACHE.mkdir(parents=True, exist_ok=True)
    for old in CACHE.glob(f"{name}-*.json"):
        old.unlink(missing_ok=True)
    write_text_whole(_file(name), json.dumps(content))
    return outputs


def _file(name: str) -> Path:
    """Return where the outputs of an example are kept, named by everything that they depend on."""
    parts = [facts()["source"], platform.python_version(), *(version(library) for library in LIBRARIES)]
    digest = hashlib.sha256("\n".join(parts).encode() + (SCRIPTS / f"{name}.py").read_bytes())
    return CACHE / f"{name}-{digest.hexdigest()[:16]}.json"


def outputs_of(name: str) -> list[Output]:
    """Return what an example gives: what was kept, or else it is run."""
    try:
        content = json.loads(_file(name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return run(name)
    return [Output(part["text"], tuple(base64.b64decode(png) for png in part["pictures"])) for part in content]


def made(wanted: Iterable[str]) -> dict[str, str | bytes]:
    """Return what the site has of examples, by file name; as many run at a time as there are processors."""
    wanted, said = list(wanted), origin()
    found: dict[str, str | bytes] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, outputs in zip(wanted, pool.map(outputs_of, wanted), strict=True):
            found |= files(name, outputs, said)
    return found


def origin() -> str:
    """Say what runs the examples: versions and, in a checkout, the commit."""
    known = facts()
    commit = f" (commit {known['commit'][:10]}{', changed since' * known['uncommitted']})" if known["commit"] else ""
    return (
        f"Run with certpca {certpca.__version__}{commit}, Python {platform.python_version()}, NumPy {version('numpy')}."
    )


def main(arguments: list[str]) -> int:
    """Write examples into a folder."""
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in made(arguments[1:] or names()).items():
        (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
