"""`certpca decompose`: find several sparse components of a data file."""

import argparse
import sys

from certpca.frontends.cli.options import (
    add_checkpoint_option,
    add_preparation_options,
    add_proof_options,
    add_result_options,
    usage_error,
)
from certpca.frontends.cli.ranges import numbers
from certpca.frontends.cli.solver_options import add_solver_options, chosen_solver

HELP = "find several sparse components of a data file, one after the other or together"
READS_FILES = True
EXAMPLES = (
    "certpca decompose data.csv -r 3 -k 10 --output set.json --output loadings.tsv",
    "certpca decompose data.csv -r 3 -k 12,8,8 --together orthogonal --certify --output set.html",
    "certpca decompose data.csv -r 4 --total 40 --together disjoint --plot components.png",
)
TOGETHER = ("greedy", "disjoint", "orthogonal", "uncorrelated", "shared")


def add_options(command: argparse.ArgumentParser) -> None:
    """Describe the options."""
    command.add_argument("file", help="samples x features, or a covariance matrix with --covariance")
    command.add_argument("-r", "--components", type=int, required=True, metavar="R", help="how many components")
    command.add_argument(
        "-k",
        "--sparsity",
        type=numbers,
        metavar="K or K,K,…",
        help="largest number of nonzero loadings: one for all components, or one for each",
    )
    command.add_argument(
        "--total", type=int, metavar="N", help="in place of -k: one number for all of them, which is split"
    )
    command.add_argument(
        "--together",
        choices=TOGETHER,
        default="greedy",
        help="greedy (default): one after the other; else the largest sum of variances with no feature in two "
        "components, orthogonal loadings, uncorrelated scores, or orthogonal loadings on the same K features",
    )
    command.add_argument("--deflation", metavar="NAME", help="of greedy components (default schur)")
    add_preparation_options(command)
    add_solver_options(command)
    command.add_argument("--certify", action="store_true", help="also prove how far from the optimum the set can be")
    command.add_argument("--plot", metavar="FILE", help="draw components x features (png, svg or pdf)")
    add_proof_options(command)
    add_checkpoint_option(command)
    add_result_options(command, "the components")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from certpca.frontends.cli.command_run import run_on_file
    from certpca.frontends.cli.terminal import print_components
    from certpca.plots import require_drawable, save
    from certpca.results.codec import solution_to_dict
    from certpca.results.component_files import components_to_dict, save_components
    from certpca.verbs.decompose import decompose

    if (options.sparsity is None) == (options.total is None):
        msg = "say how many features components may have: -k, or --total to split among them"
        raise usage_error(msg)
    if options.plot:
        require_drawable(options.plot)
    sparsity = options.sparsity
    if sparsity is not None and len(sparsity) == 1:
        sparsity = sparsity[0]
    solver = chosen_solver(options)
    asked = {
        "solver": None if solver == "auto" else solver,
        "total": options.total,
        "together": options.together,
        "deflation": options.deflation,
    }
    return run_on_file(
        options,
        lambda data, **given: decompose(data, options.components, sparsity, certify=options.certify, **asked, **given),
        proving=options.certify,
        show=lambda found: print_components(found, sys.stdout),
        fields=lambda found: {
            **components_to_dict(found),
            "components": [solution_to_dict(solution) for solution in found.components],
        },
        write=lambda found, files: files.write(found, save_components, files.with_scores, lambda some: (some, {})),
        plot=lambda found, file: save(file, "components", found),
        proved=lambda found: found.certificate is not None or any(found.certificates),
    )
