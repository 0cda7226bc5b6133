"""The words of the page on marker panels, around numbers that `genetics.py` computed."""

from textwrap import wrap
from typing import Any

from certpca.runtime.rounded import down, percent_up, up
from experiments import genetics, pages

WIDTH = 140
OPTIMAL = 1e-6  # gaps below which a panel is called the best


def lines(result: dict[str, Any], picture: str) -> list[str]:
    """Return the page."""
    return [
        f"# {genetics.TITLE}",
        "",
        *_opening(result),
        "",
        f"![captured variance and bounds, scores of samples, and loadings along the genome]({picture})",
        "",
        *_filters(result),
        *_smallest(result),
        *_markers(result),
        *_projection(result),
        *_populations(result),
        *_linkage(result),
        *_in_python(result),
    ]


def _paragraph(*pieces: str) -> list[str]:
    return wrap(" ".join(pieces), WIDTH, break_long_words=False, break_on_hyphens=False)


def _opening(result: dict[str, Any]) -> list[str]:
    chosen, path = result["chosen"], result["path"]
    seen, unseen = result["samples"]
    fewer = [row for row in path if row["size"] < chosen["size"]]
    pieces = [
        "Written by `python -m experiments genetics`, from a .bed file as it was published.",
        f"A panel of **{chosen['size']} markers** out of {result['stages'][-1]['left']:,} follows the first principal",
        f"component of all of them with a correlation of {chosen['follows']:.3f} in {seen} samples. It captures",
        f"{down(chosen['captured'])}; that no other panel of {chosen['size']} captures more than {up(chosen['bound'])}",
        "is **proved**, by a certificate that anyone can check against the file.",
    ]
    if fewer and fewer[-1]["bound"] < chosen["captured"]:
        pieces += [
            f"Nor is a smaller one enough: no {fewer[-1]['size']} markers capture more than {up(fewer[-1]['bound'])},",
            "whichever are taken.",
        ]
    if all(row["gap"] < OPTIMAL for row in path):
        pieces.append(f"All {len(path)} panels below are proved to be the best of their size.")
    pieces.append(f"{unseen} samples, every fourth of the file, were held out and are projected onto it.")
    return _paragraph(*pieces)


def _filters(result: dict[str, Any]) -> list[str]:
    without = result["without"]
    rows = [
        [row["what"], f"`{row['option']}`" if row["option"].startswith("-") else row["option"], f"{row['left']:,}"]
        for row in result["stages"]
    ]
    return [
        "## What is left out, and why",
        "",
        *pages.table(["filter", "option", "variants left"], rows, left=2),
        "",
        *_paragraph(
            f"Without any filter, {without['on_x']} of the {without['size']} markers of the best panel found are",
            "on the",
            "X chromosome, of which men have one and women two. Variants that are inherited together share",
            "variance that",
            "says little about populations (see [below](#without-clumping)). The positions of this file are those of",
            "build 36, so the regions of long-range linkage are those of hg18.",
        ),
        "",
    ]


def _smallest(result: dict[str, Any]) -> list[str]:
    verified, chosen = result["verified"], result["chosen"]
    rows = [
        [
            row["size"],
            down(row["captured"]),
            up(row["bound"]),
            "the best" if row["gap"] < OPTIMAL else percent_up(row["gap"]),
            f"{row['proved']} of {row['size']}",
            f"{row['excluded']:,}",
            f"{row['follows']:.3f}",
        ]
        for row in result["path"]
    ]
    head = ["markers", "captured", "none captures more than", "gap", "in every best panel", "in none", "follows"]
    read = " ".join(f"--{name.replace('_', '-')} {_said(value)}" for name, value in verified["reading"].items())
    return [
        "## The smallest panel",
        "",
        *pages.table(head, rows, left=0),
        "",
        *_paragraph(
            "*In every best panel*: markers without which no panel of that size is best; *in none*: variants",
            "that are in",
            "no best panel; both proved. *Follows*: correlation of the panel's scores with the first full component,",
            f"whose variance is {result['full']['variance']:.1f}. So many markers are needed for a variance as",
            "the first",
            "line has whose bound reaches it. The size was chosen as the smallest that follows full PCA with",
            f"{genetics.FOLLOWS:.2f}; what is proved is about captured variance, not about correlations. Each",
            "proof had",
            f"{genetics.SECONDS} s.",
        ),
        "",
        *_paragraph(
            f"Stored and read again as its own record says (`{read}`, and who was left out), the panel of",
            f"{chosen['size']} was verified in {verified['seconds']:.1f} s (`{verified['kind']}`).",
        ),
        "",
        "```sh",
        f"certpca solve hapmap3.bed -k {chosen['size']} --exclude-regions hg18 --maf 0.05 --clump-r2 0.2 \\",
        "    --remove held_out.txt --missing mean --certify --target-gap 0 --output panel.json",
        "certpca verify panel.certificate.json hapmap3.bed",
        "certpca markers panel.json hapmap3.bed --output markers.tsv --eigenvec panel.eigenvec --plot manhattan.png",
        "certpca project markers.tsv others.bed --output others.eigenvec",
        "```",
        "",
    ]


