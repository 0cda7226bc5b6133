"""Components chosen together, a part of `components`: what greedy ones miss, and what is proved."""

import json
from textwrap import wrap
from typing import Any

import numpy as np
from benchmarks.machine import CHECKOUT

import certpca
from certpca.plots import draw
from experiments import pages

SPLITS = ((4, 4), (5, 5), (2, 3, 4), (3, 3, 3), (4, 4, 4), (5, 4, 4))
PROBLEMS = ("disjoint", "orthogonal", "uncorrelated", "shared")
THREE = 4  # features of each of three components, one set for each problem
TOTAL = 10
SECONDS = 60.0
WIDTH = 140  # characters of a line
BENCHMARK = CHECKOUT / "benchmarks" / "results" / "components.json"


def compute_sets() -> dict[str, Any]:
    """Find sets of pit props, with proofs."""
    matrix = certpca.pitprops()
    return {
        "splits": [_split(matrix, split) for split in SPLITS],
        "problems": [_row(_found(matrix, 3, THREE, problem)) for problem in PROBLEMS],
        "greedy": _row(certpca.decompose(matrix, 3, THREE)),
        "total": _row(certpca.decompose(matrix, 3, total=TOTAL, together="disjoint")),
    }


def _found(matrix: Any, count: int, sparsity: Any, together: str) -> certpca.Components:
    return certpca.decompose(
        matrix, count, sparsity, together=together, certify=True, target_gap=1e-6, time_limit=SECONDS
    )


def _split(matrix: Any, split: tuple[int, ...]) -> dict[str, Any]:
    left, greedy = np.arange(matrix.size), 0.0
    for count in split:
        part = certpca.solve(matrix.restrict(left), count, "branch-and-bound")
        greedy += part.objective
        left = np.delete(left, part.support)
    return {"greedy": greedy, **_row(_found(matrix, len(split), list(split), "disjoint"))}


def _row(found: certpca.Components) -> dict[str, Any]:
    return {
        "together": found.together,
        "sparsities": list(found.sparsities),
        "sum": found.objective,
        "adjusted": float(found.adjusted_variance_ratio.sum()),
        "regression": found.total_variance_ratio,
        "share": float(found.explained_variance_ratio.sum()),
        "bound": found.upper_bound if np.isfinite(found.upper_bound) else None,
        "gap": found.gap if np.isfinite(found.gap) else None,
    }


def render_sets(result: dict[str, Any]) -> list[str]:
    """Write the section."""
    splits = [
        [
            ", ".join(map(str, row["sparsities"])),
            f"{row['greedy']:.4f}",
            f"{row['sum']:.4f}",
            f"{row['sum'] / row['greedy'] - 1:.1%}",
            _gap(row),
        ]
        for row in result["splits"]
    ]
    rows = [result["greedy"], *result["problems"]]
    problems = [
        [row["together"], f"{row['share']:.1%}", f"{row['adjusted']:.1%}", f"{row['regression']:.1%}", _gap(row)]
        for row in rows
    ]
    whole = result["total"]
    return [
        "## Several components together",
        "",
        *wrap(
            "Greedy components are each the best for what the earlier ones left; the set can "
            "be far from the best. With "
            "`together=` all are chosen so that the *sum of the variances along them* is as large as can be found, and "
            "`certify=True` proves a bound for that sum:",
            WIDTH,
        ),
        "",
        "- `disjoint`: no feature in two components,",
        "- `orthogonal`: orthogonal loadings, features may be in several components,",
        "- `uncorrelated`: uncorrelated scores, likewise,",
        "- `shared`: orthogonal loadings on one choice of K features, those whose span holds most variance.",
        "",
        *wrap(
            "`sparsity` is one number, or a list with one for each component; with `total=` in its place the search "
            f"splits it: pit props with `total={TOTAL}` and disjoint supports become "
            f"{', '.join(map(str, whole['sparsities']))} features with {whole['share']:.1%} "
            "of the variance. Conditions "
            "hold to rounding: each component is an eigenvector in what the others leave it of its support.",
            WIDTH,
        ),
        "",
        "Pit props, disjoint supports: the best component after the other, and together.",
        "",
        *pages.table(["features", "greedy", "together", "more", "gap of the set, proved"], splits),
        "",
        f"Pit props, three components of {THREE} features (`shared`: the same {THREE}), as shares of the variance:",
        "",
        *pages.table(["together", "sum", "adjusted", "by regression", "gap of the set, proved"], problems),
        "",
        *wrap(
            "The search grows a set from small budgets to the one asked for, and at each improves it by re-solving one "
            "component beside the others, by exchanging and moving features between components, and from many starts. "
            "What a stage does depends on its own budget alone, so the stages of a smaller budget are among those of a "
            "larger one and **more features never capture less**: from each sparsity to the next up to 64, for up to "
            "1,024 features where all sparsities grow together; beyond, from one stage to the next. Each stage also "
            "begins from the best component, the best on the features it leaves, and so on: no set captures less "
            "than such a greedy one; beyond 1,024 features what `solve` finds like that is compared with the set. With "
            "`total=` the bound is for the split that was found, as the print-out says, and not for all splits.",
            WIDTH,
        ),
        "",
        f"![three orthogonal components of pit props, feature by feature]({_picture()})",
        *_published(),
    ]


