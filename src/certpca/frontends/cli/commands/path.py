"""`certpca path`: find sparse components for several sparsities at once."""

import argparse
import sys

from certpca.frontends.cli.options import (
    add_checkpoint_option,
    add_data_options,
    add_proof_options,
    add_result_options,
    preparation,
    started,
)
from certpca.frontends.cli.output import shown_in_any_case
from certpca.frontends.cli.reading_options import read_table

HELP = "find sparse components for several sparsities at once"
READS_FILES = True


def add_options(command: argparse.ArgumentParser) -> None:
    """Describe the options."""
    add_data_options(command, several=True)
    command.add_argument("--certify", action="store_true", help="also prove how far from the optimum each can be")
    command.add_argument("--plot", metavar="FILE", help="draw what is captured and proved (png, svg or pdf)")
    add_proof_options(command)
    add_checkpoint_option(command)
    add_result_options(command, "the path")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from certpca.plots import save
    from certpca.results.files import save_path, solution_to_dict
    from certpca.verbs.path import path

    run = started(options, proving=options.certify)
    table = read_table(options, options.file)
    with run.until_signalled():
        with run.shown() as progress:
            found = path(
                table.data,
                options.sparsities,
                certify=options.certify,
                target_gap=options.target_gap,
                rng=options.seed,
                budget=progress,
                checkpoint=options.checkpoint,
                **preparation(options, table),
            )
        fields = {"solutions": [solution_to_dict(solution) for solution in found.solutions]}
        with shown_in_any_case(lambda: print(found), fields, options, table):
            if options.output:
                save_path(found, options.output)
            if options.plot:
                save(options.plot, "path", found)
    return int(run.end(sys.stderr if options.json else sys.stdout))
