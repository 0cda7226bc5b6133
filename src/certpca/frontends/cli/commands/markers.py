"""`certpca markers`: a table, scores and a picture of the markers that a result on genotypes chose."""

import argparse
import sys
from typing import Any

from certpca.frontends.cli.options import SCALINGS, add_scaling_options, scale
from certpca.frontends.cli.output import EXIT_REFUSED, complain, print_json
from certpca.frontends.cli.reading_options import add_file_options, read_table

HELP = "list the markers of a result on genotypes: places, alleles, loadings, and which are proved"
READS_FILES = True
EXAMPLES = (
    "certpca markers panel.json cohort.bed --output markers.tsv --plot markers.png",
    "certpca markers panel.json cohort.bed --eigenvec cohort.eigenvec",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Describe the options."""
    command.add_argument("result", help="JSON file written by solve --output or decompose --output")
    command.add_argument("file", help="the genotypes it was found on (.bed, .pgen); read as they were read for it")
    command.add_argument("--output", metavar="FILE", help="write the table, which `certpca project` scores samples by")
    command.add_argument("--eigenvec", metavar="FILE", help="write the scores of the samples as PLINK does")
    command.add_argument("--plot", metavar="FILE", help="draw loadings along the genome (png, svg or pdf)")
    command.add_argument(
        "--missing", choices=("error", "mean"), help="as for the result; with a certificate not needed"
    )
    add_scaling_options(command)
    add_file_options(command)
    command.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from certpca.frontends.cli.marker_table import print_markers
    from certpca.genotypes.markers import save_markers
    from certpca.plots import save
    from certpca.results.component_files import load_result
    from certpca.results.errors import CertificateError
    from certpca.verbs.marker_panel import marker_panel
    from certpca.verbs.project import save_eigenvec, scored_own

    result = load_result(options.result)
    table = read_table(options, options.file, result.reading)
    try:
        panel = marker_panel(result, table.data, **_prepared(options))
    except CertificateError as error:
        complain(error)
        return EXIT_REFUSED
    if options.output:
        save_markers(panel, options.output)
    if options.eigenvec:
        save_eigenvec(scored_own(panel, table.data, result), options.eigenvec)
    if options.plot:
        save(options.plot, "manhattan", panel, _spans(table.data.variants))
    if options.json:
        print_json({"markers": _rows(panel), "understood": table.understood})
    else:
        print_markers(panel, sys.stdout)
    return 0


def _prepared(options: argparse.Namespace) -> dict[str, Any]:
    """Return how genotypes become a matrix, where the options say so."""
    said = options.missing is not None or any(getattr(options, flag.replace("-", "_")) for flag in SCALINGS)
    if not said:
        return {}
    return {"center": not options.uncentred, "scale": scale(options), "missing": options.missing or "error"}


def _spans(variants: Any) -> dict[str, int]:
    """Return the last position of each chromosome."""
    from certpca.genotypes.chromosomes import plain_names

    plain = plain_names(variants.chromosomes)
    return {name: int(variants.positions[plain == name].max()) for name in dict.fromkeys(plain)}


def _rows(panel: Any) -> list[dict[str, Any]]:
    from certpca.genotypes.markers import WORDS

    return [
        {
            "name": panel.names[row],
            "chromosome": panel.chromosomes[row],
            "position": int(panel.positions[row]),
            "counted": panel.counted[row],
            "other": panel.other[row],
            "mean": float(panel.means[row]),
            "loadings": panel.loadings[row].tolist(),
            "in_every_optimum": [WORDS[int(code)] for code in panel.proved[row]],
        }
        for row in range(panel.size)
    ]
