"""`certpca schema`: print the JSON Schema of what certpca writes and prints."""

import argparse
import sys

HELP = "print the JSON Schema of a kind of result"
READS_FILES = False
EXAMPLES = ("certpca schema solution > solution.schema.json",)


def add_options(command: argparse.ArgumentParser) -> None:
    """Describe the options."""
    from certpca.results.json_schemas import DOCUMENTS

    command.add_argument("kind", choices=tuple(DOCUMENTS), help="which")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from certpca.results.json_schemas import FOLDER

    sys.stdout.write((FOLDER / f"{options.kind}.json").read_text(encoding="utf-8"))
    return 0
