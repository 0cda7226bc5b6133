"""`certpca info`: what was understood of a file, and what an analysis of it will take."""

import argparse
import sys
from typing import Any

from certpca.frontends.cli.options import add_preparation_options
from certpca.frontends.cli.reading_options import read_table

HELP = "say what is in a file, and what an analysis of it will take"
READS_FILES = True
EXAMPLES = (
    "certpca info data.csv",
    "certpca info cells.h5ad --array counts --memory 1",
    "certpca info cohort.bed --maf 0.01 --hardy-weinberg --json",
)
SHOWN = 5  # names in a line


def add_options(command: argparse.ArgumentParser) -> None:
    """Describe the options."""
    command.add_argument("file", help="samples x features, or a covariance matrix with --covariance")
    add_preparation_options(command)
    command.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from certpca.frontends.cli.output import print_json

    table = read_table(options, options.file)
    facts = _facts(options, table)
    if options.json:
        print_json({**facts, "understood": table.understood, "warnings": list(table.remarks)})
    else:
        _show(facts)
    return 0


def _facts(options: argparse.Namespace, table: Any) -> dict[str, Any]:
    """Look at the data once, and time a product with them."""
    import numpy as np

    from certpca.frontends.cli.expectations import expected
    from certpca.frontends.cli.options import preparation
    from certpca.intake import as_operator
    from certpca.intake.data import spread_and_missing
    from certpca.intake.inputs import values_and_names
    from certpca.runtime.array_kinds import is_sparse, require_table
    from certpca.runtime.arrays import to_vector

    given = preparation(options, table)
    values, _ = values_and_names(table.data)
    require_table(values)
    if options.covariance:
        operator = as_operator(values, **given)
        spread, missing = np.sqrt(to_vector(operator.diagonal())), np.zeros(operator.size, dtype=np.intp)
    else:
        spread, missing = spread_and_missing(values)
        operator = as_operator(values, **{**given, "missing": "mean"})  # what is missing is told
    time = expected(operator, operator.source().values)
    names = table.names
    return {
        "format": "certpca info 1",
        "file": options.file,
        "samples": None if options.covariance else int(values.shape[0]),
        "features": int(operator.size),
        "type": str(values.dtype),
        "sparse": is_sparse(operator.source().values),
        "stays_in_file": bool(operator.cost.given_in_file),
        "feature_names": None if names is None else list(names[:SHOWN]),
        "sample_names": None if table.sample_names is None else list(table.sample_names[:SHOWN]),
        "missing": int(missing.sum()),
        "features_with_missing": int((missing > 0).sum()),
        "constant_features": int((spread == 0).sum()),
        "smallest_deviation": float(spread[spread > 0].min()) if (spread > 0).any() else 0.0,
        "largest_deviation": float(spread.max()),
        "matrix": operator.description,
        "memory_bytes": time.bytes,
        "product_seconds": time.product_seconds,
        "search_seconds": list(time.search_seconds),
        "checking_seconds": time.checking_seconds,
    }


def _show(facts: dict[str, Any]) -> None:
    """Print the facts for people."""
    from rich.table import Table

    from certpca.frontends.cli.expectations import duration, in_words
    from certpca.frontends.cli.terminal import console_for
    from certpca.frontends.plain_text import one_line

    def named(names: list[str] | None, count: int | None) -> str:
        if names is None:
            return "none"
        more = f", … ({count:,})" if count is not None and count > len(names) else ""
        return one_line(", ".join(names)) + more

    rows = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    samples = facts["samples"]
    if samples is not None:
        rows.add_row("samples × features", f"{samples:,} × {facts['features']:,}")
        rows.add_row("names of samples", named(facts["sample_names"], samples))
    else:
        rows.add_row("features", f"{facts['features']:,}")
    rows.add_row("names of features", named(facts["feature_names"], facts["features"]))
    where = "stays in the file" if facts["stays_in_file"] else "in memory"
    rows.add_row("numbers", f"{facts['type']}{', sparse' if facts['sparse'] else ''}, {where}")
    holes = f"{facts['missing']:,}, in {facts['features_with_missing']:,} features (--missing mean fills them)"
    rows.add_row("missing values", holes if facts["missing"] else "none")
    if facts["constant_features"]:
        rows.add_row("constant features", f"{facts['constant_features']:,}, which no component uses")
    low, high = facts["smallest_deviation"], facts["largest_deviation"]
    scale = f"standard deviations from {low:.3g} to {high:.3g}"
    rows.add_row("scale", scale + ("; --correlation makes them equal" if low and high > 10 * low else ""))
    rows.add_row("matrix", one_line(facts["matrix"]))
    rows.add_row("memory", f"about {in_words(facts['memory_bytes'])}")
    fastest, slowest = facts["search_seconds"]
    least, most = duration(fastest), duration(slowest)
    rows.add_row("time of solve", f"{least} to {most}" if least != most else least)
    checking = duration(facts["checking_seconds"])
    rows.add_row("time of proofs", f"until --time-limit (600 s by default); then to read the data again, {checking}")
    console_for(sys.stdout).print(rows)
