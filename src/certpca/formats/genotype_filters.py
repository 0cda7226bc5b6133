"""What may be set about reading genotypes, whatever format holds them."""

from typing import Any

from certpca.readers.reading import Setting, list_of, positive, share, text, texts, whole, wrong

FILES = "PLINK files"
DECIMAL = {"type": float}


def _sample(name: str, value: object) -> Any:
    if isinstance(value, (list, tuple)):
        if len(value) != 2:
            raise wrong(name, "names, or pairs of family and name", value)
        return [text(name, value[0]), text(name, value[1])]
    return text(name, value)


FILTERS = (
    Setting("keep", list_of(_sample), "only these samples (one on each line)", FILES, option={"metavar": "FILE"}),
    Setting("remove", list_of(_sample), "not these samples", FILES, option={"metavar": "FILE"}),
    Setting(
        "chromosomes",
        texts,
        "only variants of these, or autosomes (the default), or all",
        FILES,
        commas=True,
        option={"metavar": "1,2,X"},
        unrecorded=("all",),
    ),
    Setting(
        "exclude_regions",
        texts,
        "leave out regions of long-range linkage of a genome build (hg18, hg19, hg38), or others",
        FILES,
        commas=True,
        option={"metavar": "hg19,6:1-99"},
    ),
    Setting("maf", share, "leave out variants whose rarer allele is rarer than this", FILES, 0.0, option=DECIMAL),
    Setting(
        "max_missing", share, "leave out variants with a larger share of missing calls", FILES, 1.0, option=DECIMAL
    ),
    Setting(
        "clump_r2",
        share,
        "of variants near each other whose squared correlation exceeds this (0.2 is usual), keep the most frequent",
        FILES,
        option={"type": float, "metavar": "R2"},
    ),
    Setting(
        "clump_kb",
        positive,
        "how near, in thousands of positions (default 100 / R2)",
        FILES,
        option={"type": float, "metavar": "KB"},
    ),
    Setting("clump_variants", whole, "how near, in variants instead", FILES, option={"type": int, "metavar": "N"}),
    Setting("every", whole, "only every nth variant", FILES, 1, option={"type": int, "metavar": "N"}),
)
INSTEAD = "choose variants with --chromosomes or --every, or write a file with what is wanted (plink --extract)"
