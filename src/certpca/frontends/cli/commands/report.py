"""`certpca report`: write a report on a result."""

import argparse
from typing import Any

from certpca.frontends.cli.options import (
    SCALINGS,
    add_preparation_options,
    add_sparsities_option,
    preparation,
    seconds,
    usage_error,
)
from certpca.frontends.cli.output import EXIT_REFUSED, complain
from certpca.frontends.cli.reading_options import read_table, typed_again

HELP = "write a report on a result: HTML, Markdown or a picture"
READS_FILES = True
EXAMPLES = (
    "certpca report result.json --data data.csv",
    "certpca report result.json --data data.csv --labels group --sparsities 5:50:5 --output report.html",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Describe the options."""
    command.add_argument("result", help="JSON file written by solve --output or decompose --output")
    command.add_argument("--data", metavar="FILE", help="the data: verifies the certificate and shows scores")
    add_preparation_options(command)
    command.add_argument("--path", metavar="FILE", help="JSON file written by path --output")
    add_sparsities_option(command, text="compute and certify a path now")
    command.add_argument(
        "--metadata", metavar="FILE", help="a table with a line for each sample: what components go with"
    )
    labels = "labels of samples: a column of the metadata or of the data, or a file"
    command.add_argument("--labels", metavar="FILE or NAME", help=labels)
    command.add_argument("--sample-names", metavar="FILE or NAME", help="names of samples, likewise, shown on pointing")
    command.add_argument("--subsamples", type=int, metavar="N", help="also say what so many half-samples find again")
    command.add_argument("--genes", action="store_true", help="features are genes: link their names")
    command.add_argument(
        "--output", metavar="FILE", help="html, md, png or svg (default: the result's name with .html)"
    )
    command.add_argument("--format", choices=("html", "markdown", "png", "svg"), help="whatever the ending of --output")
    command.add_argument("--title", help="a heading of your own")
    command.add_argument("--largest", type=int, default=30, metavar="N", help="loadings to draw (default 30)")
    command.add_argument(
        "--time-limit",
        type=seconds,
        default=30.0,
        metavar="SECONDS",
        help="for all of it, above all a second component and a path (default 30)",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from pathlib import Path

    from certpca.frontends.cli.command_run import CommandRun
    from certpca.frontends.report import Files, write_report
    from certpca.results.component_files import load_result
    from certpca.results.component_set import ComponentSet
    from certpca.results.files import certificate_beside, load_path

    run = CommandRun(options.time_limit, proving=False)
    solution = load_result(options.result)
    target = options.output or str(Path(options.result).with_suffix(_ENDINGS[options.format or "html"]))
    path = load_path(options.path) if options.path else None
    files = Files(
        result=options.result,
        certificate="" if solution.certificate is None else str(certificate_beside(options.result)),
        data=options.data or "",
        path=options.path or "",
        data_options=tuple(data_options(options)),
        reading_options=tuple(typed_again(options)),
    )
    given: dict[str, Any] = {}
    if options.data:
        table = read_table(options, options.data, solution.reading)
        given = {"data": table.data, **preparation(options, table)}
        given |= _about_samples(options, table.data.shape[0])
    else:
        flags = ("labels", "sample-names", "metadata", "sparsities", "subsamples")
        idle = [*files.data_options, *(f"--{flag}" for flag in flags if getattr(options, flag.replace("-", "_")))]
        if idle:
            msg = f"{idle[0]} is about the data; name them with --data"
            raise usage_error(msg)
    several = isinstance(solution, ComponentSet)
    for flag in ("path", "sparsities", "subsamples") if several else ():
        if getattr(options, flag):
            msg = f"--{flag} has no effect in a report on several components"
            raise usage_error(msg)
    given |= {} if several else {"path": path, "sparsities": options.sparsities, "subsamples": options.subsamples}
    with run.until_signalled(), run.shown() as progress:
        facts = write_report(
            solution,
            target,
            form=options.format,
            title=options.title,
            largest=options.largest,
            genes=options.genes,
            files=files,
            budget=progress,
            **given,
        )
    print(f"wrote {target}")
    if facts.refusal:
        complain(f"refused: {facts.refusal}")
        return EXIT_REFUSED
    return run.end()


def _about_samples(options: argparse.Namespace, samples: int) -> dict[str, Any]:
    """Read what else is known of the samples."""
    from certpca.frontends.report import read_labels, read_metadata

    metadata = read_metadata(options.metadata, samples) if options.metadata else None
    about: dict[str, Any] = {} if metadata is None else {"metadata": metadata}
    for name in ("labels", "sample_names"):
        where = getattr(options, name)
        if where and metadata is not None and where in metadata:
            about[name] = metadata[where]
        elif where:
            about[name] = read_labels(where, options.data, samples)
    return about


_ENDINGS = {"html": ".html", "markdown": ".md", "png": ".png", "svg": ".svg"}


_TYPED_FLAGS = ("covariance", *SCALINGS)


def data_options(options: argparse.Namespace) -> list[str]:
    """Return the options about the data as one would type them."""
    typed = [f"--{flag}" for flag in _TYPED_FLAGS if getattr(options, flag.replace("-", "_"))]
    typed += ["--missing", options.missing] if options.missing != "error" else []
    typed += ["--sample-weight", options.sample_weight] if options.sample_weight else []
    return [*typed, *typed_again(options)]
