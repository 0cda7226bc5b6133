"""`certpca certify`: prove an upper bound for a data file."""

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
from certpca.frontends.cli.result_files import JSON
from certpca.frontends.cli.solver_options import add_solver_options, chosen_solver

HELP = "prove an upper bound for a data file"
READS_FILES = True
EXAMPLES = (
    "certpca certify data.csv -k 10 --target-gap 0.01 --time-limit 600 --output certificate.json",
    "certpca certify cohort.bed -k 500 --maf 0.01 --missing mean --memory 1 --checkpoint states",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Describe the options."""
    add_data_options(command)
    add_solver_options(command)
    add_constraint_options(command)
    command.add_argument("--warm", metavar="FILE", help="start from an earlier certificate of the same data")
    command.add_argument("--no-branching", action="store_true", help="do not split regions of directions")
    command.add_argument(
        "--depth", type=int, metavar="D", help="work with D directions of sample space: faster, and looser"
    )
    add_proof_options(command)
    add_checkpoint_option(command)
    add_result_options(command, "the certificate", (JSON,))


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from certpca.frontends.cli.command_run import run_on_file
    from certpca.frontends.cli.terminal import print_certificate
    from certpca.results.certificate import Certificate
    from certpca.results.codec import certificate_to_dict
    from certpca.results.files import load_certificate, save_certificate
    from certpca.verbs.certify import certify

    solver = chosen_solver(options)
    warm = load_certificate(options.warm) if options.warm else None

    def prove(data: Any, **given: Any) -> Certificate:
        asked = {"branching": not options.no_branching, "depth": options.depth, "warm": warm}
        return certify(data, options.sparsity, solver, **asked, **given)

    def fields(certificate: Certificate) -> dict[str, Any]:
        assert certificate.status is not None
        return {**certificate_to_dict(certificate), "status": certificate.status.name}

    return run_on_file(
        options,
        prove,
        proving=True,
        show=lambda certificate: print_certificate(certificate, sys.stdout),
        fields=fields,
        write=lambda certificate, files: files.write(certificate, save_certificate),
    )
