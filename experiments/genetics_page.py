"""The words of the page on marker panels, around numbers that `genetics.py` computed."""

from typing import Any

from experiments import genetics, pages


def lines(result: dict[str, Any], picture: str) -> list[str]:
    """Return the page."""
    return [
        f"# {genetics.TITLE}",
        "",
        "Written by `python -m experiments genetics`, from a .bed file as it was published.",
        *_opening(result),
        "",
        f"![captured variance and bounds, scores of samples, and loadings along the genome]({picture})",
        "",
        *_filters(result),
        *_smallest(result),
        *_table(result),
        *_projection(result),
        *_populations(result),
        *_linkage(result),
        *_words(),
    ]


def _opening(result: dict[str, Any]) -> list[str]:
    chosen = result["chosen"]
    seen, unseen = result["samples"]
    best = all(row["gap"] < 1e-6 for row in result["path"])
    fewer = [row for row in result["path"] if row["size"] < chosen["size"]]
    text = (
        f"A panel of **{chosen['size']} markers** out of {result['stages'][-1]['left']:,} follows the first principal "
        f"component of all of them with a correlation of {chosen['follows']:.3f} in {seen} samples. It captures "
        f"{chosen['captured']:.4f}; that no other panel of {chosen['size']} captures more than {chosen['bound']:.4f} is "
        "**proved**, by a certificate that anyone can check against the file."
    )
    if fewer and fewer[-1]["bound"] < chosen["captured"]:
        text += (
            f" Nor is a smaller one enough: no {fewer[-1]['size']} markers capture more than {fewer[-1]['bound']:.4f}, "
            "whichever are taken."
        )
    if best:
        text += f" All {len(result['path'])} panels below are proved to be the best of their size."
    return ["", text, f"{unseen} samples, every fourth of the file, were held out and are projected onto it."]


def _filters(result: dict[str, Any]) -> list[str]:
    without = result["without"]
    rows = [[row["what"], f"`{row['option']}`" if row["option"].startswith("-") else row["option"], f"{row['left']:,}"]
            for row in result["stages"]]  # fmt: skip
    return [
        "## What is left out, and why",
        "",
        *pages.table(["filter", "option", "variants left"], rows, left=2),
        "",
        f"Without any filter, {without['on_x']} of the {without['size']} markers of the best panel found are on the X "
        "chromosome, of which men have one and women two: it would tell sexes apart. Variants that are inherited together",
        "share variance that says little about populations (see [linkage](#without-clumping)). The positions of this file "
        "are those of build 36, so the regions of long-range linkage are those of hg18.",
        "",
    ]


def _smallest(result: dict[str, Any]) -> list[str]:
    verified, full = result["verified"], result["full"]["variance"]
    rows = [
        [
            row["size"],
            f"{row['captured']:.4f}",
            f"{row['bound']:.4f}",
            "the best" if row["gap"] < 1e-6 else f"{row['gap']:.2%}",
            f"{row['proved']} of {row['size']}",
            f"{row['excluded']:,}",
            f"{row['follows']:.3f}",
        ]
        for row in result["path"]
    ]
    read = " ".join(f"--{name.replace('_', '-')} {_said(value)}" for name, value in verified["reading"].items())
    return [
        "## The smallest panel",
        "",
        *pages.table(
            [
                "markers",
                "captured",
                "no panel captures more than",
                "gap",
                "in every best panel",
                "in none",
                "follows full PCA",
            ],
            rows,
            left=0,
        ),
        "",
        "*In every best panel*: markers without which no panel of that size is best; *in none*: variants that are in no best "
        "panel; both proved.",
        f"*Follows full PCA*: correlation of the panel's scores with the first full component (variance {full:.1f}). A panel "
        f"of some size is needed for a given variance where the bound one line above is smaller. The size was chosen",
        f"as the smallest that follows full PCA with {genetics.FOLLOWS:.2f}; correlations are not what is proved, captured "
        "variance is. Proofs had a minute each, and most took less.",
        "",
        f"Stored and read again as its own record says (`{read}`, and who was left out), the panel of "
        f"{result['chosen']['size']} was verified in {verified['seconds']:.1f} s (`{verified['kind']}`).",
        "",
        "```sh",
        f"certpca solve hapmap3.bed -k {result['chosen']['size']} --exclude-regions hg18 --maf 0.05 --clump-r2 0.2 "
        "--remove held_out.txt --missing mean --certify --target-gap 0 --output panel.json",
        "certpca verify panel.certificate.json hapmap3.bed",
        "certpca markers panel.json hapmap3.bed --output markers.tsv --eigenvec panel.eigenvec --plot manhattan.png",
        "certpca project markers.tsv others.bed --output others.eigenvec",
        "```",
        "",
    ]


