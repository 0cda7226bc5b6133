"""The simulated genotypes once more with as many calls missing as the paper's have."""

from typing import Any

import numpy as np

import certpca
from experiments import pages
from experiments.data import genotypes
from experiments.paper import page
from experiments.paper.cases import CHR1, MISSING, density, prepared, thinned, with_missing_calls
from experiments.parallel import Job
from experiments.running import SEED, Run

TITLE = "Missing values"
NEEDS = ("simulated",)
SPARSITIES = thinned(CHR1, 3)
KINDS = ("complete", "missing")
SECONDS = (80.0, 40.0)


def jobs(quick: bool) -> list[Job]:
    """Return what can be computed side by side."""
    return [Job("paper.missing_values", kind, 60 + SECONDS[quick]) for kind in KINDS]


def do(run: Run, name: str) -> None:
    """Do one of these."""
    _path(run, name)


def compute(run: Run) -> dict[str, Any]:
    """Compare the components of both."""
    complete, lacking = (_path(run, kind) for kind in KINDS)
    rows = []
    for place, sparsity in enumerate(complete["sparsities"]):
        first, second = (set(found["supports"][place]) for found in (complete, lacking))
        rows.append(
            {
                "sparsity": sparsity,
                "shares": [found["shares"][place] for found in (complete, lacking)],
                "gaps": [found["gaps"][place] for found in (complete, lacking)],
                "common": len(first & second) / len(first),
            }
        )
    return {"rows": rows, "density": lacking["density"], "share": MISSING}


def _path(run: Run, kind: str) -> dict[str, Any]:
    def job() -> dict[str, Any]:
        calls = genotypes("simulated").calls
        data = with_missing_calls(calls) if kind == "missing" else calls
        wanted = SPARSITIES[:1] if run.quick else SPARSITIES
        path = certpca.path(prepared(data).operator, wanted, certify=True, rng=SEED, time_limit=SECONDS[run.quick])
        return {
            "sparsities": path.sparsities.tolist(),
            "supports": [solution.support.tolist() for solution in path.solutions],
            "shares": [solution.relative_objective for solution in path.solutions],
            "gaps": path.gaps.tolist(),
            "density": density(np.asarray(data)),
        }

    found: dict[str, Any] = run.of("paper.missing_values").part(kind, job)
    return found


def render(result: dict[str, Any]) -> None:
    """Write the table."""
    rows = [
        [
            f"{row['sparsity']:,}",
            *(f"{share:.4f}" for share in row["shares"]),
            *(f"{gap:.2%}" for gap in row["gaps"]),
            f"{row['common']:.1%}",
        ]
        for row in result["rows"]
    ]
    apart = max(abs(row["shares"][0] - row["shares"][1]) for row in result["rows"])
    lines = [
        f"## {TITLE}",
        "",
        f"The simulated genotypes have no missing calls; of the paper's {result['share']:.1%} are missing. With as",
        "many left",
        f"out at random, and set to the mean of their column as the paper does (density {result['density']:.3f}),",
        "`path` with",
        '`missing="mean"` gives:',
        "",
        *pages.table(
            ["k", "f, complete", "f, missing", "gap, complete", "gap, missing", "features in common"], rows, left=0
        ),
        "",
        f"f differs by at most {apart:.4f}.",
    ]
    page.section("paper.missing_values", lines)
