"""`certpca path`: find sparse components for several sparsities at once."""

import argparse

from certpca.frontends.cli.options import (
    add_checkpoint_option,
    add_data_options,
    add_proof_options,
    add_result_options,
)
from certpca.frontends.cli.result_files import JSON, TABLES
from certpca.frontends.cli.solver_options import add_solver_options, chosen_solver

HELP = "find sparse components for several sparsities at once"
READS_FILES = True
EXAMPLES = (
    "certpca path data.csv --sparsities 5:50:5 --certify --plot path.png",
    "certpca path data.csv --sparsities 1:10,20,50 --output path.json --output path.csv",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Describe the options."""
    add_data_options(command, several=True)
    add_solver_options(command)
    command.add_argument("--certify", action="store_true", help="also prove how far from the optimum each can be")
    command.add_argument("--plot", metavar="FILE", help="draw what is captured and proved (png, svg or pdf)")
    add_proof_options(command)
    add_checkpoint_option(command)
    add_result_options(command, "the path", (JSON, TABLES))


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from certpca.frontends.cli.command_run import run_on_file
    from certpca.plots import save
    from certpca.results.codec import solution_to_dict
    from certpca.results.files import path_head, save_path
    from certpca.verbs.path import path

    solver = chosen_solver(options)
    return run_on_file(
        options,
        lambda data, **given: path(data, options.sparsities, solver, certify=options.certify, **given),
        proving=options.certify,
        show=print,
        fields=lambda found: {
            **path_head(found),
            "solutions": [solution_to_dict(solution) for solution in found.solutions],
        },
        write=lambda found, files: files.write(
            found, save_path, lambda along: {"": along.to_frame(), "sparsities": along.summary_frame()}
        ),
        plot=lambda found, file: save(file, "path", found),
        proved=lambda found: any(solution.certificate is not None for solution in found.solutions),
    )
