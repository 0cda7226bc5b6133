"""The page as a browser sees it: nothing fetched, nothing broken, nothing wider than the screen, paper included."""

import csv
import html
import io
import json
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


CLICKS = """<!DOCTYPE html><body><iframe id="frame" style="width:1200px;height:900px" srcdoc="PAGE"></iframe>
<pre id="answer">waiting</pre><script>
const frame = document.getElementById("frame"), lines = [];
const say = (...parts) => {
  lines.push(parts.join(" "));
  document.getElementById("answer").textContent = lines.join("\\n");
};
frame.onload = async () => {
  const page = frame.contentDocument;
  const find = text => page.querySelector(text), all = text => [...page.querySelectorAll(text)];
  const type = (field, value) => { field.value = value; field.dispatchEvent(new Event("input")); };
  const wait = time => new Promise(done => setTimeout(done, time));
  try { STEPS } catch (error) { say("failed: " + error); }
};
</script></body>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report with every part, and names that do their worst."""
    random = np.random.default_rng(0)
    data = random.standard_normal((80, 60)) @ np.diag(np.linspace(4, 1, 60))
    names = [f"gene {j} <i>&amp;</i>" for j in range(60)]
    enough: dict[str, Any] = {"certify": True, "target_gap": 0.3, "budget": certpca.Budget(steps=20)}
    solution = certpca.solve(data, 40, **enough)
    for feature, name in zip(solution.support, (LONG, "漢字 \u202eדוגמה", "rs4988235"), strict=False):
        names[feature] = name
    path = certpca.path(data, [2, 5, 10, 40], **enough)
    file = tmp_path_factory.mktemp("report") / "report.html"
    labels = random.choice(["case", "control", "not known"], 80)
    metadata = {"group": labels, "age": random.integers(20, 80, 80), "same": ["x"] * 80}
    given: dict[str, Any] = {"data": data, "names": names, "path": path, "labels": labels, "metadata": metadata}
    given["sample_names"] = [f"person {j}" for j in range(80)]
    write_report(solution, file, subsamples=4, title=f"Report on {LONG}", **given)
    return file


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """A report on three components."""
    random = np.random.default_rng(1)
    data = random.standard_normal((60, 30)) + 2 * random.standard_normal((60, 3)) @ random.standard_normal((3, 30))
    found = certpca.decompose(data, 3, 8, names=[f"GENE{j}" for j in range(30)])
    file = tmp_path_factory.mktemp("several") / "report.html"
    names = [f"GENE{j}" for j in range(30)]
    write_report(found, file, data=data, names=names, labels=["a", "b"] * 30, genes=True)
    return file


def clicked(page: Path, folder: Path, steps: str) -> list[str]:
    """Let a script outside the page, in whose frame it is, click there, and return what it answers with."""
    frame = folder / "clicks.html"
    text = html.escape(page.read_text(encoding="utf-8"), quote=True)
    frame.write_text(CLICKS.replace("STEPS", steps).replace("PAGE", text), encoding="utf-8")
    seen = browse(folder, "--dump-dom", "--window-size=1400,1000", "--virtual-time-budget=8000", frame.as_uri())
    assert "CONSOLE" not in seen.stderr, seen.stderr
    answer = re.search(r'<pre id="answer">(.*?)</pre>', seen.stdout, flags=re.DOTALL)
    assert answer is not None
    return [html.unescape(line) for line in answer[1].splitlines()]


