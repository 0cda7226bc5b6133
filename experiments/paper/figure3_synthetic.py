"""Figure 3: the paper's synthetic data, uncentred; its singular vectors, and f against the sparsity ratio."""

from typing import Any

import numpy as np

import certpca
from experiments import pages
from experiments.paper import curves, figures, page
from experiments.paper.curves import of_case
from experiments.parallel import Job
from experiments.running import Run

TITLE = "Figure 3: synthetic data, 128 × 4,096"
NEEDS: tuple[str, ...] = ()


def jobs(quick: bool) -> list[Job]:
    """Return what can be computed side by side."""
    return curves.jobs(("synthetic",), quick)


def compute(run: Run) -> dict[str, Any]:
    """Make the data and measure all methods."""
    made = certpca.rotated_hadamard(rng=0)
    ordered = {name: np.sort(np.abs(getattr(made, name)))[::-1] for name in ("component", "unrotated")}
    cosine = float(abs(np.linalg.svd(made.data, full_matrices=False)[2][0] @ made.component))
    return {
        "case": of_case(run, "synthetic"),
        "magnitudes": {name: values[::16].tolist() for name, values in ordered.items()},
        "small": int(np.count_nonzero(ordered["component"] < 0.1 * ordered["component"][0])),
        "cosine": cosine,
    }


def render(result: dict[str, Any]) -> None:
    """Draw the paper's two panels, and the distance to the bound as a third."""
    case, magnitudes = result["case"], result["magnitudes"]
    figure, panels = pages.pyplot().subplots(1, 3, figsize=(12.6, 4.9), layout="constrained")
    places = 16 * np.arange(len(magnitudes["component"]))
    panels[0].plot(places, magnitudes["component"], color="#333333", label="first column of V (rotated)")
    panels[0].plot(places, magnitudes["unrotated"], color="#888888", linestyle="--", label="first column of Ṽ")
    panels[0].set_xlabel("entry, sorted by magnitude")
    panels[0].set_ylabel("absolute value")
    panels[0].set_ylim(bottom=0)
    panels[0].grid(alpha=0.3)
    panels[0].legend(fontsize=9, loc="lower left")
    figures.captured(panels[1], case, ratio=True)
    figures.distance(panels[2], case, ratio=True)
    panels[1].set_ylabel("f: variance / largest eigenvalue")
    panels[2].set_ylabel("% below the best found; band: best below bound")
    figures.legend(figure)
    size = case["matrix"]["features"]
    turned = np.degrees(np.arccos(min(1.0, result["cosine"])))
    halved = "agrees with the paper" if result["small"] == size // 4 else "disagrees with the paper"
    lines = [
        f"## {TITLE}",
        "",
        "X = UΣVᵀ + noise with Hadamard U and V = G(θ)Ṽ, as the paper describes, used without centring: the first left",
        "singular vector is constant, so that centring would remove the component.",
        "",
        f"![synthetic data]({pages.save(figure, 'paper_figure3')})",
        "",
        f"- **Singular vectors**: {halved}, whose rotation makes a quarter of the entries almost zero;",
        f"  here {result['small']:,} of {size:,} entries of V are below a tenth of the largest; all of Ṽ are equal.",
        f"  Noise turns the component by {turned:.1g}°.",
        *figures.verdicts(case),
        "",
        figures.proof_times([case]),
    ]
    page.section("paper.figure3_synthetic", lines)
