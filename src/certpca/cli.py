"""The command `certpca`."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

from certpca import __version__
from certpca.errors import CertpcaError

EXIT_BAD_INPUT = 2
DEMO_SPARSITY = 7


class _Parser(argparse.ArgumentParser):
    """Errors in one line, and a pointer to the help."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_BAD_INPUT, f"certpca: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        status = int(options.run(options))
        sys.stdout.flush()  # a broken pipe shows here, not when Python exits
        return status
    except CertpcaError as error:
        print(f"certpca: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except BrokenPipeError:  # the reader of a pipe went away: nothing is left to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # such as a full disk behind standard output
        print(f"certpca: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        print("certpca: interrupted before there was an answer", file=sys.stderr)
        return 130
    except MemoryError:
        print("certpca: out of memory; use fewer features or a machine with more", file=sys.stderr)
        return EXIT_BAD_INPUT


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="certpca", description="Sparse principal component analysis with a proof attached.")
    parser.add_argument("--version", action="version", version=f"certpca {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True, parser_class=_Parser)

    demo = commands.add_parser("demo", help="run every method on embedded data and compare them")
    demo.add_argument("-k", "--sparsity", type=int, default=DEMO_SPARSITY, help="number of nonzero loadings")
    demo.set_defaults(run=_demo)

    listing = commands.add_parser("solvers", help="list the solvers")
    listing.set_defaults(run=_solvers)

    solve = commands.add_parser(
        "solve",
        help="find a sparse component of a data file",
        epilog="Formats: csv, tsv, txt, npy, npz, parquet, mtx (Matrix Market).",
    )
    solve.add_argument("file", help="samples x features, or a covariance matrix with --covariance")
    solve.add_argument("-k", "--sparsity", type=int, required=True, help="largest number of nonzero loadings")
    solve.add_argument("--covariance", action="store_true", help="the file holds a covariance or correlation matrix")
    solve.add_argument("--correlation", action="store_true", help="scale columns to unit variance")
    solve.add_argument("--uncentred", action="store_true", help="do not subtract column means")
    solve.add_argument("--missing", choices=("error", "mean"), default="error", help="what to do with missing values")
    solve.add_argument("--array", help="name of the array in an npz archive")
    solve.add_argument("--solver", default="auto", help="see `certpca solvers`")
    solve.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the solver, such as epsilon=0.5"
    )
    solve.add_argument("--no-refit", action="store_true", help="keep the algorithm's own loadings")
    solve.add_argument("--time-limit", type=float, metavar="SECONDS", help="return the best answer found by then")
    solve.add_argument("--seed", type=int, default=0, help="seed of random starts (default 0)")
    solve.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    solve.add_argument("--output", metavar="FILE", help="also write the result to a JSON file")
    solve.set_defaults(run=_solve)
    return parser


def _solve(options: argparse.Namespace) -> int:
    from certpca.api import solve
    from certpca.budget import Budget
    from certpca.datasets import load_table
    from certpca.present.terminal import live_progress, print_solution
    from certpca.solvers import solver_named
    from certpca.storage import save_solution, solution_to_dict

    solver = solver_named(options.solver, **_settings(options.set))
    budget = Budget() if options.time_limit is None else Budget(seconds=options.time_limit)
    table = load_table(options.file, array=options.array)
    preparation: dict[str, Any] = {"names": table.names}
    if options.covariance:
        preparation["covariance"] = True
        for flag in ("correlation", "uncentred"):
            if getattr(options, flag):
                msg = f"--covariance uses the matrix as it is; --{flag} cannot be applied to it"
                raise _usage_error(msg)
        if options.missing != "error":
            msg = "--covariance uses the matrix as it is; --missing cannot be applied to it"
            raise _usage_error(msg)
    else:
        preparation |= {
            "center": not options.uncentred,
            "scale": options.correlation,
            "missing": options.missing,
        }
    with live_progress() as listener:
        solution = solve(
            table.data,
            options.sparsity,
            solver,
            refit=not options.no_refit,
            rng=options.seed,
            budget=budget,
            listener=listener,
            **preparation,
        )
    if options.json:
        json.dump(solution_to_dict(solution), sys.stdout)
        sys.stdout.write("\n")
    else:
        print_solution(solution, sys.stdout)
    if options.output:  # last: an answer that cannot be written has at least been shown
        save_solution(solution, options.output)
    return 0


def _demo(options: argparse.Namespace) -> int:
    from certpca.api import solve
    from certpca.datasets import pitprops
    from certpca.present.terminal import print_comparison
    from certpca.solvers import available_solvers

    problem = pitprops()
    rows = []
    for name in available_solvers():
        solve(problem, options.sparsity, name)  # the first call loads libraries: not what is timed
        own = solve(problem, options.sparsity, name, refit=False)
        solution = solve(problem, options.sparsity, name)
        rows.append(replace(solution, matrix="pit props correlation matrix", details={"own_objective": own.objective}))
    print_comparison(rows, sys.stdout)
    return 0


def _solvers(options: argparse.Namespace) -> int:
    from certpca.present.terminal import print_solvers

    del options
    print_solvers(sys.stdout)
    return 0


def _settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE pairs; values are JSON where they can be, text otherwise."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        if not separator or not name:
            msg = f"--set needs NAME=VALUE, got {pair!r}"
            raise _usage_error(msg)
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = text
        settings[name.replace("-", "_")] = tuple(value) if isinstance(value, list) else value
    return settings


def _usage_error(message: str) -> CertpcaError:
    from certpca.errors import InvalidProblemError

    return InvalidProblemError(message)


if __name__ == "__main__":
    sys.exit(main())
