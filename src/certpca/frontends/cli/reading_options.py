"""The command line's options on how a file is read, and what it says about what it read."""

import argparse
import csv
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from certpca.frontends.plain_text import one_line

GENOTYPE_SETTINGS = ("maf", "max_missing", "keep", "remove", "chromosomes", "every")
SETTINGS = ("array", "header", "columns", "drop", "transpose", "names", *GENOTYPE_SETTINGS)
LISTS = ("columns", "drop", "chromosomes")  # written with commas between entries


def add_file_options(command: argparse.ArgumentParser) -> None:
    """Add the options on how a file is read."""
    command.add_argument(
        "--array", help="name of the array in an npz archive or a zarr group, or of a layer in an h5ad file"
    )
    command.add_argument(
        "--memory",
        type=float,
        metavar="GIB",
        help="for data on their way from a file that can be streamed (bed, h5ad, npy, parquet, zarr)",
    )
    command.add_argument(
        "--like", metavar="RESULT", help="read the file as it was read for a stored result (filters, array, columns)"
    )
    table = command.add_argument_group("rows and columns")
    table.add_argument(
        "--header", choices=("yes", "no", "auto"), help="whether the first line of a text table holds names"
    )
    table.add_argument("--columns", metavar="A,B,3:10", help="only these: names, or positions from 1")
    table.add_argument("--drop", metavar="A,B,3:10", help="not these")
    table.add_argument("--transpose", action="store_true", default=None, help="the columns of the file are samples")
    table.add_argument("--names", metavar="FILE", help="names of the features, one on each line")
    genotypes = command.add_argument_group("PLINK files (.bed)")
    genotypes.add_argument("--maf", type=float, help="leave out variants whose rarer allele is rarer than this")
    genotypes.add_argument("--max-missing", type=float, help="leave out variants with a larger share of missing calls")
    genotypes.add_argument("--keep", metavar="FILE", help="only these samples (one on each line)")
    genotypes.add_argument("--remove", metavar="FILE", help="not these samples")
    genotypes.add_argument("--chromosomes", metavar="1,2,X", help="only variants of these")
    genotypes.add_argument("--every", type=int, metavar="N", help="only every nth variant")


def read_table(options: argparse.Namespace, file: str, recorded: Mapping[str, Any] | None = None) -> Any:
    """Read a file as a result records it was read, or as the options say where they say something; tell what it holds.

    Where the options say how data become a matrix, what looks wrong about that is told too.
    """
    from certpca.formats.suspicions import suspicions
    from certpca.formats.tables import load_table
    from certpca.readers.reading import reading_from_json
    from certpca.results.files import load_reading

    about_to_solve = recorded is None
    if options.like:
        recorded = load_reading(options.like)
    settings = {name: getattr(options, name) for name in SETTINGS if getattr(options, name) is not None}
    for name in LISTS:
        if name in settings:
            settings[name] = _entries(settings[name])
    table = load_table(file, memory=options.memory, **{**reading_from_json(recorded or {}), **settings})
    if about_to_solve:
        scaled = options.correlation or options.hardy_weinberg
        doubts = suspicions(table, covariance=options.covariance, scaled=scaled, centred=not options.uncentred)
        table = replace(table, remarks=(*table.remarks, *doubts))
    if not getattr(options, "json", False):  # there it is a field
        for line in (f"{file}: {table.understood}", *(f"certpca: warning: {remark}" for remark in table.remarks)):
            print(one_line(line), file=sys.stderr)
    return table


def about_table(table: Any) -> dict[str, Any]:
    """Return for JSON what was understood of a file, and how often one was read that is never in memory as a whole."""
    passes = {"passes": round(table.data.passes, 2)} if getattr(table.data, "passes", 0) else {}
    return {"understood": table.understood, "warnings": list(table.remarks), **passes}


def typed_again(options: argparse.Namespace) -> list[str]:
    """Return these options as one would type them."""
    typed = []
    for name in ("like", *SETTINGS, "memory"):
        value = getattr(options, name)
        flag = f"--{name.replace('_', '-')}"
        typed += [] if value is None else [flag] if value is True else [flag, str(value)]
    return typed


def _entries(text: str) -> list[str]:
    """Cut at commas; a name that holds one is put in quotes."""
    return next(csv.reader([text], skipinitialspace=True), [])
