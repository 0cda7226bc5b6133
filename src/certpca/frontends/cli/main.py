"""The command `certpca`."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from certpca import __version__
from certpca.frontends.cli.commands import commands
from certpca.frontends.cli.output import EXIT_BAD_INPUT, complain
from certpca.runtime.errors import CertpcaError


class _Parser(argparse.ArgumentParser):
    """Errors in one line, and a pointer to the help."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_BAD_INPUT, f"certpca: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser(words).parse_args(words)
    try:
        _require_writable(options)
        status = int(options.run(options))
        sys.stdout.flush()  # a broken pipe shows here, not when Python exits
        return status
    except CertpcaError as error:
        complain(error)
        return EXIT_BAD_INPUT
    except BrokenPipeError:  # the reader of a pipe went away: nothing is left to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # such as a full disk behind standard output
        complain(error)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        print("certpca: interrupted before there was an answer", file=sys.stderr)
        return 130
    except MemoryError:
        print("certpca: out of memory; use fewer features or a machine with more", file=sys.stderr)
        return EXIT_BAD_INPUT


def _require_writable(options: argparse.Namespace) -> None:
    """Notice before the computation what could not be written after it."""
    from certpca.runtime.atomic_write import require_writable, require_writable_folder

    for name in ("output", "plot"):
        if getattr(options, name, None) is not None:
            require_writable(getattr(options, name))
    if getattr(options, "plot", None) is not None:
        from certpca.plots import require_drawable

        require_drawable(options.plot)
    if getattr(options, "checkpoint", None) is not None:
        require_writable_folder(options.checkpoint)


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Describe all commands, and the options of those among the words: the others would only take time to load."""
    parser = _Parser(prog="certpca", description="Sparse principal component analysis with a proof attached.")
    parser.add_argument("--version", action="version", version=f"certpca {__version__}")
    known = parser.add_subparsers(metavar="command", required=True, parser_class=_Parser)
    for name, command in commands().items():
        options = known.add_parser(name, help=command.HELP)
        if name in words:
            options.epilog = _formats() if command.READS_FILES else None
            command.add_options(options)
            options.set_defaults(run=command.run)
    return parser


def _formats() -> str:
    from certpca.formats.base import formats_in_words

    return f"Formats: {formats_in_words()}."


if __name__ == "__main__":
    sys.exit(main())
