"""The picture in docs/report.md: the beginning of a report on the pit props data, as a browser shows it.

    python -m experiments.report_example

Needs Chromium or Chrome. Embedded data only.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import certpca
from certpca.frontends.report import write_report

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "report.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
SPARSITY = 7
WINDOW = "1000,1780"


def make(figure: Path = FIGURE) -> None:
    """Solve, prove, write the report and photograph it."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"the picture needs a browser: install one of {', '.join(BROWSERS)}")
    problem = certpca.pitprops()
    solution = certpca.solve(problem, SPARSITY, certify=True, target_gap=1e-6)
    path = certpca.path(problem, range(1, problem.size + 1), certify=True, target_gap=1e-6)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        write_report(solution, page, data=problem, path=path, title="Pit props: seven features of thirteen")
        subprocess.run(
            [
                browser,
                *FLAGS,
                f"--user-data-dir={folder}/profile",
                f"--window-size={WINDOW}",
                f"--screenshot={Path(folder) / 'page.png'}",
                page.as_uri(),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )
        shutil.copyfile(Path(folder) / "page.png", figure)


if __name__ == "__main__":
    make()