def _said(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else f"{value:g}"


def _markers(result: dict[str, Any]) -> list[str]:
    panel = result["panel"]
    rows = [
        [
            panel["names"][row],
            panel["chromosomes"][row],
            f"{panel['positions'][row]:,}",
            f"{panel['counted'][row]}/{panel['other'][row]}",
            f"{panel['means'][row] / 2:.3f}",
            f"{panel['loadings'][row][0]:+.4f}",
            "proved" if panel["proved"][row][0] == 1 else "not proved",
        ]
        for row in range(len(panel["names"]))
    ]
    head = ["marker", "chr", "position (hg18)", "counted/other", "frequency", "loading", "in every best panel"]
    about = "What `certpca markers` writes; this file codes alleles 1 and 2."
    return ["## The markers", "", about, "", *pages.table(head, rows), ""]


def _projection(result: dict[str, Any]) -> list[str]:
    rows = [
        [
            row["data"],
            row["samples"],
            row["markers"],
            "; ".join(f"{count} {what}" for what, count in sorted(row["counts"].items())),
            f"{row['coverage']:.1%}",
            f"{row['difference']:.1g}",
        ]
        for row in result["projected"]
    ]
    head = ["file", "samples", "markers", "found as", "squared loadings found", "largest change of a score"]
    return [
        "## Projection",
        "",
        *_paragraph(
            "The samples held out were written to files of their own that count the other allele at half of the",
            "variants,",
            "drawn at random; on chromosome 22, whose file has letters, half were also read off the other",
            "strand. Scores",
            f"on the panel (chromosome 22: one of {genetics.LINKED} markers, found on the other samples) must not",
            "change.",
            "Markers whose alleles are A and T, or C and G, are left out unless the strand is known (`--strand same`).",
        ),
        "",
        *pages.table(head, rows),
        "",
    ]


def _populations(result: dict[str, Any]) -> list[str]:
    two = result["two"]
    rows = [
        [title, f"{variants:,}", f"{two['silhouette'][name]:.2f}", f"{two['right'][name]:.0%}"]
        for title, name, variants in (
            ("two sparse components", "panel", two["markers"]),
            ("two full components", "full", two["variants"]),
        )
    ]
    gaps = " and ".join(percent_up(gap) for gap in two["gaps"])
    return [
        "## Populations",
        "",
        *_paragraph(
            f"Two components of {genetics.EACH} markers each, one after the other; what is proved of the steps",
            "are gaps of",
            f"{gaps}, the second of what the first leaves. Samples of the analysis:",
            f"{genetics.counted(two['labels']['seen'])}; projected: {genetics.counted(two['labels']['unseen'])}",
            f"({'; '.join(f'{name}: {text}' for name, text in genetics.REGIONS.items())}).",
            "The analysis sees no populations.",
        ),
        "",
        *pages.table(["", "variants", "silhouette", "held-out samples nearest to the mean of their own"], rows),
        "",
        *_paragraph(
            "On the first component, the variance of projected samples is",
            f"{two['spread']:.2f} times that of the samples it was found on. Scores of new samples shrink where many",
            "variants are fitted to few samples; nothing is done about that here.",
        ),
        "",
    ]


def _linkage(result: dict[str, Any]) -> list[str]:
    rows = [
        [
            "none" if row["limit"] is None else f"r² at most {row['limit']}",
            f"{row['variants']:,}",
            f"{row['crowded']:.0%}",
            percent_up(row["gap"]),
        ]
        for row in result["linkage"]
    ]
    speed = [
        [row["data"], f"{row['samples']:,} x {row['before']:,}", f"{row['left']:,}", f"{row['seconds']:.2f}"]
        for row in result["speed"]
    ]
    return [
        "## Without clumping",
        "",
        f"{genetics.LINKED} markers on chromosome 22 in samples of one continent:",
        "",
        *pages.table(["clumping", "variants", "markers within one Mb", "gap"], rows),
        "",
        *_paragraph(
            "Clumping takes variants by falling frequency of the rarer allele, keeps each that is still there,",
            "and leaves",
            "out those within the window whose r² with it exceeds the limit. It is exact, in whole numbers over the",
            "samples in which both are known, and walks over the packed file once, after a walk that counts alleles:",
        ),
        "",
        *pages.table(["file", "samples x variants", "left at r² 0.2", "seconds for both"], speed),
        "",
    ]


def _in_python(result: dict[str, Any]) -> list[str]:
    size = result["chosen"]["size"]
    return [
        "## In Python",
        "",
        "```python",
        'genotypes = certpca.read_plink("hapmap3", exclude_regions="hg18", maf=0.05, clump_r2=0.2)',
        f'solution = certpca.solve(genotypes, {size}, missing="mean", certify=True, target_gap=0.0)',
        "panel = certpca.marker_panel(solution, genotypes)  # verifies the certificate",
        'certpca.save_markers(panel, "markers.tsv")',
        'projection = certpca.project(panel, certpca.read_plink("others", chromosomes="all"))',
        'certpca.save_eigenvec(projection, "others.eigenvec")',
        "print(projection)  # how markers were found",
        "```",
        "",
        *_bullet(
            "`exclude_regions` knows hg18, hg19 and hg38, each with the 24 regions of Price et al. (2008), and takes",
            "others as `6:25500000-33500000`.",
        ),
        *_bullet("`clump_kb` and `clump_variants` set the window; by default it is 100 / r² kb to either side."),
        *_bullet(
            "Chromosomes go by any name (7, chr7, X, 23); `autosomes` is the default and `all` keeps everything. In",
            "files with numbers above 26, as those of dogs and cattle have, 23 to 26 are autosomes.",
        ),
        *_bullet(
            '`read_pgen("imputed", dosages=True)` reads PLINK 2 files (`certpca[pgen]`). Filters and clumping look at',
            "hard calls, also where dosages are read. Variants with more than two alleles are refused.",
        ),
        *_bullet(
            "The .eigenvec file has scores in the units of the reference, not scaled to unit length as PLINK's are, so",
            "that several files projected onto one panel can be put together.",
        ),
    ]


def _bullet(*pieces: str) -> list[str]:
    return wrap("- " + " ".join(pieces), WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
