"""Pages that are scripts: code blocks that are run from top to bottom, with what they print below them."""

import contextlib
import io
from typing import Any

from experiments import pages


def executed(steps: list[tuple[str, str]], known: dict[str, Any]) -> list[dict[str, str]]:
    """Run code blocks one after the other, in one namespace, and return each with its words and what it printed."""
    done = []
    pages.pyplot()
    for words, code in steps:
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            exec(compile(code, "a step of the page", "exec"), known)
        done.append({"words": words, "code": code, "output": told.getvalue().rstrip()})
    return done


def written(done: list[dict[str, str]]) -> list[str]:
    """Lay executed steps out as the lines of a page."""
    lines = []
    for step in done:
        lines += ["", step["words"], "", "```python", step["code"].strip(), "```"]
        if step["output"]:
            lines += ["", "```", step["output"], "```"]
    return lines
