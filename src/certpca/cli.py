"""The command `certpca`."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn

from certpca import __version__
from certpca.errors import CertpcaError
from certpca.reading_options import about_table, add_file_options, read_table, typed_again

EXIT_REFUSED = 1
EXIT_BAD_INPUT = 2
DEMO_SPARSITY = 7
SCALINGS = ("correlation", "hardy-weinberg", "uncentred")


class _Parser(argparse.ArgumentParser):
    """Errors in one line, and a pointer to the help."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_BAD_INPUT, f"certpca: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        _require_writable(options)
        status = int(options.run(options))
        sys.stdout.flush()  # a broken pipe shows here, not when Python exits
        return status
    except CertpcaError as error:
        _complain(error)
        return EXIT_BAD_INPUT
    except BrokenPipeError:  # the reader of a pipe went away: nothing is left to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # such as a full disk behind standard output
        _complain(error)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        print("certpca: interrupted before there was an answer", file=sys.stderr)
        return 130
    except MemoryError:
        print("certpca: out of memory; use fewer features or a machine with more", file=sys.stderr)
        return EXIT_BAD_INPUT


def _require_writable(options: argparse.Namespace) -> None:
    """Notice before the computation what could not be written after it."""
    from certpca.whole_files import require_writable, require_writable_folder

    for name in ("output", "plot"):
        if getattr(options, name, None) is not None:
            require_writable(getattr(options, name))
    if getattr(options, "plot", None) is not None:
        from certpca.present.figures import require_drawable

        require_drawable(options.plot)
    if getattr(options, "checkpoint", None) is not None:
        require_writable_folder(options.checkpoint)


