"""The paper's elements, and where each stands."""

from typing import Any

from experiments import pages
from experiments.paper import page
from experiments.running import Run

TITLE = "Where each element of the paper stands"
NEEDS: tuple[str, ...] = ()
ROWS = (
    ("Problem (1)", "`solve`, `certify`", "as defined; bounds are proved, which the paper does not attempt"),
    (
        "Relaxation (2)",
        "`solve_sdp`",
        "primal and dual; the dual value is proved by the checker ([how](semidefinite.md))",
    ),
    ("Algorithm 1, spca-svd", "`svd-threshold`", "with `epsilon` as boxed; with k loadings as in its experiments"),
    ("Algorithm 2, spca-sdp", "`sdp-threshold`", "with `epsilon` as boxed; with k loadings as in its experiments"),
    (
        "Theorem 1 and Lemma 1",
        "figure 2; trade-off",
        "evaluated, as printed and as the proof gives; tested on random matrices",
    ),
    ("k/ε³ loadings", "trade-off", "⌈1/ε⌉k/ε², the same where 1/ε is whole; the box has k/ε²"),
    (
        "Theorem 2",
        "figure 2; trade-off",
        "evaluated with the longest row instead of unit rows; tested on random matrices",
    ),
    (
        "Approximate SVD",
        "`svd-threshold`",
        "block Krylov by default, until residuals are small; `method` has exact ones",
    ),
    (
        "Approximate SDP",
        "`sdp-threshold`",
        "α from the proved dual value, so that the theorem holds at any duality gap",
    ),
    ("Sparse kernel PCA", "`SparseKernelPCA`", "[components](components.md#kernel-components), with certificates"),
    (
        "dec, cwpca, spca-lowrank",
        "`decomposition`, `coordinatewise`, `spannogram`",
        "written anew; settings as the paper says",
    ),
    (
        "Figure 1",
        "here",
        "its sizes simulated, other data beside them; HGDP/HapMap and GSE10072 by `--hgdp`, `--gse10072`",
    ),
    ("Running times", "here", "on our machine, in seconds; the paper's were hours"),
    ("Figure 2", "here", "with what proofs give before simplification, and what was reached"),
    ("Other ε do not change it", "figure 2", "checked"),
    ("Table 1", "here", "with the duality gap that each value is known to"),
    ("Table 2", "here", "loadings compared with print; where two printed rows come from"),
    ("Figure 3", "here", "the generator as described, uncentred"),
    ("Figure 4", "here", "as figure 1"),
    ("Table 3", "here", "1.4% missing calls in [missing values](#missing-values)"),
    ("Future work", "here", "four questions, four answers"),
)
DIFFERS = (
    "What still differs: the paper's genotypes and expression values are not redistributable, so other data of the",
    "same",
    "kind, source (HGDP) or size stand in; its machine and its programs (R, MATLAB, SCS) are not those measured here.",
)


def compute(run: Run) -> list[list[str]]:
    """Return the list, which nothing is computed for."""
    del run
    return [list(row) for row in ROWS]


def render(rows: list[Any]) -> None:
    """Write the table."""
    lines = [f"## {TITLE}", "", *pages.table(["the paper's", "here", "how"], rows, left=3), "", *DIFFERS]
    page.section("paper.elements", lines)
