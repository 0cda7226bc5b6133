"""`certpca completion`: print what lets a shell complete commands and options."""

import argparse
import sys

HELP = "print a script that lets bash, zsh or fish complete commands and options"
READS_FILES = False
EXAMPLES = (
    "source <(certpca completion bash)                                        # now; in ~/.bashrc for good",
    "certpca completion zsh > ~/.zfunc/_certpca                               # a folder of $fpath",
    "certpca completion fish > ~/.config/fish/completions/certpca.fish",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Describe the options."""
    from certpca.frontends.cli.completion import SHELLS

    command.add_argument("shell", choices=tuple(SHELLS), help="which shell")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from certpca.frontends.cli.commands import commands
    from certpca.frontends.cli.completion import SHELLS, described
    from certpca.frontends.cli.main import parser

    sys.stdout.write(SHELLS[options.shell](described(parser(list(commands())))))
    return 0
