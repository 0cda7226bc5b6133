"""Examples run from top to bottom, and become pages and notebooks that say what they printed."""

import base64
import json
from pathlib import Path

import pytest

from website import examples, executed_examples

ROOT = Path(__file__).parents[2]


@pytest.fixture
def small(tmp_path, monkeypatch):
    """An example of three cells, one of which draws."""
    monkeypatch.setattr(examples, "SCRIPTS", tmp_path)
    monkeypatch.setattr(executed_examples, "SCRIPTS", tmp_path)
    monkeypatch.setattr(executed_examples, "CACHE", tmp_path / "cache")
    text = "# %% [markdown]\n# # Title\n#\n# Some [words](../docs/start.md).\n\n# %%\na = 1\nprint(a)\n\n# %%\n"
    text += "from matplotlib import pyplot\n\nfigure, ax = pyplot.subplots()\nprint(a + 1)\n"
    (tmp_path / "small.py").write_text(text)
    return tmp_path / "small.py"


@pytest.mark.timeout(600)  # on a quiet machine each takes some seconds
@pytest.mark.parametrize("name", examples.names())
def test_examples_run_and_become_notebooks(name, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    if name == "cells":
        pytest.importorskip("anndata")
    outputs = executed_examples.run(name)
    made = examples.files(name, outputs, "Here.")
    pictures = [file for file in made if file.endswith(".png")]
    assert pictures
    page = made[f"{name}.md"]
    assert isinstance(page, str)
    assert page.startswith("# ")
    assert page.count("```text") >= 3
    assert all(f"]({picture})" in page for picture in pictures)
    notebook = nbformat.reads(made[f"{name}.ipynb"], as_version=4)
    nbformat.validate(notebook)
    assert [cell.source for cell in notebook.cells if cell.cell_type == "code"] == [
        cell.text for cell in examples.cells(name) if cell.code
    ]
    assert "](../" not in made[f"{name}.ipynb"]


def test_there_are_ten_and_the_site_and_the_readme_have_them_all():
    names = examples.names()
    assert len(names) >= 10
    menu, readme = (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), (ROOT / "README.md").read_text(encoding="utf-8")
    assert not [name for name in names if f"examples/{name}.md" not in menu]
    assert not [name for name in names if f"(examples/{name}.py)" not in readme]


def test_cells_share_names_and_keep_what_they_print_and_draw(small):
    outputs = executed_examples.executed("small")
    assert [output.text for output in outputs] == ["", "1", "2"]
    assert [len(output.pictures) for output in outputs] == [0, 0, 1]
    page = examples.page("small", outputs, "Here.")
    assert "```python\na = 1\nprint(a)\n```\n\n```text\n1\n```" in page
    assert "![drawn by the lines above](small_2_0.png)" in page
    notebook = examples.notebook("small", outputs)
    assert notebook["cells"][0]["source"] == "# Title\n\nSome words."
    assert notebook["cells"][1]["outputs"][0]["text"] == "1\n"
    drawn = notebook["cells"][2]["outputs"][1]["data"]["image/png"]
    assert base64.b64decode(drawn).startswith(b"\x89PNG")


def test_what_was_run_is_kept_until_the_script_changes(small):
    kept = executed_examples._file("small")
    kept.parent.mkdir()
    kept.write_text(json.dumps([{"text": text, "pictures": []} for text in ("", "kept", "")]))
    assert executed_examples.outputs_of("small")[1].text == "kept"
    small.write_text(small.read_text() + "print(3)\n")
    assert executed_examples._file("small") != kept


def test_an_example_that_fails_fails_the_build(small):
    small.write_text("# %%\n1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        executed_examples.executed("small")


@pytest.mark.parametrize("text", ["print(1)\n# %%\n", "# %% [raw]\nx\n"])
def test_what_is_in_no_cell_is_refused(small, text):
    small.write_text(text)
    with pytest.raises(ValueError, match=r"small\.py"):
        examples.cells("small")
