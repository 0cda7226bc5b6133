"""Populations from few variants: scores of sparse components beside those of full PCA.

    python -m experiments.populations

HapMap3 and chromosome 1 of the 1000 Genomes, two components with less than one per cent of the variants each. The
silhouette says how well scores separate continents (one: perfectly). Writes docs/figures/populations.{png,svg} and
docs/populations.md.
"""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_score

import certpca

CHECKOUT = Path(__file__).parents[1]
SHARED = CHECKOUT.parent / "shared" / "data"
SHARE = 0.009  # of the variants, for each component
CONTINENTS = {
    "Africa": ("ACB", "ASW", "LWK", "YRI"),
    "Europe": ("CEU", "GBR", "TSI"),
    "East Asia": ("CHB", "JPT"),
    "South Asia": ("GIH",),
    "America": ("MXL", "PUR"),
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")  # safe for colour-blind readers


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return genotypes and populations, common variants only."""
    file = np.load(SHARED / name / "geno.npz")
    data = file["G"].astype(np.float32)
    data[data < 0] = np.nan
    frequency = np.nanmean(data, axis=0) / 2
    data = data[:, np.minimum(frequency, 1 - frequency) > 0.05]
    return data, file["pop"]


def compute() -> list[dict[str, Any]]:
    """Score both data sets by sparse and by full components."""
    rows = []
    for title, name in (("HapMap3", "geno_hapmap3_672"), ("1000 Genomes, chr 1", "geno_1kg_chr1")):
        data, population = load(name)
        sparsity = int(SHARE * data.shape[1])
        sparse = certpca.SparsePCA(n_components=2, sparsity=sparsity, missing="mean").fit(data)
        filled = np.where(np.isnan(data), np.nanmean(data, axis=0), data)
        continent = np.array([next(key for key, names in CONTINENTS.items() if label in names) for label in population])
        used = int((sparse.components_ != 0).any(axis=0).sum())
        for method, scores in (("sparse", sparse.transform(data)), ("full", PCA(2).fit_transform(filled))):
            rows.append(
                {
                    "data": title,
                    "method": method,
                    "samples": data.shape[0],
                    "variants": data.shape[1],
                    "used": used if method == "sparse" else data.shape[1],
                    "silhouette": float(silhouette_score(scores, continent)),
                    "scores": scores,
                    "continent": continent,
                }
            )
            print(title, method, rows[-1]["used"], f"{rows[-1]['silhouette']:.3f}", flush=True)
    return rows


def render(rows: list[dict[str, Any]]) -> None:
    """Draw the scores, and write the table."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(2, 2, figsize=(9, 7.5), constrained_layout=True)
    for panel, row in zip(panels.ravel(), rows, strict=True):
        for colour, (continent, _) in zip(COLOURS, CONTINENTS.items(), strict=True):
            mine = row["continent"] == continent
            if mine.any():
                panel.scatter(*row["scores"][mine].T, s=9, color=colour, label=continent, alpha=0.7, linewidths=0)
        what = f"{row['used']:,} of {row['variants']:,} variants" if row["method"] == "sparse" else "all variants"
        panel.set_title(f"{row['data']}: {what}, silhouette {row['silhouette']:.2f}", fontsize=10)
        panel.set_xlabel("component 1")
        panel.set_ylabel("component 2")
    handles, labels = panels[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, markerscale=2)
    for ending in ("png", "svg"):
        figure.savefig(CHECKOUT / "docs" / "figures" / f"populations.{ending}", dpi=150)
    lines = [
        "# Populations from few variants",
        "",
        "Written by `python -m experiments.populations`: two components with less than one per cent of the common",
        "variants each, against full PCA. The silhouette of the scores is taken with respect to continents.",
        "",
        "![scores of sparse and of full components](figures/populations.png)",
        "",
        "| data | samples x variants | variants used, sparse | silhouette, sparse | silhouette, full PCA |",
        "|---|---|--:|--:|--:|",
    ]
    for sparse, full in zip(rows[::2], rows[1::2], strict=True):
        lines.append(
            f"| {sparse['data']} | {sparse['samples']:,} x {sparse['variants']:,} "
            f"| {sparse['used']:,} ({sparse['used'] / sparse['variants']:.1%}) "
            f"| {sparse['silhouette']:.3f} | {full['silhouette']:.3f} |"
        )
    (CHECKOUT / "docs" / "populations.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    render(compute())
