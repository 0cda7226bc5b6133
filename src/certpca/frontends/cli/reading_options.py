"""The command line's options on how a file is read, and what it says about what it read."""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from certpca.frontends.plain_text import one_line


def add_file_options(command: argparse.ArgumentParser) -> None:
    """Add the options on how a file is read: for all, and those that formats have of their own.

    The help shows those of the files that are named; where none is, all of them.
    """
    from certpca.formats.base import endings_where, formats
    from certpca.formats.settings import all_settings, whose

    streamed = endings_where(lambda known: known.streams)
    command.add_argument(
        "--memory",
        type=float,
        metavar="GIB",
        help=f"for data on their way from a file that can be streamed ({streamed})",
    )
    command.add_argument(
        "--like", metavar="RESULT", help="read the file as it was read for a stored result (filters, array, columns)"
    )
    groups: dict[str, Any] = {}
    named = [known for known in formats() if any(map(known.ending_of, getattr(command, "words", ())))]
    for setting in all_settings().values():
        title = whose(setting) if setting.files else "rows and columns"
        if title not in groups:
            groups[title] = command.add_argument_group(title)
        applies = not setting.files or not named or any(setting in known.settings for known in named)
        said = setting.help if applies else argparse.SUPPRESS
        groups[title].add_argument(setting.flag, default=None, help=said, **setting.option)


def read_table(options: argparse.Namespace, file: str, recorded: Mapping[str, Any] | None = None) -> Any:
    """Read a file as a result records it was read, or as the options say where they say something; tell what it holds.

    Where the options say how data become a matrix, what looks wrong about that is told too.
    """
    from certpca.formats.base import format_of
    from certpca.formats.settings import all_settings, as_recorded
    from certpca.formats.suspicions import suspicions
    from certpca.formats.tables import load_table
    from certpca.results.files import load_reading

    about_to_solve = recorded is None
    if options.like:
        recorded = load_reading(options.like)
    given = {name: (setting, getattr(options, name)) for name, setting in all_settings().items()}
    settings = {name: setting.typed(value) for name, (setting, value) in given.items() if value is not None}
    before = {} if recorded is None else as_recorded(format_of(Path(file)), recorded)
    table = load_table(file, memory=options.memory, **{**before, **settings})
    if about_to_solve:
        scaled = options.correlation or options.hardy_weinberg
        doubts = suspicions(table, covariance=options.covariance, scaled=scaled, centred=not options.uncentred)
        table = replace(table, remarks=(*table.remarks, *doubts))
    if not getattr(options, "json", False):  # there it is a field
        for line in (f"{file}: {table.understood}", *(f"certpca: warning: {remark}" for remark in table.remarks)):
            print(one_line(line), file=sys.stderr)
    return table


def about_table(table: Any) -> dict[str, Any]:
    """Return for JSON what was understood of a file, and how often one was read that is never in memory as a whole."""
    passes = {"passes": round(table.data.passes, 2)} if getattr(table.data, "passes", 0) else {}
    return {"understood": table.understood, "warnings": list(table.remarks), **passes}


def typed_again(options: argparse.Namespace) -> list[str]:
    """Return these options as one would type them."""
    from certpca.formats.settings import all_settings

    typed = []
    for name in ("like", *all_settings(), "memory"):
        value = getattr(options, name)
        flag = f"--{name.replace('_', '-')}"
        typed += [] if value is None else [flag] if value is True else [flag, str(value)]
    return typed
