"""Genotypes written as PLINK 1 files, for other programs and for generated data."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from certpca.genotypes import packed
from certpca.genotypes.plink_layout import BY_VARIANTS, ENDINGS, MAGIC, base_of
from certpca.runtime.atomic_write import write_together
from certpca.runtime.errors import InvalidDataError

BLOCK_BYTES = 64 << 20


def write_plink(
    path: str | os.PathLike[str],
    genotypes: Any,
    *,
    names: Sequence[str] | None = None,
    samples: Sequence[str] | None = None,
    families: Sequence[str] | None = None,
    chromosomes: Sequence[str | int] | None = None,
    positions: Sequence[int] | None = None,
    alleles: Sequence[tuple[str, str]] | None = None,
) -> None:
    """Write samples x variants to three files, each whole or not at all, the .bed file last.

    Parameters
    ----------
    path : path_like
        With or without the ending .bed; .bim and .fam are written beside it.
    genotypes : array_like
        Copies of the first allele: 0, 1, 2, and -9 where missing.
    names : sequence of str, optional
        Of the variants; by default v1, v2, ….
    samples : sequence of str, optional
        Names of the samples; by default s1, s2, ….
    families : sequence of str, optional
        Of the samples; by default each is a family of its own.
    chromosomes : sequence of str or int, optional
        Of the variants; by default 0.
    positions : sequence of int, optional
        Of the variants; by default 1, 2, ….
    alleles : sequence of pairs of str, optional
        Of the variants; by default A and B.

    Raises
    ------
    InvalidDataError
        Where the genotypes are others, or there are not as many names.
    DataFileError
        Where the files cannot be written.

    See Also
    --------
    read_plink : Open such files.

    Examples
    --------
    >>> import certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "example"
    >>> certpca.write_plink(file, certpca.balding_nichols(10, 20).data)
    >>> certpca.read_plink(file).shape
    (10, 20)
    """
    table = np.asarray(genotypes)
    if table.ndim != 2 or 0 in table.shape:
        msg = f"genotypes must be a table of samples x variants, got shape {table.shape}"
        raise InvalidDataError(msg)
    rows, size = table.shape
    people = _labels(samples, rows, "samples", "s")
    variants = _labels(names, size, "names", "v")
    groups = people if families is None else _labels(families, rows, "families", "")
    places = _labels(chromosomes if chromosomes is not None else ["0"] * size, size, "chromosomes", "")
    if positions is not None and len(positions) != size:
        msg = f"positions must have one entry for each of the {size} variants, got {len(positions)}"
        raise InvalidDataError(msg)
    where = [int(position) for position in (range(1, size + 1) if positions is None else positions)]
    pairs = [("A", "B")] * size if alleles is None else [(str(first), str(second)) for first, second in alleles]
    if len(pairs) != size:
        msg = f"alleles must have one pair for each of the {size} variants, got {len(pairs)}"
        raise InvalidDataError(msg)
    fam = "".join(f"{group} {name} 0 0 0 -9\n" for group, name in zip(groups, people, strict=True))
    bim = "".join(
        f"{place}\t{name}\t0\t{position}\t{first}\t{second}\n"
        for place, name, position, (first, second) in zip(places, variants, where, pairs, strict=True)
    )
    base = base_of(Path(path))
    write_together(
        [
            (Path(base + ENDINGS[1]), lambda stream: stream.write(bim.encode())),
            (Path(base + ENDINGS[2]), lambda stream: stream.write(fam.encode())),
            (Path(base + ENDINGS[0]), lambda stream: _write_packed(stream, table)),
        ]
    )


def _labels(given: Sequence[Any] | None, count: int, what: str, letter: str) -> list[str]:
    labels = [f"{letter}{number}" for number in range(1, count + 1)] if given is None else [str(text) for text in given]
    if len(labels) != count:
        msg = f"{what} must have {count} entries, got {len(labels)}"
        raise InvalidDataError(msg)
    for label in labels:
        if not label or label.split() != [label]:
            msg = f"{what} must be words without spaces, got {label!r}"
            raise InvalidDataError(msg)
    return labels


def _write_packed(stream: IO[bytes], table: NDArray[Any]) -> None:
    stream.write(MAGIC + bytes([BY_VARIANTS]))
    width = max(1, BLOCK_BYTES // (2 * table.shape[0]))
    for start in range(0, table.shape[1], width):
        block = table[:, start : start + width].T
        if not np.isin(block, packed.COUNTED).all():
            wrong = block[~np.isin(block, packed.COUNTED)][0]
            msg = f"genotypes must be 0, 1, 2 or {packed.MISSING} (missing), got {wrong}"
            raise InvalidDataError(msg)
        stream.write(packed.packed_codes(block.astype(np.int8)).tobytes())
