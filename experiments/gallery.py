"""Every plot of the library, drawn by the code that stands beside it."""

from typing import Any

import numpy as np

from certpca.plots import styled
from experiments import pages
from experiments.running import Run

TITLE = "Gallery of plots"
NEEDS = ()
START = """\
import certpca
from certpca import plots
from sklearn.datasets import load_wine

wine = load_wine()
grape = wine.target_names[wine.target]
wines = certpca.from_data(wine.data, scale=True, names=wine.feature_names)
parts = certpca.decompose(wines, 3, 4)  # three components of four features
path = certpca.path(certpca.pitprops(), range(1, 14), certify=True, target_gap=1e-6)"""
METADATA = '{"grape": grape, "sum of all": wine.data.sum(axis=1), "row": range(178)}'
# Title, code, and what is worth knowing.
PLOTS: dict[str, tuple[str, str, str]] = {
    "components": (
        "Loadings as bars",
        "parts.plot()",
        "A column for each component, a row for each feature that one of them uses; positive to the right.",
    ),
    "heatmap": (
        "Loadings as coloured cells",
        'parts.plot("heatmap")',
        "For many components: colour is the sign, its strength the magnitude, and the legend says where it is full.",
    ),
    "loadings": (
        "Loadings of one component",
        'solution = certpca.solve(wines, 5)\nplots.draw("loadings", solution.names, solution.loadings, "loading")',
        "Bars in the order given.",
    ),
    "scree": (
        "Scree, dense and sparse",
        'parts.plot("scree")',
        "Variance along sparse components beside that of dense ones. Sparse ones are not orthogonal: a later one "
        "can exceed the dense one of its rank; *adjusted* counts nothing twice.",
    ),
    "scree_choice": (
        "How many components",
        "certpca.choose_components(wines).plot()",
        "Eigenvalues against those of data whose columns were put in random order.",
    ),
    "scores": (
        "Scores with labels and ellipses",
        'parts.plot("scores", labels=grape, ellipses=0.9, texts=[str(j) for j in range(178)])',
        "An ellipse holds 90 % of a normal distribution with the mean and covariance of its group. Samples "
        "farthest out are named.",
    ),
    "pairs": (
        "Every two components",
        'parts.plot("pairs", labels=grape)',
        "Each panel fills its own range; the diagonal shows how the scores of each group are spread.",
    ),
    "biplot": (
        "Biplot",
        'parts.plot("biplot", labels=grape)',
        "Points are scores, arrows loadings, longer by the factor that the legend names. Of sparse components many "
        "arrows lie on an axis: their feature is in one component only.",
    ),
    "biplot_correlation": (
        "Correlation biplot",
        'parts.plot("biplot", labels=grape, scaling="correlation")',
        "Points are scores in standard deviations, arrows the correlations of features with the scores. An arrow on "
        "the circle belongs to a feature that the two components tell all about.",
    ),
    "metadata": (
        "Components against metadata",
        f"certpca.associations(parts.scores(), {METADATA}).plot()",
        "Correlations with numbers, correlation ratios with groups. A star is beyond chance, allowing for how many "
        "were looked at.",
    ),
    "path": (
        "Path with its certified band",
        'plots.draw("path", path)',
        "No choice of so many features captures more than the dashed line, proved: the optimum lies in the band. Here "
        "it has no width, as all are proved optimal.",
    ),
    "path_band": (
        "A band that is open",
        'plots.draw("path", certpca.path(wide, [2, 4, 8, 16, 32, 64], certify=True, target_gap=0.2, time_limit=10))',
        "Proofs that ended early, at gaps of up to a fifth, on noise of 60 x 200 values (`wide`).",
    ),
    "choice": (
        "How many features",
        'certpca.choose_sparsity(wines, method="cross-validation").plot()',
        "The path, the criterion with its standard errors, and the recommendation.",
    ),
    "stability": (
        "Which features are found again",
        "certpca.stability(wines, 5).plot()",
        "In which share of half-samples features are selected, those of the component in blue.",
    ),
    "history": (
        "A run over time",
        'plots.draw("history", certpca.solve(wide, 20, certify=True, time_limit=3))',
        "What was captured and what was proved, and when.",
    ),
}


def compute(run: Run) -> list[str]:
    """Draw everything; the pictures are the result."""
    names = list(PLOTS)
    for name in names:
        run.say(f"drawing {name}")
        _draw(name)
    return names


def _draw(name: str) -> None:
    """Run the code of a plot as it stands on the page, on axes of the right size."""
    plt = pages.pyplot()
    known: dict[str, Any] = {"wide": np.random.default_rng(0).standard_normal((60, 200))}
    exec(START, known)  # the page shows what is run
    lines = PLOTS[name][1].splitlines()
    with styled():
        exec("\n".join(lines[:-1]), known)
        ax = eval(lines[-1], known)
    pages.save(ax.figure, f"gallery_{name}")
    plt.close("all")


def render(names: list[str]) -> None:
    """Write the page."""
    lines = [
        f"# {TITLE}",
        "",
        "Every picture here is drawn by the code beside it (`python -m experiments gallery`). All plots take axes",
        "(`ax=`) and return them, so that they go into figures of your own; `plots.save(file, kind, …)` writes one to",
        "a file. Colour-blind readers can tell the colours apart.",
        "",
        "```python",
        START,
        "```",
    ]
    for name in names:
        title, code, words = PLOTS[name]
        lines += [
            "",
            f"## {title}",
            "",
            "```python",
            code,
            "```",
            "",
            f"![{title}](figures/gallery_{name}.png)",
            "",
            words,
        ]
    lines += ["", "Loadings along the genome (`manhattan`) are on the page on [genetics](genetics.md)."]
    pages.write("gallery", lines)
