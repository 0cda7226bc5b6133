"""Genotypes of PLINK 2 (.pgen, .pvar, .psam), streamed through the pgenlib package: hard calls, or dosages."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from certpca.genotypes import packed
from certpca.genotypes.packed import Packed
from certpca.genotypes.pgen_text import PSAM, PVAR, beside, read_psam, read_pvar
from certpca.genotypes.plink import PlinkFile, filtered
from certpca.genotypes.plink_filters import Some
from certpca.genotypes.plink_text import SampleList, Samples, Texts, Variants
from certpca.readers.base import DEFAULT_MEMORY, Reader
from certpca.runtime.arrays import Indices
from certpca.runtime.errors import DataFileError
from certpca.runtime.optional import require

ENDINGS = (".pgen", ".pvar.zst", ".pvar", ".psam")
TOGETHER = 1024  # variants decoded at a time


def read_pgen(
    path: str | PathLike[str],
    *,
    dosages: bool = False,
    keep: SampleList | None = None,
    remove: SampleList | None = None,
    chromosomes: Some | None = None,
    exclude_regions: Some | None = None,
    maf: float = 0.0,
    max_missing: float = 1.0,
    clump_r2: float | None = None,
    clump_kb: float | None = None,
    clump_variants: int | None = None,
    every: int = 1,
    memory: float = DEFAULT_MEMORY,
) -> "PlinkFile | DosageFile":
    """Open genotypes of PLINK 2 without reading them; the result is samples x variants wherever data are asked for.

    Genotypes are copies of the alternative allele: hard calls 0 to 2, or dosages. Variants have two alleles; others are
    refused with how to split or leave them out. Filters and clumping look at hard calls, also where dosages are read.

    Parameters
    ----------
    path : path_like
        With or without the ending. Beside the .pgen file lie .pvar (or .pvar.zst, .bim) and .psam (or .fam).
    dosages : bool
        Whether to read expected numbers of copies, as imputation gives them, in place of hard calls.
    keep : path_like or sequence, optional
        As in `read_plink`, like all that follow.
    remove : path_like or sequence, optional
        Not these samples.
    chromosomes : str, int or iterable of these, optional
        Only variants of these; by default not X, Y, their common part and mitochondria.
    exclude_regions : str or iterable of str, optional
        Leave out variants there.
    maf : float
        Leave out variants whose rarer allele is rarer than this.
    max_missing : float
        Leave out variants with a larger share of missing genotypes.
    clump_r2 : float, optional
        Clump variants whose squared correlation exceeds this.
    clump_kb : float, optional
        The window of clumping in thousands of positions.
    clump_variants : int, optional
        The window of clumping in variants.
    every : int
        Keep every nth of the variants that pass the other filters.
    memory : float
        GiB for blocks on their way from the file.

    Returns
    -------
    PlinkFile or DosageFile
        What every verb takes as `data`.

    Raises
    ------
    DataFileError
        Where a file is not there, or is something else.
    InvalidDataError
        Where variants have more than two alleles, or none is left.
    InvalidProblemError
        Where a filter has no meaning.
    MissingDependencyError
        Where pgenlib is not installed.

    See Also
    --------
    read_plink : Files of PLINK 1.
    load_table : Any format.

    Examples
    --------
    >>> import certpca
    >>> imputed = certpca.read_pgen("imputed.pgen", dosages=True, maf=0.01, clump_r2=0.2)  # doctest: +SKIP
    >>> certpca.solve(imputed, 20, missing="mean").names  # doctest: +SKIP
    """
    base = base_of(Path(path))
    file = Path(base + ".pgen")
    if not file.exists():
        msg = (
            f"there is no file {str(file)!r}; PLINK 2 data are three files of one name ending in .pgen, .pvar and .psam"
        )
        raise DataFileError(msg)
    variants = read_pvar(beside(base, PVAR, "its variants"))
    samples, _ = read_psam(beside(base, PSAM, "its samples"), Path(base + ".pop"))
    table = PgenTable(file, samples.names.size, variants.names.size)
    table.check()
    calls = filtered(
        file,
        table,
        samples,
        variants,
        keep=keep,
        remove=remove,
        memory=memory,
        chromosomes=chromosomes,
        exclude_regions=exclude_regions,
        maf=maf,
        max_missing=max_missing,
        clump_r2=clump_r2,
        clump_kb=clump_kb,
        clump_variants=clump_variants,
        every=every,
    )
    if not dosages:
        return calls
    found = DosageFile(calls, table)
    found.reading = {"dosages": True, **(calls.reading or {})}
    return found


def base_of(path: Path) -> str:
    """Return what the names of the three files have in common."""
    text = str(path)
    fitting = [ending for ending in ENDINGS if text.lower().endswith(ending)]
    return text[: -len(fitting[0])] if fitting else text


def labels_of(path: Path) -> Mapping[str, Texts]:
    """Return what a .psam file says about samples in columns of its own."""
    base = base_of(path)
    return read_psam(beside(base, PSAM, "its samples"), Path(base + ".pop"))[1]


@final
class PgenTable:
    """Variants of a .pgen file, packed as in a .bed file when they are read: what walks over these walks over it."""

    def __init__(self, file: Path, samples: int, variants: int) -> None:
        self.file, self.rows, self.length = file, variants, packed.bytes_of(samples)
        self._samples = samples
        self._reader: Any = None
        self._lock = Lock()  # a reader serves one thread at a time

    def __reduce__(self) -> Any:
        """Leave the open file behind: another process opens it again."""
        return PgenTable, (self.file, self._samples, self.rows)

    def check(self) -> None:
        """Open the file, and refuse one that holds something else than the text files say."""
        with self._opened():
            pass

    def take(self, rows: Indices) -> Packed:
        """Decode hard calls, and pack them."""
        table = np.empty((rows.size, self.length), dtype=np.uint8)
        for start in range(0, rows.size, TOGETHER):
            part = rows[start : start + TOGETHER].astype(np.uint32)
            calls = np.empty((part.size, self._samples), dtype=np.int8)
            with self._opened() as reader:
                reader.read_list(part, calls)
            table[start : start + TOGETHER] = packed.packed_codes(calls)
        return table

    def run(self, rows: Indices, buffer: Packed) -> tuple[Packed, Indices]:
        """Read increasing rows into the buffer; where in it they are is their order."""
        buffer[: rows.size] = self.take(rows)
        return buffer[: rows.size], np.arange(rows.size)

    def dosages(self, rows: Indices) -> NDArray[np.float32]:
        """Read expected numbers of copies, variants x samples, NaN where missing."""
        found = np.empty((rows.size, self._samples), dtype=np.float32)
        with self._opened() as reader:
            reader.read_dosages_list(rows.astype(np.uint32), found)
        found[found < 0] = np.nan
        return found

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Give the open file to one thread; what is wrong with it is said of the file."""
        library = require("pgenlib", extra="pgen", purpose="reading .pgen files")
        with self._lock:
            try:
                if self._reader is None:
                    name = os.fsencode(self.file)
                    self._reader = library.PgenReader(name, raw_sample_ct=self._samples, variant_ct=self.rows)
                yield self._reader
            except (RuntimeError, OSError, MemoryError) as error:
                text = error.args[0] if error.args else type(error).__name__
                said = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
                msg = (
                    f"{str(self.file)!r} cannot be read as a .pgen file of {self._samples} samples and {self.rows} "
                    f"variants, as the files beside it say: {said.strip()}"
                )
                raise DataFileError(msg) from error


