"""`certpca transform`: scores of samples, old or new, on the components of a stored result."""

import argparse
import json
import sys

from certpca.frontends.cli.options import add_output_option
from certpca.frontends.cli.reading_options import add_file_options, read_table
from certpca.frontends.cli.result_files import JSON, TABLES

HELP = "scores of new samples on the components of a stored result"
READS_FILES = True
EXAMPLES = (
    "certpca transform result.json new.csv --output scores.csv",
    "certpca transform set.json cohort.bed --missing mean --output scores.parquet",
    "certpca transform result.json new.csv | head",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Describe the options."""
    command.add_argument("result", help="JSON file written by solve --output or decompose --output")
    command.add_argument("file", help="samples x features; columns are found by name where there are names")
    command.add_argument(
        "--method",
        choices=("projection", "regression"),
        default="projection",
        help="products with the loadings (default), or least-squares scores, which rebuild the samples best",
    )
    command.add_argument(
        "--missing", choices=("error", "mean"), default="error", help="mean: as in the data of the result"
    )
    add_file_options(command)
    command.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_output_option(command, "the scores, which are else printed", (TABLES, JSON))


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from pathlib import Path

    from certpca.frontends.cli.output import print_json
    from certpca.frontends.cli.result_files import as_text, kind_of, write_tables
    from certpca.results.component_files import load_result
    from certpca.results.tidy import scores_frame
    from certpca.runtime.atomic_write import write_text_whole
    from certpca.verbs.transform import transform

    result = load_result(options.result)
    # Filters of samples were about the data then; how a file is laid out, it shows itself.
    table = read_table(options, options.file, {})
    scores = transform(table.data, result, method=options.method, missing=options.missing, names=table.names)
    frame = scores_frame(scores, table.sample_names)
    fields = {
        "format": "certpca scores 1",
        "method": options.method,
        "samples": None if table.sample_names is None else list(table.sample_names),
        "scores": scores.tolist(),
    }
    for file in options.output or ():
        if kind_of(file) == JSON:
            write_text_whole(file, json.dumps(fields, indent=1) + "\n")
        else:
            write_tables({"": frame}, Path(file))
    if options.json:
        print_json({**fields, "understood": table.understood, "warnings": list(table.remarks)})
    elif not options.output:
        sys.stdout.write(as_text(frame))
    else:
        print(f"{scores.shape[0]} samples, {scores.shape[1]} component{'s' if scores.shape[1] > 1 else ''}")
    return 0
