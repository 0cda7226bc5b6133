"""A process that is killed: ``python -m tests.runtime.checkpoints.worker RUN FOLDER WAY [STATE] [COUNT]``.

`step` kills it with signal 9 at that step after the state was stored first, `rename` and `flush` in place of that call
while a file is written, and `wait` makes every step take a moment, for somebody else to kill it.
"""

import os
import signal
import stat
import sys
import time
from pathlib import Path
from typing import Any

from tests.runtime.checkpoints.problems import RUNS, every_step


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(name: str, folder: str, way: str, state: str = "", count: str = "1") -> None:
    """Start the run and be killed."""
    left = int(count)

    def listener(step: Any) -> None:
        nonlocal left
        if way == "wait":
            time.sleep(0.04)
        if way == "step" and Path(folder, f"{state}.npz").exists():
            left -= 1
            if left == 0:
                _die()

    def dying(call: Any) -> Any:
        def once_too_often(*arguments: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                _die()
            return call(*arguments)

        return once_too_often

    if way == "rename":
        Path.replace = dying(Path.replace)  # type: ignore[method-assign]
    if way == "flush":
        flush = os.fsync
        last = dying(flush)

        def flushed(handle: int) -> None:
            # Folders are flushed too, but then the file has its name already.
            (last if stat.S_ISREG(os.fstat(handle).st_mode) else flush)(handle)

        os.fsync = flushed  # type: ignore[assignment]
    RUNS[name](checkpoint=every_step(folder), listener=listener)


if __name__ == "__main__":
    main(*sys.argv[1:])
