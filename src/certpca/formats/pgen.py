"""PLINK 2 files (.pgen) as a format; `genotypes/` reads them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from certpca.formats.arranging import Table, Wanted
from certpca.formats.base import StreamedFormat, register
from certpca.formats.genotype_filters import FILTERS, INSTEAD
from certpca.formats.plink import labels_of_samples
from certpca.readers.reading import Setting, flag

DOSAGES = Setting(
    "dosages",
    flag,
    "expected numbers of copies in place of hard calls",
    "PLINK 2 files",
    default=False,
    option={"action": "store_true"},
)


@register
class Pgen(StreamedFormat):
    """Genotypes with filters; what the .psam file says about samples are labels."""

    kind = "PLINK 2"
    endings = (".pgen",)
    library, extra = "pgenlib", "pgen"
    instead = INSTEAD
    settings = (*FILTERS, DOSAGES)

    def open(self, file: Path, wanted: Wanted) -> Table:
        """Open genotypes; the filters are computed with their names."""
        from certpca.genotypes.pgen import read_pgen

        self.needed()
        genotypes = read_pgen(file, memory=wanted.budget, **wanted.settings)
        names = tuple(genotypes.samples.names.tolist())
        return Table(genotypes, genotypes.names, genotypes.reading or {}, names, genotypes.told)

    def labels(self, file: Path) -> Mapping[str, Any]:
        """Return what is said about all samples of the file, also in columns of its own."""
        from certpca.genotypes.pgen import labels_of, read_pgen

        return {**labels_of_samples(read_pgen(file, chromosomes="all").samples), **labels_of(file)}
