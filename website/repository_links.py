"""Links of pages to files of the repository outside docs/: the site has copies, so that it is whole by itself."""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIES = "repository"
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
FENCED = re.compile(r"(```.*?```)", re.DOTALL)


def repository_path(page: str) -> str:
    """Return where a page of the site stands in the repository."""
    if page.startswith("examples/"):
        return page.removesuffix(".md") + ".py"
    return page.removeprefix(f"{COPIES}/") if page.startswith(f"{COPIES}/") else f"docs/{page}"


def site_path(path: str) -> str:
    """Return where the site has a file of the repository; of an example it has a page."""
    if path.startswith("examples/"):
        return path.removesuffix(".py") + ".md"
    return path.removeprefix("docs/") if path.startswith("docs/") else f"{COPIES}/{path}"


def rewritten(markdown: str, page: str) -> str:
    """Return a page whose links lead to copies where they would leave the site."""

    def link(match: re.Match[str]) -> str:
        path = _target(match[2], page)
        if path is None:
            return match[0]
        address = posixpath.relpath(site_path(path), posixpath.dirname(page) or ".")
        return f"{match[1]}{address}{match[3] or ''}{match[4]}"

    parts = FENCED.split(markdown)
    parts[::2] = [LINK.sub(link, part) for part in parts[::2]]
    return "".join(parts)


def targets(markdown: str, page: str) -> set[str]:
    """Return the files outside docs/ that a page links to, as paths of the repository."""
    found = (_target(link[2], page) for part in FENCED.split(markdown)[::2] for link in LINK.finditer(part))
    return {path for path in found if path is not None and not path.startswith(("docs/", "examples/"))}


def _target(address: str, page: str) -> str | None:
    if ":" in address or address.startswith("/"):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(repository_path(page)), address))
    return path if (ROOT / path).is_file() else None