def _complain(about: object) -> None:
    """Say in one line what was wrong; some of it may come from a file, so none of it may be a command to a terminal."""
    from certpca.present.plain_text import one_line

    print(f"certpca: {one_line(str(about))}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="certpca", description="Sparse principal component analysis with a proof attached.")
    parser.add_argument("--version", action="version", version=f"certpca {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True, parser_class=_Parser)

    demo = commands.add_parser("demo", help="run every method on embedded data and compare them")
    demo.add_argument("-k", "--sparsity", type=int, default=DEMO_SPARSITY, help="number of nonzero loadings")
    demo.set_defaults(run=_demo)

    listing = commands.add_parser("solvers", help="list the solvers")
    listing.set_defaults(run=_solvers)

    formats = (
        "Formats: csv, tsv, txt (also packed: gz, xz, bz2, zst), npy, npz, parquet, h5ad (AnnData), zarr, mtx (Matrix "
        "Market), bed (PLINK), series_matrix.txt (GEO)."
    )
    solve = commands.add_parser("solve", help="find a sparse component of a data file", epilog=formats)
    _add_data_options(solve)
    solve.add_argument("--solver", default="auto", help="see `certpca solvers`")
    solve.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the solver, such as epsilon=0.5"
    )
    solve.add_argument("--no-refit", action="store_true", help="keep the algorithm's own loadings")
    solve.add_argument("--certify", action="store_true", help="also prove how far from the optimum the answer can be")
    _add_proof_options(solve)
    _add_checkpoint_option(solve)
    _add_result_options(solve, "the result")
    solve.set_defaults(run=_solve)

    along = commands.add_parser("path", help="find sparse components for several sparsities at once", epilog=formats)
    _add_data_options(along, several=True)
    along.add_argument("--certify", action="store_true", help="also prove how far from the optimum each can be")
    along.add_argument("--plot", metavar="FILE", help="draw what is captured and proved (png, svg or pdf)")
    _add_proof_options(along)
    _add_checkpoint_option(along)
    _add_result_options(along, "the path")
    along.set_defaults(run=_path)

    certify = commands.add_parser("certify", help="prove an upper bound for a data file", epilog=formats)
    _add_data_options(certify)
    certify.add_argument("--warm", metavar="FILE", help="start from an earlier certificate of the same data")
    certify.add_argument("--no-branching", action="store_true", help="do not split regions of directions")
    certify.add_argument(
        "--depth", type=int, metavar="D", help="work with D directions of sample space: faster, and looser"
    )
    _add_proof_options(certify)
    _add_checkpoint_option(certify)
    _add_result_options(certify, "the certificate")
    certify.set_defaults(run=_certify)

    verify = commands.add_parser("verify", help="check a certificate against data, trusting nothing", epilog=formats)
    verify.add_argument("certificate", help="JSON file written by certify; its evidence lies beside it")
    verify.add_argument("file", help="the data or the matrix it was made for")
    _add_expectations(verify)
    add_file_options(verify)
    verify.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    verify.set_defaults(run=_verify)

    _add_report(commands, formats)
    return parser


def _add_report(commands: Any, formats: str) -> None:
    report = commands.add_parser(
        "report", help="write a report on a result: HTML, Markdown or a picture", epilog=formats
    )
    report.add_argument("result", help="JSON file written by solve --output")
    report.add_argument("--data", metavar="FILE", help="the data: verifies the certificate and shows scores")
    _add_preparation_options(report)
    report.add_argument("--path", metavar="FILE", help="JSON file written by path --output")
    report.add_argument("--sparsities", type=_numbers, metavar="5,10,20", help="compute and certify such a path now")
    report.add_argument("--labels", metavar="FILE or NAME", help="labels of samples: a file, or a column of the data")
    report.add_argument("--output", metavar="FILE", help="html, md, png or svg (default: the result's name with .html)")
    report.add_argument("--format", choices=("html", "markdown", "png", "svg"), help="whatever the ending of --output")
    report.add_argument("--title", help="a heading of your own")
    report.add_argument("--largest", type=int, default=30, metavar="N", help="loadings to draw (default 30)")
    report.add_argument(
        "--time-limit",
        type=_seconds,
        default=30.0,
        metavar="SECONDS",
        help="for all of it, above all a second component and a path (default 30)",
    )
    report.set_defaults(run=_report)


def _add_data_options(command: argparse.ArgumentParser, *, several: bool = False) -> None:
    command.add_argument("file", help="samples x features, or a covariance matrix with --covariance")
    if several:
        command.add_argument("--sparsities", type=_numbers, required=True, metavar="5,10,20", help="see solve -k")
    else:
        command.add_argument("-k", "--sparsity", type=int, required=True, help="largest number of nonzero loadings")
    _add_preparation_options(command)


def _add_expectations(command: argparse.ArgumentParser) -> None:
    expected = command.add_argument_group(
        "what you expect",
        "How data become a matrix, the certificate says, and the verdict in words of its own. With these options it is "
        "refused where it is about another matrix than `certpca solve` makes with the same ones, or proves less.",
    )
    expected.add_argument("-k", "--sparsity", type=int, help="largest number of nonzero loadings")
    expected.add_argument("--max-gap", type=float, help="the largest gap you accept")
    expected.add_argument("--unscaled", action="store_true", help="the covariance of centred columns")
    expected.add_argument("--correlation", action="store_true", help="columns scaled to unit variance")
    expected.add_argument("--hardy-weinberg", action="store_true", help="genotypes divided by √(2p(1 - p))")
    expected.add_argument("--uncentred", action="store_true", help="column means not subtracted")
    expected.add_argument("--covariance", action="store_true", help="the file holds the matrix itself")
    expected.add_argument("--missing", choices=("error", "mean"), help="error: no missing values were filled")


def _expected(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the reader of a certificate expects, as keywords of `verify`."""
    named = {"sparsity": options.sparsity, "max_gap": options.max_gap, "missing": options.missing}
    expected: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    if options.covariance:
        _refuse_preparation(options, ("unscaled", *SCALINGS))
        return {**expected, "covariance": True}
    if options.unscaled or any(getattr(options, flag.replace("-", "_")) for flag in SCALINGS):
        center = not options.uncentred
        return {**expected, "covariance": False, "center": center, "scale": _scale(options), "ddof": int(center)}
    return expected


def _scale(options: argparse.Namespace) -> bool | str:
    return "2pq" if options.hardy_weinberg else bool(options.correlation)


def _refuse_preparation(options: argparse.Namespace, flags: Sequence[str]) -> None:
    for flag in flags:
        if getattr(options, flag.replace("-", "_")):
            msg = f"--covariance uses the matrix as it is; --{flag} cannot be applied to it"
            raise _usage_error(msg)


def _add_preparation_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--covariance", action="store_true", help="the file holds a covariance or correlation matrix")
    command.add_argument("--correlation", action="store_true", help="scale columns to unit variance")
    command.add_argument(
        "--hardy-weinberg", action="store_true", help="divide genotypes (0, 1, 2) by √(2p(1 - p)), as geneticists do"
    )
    command.add_argument("--uncentred", action="store_true", help="do not subtract column means")
    command.add_argument("--device", help="where to compute, such as cuda (needs torch or CuPy)")
    command.add_argument("--missing", choices=("error", "mean"), default="error", help="what to do with missing values")
    add_file_options(command)


def _device(options: argparse.Namespace) -> dict[str, Any]:
    return {} if options.device is None else {"device": options.device}


def _add_proof_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--target-gap", type=float, default=0.01, help="gap at which a proof ends (default 0.01)")
    command.add_argument(
        "--time-limit",
        type=_seconds,
        metavar="SECONDS",
        help="return the best found by then, proof included (default: none, and 600 for proofs without --checkpoint)",
    )


def _add_checkpoint_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--checkpoint", metavar="DIR", help="keep the state of the run there; the same command then goes on from it"
    )


def _add_result_options(command: argparse.ArgumentParser, what: str = "") -> None:
    command.add_argument("--seed", type=int, default=0, help="seed of random starts (default 0)")
    command.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    if what:
        command.add_argument("--output", metavar="FILE", help=f"also write {what} to a JSON file")


def _seconds(text: str) -> float:
    return float("inf") if text == "none" else float(text)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _preparation(options: argparse.Namespace, table: Any) -> dict[str, Any]:
    """Say how the table of a file becomes a matrix."""
    origin = {"names": table.names, "reading": table.reading}
    if not options.covariance:
        return {
            **origin,
            "center": not options.uncentred,
            "scale": _scale(options),
            "missing": options.missing,
            **_device(options),
        }
    _refuse_preparation(options, SCALINGS)
    if options.missing != "error":
        msg = "--covariance uses the matrix as it is; --missing cannot be applied to it"
        raise _usage_error(msg)
    return {**origin, "covariance": True, **_device(options)}


def _run(options: argparse.Namespace, *, proving: bool) -> Any:
    from certpca.present.command_run import CommandRun

    return CommandRun(options.time_limit, proving=proving and getattr(options, "checkpoint", None) is None)


def _print_json(fields: dict[str, Any]) -> None:
    json.dump(fields, sys.stdout)
    sys.stdout.write("\n")


def _print_passes(data: Any) -> None:
    """Say how often a file was read that is never in memory as a whole."""
    if getattr(data, "passes", 0):
        print(f"the file was read {data.passes:.1f} times")


@contextmanager
def _shown_in_any_case(
    show: Callable[[], object], fields: dict[str, Any], options: argparse.Namespace, table: Any
) -> Iterator[None]:
    """Show an answer after it was written, also where it could not be: broken pipes and full disks lose nothing."""
    try:
        yield
    finally:
        if options.json:
            _print_json({**fields, **about_table(table)})
        else:
            show()
            _print_passes(table.data)


def _solve(options: argparse.Namespace) -> int:
    from certpca.api import solve
    from certpca.present.terminal import print_solution
    from certpca.solvers import solver_named
    from certpca.storage import save_solution, solution_to_dict

    solver = solver_named(options.solver, **_settings(options.set))
    run = _run(options, proving=options.certify)
    table = read_table(options, options.file)
    with run.until_signalled():
        with run.shown() as progress:
            solution = solve(
                table.data,
                options.sparsity,
                solver,
                refit=not options.no_refit,
                rng=options.seed,
                budget=progress,
                certify=options.certify,
                target_gap=options.target_gap,
                checkpoint=options.checkpoint,
                **_preparation(options, table),
            )
        fields = solution_to_dict(solution)
        with _shown_in_any_case(lambda: print_solution(solution, sys.stdout), fields, options, table):
            if options.output:
                save_solution(solution, options.output)
    return int(run.end(sys.stderr if options.json else sys.stdout))


def _path(options: argparse.Namespace) -> int:
    from certpca.present.figures import save_path
    from certpca.sparsity_path import path
    from certpca.storage import save_path as store_path
    from certpca.storage import solution_to_dict

    run = _run(options, proving=options.certify)
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
                **_preparation(options, table),
            )
        fields = {"solutions": [solution_to_dict(solution) for solution in found.solutions]}
        with _shown_in_any_case(lambda: print(found), fields, options, table):
            if options.output:
                store_path(found, options.output)
            if options.plot:
                save_path(found, options.plot)
    return int(run.end(sys.stderr if options.json else sys.stdout))


def _certify(options: argparse.Namespace) -> int:
    from certpca.api import certify
    from certpca.present.terminal import print_certificate
    from certpca.storage import certificate_to_dict, load_certificate, save_certificate

    run = _run(options, proving=True)
    warm = load_certificate(options.warm) if options.warm else None
    table = read_table(options, options.file)
    with run.until_signalled():
        with run.shown() as progress:
            certificate = certify(
                table.data,
                options.sparsity,
                target_gap=options.target_gap,
                branching=not options.no_branching,
                depth=options.depth,
                warm=warm,
                rng=options.seed,
                budget=progress,
                checkpoint=options.checkpoint,
                **_preparation(options, table),
            )
        assert certificate.status is not None
        fields = {**certificate_to_dict(certificate), "status": certificate.status.name}
        with _shown_in_any_case(lambda: print_certificate(certificate, sys.stdout), fields, options, table):
            if options.output:
                save_certificate(certificate, options.output)
    return int(run.end(sys.stderr if options.json else sys.stdout))


def _verify(options: argparse.Namespace) -> int:
    from certpca.api import verify
    from certpca.datasets.reading import as_options
    from certpca.errors import CertificateError
    from certpca.present.terminal import print_proof
    from certpca.storage import load_certificate, proof_to_dict

    certificate = load_certificate(options.certificate)
    expected = _expected(options)
    table = read_table(options, options.file, certificate.reading)
    try:
        proof = verify(certificate, table.data, **expected)
    except CertificateError as error:
        reason = str(error)
        if dict(table.reading) != dict(certificate.reading):
            reason += f"; its file was read with {as_options(certificate.reading) or 'no options'}"
        if options.json:
            _print_json({"proved": False, "reason": reason})
        _complain(reason)
        return EXIT_REFUSED
    if options.json:
        _print_json({**proof_to_dict(proof, certificate, table.reading), "understood": table.understood})
    else:
        print_proof(proof, certificate, as_options(table.reading), sys.stdout)
    return 0


def _report(options: argparse.Namespace) -> int:
    from pathlib import Path

    from certpca.present.report import Files, read_labels, write_report
    from certpca.storage import certificate_beside, load_path, load_solution

    run = _run(options, proving=False)
    solution = load_solution(options.result)
    target = options.output or str(Path(options.result).with_suffix(_ENDINGS[options.format or "html"]))
    path = load_path(options.path) if options.path else None
    files = Files(
        result=options.result,
        certificate="" if solution.certificate is None else str(certificate_beside(options.result)),
        data=options.data or "",
        path=options.path or "",
        data_options=tuple(_typed_again(options)),
        reading_options=tuple(typed_again(options)),
    )
    given: dict[str, Any] = {}
    if options.data:
        table = read_table(options, options.data, solution.reading)
        given = {"data": table.data, **_preparation(options, table)}
        if options.labels:
            given["labels"] = read_labels(options.labels, options.data, table.data.shape[0])
    else:
        idle = [*files.data_options, *(f"--{flag}" for flag in ("labels", "sparsities") if getattr(options, flag))]
        if idle:
            msg = f"{idle[0]} is about the data; name them with --data"
            raise _usage_error(msg)
    with run.until_signalled(), run.shown() as progress:
        facts = write_report(
            solution,
            target,
            path=path,
            sparsities=options.sparsities,
            form=options.format,
            title=options.title,
            largest=options.largest,
            files=files,
            budget=progress,
            **given,
        )
    print(f"wrote {target}")
    if facts.refusal:
        _complain(f"refused: {facts.refusal}")
        return EXIT_REFUSED
    return int(run.end())


_ENDINGS = {"html": ".html", "markdown": ".md", "png": ".png", "svg": ".svg"}
_TYPED_FLAGS = ("covariance", *SCALINGS)


def _typed_again(options: argparse.Namespace) -> list[str]:
    """Return the options about the data as one would type them."""
    typed = [f"--{flag}" for flag in _TYPED_FLAGS if getattr(options, flag.replace("-", "_"))]
    typed += ["--missing", options.missing] if options.missing != "error" else []
    return [*typed, *typed_again(options)]


def _demo(options: argparse.Namespace) -> int:
    from certpca.api import certify, solve
    from certpca.budget import Budget
    from certpca.datasets import pitprops
    from certpca.present.terminal import print_certificate, print_comparison
    from certpca.solvers import available_solvers

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
