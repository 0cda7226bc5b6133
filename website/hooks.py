"""What MkDocs calls while it builds the site (mkdocs.yml names this file)."""

import os
import tomllib
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from website import dialect, examples, executed_examples, mathematics, mentions, public_names, repository_links
from website.repository_links import ROOT

ALWAYS = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "LICENSE")
FONT = "assets/fonts/DejaVuSans.ttf"  # has the signs of mathematics that fonts of browsers may lack


def on_config(config: Any) -> Any:
    """Show where the repository is, if that is known."""
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["certpca"]
    config.repo_url = os.environ.get("CERTPCA_ADDRESS", ours["address"]) or None
    config.edit_uri = None
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add what is not in docs/: the reference, examples, files that pages link to, and a font."""
    for page in public_names.GROUPS:
        files.append(File.generated(config, f"api/{page}.md", content=public_names.page_text(page)))
    files.append(File.generated(config, "api/index.md", content=public_names.index_text()))
    for name, content in executed_examples.made(examples.names()).items():
        files.append(File.generated(config, f"examples/{name}", content=content))
    wanted = {name for name in ALWAYS if (ROOT / name).is_file()}
    for file in files.documentation_pages():
        if not file.src_uri.startswith("api/"):
            wanted |= repository_links.targets(file.content_string, file.src_uri)
    seen: set[str] = set()
    while wanted - seen:
        path = min(wanted - seen)
        seen.add(path)
        if path.endswith(".md"):
            wanted |= repository_links.targets((ROOT / path).read_text(encoding="utf-8"), f"repository/{path}")
        where = repository_links.site_path(path)
        files.append(File.generated(config, where, abs_src_path=str(ROOT / path)))
    files.append(File.generated(config, FONT, abs_src_path=str(_font())))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Let links stay on the site, and formulas be formulas."""
    if page.file.src_uri.startswith("api/"):
        return markdown
    return mathematics.escaped(dialect.with_wide_lists(repository_links.rewritten(markdown, page.file.src_uri)))


def on_page_content(html: str, *, page: Any, **_: Any) -> str:
    """Set mathematics, and let public names lead to the reference."""
    if page.file.src_uri in mathematics.PAGES:
        html = mathematics.typeset(html)
    return mentions.linked(html, page.file.src_uri)


def _font() -> Path:
    from matplotlib import get_data_path

    return Path(get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
