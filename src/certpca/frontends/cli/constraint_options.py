"""Options for constraints and sample weights: features by name or index, weights from a file."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certpca.runtime.errors import DataFileError

if TYPE_CHECKING:
    from certpca.results.constraints import Constraints


def add_constraint_options(command: argparse.ArgumentParser) -> None:
    """Add what a component must satisfy besides its sparsity."""
    asked = command.add_argument_group(
        "constraints", "Features go by name, or by index from 0; several stand between commas, or options are repeated."
    )
    asked.add_argument("--include", action="append", metavar="FEATURES", help="features that must be in the support")
    asked.add_argument("--exclude", action="append", metavar="FEATURES", help="features that must not be in it")
    asked.add_argument(
        "--group", action="append", metavar="FEATURES", help="a group: all of it or none; once for each group"
    )
    asked.add_argument("--nonnegative", action="store_true", help="no negative loadings")


def add_weight_option(command: argparse._ActionsContainer) -> None:
    """Add how much each sample counts."""
    command.add_argument(
        "--sample-weight", metavar="FILE", help="how much each sample counts: a text file of numbers, or .npy"
    )


def constraints_given(options: argparse.Namespace, names: Sequence[str] | None) -> dict[str, Any]:
    """Return what was asked for as keywords of the verbs; nothing where nothing was."""
    given: dict[str, Any] = {}
    for name in ("include", "exclude"):
        if getattr(options, name, None):
            given[name] = [feature for text in getattr(options, name) for feature in _features(text, names)]
    if getattr(options, "group", None):
        given["groups"] = [_features(text, names) for text in options.group]
    if getattr(options, "nonnegative", False):
        given["nonnegative"] = True
    return given


def expected_constraints(options: argparse.Namespace, names: Sequence[str] | None, size: int) -> "Constraints":
    """Return what was asked for as a value, for those who compare it with what a certificate states."""
    from certpca.verbs.constraints import stated

    return stated(size, None if names is None else tuple(names), **constraints_given(options, names))


def weights_given(options: argparse.Namespace) -> dict[str, Any]:
    """Return sample weights as a keyword of the verbs; nothing where there are none."""
    import numpy as np

    if options.sample_weight is None:
        return {}
    file = Path(options.sample_weight)
    try:
        weights = np.load(file, allow_pickle=False) if file.suffix == ".npy" else np.loadtxt(file, ndmin=1)
    except FileNotFoundError as error:
        msg = f"there is no file {options.sample_weight!r} with sample weights"
        raise DataFileError(msg) from error
    except (OSError, ValueError) as error:
        msg = f"{options.sample_weight!r} does not hold sample weights, one number a line: {str(error)[:200]}"
        raise DataFileError(msg) from error
    return {"sample_weight": weights}


def _features(text: str, names: Sequence[str] | None) -> list[str | int]:
    """Read features between commas; a text that is a name as a whole is that, and digits are an index unless a name."""
    known = set(names or ())
    parts = [text] if text in known else [part.strip() for part in text.split(",") if part.strip()]
    return [int(part) if part.isdecimal() and part not in known else part for part in parts]
