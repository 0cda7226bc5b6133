"""PLINK files (.bed) as a format; `genotypes/` reads them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from certpca.formats.arranging import Table, Wanted
from certpca.formats.base import StreamedFormat, register
from certpca.formats.genotype_filters import FILTERS, INSTEAD


@register
class Plink(StreamedFormat):
    """Genotypes with filters; what the .fam and .pop files say about samples are labels."""

    kind = "PLINK"
    endings = (".bed",)
    instead = INSTEAD
    settings = FILTERS

    def open(self, file: Path, wanted: Wanted) -> Table:
        """Open genotypes; the filters are computed with their names."""
        from certpca.genotypes.plink import read_plink

        genotypes = read_plink(file, memory=wanted.budget, **wanted.settings)
        names = tuple(genotypes.samples.names.tolist())
        return Table(genotypes, genotypes.names, genotypes.reading or {}, names, genotypes.told)

    def labels(self, file: Path) -> Mapping[str, Any]:
        """Return what is said about all samples of the file."""
        from certpca.genotypes.plink import read_plink

        return labels_of_samples(read_plink(file, chromosomes="all").samples)


def labels_of_samples(samples: Any) -> dict[str, Any]:
    """Return what is said about samples, by name."""
    known = ("populations", "families", "sexes", "phenotypes", "fathers", "mothers", "names")
    return {name: getattr(samples, name) for name in known if getattr(samples, name) is not None}
