"""Text that users wrote, made safe for HTML and Markdown."""

import html
import re

from certpca.frontends.plain_text import one_line

# What Markdown or the HTML inside it would read as markup.
MARKUP = re.compile(r"([\\`*_\[\]<>#|~&$])")
LONGEST_NAME = 60  # longer ones lose their middle


plain = one_line


def as_html(text: str) -> str:
    """Escape a text for HTML, inside elements and inside quoted attributes."""
    return html.escape(plain(text), quote=True)


def as_markdown(text: str) -> str:
    """Escape a text for Markdown, tables included."""
    return MARKUP.sub(r"\\\1", plain(text))


def shortened(text: str, most: int) -> str:
    """Cut the middle out of a long text."""
    if len(text) <= most:
        return text
    kept = most - 1
    return f"{text[: (kept + 1) // 2]}…{text[len(text) - kept // 2 :]}"
