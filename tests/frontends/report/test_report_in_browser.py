"""The page as a browser sees it: nothing fetched, nothing broken, nothing wider than the screen, paper included."""

import html
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.report_example import BROWSERS
from experiments.report_example import FLAGS as HEADLESS

import certpca
from certpca.frontends.report import write_report

BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
FLAGS = [
    *HEADLESS,
    "--enable-logging=stderr",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # the browser's own errands end here
]
LONG = "a_name_without_any_space_" * 20

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")

# Shows a page in a frame of a given width and says how wide its content is.
MEASURE = """<!DOCTYPE html><body><iframe id="frame" style="width:{width}px;height:900px;border:0" srcdoc="{page}">
</iframe><p id="answer">waiting</p><script>
const frame = document.getElementById("frame");
frame.onload = () => {{
  const inner = frame.contentDocument, wide = [...inner.querySelectorAll("main *")].filter(
    element => !element.closest(".scroll") && element.getBoundingClientRect().right > {width} + 0.5);
  document.getElementById("answer").textContent =
    `widths ${{inner.documentElement.scrollWidth}} ${{inner.documentElement.clientWidth}} beyond ${{wide.length}} `
    + wide.slice(0, 5).map(element => element.tagName + "." + element.getAttribute("class")).join(" ");
}};
</script></body>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report with every part, and names that do their worst."""
    random = np.random.default_rng(0)
    data = random.standard_normal((80, 60)) @ np.diag(np.linspace(4, 1, 60))
    names = [f"gene {j} <i>&amp;</i>" for j in range(60)]
    names[0], names[1] = LONG, "漢字 \u202eדוגמה"
    enough: dict[str, Any] = {"certify": True, "target_gap": 0.3, "budget": certpca.Budget(steps=20)}
    solution = certpca.solve(data, 40, names=names, **enough)
    path = certpca.path(data, [2, 5, 10, 40], **enough)
    file = tmp_path_factory.mktemp("report") / "report.html"
    labels = random.choice(["case", "control", "not known"], 80)
    write_report(solution, file, data=data, names=names, path=path, labels=labels, title=f"Report on {LONG}")
    return file


def browse(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [str(BROWSER), *FLAGS, f"--user-data-dir={folder / 'profile'}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def test_page_has_its_parts_and_no_errors(page, tmp_path):
    seen = browse(tmp_path, "--dump-dom", page.as_uri())
    dom = seen.stdout
    assert [re.sub("<.*?>", "", heading) for heading in re.findall(r"<h2.*?</h2>", dom)] == [
        "Loadings",
        "Certificate",
        "Path",
        "Scores",
        "Data",
        "How it was computed",
        "Check it yourself",
    ]
    assert len(re.findall(r'<rect class="(?:plus|minus)"', dom)) == 30
    assert len(re.findall(r'<svg [^>]*class="chart" role="img"', dom)) == 3
    # The page's own policy forbids every request, and the browser writes to the console about each that is tried.
    assert "CONSOLE" not in seen.stderr
    assert re.findall(r"https?:", dom) == []


@pytest.mark.parametrize(
    "intruder", ['<img src="http://127.0.0.1:9/x.png">', "<script>1</script>", '<link rel="stylesheet" href="a.css">']
)
def test_policy_of_the_page_keeps_intruders_out(page, tmp_path, intruder):
    changed = tmp_path / "changed.html"
    changed.write_text(page.read_text(encoding="utf-8").replace("</main>", f"{intruder}</main>"), encoding="utf-8")
    errors = [
        line for line in browse(tmp_path, "--dump-dom", changed.as_uri()).stderr.splitlines() if "CONSOLE" in line
    ]
    assert any("Content Security Policy" in line for line in errors)


@pytest.mark.parametrize("width", [320, 400, 768, 1200])
def test_page_is_never_wider_than_the_screen(page, tmp_path, width):
    frame = tmp_path / "frame.html"
    frame.write_text(MEASURE.format(width=width, page=html.escape(page.read_text(encoding="utf-8"), quote=True)))
    dom = browse(tmp_path, "--dump-dom", "--window-size=1400,1000", frame.as_uri()).stdout
    answer = re.search(r"widths (\d+) (\d+) beyond (\d+)([^<]*)", dom)
    assert answer, "the page did not load in the frame"
    assert answer[1] == answer[2] == str(width)
    assert answer[3] == "0", answer[4]


@pytest.mark.parametrize("flags", [[], ["--blink-settings=preferredColorScheme=0"]], ids=["light", "dark"])
def test_page_is_drawn_on_light_and_on_dark_ground(page, tmp_path, flags):
    from matplotlib.image import imread

    picture = tmp_path / "page.png"
    browse(tmp_path, f"--screenshot={picture}", "--window-size=1200,2000", *flags, page.as_uri())
    pixels = imread(picture)[:, :, :3]
    ground = pixels[5, 5].mean()
    assert ground < 0.2 if flags else ground == 1.0
    assert np.abs(pixels - pixels[5, 5]).max(axis=2).mean() > 0.02  # something is drawn on it


def test_page_prints_on_several_sheets(page, tmp_path):
    sheets = tmp_path / "page.pdf"
    browse(tmp_path, f"--print-to-pdf={sheets}", "--no-pdf-header-footer", page.as_uri())
    content = sheets.read_bytes()
    assert content.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", content)) <= 8
