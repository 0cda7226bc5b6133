"""What commands print, and how they end."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from certpca.frontends.cli.reading_options import about_table

EXIT_REFUSED = 1


EXIT_BAD_INPUT = 2


def complain(about: object) -> None:
    """Say in one line what was wrong; some of it may come from a file, so none of it may be a command to a terminal."""
    from certpca.frontends.plain_text import one_line

    print(f"certpca: {one_line(str(about))}", file=sys.stderr)


def print_json(fields: dict[str, Any]) -> None:
    """Print one JSON object."""
    json.dump(fields, sys.stdout)
    sys.stdout.write("\n")


def _print_passes(data: Any) -> None:
    """Say how often a file was read that is never in memory as a whole."""
    if getattr(data, "passes", 0):
        print(f"the file was read {data.passes:.1f} times")


@contextmanager
def shown_in_any_case(
    show: Callable[[], object], fields: dict[str, Any], options: argparse.Namespace, table: Any
) -> Iterator[None]:
    """Show an answer after it was written, also where it could not be: broken pipes and full disks lose nothing."""
    try:
        yield
    finally:
        if options.json:
            print_json({**fields, **about_table(table)})
        else:
            show()
            _print_passes(table.data)
