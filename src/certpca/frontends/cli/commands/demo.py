"""`certpca demo`: every method on embedded data, side by side."""

import argparse
import sys
from dataclasses import replace

DEMO_SPARSITY = 7


HELP = "run every method on embedded data and compare them"
READS_FILES = False
EXAMPLES = ("certpca demo -k 5",)


def add_options(command: argparse.ArgumentParser) -> None:
    """Describe the options."""
    command.add_argument("-k", "--sparsity", type=int, default=DEMO_SPARSITY, help="number of nonzero loadings")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from certpca.datasets.examples import pitprops
    from certpca.frontends.cli.terminal import print_certificate, print_comparison
    from certpca.runtime.budget import Budget
    from certpca.solvers import available_solvers
    from certpca.verbs.certify import certify
    from certpca.verbs.solve import solve

    problem = pitprops()
    rows = []
    for name in available_solvers():
        solve(problem, options.sparsity, name)  # the first call loads libraries: not what is timed
        own = solve(problem, options.sparsity, name, refit=False)
        solution = solve(problem, options.sparsity, name)
        rows.append(replace(solution, matrix="pit props correlation matrix", details={"own_objective": own.objective}))
    print_comparison(rows, sys.stdout)
    print_certificate(certify(problem, options.sparsity, target_gap=1e-6, budget=Budget(seconds=20)), sys.stdout)
    return 0