def browse(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [str(BROWSER), *FLAGS, f"--user-data-dir={folder / 'profile'}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def test_page_has_its_parts_and_no_errors(page, tmp_path):
    seen = browse(tmp_path, "--dump-dom", page.as_uri())
    dom = seen.stdout
    assert [re.sub("<.*?>", "", heading) for heading in re.findall(r"<h2.*?</h2>", dom)] == [
        "Loadings",
        "Certificate",
        "Found again",
        "Path",
        "Scores",
        "Metadata",
        "Data",
        "How it was computed",
        "Check it yourself",
    ]
    assert len(re.findall(r'<rect class="(?:plus|minus)"', dom)) == 30
    assert len(re.findall(r'<svg [^>]*class="chart" role="img"', dom)) == 5
    # The page's own policy forbids every request, and the browser writes to the console about each that is tried.
    assert "CONSOLE" not in seen.stderr
    outside = set(re.findall(r'(?:href|src|action|data)="(https?:[^"]*)"', dom))
    assert outside == {"https://www.ncbi.nlm.nih.gov/snp/rs4988235"}  # a link, which nothing follows by itself
    assert 'data-ready="yes"' in dom


@pytest.mark.parametrize(
    "intruder",
    [
        '<img src="http://127.0.0.1:9/x.png">',
        "<script>1</script>",
        '<link rel="stylesheet" href="a.css">',
        "<style>p{color:red}</style>",
        '<p style="color:red">',
        '<p id="x" onclick="1"><script>x.click()</script>',
    ],
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
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", content)) <= 10


TABLE = """
      const table = find("table[data-name=loadings]");
      const left = () => [...table.tBodies[0].rows].filter(row => !row.hidden);
      const cells = j => left().map(row => row.cells[j].textContent);"""


def test_tables_are_sorted_by_numbers_and_by_words(page, tmp_path):
    steps = (
        TABLE
        + """
      const heads = [...table.tHead.querySelectorAll("button")];
      heads[2].click(); say(JSON.stringify(cells(2)));
      heads[2].click(); say(JSON.stringify(cells(2)));
      heads[0].click(); say(JSON.stringify(cells(0)));
      say(all("[aria-sort]").length, heads[0].parentElement.getAttribute("aria-sort"));"""
    )
    up, down, words, sorted_by = clicked(page, tmp_path, steps)
    values = [float(text.replace("−", "-")) for text in json.loads(up)]
    assert len(values) == 40
    assert values == sorted(values)
    assert json.loads(down) == json.loads(up)[::-1]
    genes = [text for text in json.loads(words) if re.fullmatch(r"gene \d+ .*", text)]
    numbers = [int(text.split()[1]) for text in genes]
    assert numbers == sorted(numbers)  # gene 9 before gene 10
    assert sorted_by == "1 ascending"


def test_tables_are_searched_copied_and_saved(page, tmp_path):
    steps = (
        TABLE
        + """
      const tools = table.closest("details").querySelector(".tools");
      const [copies, saves] = tools.querySelectorAll("button");
      type(tools.querySelector("input"), "RS4988");
      say(JSON.stringify(cells(0)), "|", tools.querySelector(".count").textContent);
      let copied = "";
      frame.contentWindow.navigator.clipboard.writeText = text => { copied = text; return Promise.resolve(); };
      copies.click(); await wait(50); say(JSON.stringify(copied), "|", copies.textContent);
      const links = [], click = frame.contentWindow.HTMLAnchorElement.prototype.click;
      frame.contentWindow.HTMLAnchorElement.prototype.click = function () { links.push(this); };
      saves.click();
      const text = await (await fetch(links[0].href)).text();
      say(links[0].download, "|", JSON.stringify(text));
      type(tools.querySelector("input"), ""); say(cells(0).length);"""
    )
    searched, copied, saved, left = clicked(page, tmp_path, steps)
    assert searched == '["rs4988235"] | 1 of 40'
    text, button = copied.rsplit(" | ", 1)
    header, line = json.loads(text).split("\n")
    assert header == "feature\tindex\tloading"
    assert re.fullmatch(r"rs4988235\t\d+\t[+−]0\.\d{6}", line)
    assert button == "copied"
    name, content = saved.split(" | ", 1)
    assert name == "loadings.csv"
    rows = list(csv.reader(io.StringIO(json.loads(content).removeprefix("\ufeff"))))
    assert rows[0] == ["feature", "index", "loading"]
    assert abs(float(rows[1][2])) <= 1
    assert left == "40"


def test_a_csv_file_keeps_names_with_commas_and_quotes(tmp_path):
    names = ['a, "b"', "=c", *(f"x{j}" for j in range(6))]
    solution = certpca.solve(np.random.default_rng(0).standard_normal((30, 8)), 8, names=names)
    write_report(solution, tmp_path / "report.html")
    steps = """
      const links = [];
      frame.contentWindow.HTMLAnchorElement.prototype.click = function () { links.push(this); };
      find("table[data-name=loadings]").closest("details").querySelectorAll(".tools button")[1].click();
      say(JSON.stringify(links[0].dataset.text));"""
    (text,) = clicked(tmp_path / "report.html", tmp_path, steps)
    rows = list(csv.reader(io.StringIO(json.loads(text))))
    assert {row[0] for row in rows[1:]} == set(names)


def test_the_slider_turns_over_the_path(page, tmp_path):
    steps = """
      const slide = find(".slide input"), shown = () => all(".turn").filter(turn => !turn.hidden);
      const rows = () => shown()[0].querySelectorAll("tbody tr").length;
      const told = () => say(shown().length, find(".slide output").textContent, rows());
      told(); type(slide, 0); told(); type(slide, 2); told();"""
    assert clicked(page, tmp_path, steps) == ["1 40 30", "1 2 2", "1 10 10"]


def test_pointing_at_a_sample_names_it(page, tmp_path):
    steps = """
      const tips = all(".chart use title").map(title => title.textContent);
      const told = tips.filter(text => /^person \\d+: (case|control|not known)$/.test(text));
      say(tips.length, told.length, new Set(tips).size);"""
    assert clicked(page, tmp_path, steps) == ["80 80 80"]


def test_drawings_have_the_colours_of_the_page(page, tmp_path):
    """Attributes with variables are resolved: a strict policy leaves no other way to colour them."""
    steps = """
      const point = find(".group0 use");
      say(getComputedStyle(point).fill, getComputedStyle(find(".plus")).fill);"""
    assert clicked(page, tmp_path, steps) == ["rgb(0, 114, 178) rgb(0, 114, 178)"]


def test_several_components_have_scores_pairs_one_tidy_table_and_links(several, tmp_path):
    steps = """
      say(all("h2").map(head => head.textContent).join(", "));
      say(all(".chart > title").map(title => title.textContent).join(", "));
      const table = find("table[data-name=all-loadings]");
      say(table.tBodies[0].rows.length, all("a[href]").filter(link => link.rel === "noopener noreferrer").length > 0);
      table.tHead.querySelectorAll("button")[3].click(); say(table.tBodies[0].rows[0].cells[4].textContent);
      say(find("table[data-name=all-loadings] a").href);"""
    heads, charts, rows, sign, link = clicked(several, tmp_path, steps)
    assert heads == "Components, Certificate, Loadings, Scores, Data, How it was computed, Check it yourself"
    assert charts == "Components and features, Scores of the samples on two components, Scores on every two components"
    assert rows == "24 true"
    assert sign == "negative"
    assert link.startswith("https://www.ncbi.nlm.nih.gov/gene/?term=GENE")


@pytest.mark.parametrize("width", [320, 1900])
def test_report_on_several_components_fits_the_screen_and_fills_it(several, tmp_path, width):
    frame = tmp_path / "frame.html"
    frame.write_text(MEASURE.format(width=width, page=html.escape(several.read_text(encoding="utf-8"), quote=True)))
    dom = browse(tmp_path, "--dump-dom", "--window-size=2000,1000", frame.as_uri()).stdout
    answer = re.search(r"widths (\d+) (\d+) beyond (\d+)([^<]*)", dom)
    assert answer is not None
    assert answer[1] == str(width)
    assert answer[3] == "0", answer[4]
