"""Populations from few variants: scores of sparse components beside those of full PCA, with and without pruning.

Neighbouring variants are inherited together (linkage disequilibrium), so the sparse component of largest variance can
be a stretch of one chromosome instead of a population. Geneticists therefore thin variants before PCA; so does this
page, and it shows what happens without.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_score

import certpca
from experiments import pages
from experiments.data import SHARED, genotypes
from experiments.running import SEED, Run

TITLE = "Populations from few variants"
NEEDS = ("geno_hapmap3_672", "geno_1kg_chr1")
DATA = {"HapMap3": "geno_hapmap3_672", "1000 Genomes, chr 1": "geno_1kg_chr1"}
SHARE = 0.009  # of all common variants, for each of the two components
COMMON = 0.05  # smallest frequency of the rarer allele
WINDOW, CORRELATION = 50, 0.2  # what PLINK's users write as --indep-pairwise 50 ... 0.2
OTHER_CORRELATIONS = (0.1, 0.5)
BLOCK = 1_000_000  # positions: variants closer than that are often linked
SECONDS = 15  # for each certificate
CONTINENTS = {
    "Africa": ("ACB", "ASW", "LWK", "YRI"),
    "Europe": ("CEU", "GBR", "TSI"),
    "East Asia": ("CHB", "JPT"),
    "South Asia": ("GIH",),
    "America": ("MXL", "PUR"),
}
COLOURS = (pages.BLUE, pages.ORANGE, pages.GREEN, pages.PINK, pages.AMBER)


class Variants(NamedTuple):
    """Centred genotypes of common variants, where these lie, and the continent of each sample."""

    values: np.ndarray
    chromosome: np.ndarray
    position: np.ndarray
    continent: np.ndarray


def load(folder: str) -> Variants:
    """Read common variants, in the order in which they lie; missing calls take the mean of their variant."""
    calls, population = genotypes(folder)
    assert population is not None
    with np.load(SHARED / folder / "geno.npz") as file:
        position = file["pos"]
        chromosome = file["chrom"].astype(int) if "chrom" in file.files else np.ones(position.size, dtype=int)
    values = calls.astype(np.float32)
    frequency = np.nanmean(values, axis=0) / 2
    order = np.lexsort((position, chromosome))
    order = order[np.minimum(frequency, 1 - frequency)[order] > COMMON]
    values = values[:, order]
    values = np.where(np.isnan(values), np.float32(0), values - np.nanmean(values, axis=0))
    continent = [next(key for key, names in CONTINENTS.items() if label in names) for label in population]
    return Variants(values, chromosome[order], position[order], np.array(continent))


def unlinked(values: np.ndarray, chromosome: np.ndarray, window: int, correlation: float) -> np.ndarray:
    """Return the columns kept by going from left to right.

    A column is kept if its squared correlation with each of the last `window` kept ones of its chromosome is below the
    limit.
    """
    lengths = np.linalg.norm(values, axis=0)
    unit = np.ascontiguousarray((values / np.where(lengths > 0, lengths, 1)).T)
    kept: list[int] = []
    for chosen in np.unique(chromosome):
        recent = np.empty((window, values.shape[0]), dtype=unit.dtype)  # a ring: the order of rows does not matter
        count = 0
        for column in np.flatnonzero(chromosome == chosen):
            filled = recent[: min(count, window)]
            if filled.shape[0] == 0 or ((filled @ unit[column]) ** 2).max() < correlation:
                recent[count % window] = unit[column]
                count += 1
                kept.append(int(column))
    return np.array(kept, dtype=np.intp)


def crowded(chromosome: np.ndarray, position: np.ndarray, width: int = BLOCK) -> float:
    """Return the largest share of variants that lie within one stretch of `width` positions."""
    most = 0
    for chosen in np.unique(chromosome):
        places = np.sort(position[chromosome == chosen])
        most = max(most, int((np.searchsorted(places, places + width, side="right") - np.arange(places.size)).max()))
    return most / position.size


def compute(run: Run) -> list[dict[str, Any]]:
    """Score both data sets by full and by sparse components, on all and on unlinked variants."""
    rows = []
    for title, folder in DATA.items():
        variants = load(folder)
        common = variants.values.shape[1]
        limits: list[float | None] = [None, CORRELATION]
        for limit in limits if run.quick else [*limits, *OTHER_CORRELATIONS]:
            shown = limit in (None, CORRELATION)
            columns = np.arange(common)
            if limit is not None:
                columns = unlinked(variants.values, variants.chromosome, WINDOW, limit)
            part = Variants(
                variants.values[:, columns],
                variants.chromosome[columns],
                variants.position[columns],
                variants.continent,
            )

            def job(part: Variants = part, shown: bool = shown, common: int = common) -> dict[str, Any]:
                return {"full": _full(part), "sparse": _sparse(part, int(SHARE * common), certify=shown)}

            row = run.part(f"{title}, r² below {limit}", job)
            if not shown:  # the results need no scores that nobody draws
                row = {method: {key: row[method][key] for key in row[method] if key != "scores"} for method in METHODS}
            rows.append(
                {
                    "data": title,
                    "limit": limit,
                    "samples": part.values.shape[0],
                    "common": common,
                    "left": part.values.shape[1],
                    "continent": part.continent.tolist(),
                    **row,
                }
            )
            run.say(f"{title}, r² below {limit}: {row['full']['silhouette']:.3f}, {row['sparse']['silhouette']:.3f}")
    return rows


def _full(part: Variants) -> dict[str, Any]:
    scores = PCA(2, random_state=SEED).fit_transform(part.values)
    return {"silhouette": float(silhouette_score(scores, part.continent)), "scores": scores.round(3).tolist()}


def _sparse(part: Variants, sparsity: int, *, certify: bool) -> dict[str, Any]:
    model = certpca.SparsePCA(n_components=2, sparsity=sparsity, random_state=SEED).fit(part.values)
    scores = model.transform(part.values)
    supports = [np.flatnonzero(component) for component in model.components_]
    gaps = []
    for number, solution in enumerate(model.solutions_ if certify else ()):
        problem, budget = model.problem(part.values, number), certpca.Budget(seconds=SECONDS)
        gaps.append(certpca.certify(problem, sparsity, solution=solution, budget=budget).gap)
    return {
        "silhouette": float(silhouette_score(scores, part.continent)),
        "scores": scores.round(3).tolist(),
        "sparsity": sparsity,
        "used": int(model.support_.size),
        "crowded": [crowded(part.chromosome[support], part.position[support]) for support in supports],
        "relative": [float(solution.relative_objective) for solution in model.solutions_],
        "gaps": gaps,
    }


def render(rows: list[dict[str, Any]]) -> None:
    """Draw the scores, and write the tables."""
    picture = _draw(rows)
    lines = [
        f"# {TITLE}",
        "",
        "Written by `python -m experiments populations`. Variants whose rarer allele has a frequency "
        f"above {COMMON:.0%}, "
        "centred; two sparse",
        f"components by `certpca.SparsePCA`, each with {SHARE:.1%} of the common variants, so that "
        "together they use less "
        "than 2%, by the same rule for",
        "both data sets. The silhouette says how well scores separate continents (1: perfectly; 0 or "
        "less: not at all). "
        "Pruning is the usual one:",
        "from left to right, a variant is kept if its squared correlation r² with each of the last "
        f"{WINDOW} kept ones of its chromosome is below {CORRELATION}.",
        "Pruning and components see no labels. Shares are of all common variants, before pruning. In .bed and "
        ".pgen files, `clump_r2` (`--clump-r2`)",
        "does the like while they are read: [marker panels](genetics.md).",
        "",
        "What was tried: the limit for r² is what geneticists use, but it was settled after silhouettes "
        "had been seen for "
        "it and for the other limits in",
        "the last table, with windows of 500, with variants scaled to unit variance and with "
        "`svd-threshold` instead of "
        "`auto`. Pruning was tried because",
        "sparse components without it had failed on chromosome 1. No setting was chosen for one data set alone.",
        "",
        f"![scores of full and of sparse components]({picture})",
        "",
        *pages.table(
            HEAD,
            [_row(row) for row in rows if row["limit"] in (None, CORRELATION)],
            left=3,
        ),
        "",
        "*In one Mb*: the largest share of a component's variants within one million positions, for the "
        "first and the second "
        "component. *Proved gaps*: how far from the best choice of variants each can be at most, after "
        f"{SECONDS} seconds "
        "of proving each.",
        "",
        *_reading(rows),
    ]
    others = [row for row in rows if row["limit"] is not None]
    if len(others) > len(DATA):
        lines += [
            "",
            "How much depends on the limit for r²:",
            "",
            *pages.table(
                ["data", "r² below", "variants left", "silhouette, full PCA", "silhouette, sparse"],
                [
                    [
                        row["data"],
                        row["limit"],
                        f"{row['left']:,}",
                        *(f"{row[key]['silhouette']:.3f}" for key in METHODS),
                    ]
                    for row in sorted(others, key=lambda row: (row["data"], row["limit"]))
                ],
            ),
        ]
    pages.write("populations", lines)


METHODS = ("full", "sparse")
HEAD = [
    "data",
    "variants",
    "samples x variants",
    "silhouette, full PCA",
    "silhouette, sparse",
    "variants used",
    "of all common",
    "of those left",
    "in one Mb",
    "proved gaps",
]


def _row(row: dict[str, Any]) -> list[str]:
    sparse = row["sparse"]
    return [
        row["data"],
        "all" if row["limit"] is None else "pruned",
        f"{row['samples']:,} x {row['left']:,}",
        *(f"{row[key]['silhouette']:.3f}" for key in METHODS),
        f"{sparse['used']:,}",
        f"{sparse['used'] / row['common']:.2%}",
        f"{sparse['used'] / row['left']:.2%}",
        ", ".join(f"{share:.0%}" for share in sparse["crowded"]),
        ", ".join(f"{gap:.1%}" for gap in sparse["gaps"]),
    ]


def _reading(rows: list[dict[str, Any]]) -> list[str]:
    """Say what the numbers mean, as far as they do."""
    found = {(row["data"], row["limit"]): row for row in rows}
    lines = []
    for title in DATA:
        every, pruned = found[title, None], found[title, CORRELATION]
        before, after = every["sparse"]["silhouette"], pruned["sparse"]["silhouette"]
        blocks = [share for share in every["sparse"]["crowded"] if share > 0.5]
        text = f"- **{title}.** "
        if blocks:
            count = "both components are" if len(blocks) == 2 else "one of the components is"
            text += (
                f"Without pruning {count} mostly one stretch of linked variants, which nearly repeat each other and so "
                "share a large variance: a correct answer to the question asked, and no population (silhouette "
                f"{before:.2f}). "
            )
        else:
            text += f"Without pruning no component is a stretch of linked variants (silhouette {before:.2f}). "
        text += (
            f"After pruning, {pruned['sparse']['used']:,} variants separate continents with {after:.2f}, "
            f"full PCA on all {every['common']:,} with {every['full']['silhouette']:.2f} and on the "
            f"{pruned['left']:,} left with {pruned['full']['silhouette']:.2f}."
        )
        lines.append(text)
    return lines


def _draw(rows: list[dict[str, Any]]) -> str:
    figure, panels = pages.pyplot().subplots(2, 3, figsize=(11.5, 7.6), constrained_layout=True)
    found = {(row["data"], row["limit"]): row for row in rows}
    columns = ((None, "full"), (None, "sparse"), (CORRELATION, "sparse"))
    for line, title in zip(panels, DATA, strict=True):
        for panel, (limit, method) in zip(line, columns, strict=True):
            row = found[title, limit]
            scores, continent = np.array(row[method]["scores"]), np.array(row["continent"])
            shuffled = np.random.default_rng(SEED).permutation(len(scores))  # so that no continent covers another
            colour = dict(zip(CONTINENTS, COLOURS, strict=True))
            panel.scatter(
                *scores[shuffled].T, s=11, c=[colour[name] for name in continent[shuffled]], alpha=0.65, linewidths=0
            )
            used = f"all {row['common']:,} variants" if method == "full" else f"{row['sparse']['used']:,} variants"
            how = "full PCA" if method == "full" else "sparse" if limit is None else "sparse, pruned"
            panel.set_title(f"{title}: {how}\n{used}, silhouette {row[method]['silhouette']:.2f}", fontsize=10)
            panel.set_xlabel("component 1")
            panel.set_ylabel("component 2")
            panel.tick_params(labelsize=8)
            panel.spines[["top", "right"]].set_visible(False)
    shown = {name for row in rows for name in row["continent"]}
    handles = [
        panels[0, 0].scatter([], [], s=30, color=colour, label=name, linewidths=0)
        for name, colour in zip(CONTINENTS, COLOURS, strict=True)
        if name in shown
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    return pages.save(figure, "populations")
