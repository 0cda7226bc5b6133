"""The README's figure: what sparse components capture, and what is proved that none can exceed.

Embedded data only: pit props, and genotypes of three populations drawn from the Balding-Nichols model.
"""

from typing import Any

import certpca
from experiments import pages
from experiments.running import Run

TITLE = "What sparse components capture, and what is proved that none can exceed"
NEEDS = ()
GENOTYPES = {"samples": 300, "variants": 3000, "populations": 2, "fst": 0.2, "rng": 1}
SPARSITIES = (30, 60, 120, 240, 480, 960, 1500)


def compute(run: Run) -> list[dict[str, Any]]:
    """Solve, threshold and certify both data sets over a range of sparsities."""
    rows = []
    data = certpca.balding_nichols(**GENOTYPES).data  # type: ignore[arg-type]
    problems = (
        ("pit props, 13 features", certpca.pitprops(), range(1, 14)),
        ("genotypes, 300 x 3,000", certpca.from_data(data), SPARSITIES),
    )
    for name, operator, sparsities in problems:
        for sparsity in list(sparsities)[:: 3 if run.quick else 1]:
            best = certpca.solve(operator, sparsity)
            largest = best.objective / best.relative_objective
            paper = certpca.solve(operator, sparsity, "svd-threshold", refit=False)
            budget = certpca.Budget(seconds=20)
            certificate = certpca.certify(operator, sparsity, solution=best, target_gap=1e-4, budget=budget)
            rows.append(
                {
                    "data": name,
                    "sparsity": sparsity,
                    "auto": certificate.objective / largest,
                    "svd-threshold": paper.objective / largest,
                    "upper_bound": min(1.0, certificate.upper_bound / largest),
                    "gap": certificate.gap,
                }
            )
            run.say(f"{name} k={sparsity}: gap {certificate.gap:.3%}")
    return rows


def render(rows: list[dict[str, Any]]) -> None:
    """Draw one panel for each data set, as PNG and SVG."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure, panels = pages.pyplot().subplots(1, len(names), figsize=(10, 3.8), constrained_layout=True)
    for panel, name in zip(panels, names, strict=True):
        mine = [row for row in rows if row["data"] == name]
        k = [row["sparsity"] for row in mine]
        best, bound = [row["auto"] for row in mine], [row["upper_bound"] for row in mine]
        panel.fill_between(
            k, best, bound, color=pages.ORANGE, alpha=0.25, label="where the optimum can be", linewidth=0
        )
        panel.plot(k, bound, color=pages.ORANGE, linewidth=1.2, label="proved upper bound")
        panel.plot(k, best, color=pages.BLUE, marker="o", markersize=4, linewidth=1.5, label="certpca (auto)")
        paper = [row["svd-threshold"] for row in mine]
        panel.plot(k, paper, color=pages.GREEN, marker="x", linestyle="--", linewidth=1, label="spca-svd of the paper")
        if max(k) > 100:
            panel.set_xscale("log")
        worst = max(row["gap"] for row in mine)
        panel.set_title(f"{name}: within {worst:.1%} of the optimum", fontsize=10)
        panel.set_xlabel("number of nonzero loadings k")
        panel.set_ylabel("variance / variance of a dense component")
        panel.grid(alpha=0.3)
    panels[0].legend(loc="lower right", fontsize=8)
    pages.save(figure, "certified_path")