@final
class DosageFile(Reader):
    """Dosages in a .pgen file, as samples x variants; made by `read_pgen`.

    `variants` and `samples` describe what is left after the filters, which look at hard calls.
    """

    dtype = np.dtype(np.float32)
    columns_apart = True

    def __init__(self, calls: PlinkFile, table: PgenTable) -> None:
        super().__init__(calls.memory)
        self.file, self._calls, self._table = calls.file, calls, table

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]  # known only after the filters
        """Samples and variants."""
        return self._calls.shape

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]  # known only after the filters
        """Names of the variants."""
        return self._calls.names

    @property
    def samples(self) -> Samples:
        """Names, families, populations and so on of the samples kept."""
        return self._calls.samples

    @property
    def variants(self) -> Variants:
        """Names, chromosomes, positions and alleles of the variants left."""
        return self._calls.variants

    @property
    def told(self) -> str:
        """What filters left out, in a line; empty where nothing is."""
        return self._calls.told

    def missing_code(self) -> int | None:
        """Return None: missing dosages are NaN."""
        return None

    def read(self, columns: slice | Indices) -> NDArray[np.float32]:
        """Decode a few variants."""
        rows, kept = self._calls.rows_of(columns), self._calls.kept
        found = self._table.dosages(rows)
        self._walked += rows.size / self._table.rows
        return (found if kept.size == found.shape[1] else found[:, kept]).T
