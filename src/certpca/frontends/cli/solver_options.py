"""The command line's options on which solver searches, with which settings."""

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from certpca.frontends.cli.options import usage_error

if TYPE_CHECKING:
    from certpca.solvers import Solver


def add_solver_options(command: argparse.ArgumentParser) -> None:
    """Add which solver searches."""
    command.add_argument("--solver", default="auto", help="see `certpca solvers`")
    command.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the solver, such as epsilon=0.5"
    )


def chosen_solver(options: argparse.Namespace) -> "str | Solver":
    """Return the solver asked for, or refuse it before any file is read; the default stays a name."""
    from certpca.solvers import solver_named

    settings = _settings(options.set)
    return solver_named(options.solver, **settings) if settings or options.solver != "auto" else "auto"


def _settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE pairs; values are JSON where they can be, text otherwise."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        if not separator or not name:
            msg = f"--set needs NAME=VALUE, got {pair!r}"
            raise usage_error(msg)
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = text
        settings[name.replace("-", "_")] = tuple(value) if isinstance(value, list) else value
    return settings
