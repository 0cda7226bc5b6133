"""Every command that a page shows is one that the program understands."""

import re
import shlex
from pathlib import Path

import pytest

from certpca.frontends.cli.main import parser

DOCS = Path(__file__).parents[2] / "docs"


def commands(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    shown = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    return [
        line for block in shown for line in re.findall(r"^(?:exec )?certpca ([^#>|\n]*)", block, flags=re.MULTILINE)
    ]


SHOWN = [(page.stem, line) for page in sorted(DOCS.glob("*.md")) for line in commands(page)]


def test_pages_show_commands():
    assert len(SHOWN) > 15


@pytest.mark.parametrize(("page", "line"), SHOWN)
def test_command_is_understood(page, line):
    words = [word for word in shlex.split(line) if word != "…"]
    assert parser(words).parse_known_args(words)[1] == []
