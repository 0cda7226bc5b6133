"""The paper's own data, where the user brings them: `--hgdp FILE.bed` and `--gse10072 SERIES_MATRIX`."""

from hashlib import sha256
from pathlib import Path
from typing import Any

from certpca.formats.tables import load_table
from experiments import pages
from experiments.paper import figures, page
from experiments.paper.cases import Problem, prepared, shares_of, thinned
from experiments.paper.curves import Work, of_work
from experiments.running import Run

TITLE = "The paper's own data, fetched by you"
NEEDS: tuple[str, ...] = ()
FILES = ("hgdp", "gse10072")
NAMES = {"hgdp": "HGDP/HapMap", "gse10072": "GSE10072"}
PAPER_SHAPES = {
    "hgdp": ((2240, 37493), (2240, 40844), (2240, 34258), (2240, 30328)),
    "gse10072": ((107, 22215),),
}
PROOF_SECONDS = (600.0, 60.0)


def compute(run: Run) -> list[dict[str, Any]]:
    """Measure all methods on each file."""
    return [_of_file(run, name, path) for name, path in run.files.items()]


def _of_file(run: Run, name: str, path: Path) -> dict[str, Any]:
    ready: list[Problem] = []

    def load() -> Problem:
        if not ready:
            ready.append(prepared(load_table(path).data))
        return ready[0]

    facts = path.stat()
    mark = sha256(f"{path.name} {facts.st_size} {facts.st_mtime_ns}".encode()).hexdigest()[:8]
    size = load().operator.size
    sparsities = thinned(shares_of(size), 3) if run.quick else shares_of(size)
    case = of_work(run, Work(f"{name} {mark}", f"{NAMES[name]} ({path.name})", load, sparsities, PROOF_SECONDS))
    return {**case, "name": name, "file": path.name}


def render(cases: list[dict[str, Any]]) -> None:
    """Draw the figure of the paper for these files."""
    picture = figures.curves(cases, "paper_own_files")
    lines = [f"## {TITLE}", "", f"![f against sparsity]({picture})", ""]
    for case in cases:
        matrix = case["matrix"]
        shape = matrix["samples"], matrix["features"]
        known = [list(shape) == list(other) for other in PAPER_SHAPES[case["name"]]]
        verdict = "has a shape of the paper's" if any(known) else "does not have a shape of the paper's"
        lines.append(f"- `{case['file']}`, {shape[0]:,} × {shape[1]:,}, {verdict} {NAMES[case['name']]} matrices.")
        lines += figures.verdicts(case)
        rows = [
            [f"{row['sparsity']:,}", f"{row['details']['alpha']:.7f}", f"{row['details']['beta']:.7f}"]
            for row in figures.rows_of(case, "spca-sdp")
        ]
        lines += ["", *pages.table(["k", "α", "β"], rows, left=0), ""]
    page.section("paper.own_files", [*lines, figures.proof_times(cases)])
