"""Options that several commands share, and what they mean."""

import argparse
from collections.abc import Sequence
from typing import Any

from certpca.frontends.cli.constraint_options import add_weight_option, weights_given
from certpca.frontends.cli.ranges import numbers
from certpca.frontends.cli.reading_options import add_file_options
from certpca.frontends.cli.result_files import JSON, REPORT, TABLES
from certpca.runtime.errors import CertpcaError

SCALINGS = ("correlation", "hardy-weinberg", "uncentred")


def add_data_options(command: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add the file, the sparsity and how data become a matrix."""
    command.add_argument("file", help="samples x features, or a covariance matrix with --covariance")
    if several:
        add_sparsities_option(command, required=True)
    else:
        command.add_argument("-k", "--sparsity", type=int, required=True, help="largest number of nonzero loadings")
    add_preparation_options(command)


def add_sparsities_option(
    command: argparse.ArgumentParser, *, required: bool = False, text: str = "numbers of nonzero loadings"
) -> None:
    """Add several sparsities."""
    command.add_argument(
        "--sparsities", type=numbers, required=required, metavar="5,10,20:50:10", help=f"{text}, ranges among them"
    )


def scale(options: argparse.Namespace) -> bool | str:
    """Return how columns are scaled."""
    return "2pq" if options.hardy_weinberg else bool(options.correlation)


def refuse_preparation(options: argparse.Namespace, flags: Sequence[str]) -> None:
    """Refuse options that a matrix given as such leaves nothing to do for."""
    for flag in flags:
        if getattr(options, flag.replace("-", "_")):
            msg = f"--covariance uses the matrix as it is; --{flag} cannot be applied to it"
            raise usage_error(msg)


def add_preparation_options(command: argparse.ArgumentParser) -> None:
    """Add how data become a matrix."""
    command.add_argument("--covariance", action="store_true", help="the file holds a covariance or correlation matrix")
    add_scaling_options(command)
    add_weight_option(command)
    command.add_argument("--device", help="where to compute, such as cuda (needs torch or CuPy)")
    command.add_argument("--missing", choices=("error", "mean"), default="error", help="what to do with missing values")
    add_file_options(command)


def add_scaling_options(command: argparse.ArgumentParser) -> None:
    """Add how columns are centred and scaled."""
    command.add_argument("--correlation", action="store_true", help="scale columns to unit variance")
    command.add_argument(
        "--hardy-weinberg", action="store_true", help="divide genotypes (0, 1, 2) by √(2p(1 - p)), as geneticists do"
    )
    command.add_argument("--uncentred", action="store_true", help="do not subtract column means")


def _device(options: argparse.Namespace) -> dict[str, Any]:
    return {} if options.device is None else {"device": options.device}


def add_proof_options(command: argparse.ArgumentParser) -> None:
    """Add when a proof ends."""
    command.add_argument("--target-gap", type=float, help="gap at which a proof ends (default 0.01)")
    command.add_argument(
        "--time-limit",
        type=seconds,
        metavar="SECONDS",
        help="return the best found by then, proof included (default: none, and 600 for proofs without --checkpoint)",
    )


def add_checkpoint_option(command: argparse.ArgumentParser) -> None:
    """Add where a run keeps its state."""
    command.add_argument(
        "--checkpoint", metavar="DIR", help="keep the state of the run there; the same command then goes on from it"
    )


def add_result_options(
    command: argparse.ArgumentParser, what: str = "", kinds: Sequence[str] = (JSON, TABLES, REPORT)
) -> None:
    """Add what becomes of the answer."""
    command.add_argument("--seed", type=int, default=0, help="seed of random starts (default 0)")
    command.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    if what:
        add_output_option(command, what, kinds)


def add_output_option(command: argparse.ArgumentParser, what: str, kinds: Sequence[str]) -> None:
    """Add the files that an answer goes to; `--output` may be given several times."""
    said = {
        JSON: ".json",
        TABLES: ".csv, .tsv or .parquet for tidy tables",
        REPORT: ".html for a report",
    }
    command.add_argument(
        "--output",
        action="append",
        metavar="FILE",
        help=f"also write {what}: {', '.join(said[kind] for kind in kinds)}; may be given again",
    )
    command.set_defaults(output_kinds=tuple(kinds))


def seconds(text: str) -> float:
    """Read a limit on time."""
    return float("inf") if text == "none" else float(text)


def preparation(options: argparse.Namespace, table: Any) -> dict[str, Any]:
    """Say how the table of a file becomes a matrix."""
    origin = {"names": table.names, "reading": table.reading}
    if not options.covariance:
        return {
            **origin,
            "center": not options.uncentred,
            "scale": scale(options),
            "missing": options.missing,
            **weights_given(options),
            **_device(options),
        }
    refuse_preparation(options, (*SCALINGS, "sample-weight"))
    if options.missing != "error":
        msg = "--covariance uses the matrix as it is; --missing cannot be applied to it"
        raise usage_error(msg)
    return {**origin, "covariance": True, **_device(options)}


def usage_error(message: str) -> CertpcaError:
    """Say what was wrong about the options."""
    from certpca.runtime.errors import InvalidProblemError

    return InvalidProblemError(message)
