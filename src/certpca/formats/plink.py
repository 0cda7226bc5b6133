"""PLINK files (.bed) as a format; `genotypes/` reads them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from certpca.formats.arranging import Table, Wanted
from certpca.formats.base import StreamedFormat, register
from certpca.readers.reading import Setting, list_of, share, text, texts, whole, wrong


def _sample(name: str, value: object) -> Any:
    if isinstance(value, (list, tuple)):
        if len(value) != 2:
            raise wrong(name, "names, or pairs of family and name", value)
        return [text(name, value[0]), text(name, value[1])]
    return text(name, value)


FILES = "PLINK files"


@register
class Plink(StreamedFormat):
    """Genotypes with filters; what the .fam and .pop files say about samples are labels."""

    kind = "PLINK"
    endings = (".bed",)
    instead = "choose variants with --chromosomes or --every, or write a file with what is wanted (plink --extract)"
    settings = (
        Setting("keep", list_of(_sample), "only these samples (one on each line)", FILES, option={"metavar": "FILE"}),
        Setting("remove", list_of(_sample), "not these samples", FILES, option={"metavar": "FILE"}),
        Setting("chromosomes", texts, "only variants of these", FILES, commas=True, option={"metavar": "1,2,X"}),
        Setting(
            "maf", share, "leave out variants whose rarer allele is rarer than this", FILES, 0.0, option={"type": float}
        ),
        Setting(
            "max_missing",
            share,
            "leave out variants with a larger share of missing calls",
            FILES,
            1.0,
            option={"type": float},
        ),
        Setting("every", whole, "only every nth variant", FILES, 1, option={"type": int, "metavar": "N"}),
    )

    def open(self, file: Path, wanted: Wanted) -> Table:
        """Open genotypes; the filters are computed with their names."""
        from certpca.genotypes.plink import read_plink

        genotypes = read_plink(file, memory=wanted.budget, **wanted.settings)
        names = tuple(genotypes.samples.names.tolist())
        return Table(genotypes, genotypes.names, genotypes.reading or {}, names)

    def labels(self, file: Path) -> Mapping[str, Any]:
        """Return what is said about all samples of the file."""
        from certpca.genotypes.plink import read_plink

        samples = read_plink(file).samples
        known = ("populations", "families", "sexes", "phenotypes", "fathers", "mothers", "names")
        return {name: getattr(samples, name) for name in known if getattr(samples, name) is not None}
