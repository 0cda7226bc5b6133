"""Public names that pages mention lead to the reference; what stands under See Also is a list of such names."""

import posixpath
import re

import certpca
from website.public_names import page_of

NAMES = "|".join(sorted(certpca.__all__, key=len, reverse=True))
# `certpca.solve`, `certpca.solve(X, 5)`, `SparsePCA`; a word such as `path` alone stands for other things too.
MENTION = re.compile(
    rf"<code>(?:certpca\.(?P<full>tl\.spca|{NAMES})|(?P<short>(?=[A-Z]|[a-z]+_)(?:{NAMES})))(?:\([^<]*\))?</code>"
)
LEFT_ALONE = re.compile(r"(<a\b.*?</a>|<h\d\b.*?</h\d>|<pre.*?</pre>)", re.DOTALL)
SEE_ALSO = re.compile(r'(<details class="see-also" open>\s*<summary>See Also</summary>\s*)<p>(.*?)</p>', re.DOTALL)
ENTRY = re.compile(r"([A-Za-z_.]+(?:, [A-Za-z_.]+)*) : (.*)")
# Griffe takes the first of {array_like, sparse matrix} for the default.
NO_DEFAULT = re.compile(
    r"(<code>array_like, [^<]*</code>), default:\s*<code>(?:<span[^>]*>)?array_like(?:</span>)?</code>"
)


def linked(html: str, page: str) -> str:
    """Return a page on which names of the reference are links to it."""
    html = SEE_ALSO.sub(lambda found: found[1] + _entries(found[2], page), NO_DEFAULT.sub(r"\1", html))
    parts = LEFT_ALONE.split(html)
    parts[::2] = [MENTION.sub(lambda found: _anchored(found, page), part) for part in parts[::2]]
    return "".join(parts)


def _anchored(found: re.Match[str], page: str) -> str:
    return f'<a href="{_address(found["full"] or found["short"], page)}">{found[0]}</a>'


def _entries(text: str, page: str) -> str:
    items: list[str] = []
    for line in text.split("\n"):
        entry = ENTRY.fullmatch(line)
        if entry:
            names = ", ".join(_named(name, page) for name in entry[1].split(", "))
            items.append(f"{names}: {entry[2]}")
        elif items:
            items[-1] += f" {line}"
        else:
            return f"<p>{text}</p>"
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def _named(name: str, page: str) -> str:
    code = f"<code>{name}</code>"
    known = name.removeprefix("certpca.")
    if known not in certpca.__all__ and known != "tl.spca":
        return code
    return f'<a href="{_address(known, page)}">{code}</a>'


def _address(name: str, page: str) -> str:
    return posixpath.relpath(page_of(name).replace(".md#", ".html#"), posixpath.dirname(page) or ".")
