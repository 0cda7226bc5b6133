"""What a registry shows: the address of the repository, and a README whose links lead there.

The address is in one place, `[tool.certpca]` of pyproject.toml; CERTPCA_ADDRESS in the environment takes its place, for
those who release from a fork. While it is empty there are no URLs, and links to files, which lead nowhere on a
registry, become plain text.
"""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[((?:[^\[\]]|`[^`]*`)*)\]\((?!https?:|#)([^)]*)\)")


CLONED = "<address of this repository>"


def readme(text: str, address: str, files: str) -> str:
    """Return the README with links that do not depend on where it is shown."""

    def link(match: re.Match[str]) -> str:
        picture, words, path = match.groups()
        if address:
            return f"{picture}[{words}]({files.format(address=address, kind='raw' if picture else 'blob', path=path)})"
        return "" if picture else words

    return LINK.sub(link, text.replace(CLONED, address or CLONED))


def urls(address: str, files: str) -> dict[str, str]:
    """Return the addresses that a registry lists, none where the repository has none."""
    if not address:
        return {}
    changes = files.format(address=address, kind="blob", path="CHANGELOG.md")
    return {"Source": address, "Issues": f"{address}/issues", "Changelog": changes}


class AddressHook(MetadataHookInterface):
    """Fills in `readme` and `urls`, which pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add both to the metadata."""
        root = Path(self.root)
        ours = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["certpca"]
        address = os.environ.get("CERTPCA_ADDRESS", ours["address"]).rstrip("/")
        text = readme((root / "README.md").read_text(encoding="utf-8"), address, ours["files"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = urls(address, ours["files"])
