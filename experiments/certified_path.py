"""The README's figure: what sparse components capture, and what is proved that none can exceed.

    python -m experiments.certified_path

Embedded data only: pit props, and genotypes of three populations drawn from the Balding-Nichols model.
"""

import json
from pathlib import Path
from typing import Any

import certpca

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
GENOTYPES = {"samples": 300, "variants": 3000, "populations": 2, "fst": 0.2, "rng": 1}
SPARSITIES = (30, 60, 120, 240, 480, 960, 1500)


def compute() -> list[dict[str, Any]]:
    """Solve, threshold and certify both data sets over a range of sparsities."""
    rows = []
    data = certpca.balding_nichols(**GENOTYPES).data  # type: ignore[arg-type]
    problems = (
        ("pit props, 13 features", certpca.pitprops(), range(1, 14)),
        ("genotypes, 300 x 3,000", certpca.from_data(data), SPARSITIES),
    )
    for name, operator, sparsities in problems:
        for sparsity in sparsities:
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
            print(f"{name} k={sparsity}: gap {certificate.gap:.3%}", flush=True)
    return rows


def render(rows: list[dict[str, Any]]) -> None:
    """Draw one panel for each data set, as PNG and SVG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(row["data"] for row in rows))
    figure, panels = plt.subplots(1, len(names), figsize=(10, 3.8), constrained_layout=True)
    for panel, name in zip(panels, names, strict=True):
        mine = [row for row in rows if row["data"] == name]
        k = [row["sparsity"] for row in mine]
        best, bound = [row["auto"] for row in mine], [row["upper_bound"] for row in mine]
        panel.fill_between(k, best, bound, color="#D55E00", alpha=0.25, label="where the optimum can be", linewidth=0)
        panel.plot(k, bound, color="#D55E00", linewidth=1.2, label="proved upper bound")
        panel.plot(k, best, color="#0072B2", marker="o", markersize=4, linewidth=1.5, label="certpca (auto)")
        paper = [row["svd-threshold"] for row in mine]
        panel.plot(k, paper, color="#009E73", marker="x", linestyle="--", linewidth=1, label="spca-svd of the paper")
        if max(k) > 100:
            panel.set_xscale("log")
        worst = max(row["gap"] for row in mine)
        panel.set_title(f"{name}: within {worst:.1%} of the optimum", fontsize=10)
        panel.set_xlabel("number of nonzero loadings k")
        panel.set_ylabel("variance / variance of a dense component")
        panel.grid(alpha=0.3)
    panels[0].legend(loc="lower right", fontsize=8)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for ending in ("png", "svg"):
        figure.savefig(
            FOLDER / f"certified_path.{ending}", dpi=150, metadata={"Date": None} if ending == "svg" else None
        )


def main() -> None:
    """Compute and draw, keeping the numbers beside the picture."""
    rows = compute()
    (FOLDER / "certified_path.json").write_text(json.dumps(rows, indent=1) + "\n")
    render(rows)


if __name__ == "__main__":
    main()
