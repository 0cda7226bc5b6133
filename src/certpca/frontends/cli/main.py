"""The command `certpca`."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from certpca import __version__
from certpca.frontends.cli.commands import commands
from certpca.frontends.cli.output import EXIT_BAD_INPUT, complain
from certpca.runtime.errors import CertpcaError


class _Parser(argparse.ArgumentParser):
    """Errors in one line, with what may have been meant and a pointer to the help."""

    words: Sequence[str] = ()  # of the command line: the help shows what is for the files among them

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._given = [str(word).partition("=")[0] for word in args or ()]
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_BAD_INPUT, f"certpca: {message}{self._meant()} (see {self.prog} --help)\n")

    def _meant(self) -> str:
        """Ask whether a wrong word was meant to be a command or an option that there is."""
        from certpca.runtime.did_you_mean import did_you_mean

        commands = [name for action in self._actions if isinstance(action.choices, dict) for name in action.choices]
        options = [name for name in self._option_string_actions if name.startswith("--")]
        for word in self._given:
            if commands and not word.startswith("-"):
                return "" if word in commands else did_you_mean(word, commands)
            if word.startswith("--") and not any(name.startswith(word) for name in options):
                return did_you_mean(word, options)
        return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    options, unknown = parser(words).parse_known_args(words)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
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

    files = getattr(options, "output", None) or []
    others = (getattr(options, name, None) for name in ("plot", "eigenvec"))
    for file in [*([files] if isinstance(files, str) else files), *others]:
        if file is not None:
            require_writable(file)
    if hasattr(options, "output_kinds"):
        from certpca.frontends.cli.result_files import check_endings

        check_endings(files, options.output_kinds)
    if getattr(options, "plot", None) is not None:
        from certpca.plots import require_drawable

        require_drawable(options.plot)
    if getattr(options, "checkpoint", None) is not None:
        require_writable_folder(options.checkpoint)


def parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Describe all commands, and the options of those among the words: the others would only take time to load."""
    described = _Parser(prog="certpca", description="Sparse principal component analysis with a proof attached.")
    described.add_argument("--version", action="version", version=f"certpca {__version__}")
    known = described.add_subparsers(metavar="command", required=True, parser_class=_Parser)
    for name, command in commands().items():
        options = known.add_parser(name, help=command.HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name in words:
            options.words = list(words)
            options.epilog = _epilog(command)
            command.add_options(options)
            options.set_defaults(run=command.run, parser=options)
    return described


def _epilog(command: Any) -> str:
    """Show a command at work, and list the formats where it reads files."""
    examples = getattr(command, "EXAMPLES", ())
    parts = ["\n".join(["examples:", *(f"  {example}" for example in examples)])] if examples else []
    if command.READS_FILES:
        from textwrap import fill

        from certpca.formats.base import formats_in_words

        parts.append(fill(f"Formats: {formats_in_words()}.", 100))
    return "\n\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
