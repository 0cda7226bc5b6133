"""What looks at the built site in a browser sees what is wrong with a page, and nothing else."""

import pytest

from website import in_browser

BROWSER = in_browser.browser()
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
FRAME = "<!DOCTYPE html><body style='margin:0'><article><h1>A</h1>{}</article></body>"


def seen(folder, body: str) -> list[str]:
    (folder / "index.html").write_text(FRAME.format(body))
    assert BROWSER is not None
    return in_browser.complaints(folder, BROWSER)


def test_a_page_that_fits_is_left_alone(tmp_path):
    (tmp_path / "b.html").write_text(FRAME.format("b"))
    wide = "<div style='overflow-x:auto'><div style='width:2000px'>x</div></div>"
    assert not seen(tmp_path, wide + "<table><td><a href='b.html'>b</a></table>")


def test_what_sticks_out_or_is_not_there_is_seen(tmp_path):
    found = seen(tmp_path, "<p style='width:800px'>wide</p><img src='no.png'>")
    assert [line for line in found if "pixels wide at 390" in line]
    assert [line for line in found if "<p> sticks out at 390: wide" in line]
    assert [line for line in found if "no picture at no.png" in line]
    assert not [line for line in found if "1280" in line]
    assert "clicking gone.html leads nowhere" in seen(tmp_path, "<table><td><a href='gone.html'>b</a></table>")[0]
