"""From a correlation matrix to sectors: 423 stocks of the S&P 500, the market taken out."""

import json
from typing import Any

import numpy as np

from certpca.plots import draw
from certpca.results.codec import solution_from_dict
from certpca.results.path import Path
from experiments import pages
from experiments.data import SHARED
from experiments.running import Run
from experiments.sessions import session, shown
from experiments.transcriptomics import as_set

TITLE = "Finance: groups of stocks, with a proof"
NEEDS = ("snp500",)
# Proved optima of one component, from the description of the data.
PUBLISHED = {5: 3.324581, 10: 6.109180, 20: 10.421793}


def compute(run: Run) -> dict[str, Any]:
    """Write the matrix as a table, and do what an analyst does with it."""
    seconds = 20 if run.quick else 60
    with np.load(SHARED / "snp500" / "A.npz") as file:
        matrix, names = file["A"], [str(name) for name in file["names"]]
    with session() as typed:
        import pandas

        pandas.DataFrame(matrix, columns=names).to_csv(typed.folder / "stocks.csv", index=False)
        typed.shell("certpca info stocks.csv --covariance")
        typed.shell(
            "certpca path stocks.csv --covariance --sparsities 5:20:5,35 --certify "
            f"--time-limit {seconds} --output path.json --output path.csv"
        )
        typed.shell(
            "certpca decompose stocks.csv --covariance -r 4 -k 8 --certify "
            f"--time-limit {seconds} --output groups.json --output groups.csv"
        )
        typed.shell("certpca verify groups.1.certificate.json stocks.csv --covariance")
        typed.python('import pandas\n\nprint(pandas.read_csv("groups.csv").head(10).to_string(index=False))')
        typed.shell(
            "certpca decompose stocks.csv --covariance -r 4 -k 8 --together disjoint --certify "
            f"--time-limit {seconds} --output disjoint.json"
        )
        along = json.loads((typed.folder / "path.json").read_text())
        groups = json.loads((typed.folder / "groups.json").read_text())
        bounds = [part["upper_bound"] for part in along["solutions"]]
        plain: dict[str, Any] = {"certificate": None, "history": []}
        return {
            "steps": typed.steps,
            "path": [{**part, **plain} for part in along["solutions"]],
            "bounds": bounds,
            "groups": [{**part, **plain} for part in groups["components"]],
        }


def render(result: dict[str, Any]) -> None:
    """Draw what is captured and proved, and the groups."""
    along = Path(tuple(solution_from_dict(part) for part in result["path"]))
    figure, (left, right) = pages.pyplot().subplots(
        1, 2, figsize=(9.6, 5.8), constrained_layout=True, width_ratios=(1, 1.1)
    )
    left.plot(along.sparsities, result["bounds"], color=pages.BOUND, marker="v", label="proved: none exceeds")
    left.plot(along.sparsities, along.objectives, color=pages.BLUE, marker="o", label="captured")
    left.set_xlabel("stocks")
    left.set_ylabel("variance")
    left.legend(fontsize=8)
    draw("components", as_set(result["groups"]), ax=right)
    picture = pages.save(figure, "finance")
    rows = []
    for part, bound in zip(result["path"], result["bounds"], strict=True):
        known = PUBLISHED.get(part["sparsity"])
        told = "–" if known is None else f"{known:.6f}"
        rows.append([part["sparsity"], f"{part['objective']:.6f}", "–" if bound is None else f"{bound:.6f}", told])
    info, along_step, groups, verify, look, disjoint = result["steps"]
    lines = [
        f"# {TITLE}",
        "",
        "Written by `python -m experiments finance`; everything on this page was run. The file is a table of",
        "correlations of daily log-returns of 423 stocks of the S&P 500, 2010 to 2019, after its leading eigenvector,",
        "the market, was taken out (from the data of the R package msPCA). A matrix is all that is needed:",
        "`--covariance`.",
        *shown(info),
        "",
        "How much does a group of k stocks capture, and how much could any group?",
        *shown(along_step),
        "",
        "The same beside the optima that others proved by branch and bound:",
        "",
        *pages.table(["stocks", "captured", "no group exceeds", "published optimum"], rows, left=0),
        "",
        "Four groups, each the best of what the scores of the earlier ones leave (Schur deflation):",
        *shown(groups),
        "",
        f"![what groups of stocks capture, and the loadings of four groups]({picture})",
        "",
        "The proof is a file; whoever has the table can check it. The groups are a tidy table for whatever comes next:",
        *shown(verify),
        *shown(look),
        "",
        "Beware of what is asked for: without a stock in common, but correlated as they like, groups of one sector",
        "come several times, as the largest sum of variances counts the same again. The column *adjusted* shows it:",
        *shown(disjoint),
    ]
    pages.write("finance", lines)
