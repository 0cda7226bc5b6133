"""One run of the command: its clock, what is shown while it lasts, and the signals that end it with its best answer."""

import signal
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TextIO

from certpca.frontends.cli.terminal import live_progress
from certpca.runtime.budget import DEFAULT_SECONDS, Budget, Progress, begun

TERMINATED = 128 + signal.SIGTERM  # the exit status of what this signal ended, also where it left an answer


class CommandRun:
    """The clock starts when this is made, before the data are read.

    Parameters
    ----------
    seconds
        The limit; None for the default, infinity for none.
    proving
        Whether something is to be proved, which has a limit by default.
    """

    def __init__(self, seconds: float | None, *, proving: bool) -> None:
        self._by_default = seconds is None and proving
        self._progress = begun(None if seconds is None else Budget(seconds=seconds), None, proving=proving)

    def until_signalled(self) -> AbstractContextManager[None]:
        """Let Ctrl-C and SIGTERM end the computation; what is left, writing the answer, is done all the same."""
        return self._progress.until_interrupted(terminated=True)

    @contextmanager
    def shown(self) -> Iterator[Progress]:
        """Show how the computation gets on."""
        with live_progress() as listener:
            self._progress.listener = listener
            yield self._progress

    def end(self, stream: TextIO | None = None) -> int:
        """Say whether the default limit ended the run, and return its exit status."""
        if self._by_default and self._progress.cut_short and not self._progress.interrupted:
            note = f"stopped at the default limit of {DEFAULT_SECONDS:g} s for proofs; --time-limit SECONDS allows more"
            print(note + ", --time-limit none any time", file=stream or sys.stdout)
        return TERMINATED if self._progress.signal == signal.SIGTERM else 0
