"""What the page may do: its own style and its own script, each by its hash, and nothing else, whatever a name tries."""

import base64
from hashlib import sha256


def hashed(text: str) -> str:
    """Return the source expression that allows just this text."""
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


def policy(style: str, script: str) -> str:
    """Return the content policy of a page with this style sheet and this script."""
    return (
        f"default-src 'none'; style-src {hashed(style)}; script-src {hashed(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
