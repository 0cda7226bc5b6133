"""Examples: scripts in examples/, and what the site makes of them: pages, notebooks and pictures.

A script has cells, as editors and Jupyter know them: `# %%` begins code, `# %% [markdown]` words.
"""

import base64
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "examples"
MARK = re.compile(r"^# %%(.*)$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)]*\)")


class Cell(NamedTuple):
    """A part of a script."""

    code: bool
    text: str


class Output(NamedTuple):
    """What a cell printed, and the pictures it drew, as PNG."""

    text: str
    pictures: tuple[bytes, ...]


def names() -> list[str]:
    """Return the examples."""
    return sorted(file.stem for file in SCRIPTS.glob("*.py"))


def cells(name: str) -> list[Cell]:
    """Return the parts of an example."""
    begin, *parts = MARK.split((SCRIPTS / f"{name}.py").read_text(encoding="utf-8"))
    if begin.strip():
        msg = f"examples/{name}.py: what stands before the first cell is in none"
        raise ValueError(msg)
    found = []
    for head, text in zip(parts[::2], parts[1::2], strict=True):
        if head.strip() == "[markdown]":
            words = "\n".join(line.removeprefix("#").removeprefix(" ") for line in text.strip().splitlines())
            found.append(Cell(False, words))
        elif not head.strip():
            found.append(Cell(True, text.strip()))
        else:
            msg = f"examples/{name}.py: no such cell: # %%{head}"
            raise ValueError(msg)
    return found


def page(name: str, outputs: list[Output], origin: str) -> str:
    """Return an example as Markdown; pictures lie beside it, named by `picture`."""
    lines: list[str] = []
    for number, (cell, output) in enumerate(zip(cells(name), outputs, strict=True)):
        lines += ["```python", *cell.text.splitlines(), "```", ""] if cell.code else [*cell.text.splitlines(), ""]
        if number == 0:
            notebook, script = _download(f"{name}.ipynb", "notebook"), _download(f"{name}.py", "script")
            lines += [f"*Take it with you: {notebook}, {script}. {origin}*", ""]
        if output.text:
            lines += ["```text", *output.text.splitlines(), "```", ""]
        for place in range(len(output.pictures)):
            lines += [f"![drawn by the lines above]({picture(name, number, place)})", ""]
    return "\n".join(lines)


def _download(file: str, words: str) -> str:
    return f'<a href="{file}" download>{words}</a>'


def picture(name: str, number: int, place: int) -> str:
    """Return the file of a picture of a cell."""
    return f"{name}_{number}_{place}.png"


def files(name: str, outputs: list[Output], origin: str) -> dict[str, str | bytes]:
    """Return everything that the site has of an example, by file name: page, pictures, notebook and script."""
    made: dict[str, str | bytes] = {
        f"{name}.md": page(name, outputs, origin),
        f"{name}.ipynb": json.dumps(notebook(name, outputs), indent=1, ensure_ascii=False) + "\n",
        f"{name}.py": (SCRIPTS / f"{name}.py").read_text(encoding="utf-8"),
    }
    for number, output in enumerate(outputs):
        for place, content in enumerate(output.pictures):
            made[picture(name, number, place)] = content
    return made


def notebook(name: str, outputs: list[Output]) -> dict[str, Any]:
    """Return an example as a Jupyter notebook (format 4.5) with its outputs; links to pages are words there."""
    made = []
    count = 0
    for number, (cell, output) in enumerate(zip(cells(name), outputs, strict=True)):
        whole: dict[str, Any] = {"id": f"cell-{number}", "metadata": {}}
        if not cell.code:
            made.append({"cell_type": "markdown", **whole, "source": LINK.sub(r"\1", cell.text)})
            continue
        count += 1
        shown: list[dict[str, Any]] = []
        if output.text:
            shown.append({"output_type": "stream", "name": "stdout", "text": output.text + "\n"})
        for content in output.pictures:
            data = {"image/png": base64.b64encode(content).decode()}
            shown.append({"output_type": "display_data", "data": data, "metadata": {}})
        made.append({"cell_type": "code", **whole, "execution_count": count, "source": cell.text, "outputs": shown})
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {
        "cells": made,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
