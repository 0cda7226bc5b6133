"""Pages that show what an analyst types: every command and every line of code was run, and printed what is shown."""

import contextlib
import io
import os
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Step = dict[str, str]


class Session:
    """Runs commands and code in a folder of its own, and remembers what they print.

    Parameters
    ----------
    folder
        Where files are read and written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps: list[Step] = []
        self.names: dict[str, Any] = {}

    def shell(self, line: str) -> str:
        """Run a command of certpca as one types it."""
        from certpca.frontends.cli.main import main

        with self._printed() as printed:
            status = main(shlex.split(line)[1:])
        if status:
            msg = f"{line} ended with status {status}: {printed.getvalue()}"
            raise RuntimeError(msg)
        return self._kept("shell", line, printed.getvalue())

    def python(self, code: str) -> str:
        """Run some lines; names live on from one call to the next."""
        with self._printed() as printed:
            exec(compile(code, "<page>", "exec"), self.names)
        return self._kept("python", code.strip("\n"), printed.getvalue())

    def _kept(self, kind: str, source: str, output: str) -> str:
        output = "\n".join(line.rstrip() for line in output.splitlines())
        self.steps.append({"kind": kind, "source": source, "output": output})
        return output

    @contextlib.contextmanager
    def _printed(self) -> Iterator[io.StringIO]:
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            text = io.StringIO()
            with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
                yield text
        finally:
            os.chdir(before)


@contextlib.contextmanager
def session() -> Iterator[Session]:
    """Open a session in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        yield Session(Path(folder))


def shown(step: Step) -> list[str]:
    """Return a step as lines of a page: code as it was run, then what it printed."""
    if step["kind"] == "shell":
        return ["", f"    $ {step['source']}", *(f"    {line}".rstrip() for line in step["output"].splitlines())]
    lines = ["", "```python", *step["source"].splitlines(), "```"]
    return lines + (["", *(f"    {line}".rstrip() for line in step["output"].splitlines())] if step["output"] else [])
