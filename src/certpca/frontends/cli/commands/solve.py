"""`certpca solve`: find a sparse component of a data file."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from certpca.frontends.cli.options import (
    add_checkpoint_option,
    add_data_options,
    add_proof_options,
    add_result_options,
    usage_error,
)

HELP = "find a sparse component of a data file"
READS_FILES = True


def add_options(command: argparse.ArgumentParser) -> None:
    """Describe the options."""
    add_data_options(command)
    command.add_argument("--solver", default="auto", help="see `certpca solvers`")
    command.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the solver, such as epsilon=0.5"
    )
    command.add_argument("--no-refit", action="store_true", help="keep the algorithm's own loadings")
    command.add_argument("--certify", action="store_true", help="also prove how far from the optimum the answer can be")
    add_proof_options(command)
    add_checkpoint_option(command)
    add_result_options(command, "the result")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from certpca.frontends.cli.command_run import run_on_file
    from certpca.frontends.cli.terminal import print_solution
    from certpca.results.files import save_solution, solution_to_dict
    from certpca.results.solution import Solution
    from certpca.solvers import solver_named
    from certpca.verbs.solve import solve

    solver = solver_named(options.solver, **_settings(options.set))

    def find(data: Any, **given: Any) -> Solution:
        return solve(data, options.sparsity, solver, refit=not options.no_refit, certify=options.certify, **given)

    return run_on_file(
        options,
        find,
        proving=options.certify,
        show=lambda solution: print_solution(solution, sys.stdout),
        fields=solution_to_dict,
        writers={"output": save_solution},
    )


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
