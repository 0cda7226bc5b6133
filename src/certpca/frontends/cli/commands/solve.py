"""`certpca solve`: find a sparse component of a data file."""

import argparse
import sys
from typing import Any

from certpca.frontends.cli.constraint_options import add_constraint_options
from certpca.frontends.cli.options import (
    add_checkpoint_option,
    add_data_options,
    add_proof_options,
    add_result_options,
)
from certpca.frontends.cli.solver_options import add_solver_options, chosen_solver

HELP = "find a sparse component of a data file"
READS_FILES = True
EXAMPLES = (
    "certpca solve data.csv -k 10 --correlation --certify --output result.json --output loadings.csv",
    "certpca solve genotypes.npz -k 100 --missing mean --certify --output result.html",
    "certpca solve cells.h5ad -k 50 --array counts --memory 1",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Describe the options."""
    add_data_options(command)
    add_solver_options(command)
    add_constraint_options(command)
    command.add_argument("--no-refit", action="store_true", help="keep the algorithm's own loadings")
    command.add_argument("--certify", action="store_true", help="also prove how far from the optimum the answer can be")
    add_proof_options(command)
    add_checkpoint_option(command)
    add_result_options(command, "the result")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from certpca.frontends.cli.command_run import run_on_file
    from certpca.frontends.cli.terminal import print_solution
    from certpca.results.codec import solution_to_dict
    from certpca.results.files import save_solution
    from certpca.results.solution import Solution
    from certpca.verbs.solve import solve

    solver = chosen_solver(options)

    def find(data: Any, **given: Any) -> Solution:
        return solve(data, options.sparsity, solver, refit=not options.no_refit, certify=options.certify, **given)

    return run_on_file(
        options,
        find,
        proving=options.certify,
        show=lambda solution: print_solution(solution, sys.stdout),
        fields=solution_to_dict,
        write=lambda solution, files: files.write(
            solution, save_solution, files.with_scores, lambda found: (found, {})
        ),
        proved=lambda solution: solution.certificate is not None,
    )
