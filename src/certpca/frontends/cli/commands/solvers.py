"""`certpca solvers`: list the solvers."""

import argparse
import sys

HELP = "list the solvers"
READS_FILES = False


def add_options(command: argparse.ArgumentParser) -> None:
    """There are none."""
    del command


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from certpca.frontends.cli.terminal import print_solvers

    del options
    print_solvers(sys.stdout)
    return 0
