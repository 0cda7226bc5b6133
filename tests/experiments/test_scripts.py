"""Pages that are scripts: what they print stands below the code that printed it, and failures are not hidden."""

import pytest

from experiments import gallery, scripts, text


def test_blocks_share_names_and_keep_what_they_print() -> None:
    done = scripts.executed([("First.", "\na = given + 1\n"), ("Then.", "\nprint(a)\n")], {"given": 1})
    assert [step["output"] for step in done] == ["", "2"]
    lines = scripts.written(done)
    assert lines == ["", "First.", "", "```python", "a = given + 1", "```",
                     "", "Then.", "", "```python", "print(a)", "```", "", "```", "2", "```"]  # fmt: skip


def test_a_block_that_fails_ends_the_page() -> None:
    with pytest.raises(ZeroDivisionError):
        scripts.executed([("No.", "1 / 0")], {})


@pytest.mark.parametrize("code", [code for _, code in text.STEPS] + [code for _, code, _ in gallery.PLOTS.values()])
def test_code_of_the_pages_is_python(code: str) -> None:
    compile(code, "page", "exec")


def test_gallery_shows_every_plot() -> None:
    from certpca.plots import plots

    shown = {name.split("_")[0] for name in gallery.PLOTS}
    assert shown == set(plots()) - {"manhattan"}  # which the page on genetics shows
