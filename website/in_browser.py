"""Open every page of the site in Chromium, wide and narrow: nothing sticks out, pictures load, links can be clicked.

python -m website.in_browser site      (where there is no Chromium it says so and is content)
"""

import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from experiments.report_example import BROWSERS, FLAGS

WIDTHS = (1280, 390)
LOOK = """<!DOCTYPE html><meta charset="utf-8"><body><iframe id="frame" style="border:0;height:900px"></iframe>
<pre id="answer">waiting</pre><script>
const pages = PAGES, frame = document.getElementById("frame"), lines = [];
const loaded = start => new Promise(done => {
  frame.onload = () => done(true);
  setTimeout(() => done(false), 20000);
  start();
});
const show = address => loaded(() => { frame.src = address; });
const inside = () => frame.contentDocument;
const scrolls = element => {
  for (let at = element; at && at !== inside().body; at = at.parentElement)
    if (getComputedStyle(at).overflowX !== "visible") return true;
  return false;
};
(async () => {
  for (const width of WIDTHS) {
    frame.style.width = width + "px";
    for (const page of pages) {
      if (!await show(page)) lines.push(`${page}: does not load`);
      const root = inside().documentElement;
      if (root.scrollWidth > width + 1) lines.push(`${page}: is ${root.scrollWidth} pixels wide at ${width}`);
      for (const element of inside().querySelectorAll("article *"))
        if (element.getBoundingClientRect().right > width + 1 && !scrolls(element)) {
          const text = element.textContent.trim().slice(0, 60);
          lines.push(`${page}: <${element.localName}> sticks out at ${width}: ${text}`);
          break;
        }
      for (const image of inside().images)
        if (image.complete && !image.naturalWidth) lines.push(`${page}: no picture at ${image.getAttribute("src")}`);
    }
  }
  await show("index.html");
  const count = [...inside().querySelectorAll("article td a[href]")].length;
  for (let number = 0; number < count; number++) {
    await show("index.html");
    const link = inside().querySelectorAll("article td a[href]")[number], name = link.getAttribute("href");
    const there = await loaded(() => link.click());
    if (!there || !inside()?.querySelector("article h1")) lines.push(`index.html: clicking ${name} leads nowhere`);
  }
  document.getElementById("answer").textContent = lines.join("\\n") || "nothing";
})();
</script></body>"""


def browser() -> str | None:
    """Return the program, if there is one."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def complaints(site: Path, program: str) -> list[str]:
    """Say what is wrong with pages as a browser shows them."""
    pages = sorted(str(file.relative_to(site)) for file in site.rglob("*.html") if file.name != "404.html")
    look = site / "look-at-all-pages.html"
    look.write_text(LOOK.replace("PAGES", json.dumps(pages)).replace("WIDTHS", json.dumps(WIDTHS)), encoding="utf-8")
    try:
        with tempfile.TemporaryDirectory() as profile:
            flags = [*FLAGS, "--allow-file-access-from-files", f"--user-data-dir={profile}", "--window-size=1400,1000"]
            command = [program, *flags, "--virtual-time-budget=600000", "--dump-dom", look.resolve().as_uri()]
            seen = subprocess.run(command, capture_output=True, text=True, timeout=900, check=True).stdout
    finally:
        look.unlink()
    answer = re.search(r'<pre id="answer">(.*?)</pre>', seen, flags=re.DOTALL)
    said = html.unescape(answer[1]) if answer else "waiting"
    if said == "waiting":
        return ["the browser did not get through all pages"]
    return [] if said == "nothing" else said.splitlines()


def main(arguments: list[str]) -> int:
    """Print what is wrong, and return an exit status."""
    program = browser()
    if program is None:
        print("no Chromium here: pages were not looked at")
        return 0
    found = complaints(Path(arguments[0]), program)
    for line in found:
        print(line)
    print(f"seen in Chromium at {' and '.join(map(str, WIDTHS))} pixels, {len(found)} complaints")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
