"""Text that users or files brought, made harmless to terminals and pages."""

import re

# Not allowed in HTML or XML or, for lone surrogates, in any file, or obeyed by terminals; and signs that turn the
# direction of the text after them.
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def visible(text: str) -> str:
    """Put a sign in the place of characters that would do something instead of being shown; lines stay lines."""
    return FORBIDDEN.sub("\ufffd", text)


def one_line(text: str) -> str:
    """Put a text on one line and make it visible."""
    return visible(re.sub(r"[\t\r\n\u2028\u2029]+", " ", text))
