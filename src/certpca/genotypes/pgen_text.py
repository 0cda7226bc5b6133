"""The text files of a PLINK 2 data set: variants (.pvar) and samples (.psam); those of PLINK 1 do as well."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from certpca.genotypes.plink_text import Samples, Texts, Variants, as_texts, populations_beside, read_samples, text_of
from certpca.genotypes.plink_text import read_variants as read_bim
from certpca.runtime.errors import DataFileError, InvalidDataError

PVAR, PSAM = (".pvar", ".pvar.zst", ".bim"), (".psam", ".fam")
NEEDED = ("#CHROM", "POS", "ID", "REF", "ALT")  # in this order, whatever follows
MISSING_ALLELES = (".", "0")
UNKNOWN_FAMILY = "0"
KNOWN = {"IID": "names", "#FID": "families", "PAT": "fathers", "MAT": "mothers", "SEX": "sexes", "PHENO1": "phenotypes"}
UNKNOWN = {"families": UNKNOWN_FAMILY, "fathers": "0", "mothers": "0", "sexes": "0", "phenotypes": "-9"}


def beside(base: str, endings: tuple[str, ...], what: str) -> Path:
    """Return the first file of a name that is there, or say which were looked for."""
    for ending in endings:
        if Path(base + ending).exists():
            return Path(base + ending)
    msg = (
        f"there is no file {base + endings[0]!r}; PLINK 2 data are three files of one name ending in .pgen, .pvar "
        f"(or .pvar.zst, .bim) and .psam (or .fam), and {what} are missing"
    )
    raise DataFileError(msg)


def read_pvar(file: Path) -> Variants:
    """Read variants; the allele that is counted is the alternative one."""
    if file.suffix == ".bim":
        return read_bim(file)
    columns: list[list[str]] = [[], [], [], [], []]
    header = False
    for number, line in _lines(file):
        if line.startswith("##"):
            continue
        cells = line.split(None, len(NEEDED))[: len(NEEDED)]
        if line.startswith("#"):
            if tuple(cells) != NEEDED:
                msg = (
                    f"{str(file)!r}, line {number}: a .pvar file has the columns {' '.join(NEEDED)}, got {line[:80]!r}"
                )
                raise DataFileError(msg)
            header = True
            continue
        if not header:
            msg = (
                f"{str(file)!r} has no line #CHROM POS ID REF ALT; without one it is a .bim file and must be called so"
            )
            raise DataFileError(msg)
        if len(cells) < len(NEEDED):
            msg = f"{str(file)!r}, line {number}: {len(cells)} fields where at least {len(NEEDED)} are needed"
            raise DataFileError(msg)
        for column, cell in zip(columns, cells, strict=True):
            column.append(cell)
    chromosomes, positions, names, references, alternatives = columns
    if not names:
        msg = f"{str(file)!r} lists no variants"
        raise DataFileError(msg)
    _refuse_several(file, names, alternatives)
    try:
        places = np.array(list(map(int, positions)), dtype=np.int64)
    except (ValueError, OverflowError):
        bad = next(text for text in positions if not text.isdigit())
        msg = f"{str(file)!r}: positions must be whole numbers, got {bad!r}"
        raise DataFileError(msg) from None
    alleles = [
        as_texts(["0" if text in MISSING_ALLELES else text for text in side]) for side in (alternatives, references)
    ]
    return Variants(as_texts(names), as_texts(chromosomes), places, np.zeros(places.size), *alleles)


def _refuse_several(file: Path, names: list[str], alternatives: list[str]) -> None:
    """Refuse variants with more than two alleles: copies of which one is not a question with one answer."""
    several = [place for place, text in enumerate(alternatives) if "," in text]
    if several:
        first = several[0]
        msg = (
            f"{str(file)!r}: variant {names[first]!r} has {alternatives[first].count(',') + 2} alleles, and "
            f"{len(several)} variants have more than two; keep the others with plink2 --max-alleles 2 --make-pgen, or "
            "split these into several variants with two alleles each (bcftools norm -m -any)"
        )
        raise InvalidDataError(msg)


def read_psam(file: Path, populations: Path) -> tuple[Samples, Mapping[str, Texts]]:
    """Read samples, and what else is said about them by column."""
    if file.suffix == ".fam":
        return read_samples(file, populations), {}
    header: list[str] = []
    rows: list[list[str]] = []
    for number, line in _lines(file):
        if line.startswith("##"):
            continue
        cells = line.split("\t") if "\t" in line else line.split()
        if line.startswith("#"):
            header = cells
            continue
        if not header or len(cells) != len(header):
            wanted = (
                f"{len(header)} fields as in the line that names columns" if header else "a line #FID IID or #IID first"
            )
            msg = f"{str(file)!r}, line {number}: {wanted} needed, got {len(cells)} fields"
            raise DataFileError(msg)
        rows.append(cells)
    if not rows or header[0] not in ("#FID", "#IID") or (header[0] == "#FID" and "IID" not in header):
        msg = f"{str(file)!r} is no .psam file: its columns begin with #FID IID, or #IID, and samples follow"
        raise DataFileError(msg)
    if header[0] == "#IID":
        header = ["IID", *header[1:]]
    held = {name: as_texts([row[place] for row in rows]) for place, name in enumerate(header)}
    said: dict[str, Any] = {field: as_texts([text] * len(rows)) for field, text in UNKNOWN.items()}
    said |= {field: held[name] for name, field in KNOWN.items() if name in held}
    others = {name: column for name, column in held.items() if name not in KNOWN}
    labels = populations_beside(populations, len(rows), file)
    if labels is None:
        named = [column for name, column in others.items() if name.lower() in ("pop", "population")]
        labels = named[0] if named else None
    return Samples(**said, populations=labels), others


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text_of(file).splitlines(), 1):
        if line.strip():
            yield number, line
