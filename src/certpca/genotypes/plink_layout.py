"""The three files of a PLINK 1 data set, and how the packed one begins."""

from pathlib import Path

from certpca.genotypes import packed
from certpca.genotypes.packed_file import PackedFile
from certpca.runtime.errors import DataFileError

MAGIC = b"\x6c\x1b"
BY_VARIANTS, BY_SAMPLES = 1, 0  # the third byte
HEADER = 3
ENDINGS = (".bed", ".bim", ".fam")


def base_of(path: Path) -> str:
    """Return what the names of the three files have in common."""
    text = str(path)
    return text[:-4] if text.lower().endswith(ENDINGS) else text


def opened(file: Path, samples: int, variants: int) -> PackedFile:
    """Open the packed genotypes, after checking that they are what the two text files describe."""
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            head = stream.read(HEADER)
    except OSError as error:
        msg = f"{str(file)!r} cannot be read: {error.strerror or error}"
        raise DataFileError(msg) from error
    if size == 0:
        msg = f"{str(file)!r} is empty"
        raise DataFileError(msg)
    if head[:2] != MAGIC:
        msg = (
            f"{str(file)!r} is not a PLINK 1 file: it does not begin with the bytes 6c 1b "
            "(files of genome regions have the same ending)"
        )
        raise DataFileError(msg)
    if len(head) < HEADER or head[2] not in (BY_VARIANTS, BY_SAMPLES):
        msg = f"{str(file)!r} is not a PLINK 1 file: its third byte does not say how genotypes are ordered"
        raise DataFileError(msg)
    if head[2] == BY_SAMPLES:
        msg = f"{str(file)!r} is ordered by individuals, an old form; rewrite it with plink --make-bed"
        raise DataFileError(msg)
    length = packed.bytes_of(samples)
    if size != HEADER + variants * length:
        held, rest = divmod(size - HEADER, length)
        found = f"{held} variants" + (f" and {rest} bytes" if rest else "")
        msg = (
            f"{str(file)!r} holds {found} of {samples} samples, but the .bim file lists {variants} variants and the "
            f".fam file {samples} samples; the file is cut off, or the three do not belong together"
        )
        raise DataFileError(msg)
    return PackedFile(file, HEADER, variants, length)
