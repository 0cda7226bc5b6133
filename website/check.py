"""Follow every link of the built site, without a browser and without a network.

python -m website.check site
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import certpca
from website import public_names

LOADED = {
    "script": "src",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "source": "src",
}  # what a browser fetches by itself
LINKED = ("canonical", "alternate")  # of which it fetches nothing


class Page(HTMLParser):
    """What a page links to, loads, and offers as anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, loads or names."""
        given = dict(attrs)
        self.anchors |= {given[key] or "" for key in ("id", "name") if key in given}
        if tag == "a" and given.get("href") is not None:
            self.links.append(given["href"] or "")
        if tag in LOADED and given.get(LOADED[tag]) and given.get("rel") not in LINKED:
            self.loaded.append(given[LOADED[tag]] or "")


def complaints(site: Path) -> Iterator[str]:
    """Say which links lead nowhere, what is fetched from elsewhere, and which public names have no place."""
    site = site.resolve()
    pages = {file: Page(file.read_text(encoding="utf-8")) for file in sorted(site.rglob("*.html"))}
    if not pages:
        yield f"{site} has no pages"
    for file, page in pages.items():
        here = file.relative_to(site)
        if here.name == "404.html":
            continue  # its links begin at the root of a server
        for address in page.links + page.loaded:
            wrong = _wrong(address, file, pages)
            if wrong:
                yield f"{here}: {wrong}: {address}"
        for address in page.loaded:
            if urlsplit(address).netloc:
                yield f"{here}: is not whole by itself, it loads {address}"
    for name in sorted({*certpca.__all__, *public_names.ELSEWHERE}):
        address = public_names.page_of(name)
        path, anchor = address.split("#")
        target = pages.get(site / path.replace(".md", ".html"))
        if target is None or anchor not in target.anchors:
            yield f"certpca.{name} has no place in the reference ({address})"


def _wrong(address: str, file: Path, pages: dict[Path, Page]) -> str | None:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return "no such file"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        return "no such place on the page"
    return None


def main(arguments: list[str]) -> int:
    """Print what is wrong, and return an exit status."""
    found = [
        f"a public name is in no group, or a group has one that is not public: {n}"
        for n in public_names.missing_names()
    ]
    found += complaints(Path(arguments[0]))
    for line in found:
        print(line)
    pages = len(list(Path(arguments[0]).rglob("*.html")))
    print(f"{pages} pages, {len(found)} complaints")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
