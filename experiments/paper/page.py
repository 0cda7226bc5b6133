"""docs/paper.md: which sections it has, and what it says about all of them."""

from typing import Any

from experiments import pages
from experiments.running import total_seconds

ORDER = [
    "about",
    "paper.elements",
    "paper.figure1_captured",
    "paper.times",
    "paper.figure2_tightness",
    "paper.table1_constants",
    "paper.table2_pitprops",
    "paper.figure3_synthetic",
    "paper.figure4_more_data",
    "paper.figure5_expression",
    "paper.table3_statistics",
    "paper.tradeoff",
    "paper.missing_values",
    "paper.future_work",
    "paper.own_files",
]


def section(name: str, lines: list[str]) -> None:
    """Write the section of one artefact."""
    pages.write_section("paper", ORDER, name, lines)


def write_about(contents: dict[str, dict[str, Any]]) -> None:
    """Write the head of the page from the results that are kept."""
    mine = [content for name, content in contents.items() if name.startswith("paper.")]
    if not mine:
        return
    profiles = sorted({content["profile"] for content in mine})
    machines = sorted({f"{content['machine']['cores']} cores ({content['machine']['processor']})" for content in mine})
    threads = sorted({content["machine"].get("threads", content["machine"]["cores"]) for content in mine})
    commits = sorted({content["machine"]["commit"][:10] or "not known" for content in mine})
    several = f" (several: {', '.join(commits)})" if len(commits) > 1 else f" {commits[0]}"
    lines = [
        "# The paper's tables and figures",
        "",
        "Everything that Chowdhury, Drineas, Woodruff & Zhou, *Approximation Algorithms for Sparse Principal Component",
        "Analysis* (2020), print as a table or a figure, made again by `python -m experiments paper`, with what the",
        "paper does not have: a proved upper bound above every curve. That command writes numbers and verdicts.",
        "",
        f"Computed at commit{several}, {' and '.join(profiles)} profile: {total_seconds(mine) / 60:.0f} minutes of",
        "work by processes",
        f"with {' or '.join(map(str, threads))} thread{'' if threads == [1] else 's'} each, on {', '.join(machines)}.",
        "`--workers` says how many of them run side by side.",
        f"All artefacts of these docs together took {total_seconds(list(contents.values())) / 60:.0f} minutes.",
        "",
        "The paper's genotypes (HGDP/HapMap) and expression values (GSE10072) are not shipped. `--hgdp FILE.bed` and",
        "`--gse10072 SERIES_MATRIX` draw the figures for them once you have fetched them; other data of the same kind",
        "and size stand in here. f is the variance captured divided by the largest eigenvalue. spca-svd, spca-sdp and",
        "spca-lowrank return loadings of their own: *raw* values are those, *refitted* ones the best on the same",
        "features. dec, cwpca and `auto`, the default of certpca, refit by themselves; dec and cwpca start from the",
        "largest entries of the leading eigenvector, so what they miss at small k they might find from other starts.",
    ]
    pages.write_section("paper", ORDER, "about", lines)
