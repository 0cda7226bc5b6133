"""Text that users wrote, made safe for HTML and Markdown."""

import html
import re

# Not allowed in HTML or XML or, for lone surrogates, in any file; and signs that turn the direction of the text
# after them. Line breaks become spaces before.
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
# What Markdown or the HTML inside it would read as markup.
MARKUP = re.compile(r"([\\`*_\[\]<>#|~&$])")


def plain(text: str) -> str:
    """Put a text on one line, with a sign in place of characters that cannot be shown."""
    return FORBIDDEN.sub("\ufffd", re.sub(r"[\t\r\n\u2028\u2029]+", " ", text))


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
