"""`certpca project`: score the samples of a genotype file on markers of a reference."""

import argparse

from certpca.frontends.cli.output import complain, print_json
from certpca.frontends.cli.reading_options import add_file_options, read_table

HELP = "score samples of a genotype file on the markers of a reference, alleles matched"
READS_FILES = True
EXAMPLES = (
    "certpca project markers.tsv newcomers.bed --output newcomers.eigenvec",
    "certpca project markers.tsv newcomers.pgen --match name --strand same --json",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Describe the options."""
    command.add_argument("markers", help="table written by markers --output")
    command.add_argument("file", help="genotypes of the samples (.bed, .pgen)")
    command.add_argument("--output", metavar="FILE", help="write the scores as PLINK's .eigenvec")
    command.add_argument(
        "--match",
        choices=("position", "name"),
        default="position",
        help="a marker is the variant in the same place (default), or of the same name",
    )
    command.add_argument(
        "--strand",
        choices=("unknown", "same"),
        default="unknown",
        help="unknown (default): letters may be of the other strand, and A/T or C/G markers are left out",
    )
    add_file_options(command)
    command.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from certpca.genotypes.markers import load_markers
    from certpca.verbs.project import project, save_eigenvec

    panel = load_markers(options.markers)
    table = read_table(options, options.file, {})  # all chromosomes, unless the options say something else
    projection = project(panel, table.data, match=options.match, strand=options.strand)
    if options.output:
        save_eigenvec(projection, options.output)
    if projection.doubtful:
        complain("warning: much of a component is on markers that were not found; its scores are doubtful")
    if options.json:
        print_json(
            {
                "samples": projection.samples.names.tolist(),
                "scores": projection.scores.tolist(),
                "markers": dict(projection.counts),
                "coverage": projection.coverage.tolist(),
                "missing": projection.missing,
                "understood": table.understood,
            }
        )
    else:
        print(projection)
    return 0
