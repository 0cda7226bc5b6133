"""`certpca choose`: recommend how many features a component should use."""

import argparse
from typing import Any

from certpca.frontends.cli.options import (
    add_checkpoint_option,
    add_preparation_options,
    add_proof_options,
    add_result_options,
    add_sparsities_option,
)
from certpca.frontends.cli.solver_options import add_solver_options, chosen_solver

HELP = "recommend how many features a component should use"
READS_FILES = True
EXAMPLES = (
    "certpca choose data.csv --sparsities 1:20,30:100:10 --plot choice.png",
    "certpca choose data.csv --method cross-validation --folds 10 --output choice.json --output choice.csv",
    "certpca choose cells.h5ad --certify --time-limit 120 --output choice.html",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Describe the options."""
    from certpca.verbs.choosing import LABELS

    command.add_argument("file", help="samples x features, or a covariance matrix with --covariance (elbow alone)")
    add_sparsities_option(command, text="what to choose from: by default 16 sizes from 1 to all features; numbers")
    command.add_argument("--method", choices=tuple(LABELS), default="elbow", help="how to choose (default elbow)")
    command.add_argument("--folds", type=int, metavar="N", help="of a cross-validation (default 5)")
    command.add_argument("--subsamples", type=int, metavar="N", help="random halves for stability (default 20)")
    command.add_argument("--stable", type=float, metavar="SHARE", help="what counts as stable (default 0.8)")
    add_preparation_options(command)
    add_solver_options(command)
    command.add_argument("--certify", action="store_true", help="also prove bounds for the path on all rows")
    command.add_argument("--plot", metavar="FILE", help="draw path, criterion and recommendation (png, svg or pdf)")
    add_proof_options(command)
    add_checkpoint_option(command)
    add_result_options(command, "the path and the choice")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from certpca.frontends.cli.command_run import run_on_file
    from certpca.plots import save
    from certpca.results.codec import solution_to_dict
    from certpca.results.files import path_head, write_path
    from certpca.verbs.choose import Choice, choose_sparsity
    from certpca.verbs.choosing import LABELS

    solver = chosen_solver(options)
    asked = {"method": options.method, "certify": options.certify}
    asked |= {name: getattr(options, name) for name in ("folds", "subsamples", "stable")}

    def show(choice: Choice) -> None:
        print(choice.path)
        print(choice.reason)

    def draw(choice: Choice, file: str) -> None:
        save(file, "choice", choice.path, choice.scores, choice.errors, LABELS[choice.method], choice.sparsity)

    return run_on_file(
        options,
        lambda data, **given: choose_sparsity(data, options.sparsities, solver, **asked, **given),
        proving=options.certify,
        show=show,
        fields=lambda choice: {
            **path_head(choice.path),
            "choice": _choice(choice),
            "solutions": [solution_to_dict(solution) for solution in choice.path.solutions],
        },
        write=lambda choice, files: files.write(
            choice,
            lambda found, file: write_path(found.path, file, choice=_choice(found)),
            _tables,
            lambda found: (found.solution, {"path": found.path}),
        ),
        plot=draw,
        proved=lambda choice: choice.solution.certificate is not None,
    )


def _choice(choice: Any) -> dict[str, Any]:
    """Return the recommendation as plain JSON values."""
    return {
        "sparsity": choice.sparsity,
        "reason": choice.reason,
        "method": choice.method,
        "scores": choice.scores.tolist(),
        "errors": choice.errors.tolist(),
    }


def _tables(choice: Any) -> dict[str, Any]:
    """Return the loadings of the recommended component, and the criterion at every sparsity."""
    criterion = choice.path.summary_frame()
    criterion["score"], criterion["error"] = choice.scores, choice.errors
    criterion["chosen"] = criterion["sparsity"] == choice.sparsity
    return {"": choice.solution.to_frame(), "sparsities": criterion}
