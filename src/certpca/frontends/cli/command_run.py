"""One run of the command: its clock, what is shown while it lasts, and the signals that end it with its best answer."""

import argparse
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TextIO, TypeVar

from certpca.frontends.cli.constraint_options import constraints_given
from certpca.frontends.cli.options import preparation
from certpca.frontends.cli.output import shown_in_any_case
from certpca.frontends.cli.reading_options import read_table
from certpca.frontends.cli.result_files import Outputs, note_certificate
from certpca.frontends.cli.terminal import live_progress
from certpca.runtime.budget import DEFAULT_SECONDS, Budget, Progress, begun

Answer = TypeVar("Answer")

TERMINATED = 128 + signal.SIGTERM  # the exit status of what this signal ended, also where it left an answer


class CommandRun:
    """The clock starts when this is made, before the data are read.

    Parameters
    ----------
    seconds
        The limit; None for the default, infinity for none.
    proving
        Whether something is to be proved, which has a limit by default.
    default_seconds
        That limit.
    """

    def __init__(self, seconds: float | None, *, proving: bool, default_seconds: float = DEFAULT_SECONDS) -> None:
        self._default = default_seconds if seconds is None and proving else None
        budget = None if seconds is None else Budget(seconds=seconds)
        self._progress = begun(budget, None, proving=proving, default_seconds=default_seconds)

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
        if self._default is not None and self._progress.cut_short and not self._progress.interrupted:
            note = f"stopped at the default limit of {self._default:g} s for proofs; --time-limit SECONDS allows more"
            print(note + ", --time-limit none any time", file=stream or sys.stdout)
        return TERMINATED if self._progress.signal == signal.SIGTERM else 0


def run_on_file(
    options: argparse.Namespace,
    verb: Callable[..., Answer],
    *,
    proving: bool,
    show: Callable[[Answer], object],
    fields: Callable[[Answer], dict[str, Any]],
    write: Callable[[Answer, Outputs], object],
    plot: Callable[[Answer, str], object] | None = None,
    proved: Callable[[Answer], bool] | None = None,
    default_seconds: float = DEFAULT_SECONDS,
) -> int:
    """Run a verb on the file that was named, write the answer, show it in any case, and return the exit status.

    Parameters
    ----------
    verb
        Gets the data, and by name what all take: target gap, seed, clock, checkpoint, how data become a matrix.
    proving
        Whether something is to be proved.
    show, fields
        The answer for people, and as a JSON object.
    write, plot
        What writes the answer to the files of `--output`, and draws it into that of `--plot`.
    proved
        Whether the answer has a certificate, which tables have no room for.
    default_seconds
        The limit of a proof where none is named.
    """
    limited = proving and options.checkpoint is None
    run = CommandRun(options.time_limit, proving=limited, default_seconds=default_seconds)
    table = read_table(options, options.file)
    given = {} if options.target_gap is None else {"target_gap": options.target_gap}
    prepared = preparation(options, table)
    given |= {"rng": options.seed, "checkpoint": options.checkpoint, **prepared}
    given |= constraints_given(options, table.names)
    with run.until_signalled():
        with run.shown() as progress:
            answer = verb(table.data, budget=progress, **given)
        with shown_in_any_case(lambda: show(answer), fields(answer), options, table):
            write(answer, Outputs(options, table, prepared))
            if plot is not None and options.plot:
                plot(answer, options.plot)
    note_certificate(options.output or (), proved=proved is not None and proved(answer))
    return run.end(sys.stderr if options.json else sys.stdout)