def _gap(row: dict[str, Any]) -> str:
    if row["gap"] is None:
        return "–"
    return "below 0.0001%" if row["gap"] <= 1e-6 else f"{np.ceil(row['gap'] * 1e4) / 1e4:.2%}"


def _picture() -> str:
    found = certpca.decompose(certpca.pitprops(), 3, 5, together="orthogonal")
    figure, panel = pages.pyplot().subplots(figsize=(6.4, 3.6), constrained_layout=True)
    draw("components", found, ax=panel)
    return str(pages.save(figure, "components_together"))


def _published() -> list[str]:
    """Compare with the tables of others, once the benchmark has been run."""
    if not BENCHMARK.exists():
        return []
    found = json.loads(BENCHMARK.read_text())
    lines: dict[int, dict[str, Any]] = {}
    for row in found["stocks"]:
        lines.setdefault(row["sparsity"], {"published": row["published"]})[row["together"]] = row
    table = []
    for sparsity, row in lines.items():
        other = row["published"]
        own = [f"{row[problem]['share']:.4f}" for problem in ("disjoint", "orthogonal", "uncorrelated")]
        cited = [f"{other[key]:.4f}" for key in ("nsprcomp FVE", "msPCA orthogonal FVE", "msPCA uncorrelated FVE")]
        table.append([str(sparsity), *own, *cited])
    six = found["pit_props_six"]
    low, high = six["published"]["msPCA"]
    broken = max(row["violation"] for row in found["stocks"])
    slowest = max(row["seconds"] for row in found["stocks"])
    return [
        "",
        *wrap(
            "423 stocks (correlations of daily returns, the market taken out), four "
            "components of k features: shares of "
            "the total variance, beside those published for R's msPCA and nsprcomp "
            f"({found['source'].split(';')[0]}; cited, not run). msPCA's loadings are orthogonal to about 1e-4 in sum, "
            f"ours to {broken:.0e}; the longest of our searches took {slowest:.0f} s of one core "
            "(`python -m benchmarks.components.against_published`).",
            WIDTH,
        ),
        "",
        *pages.table(
            ["k", "disjoint", "orthogonal", "uncorrelated", "nsprcomp", "msPCA orthogonal", "msPCA uncorrelated"], table
        ),
        "",
        *wrap(
            f"Pit props, six orthogonal components of 4 features: {six['share']:.3f}. msPCA's "
            f"runs lie between {low:.3f} "
            f"and {high:.3f}, their median at {six['published']['its median']:.3f}.",
            WIDTH,
        ),
    ]