def _said(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else f"{value:g}"


def _table(result: dict[str, Any]) -> list[str]:
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
    return [
        "## The markers",
        "",
        "What `certpca markers` writes; this file codes alleles 1 and 2.",
        "",
        *pages.table(head, rows),
        "",
    ]


def _projection(result: dict[str, Any]) -> list[str]:
    rows = [
        [
            row["data"],
            row["samples"],
            row["markers"],
            "; ".join(f"{count} {what}" for what, count in sorted(row["counts"].items())),
            f"{row['coverage']:.1%}",
            f"{row['difference']:.1e}",
        ]
        for row in result["projected"]
    ]
    return [
        "## Projection",
        "",
        "The samples held out were written to files of their own that count the other allele at half of the variants, drawn at",
        "random; on chromosome 22, whose file has letters, half were also read off the other strand. Scores on the panel "
        "(chromosome 22: one of",
        f"{genetics.LINKED} markers, found on the other samples) must not change. Markers whose alleles are A and T, or C and G, are left out "
        "unless the strand is known (`--strand same`).",
        "",
        *pages.table(
            ["file", "samples", "markers", "found as", "squared loadings found", "largest change of a score"],
            rows,
            left=1,
        ),
        "",
    ]


def _populations(result: dict[str, Any]) -> list[str]:
    two = result["two"]
    rows = [
        [
            title,
            f"{variants:,}",
            f"{two['silhouette'][name]:.2f}",
            f"{two['right'][name]:.0%}",
        ]
        for title, name, variants in (
            ("two sparse components", "panel", two["markers"]),
            ("two full components", "full", two["variants"]),
        )
    ]
    gaps = " and ".join(f"{gap:.1%}" for gap in two["gaps"])
    return [
        "## Populations",
        "",
        f"Two components of {genetics.EACH} markers each (gaps of the steps {gaps}; the second is of what the first leaves, and its "
        "proof is loose). Samples of the analysis: "
        f"{genetics.counted(two['labels']['seen'])}; projected: {genetics.counted(two['labels']['unseen'])} "
        f"({'; '.join(f'{name}: {text}' for name, text in genetics.REGIONS.items())}).",
        "",
        *pages.table(["", "variants", "silhouette", "held-out samples nearest to the mean of their population"], rows),
        "",
        f"On the first component the variance of projected samples is {two['spread']:.2f} times that of the samples it was found "
        "on. Scores of new samples are shrunk where many variants are fitted to few samples; with so few markers there is little of that.",
        "",
    ]


def _linkage(result: dict[str, Any]) -> list[str]:
    rows = [
        [
            "none" if row["limit"] is None else f"r² at most {row['limit']}",
            f"{row['variants']:,}",
            f"{row['crowded']:.0%}",
            f"{row['gap']:.2%}",
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
        f"{genetics.LINKED} markers on chromosome 22 of one continent, where there is no strong population to find:",
        "",
        *pages.table(["clumping", "variants", "markers within one Mb", "gap"], rows),
        "",
        "Clumping takes the variants by falling frequency of the rarer allele, keeps each that is still there, and leaves out "
        "those within the window whose r² with it exceeds the limit.",
        "It is exact, in whole numbers over the samples in which both are known, and walks over the packed file once:",
        "",
        *pages.table(["file", "samples x variants", "left at r² 0.2", "seconds"], speed),
        "",
    ]


def _words() -> list[str]:
    return [
        "## In Python",
        "",
        "```python",
        'genotypes = certpca.read_plink("hapmap3", exclude_regions="hg18", maf=0.05, clump_r2=0.2)  # or read_pgen(…, dosages=True)',
        'solution = certpca.solve(genotypes, 8, missing="mean", certify=True, target_gap=0.0)',
        "panel = certpca.marker_panel(solution, genotypes)  # verifies the certificate; panel.proved says which markers are needed",
        'certpca.save_markers(panel, "markers.tsv")',
        'others = certpca.read_plink("others", chromosomes="all")',
        "projection = certpca.project(panel, others)  # print it: how markers were found",
        'certpca.save_eigenvec(projection, "others.eigenvec")',
        'certpca.plots.save("manhattan.png", "manhattan", panel)',
        "```",
        "",
        "- `exclude_regions` knows hg18, hg19 and hg38 (24 regions of Price et al. 2008), and takes others as `6:25500000-33500000`.",
        "- `clump_kb` and `clump_variants` set the window; by default it is 100 / r² kb to either side.",
        "- Chromosomes go by any name (7, chr7, X, 23); `autosomes` is the default and `all` keeps everything. Where a file has numbers above",
        "  26, as those of dogs and cattle have, 23 to 26 are autosomes.",
        "- .pgen files need `pip install 'certpca[pgen]'`. Filters and clumping look at hard calls, also where dosages are read. Variants with more "
        "than two alleles are refused.",
        "- The .eigenvec file has scores in the units of the reference, not scaled to unit length as PLINK's are: several files projected onto one "
        "panel can be put together.",
    ]
