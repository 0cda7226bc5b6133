"""`certpca certify`: prove an upper bound for a data file."""

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

HELP = "prove an upper bound for a data file"
READS_FILES = True


def add_options(command: argparse.ArgumentParser) -> None:
    """Describe the options."""
    add_data_options(command)
    command.add_argument("--warm", metavar="FILE", help="start from an earlier certificate of the same data")
    command.add_argument("--no-branching", action="store_true", help="do not split regions of directions")
    command.add_argument(
        "--depth", type=int, metavar="D", help="work with D directions of sample space: faster, and looser"
    )
    add_proof_options(command)
    add_checkpoint_option(command)
    add_result_options(command, "the certificate")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from certpca.frontends.cli.terminal import print_certificate
    from certpca.results.files import certificate_to_dict, load_certificate, save_certificate
    from certpca.verbs.certify import certify

    run = started(options, proving=True)
    warm = load_certificate(options.warm) if options.warm else None
    table = read_table(options, options.file)
    with run.until_signalled():
        with run.shown() as progress:
            certificate = certify(
                table.data,
                options.sparsity,
                branching=not options.no_branching,
                warm=warm,
                depth=options.depth,
                **({} if options.target_gap is None else {"target_gap": options.target_gap}),
                rng=options.seed,
                budget=progress,
                checkpoint=options.checkpoint,
                **preparation(options, table),
            )
        assert certificate.status is not None
        fields = {**certificate_to_dict(certificate), "status": certificate.status.name}
        with shown_in_any_case(lambda: print_certificate(certificate, sys.stdout), fields, options, table):
            if options.output:
                save_certificate(certificate, options.output)
    return int(run.end(sys.stderr if options.json else sys.stdout))
