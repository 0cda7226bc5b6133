"""Genotypes of PLINK 1 (.bed, .bim, .fam), streamed from the packed file."""

from collections.abc import Callable, Iterable
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import NDArray

from certpca.genotypes import packed
from certpca.genotypes.packed_file import PackedFile
from certpca.genotypes.packed_products import PackedRows, Products
from certpca.genotypes.packed_table import PackedTable
from certpca.genotypes.plink_filters import Filters
from certpca.genotypes.plink_layout import ENDINGS, base_of, opened
from certpca.genotypes.plink_text import (
    SampleList,
    Samples,
    Variants,
    read_samples,
    read_variants,
    sample_list,
    samples_listed,
)
from certpca.readers.base import DEFAULT_MEMORY, Reader
from certpca.readers.moments import Moments
from certpca.readers.reading import plain
from certpca.runtime.arrays import Array, Indices, Vector
from certpca.runtime.errors import DataFileError, InvalidDataError
from certpca.runtime.threads import share_out, slots_for, threads_allowed

LARGEST_RUN = 2 << 20  # packed bytes read at a time: they are in a cache when they are worked on
GAPPED = 3  # runs for which there is room besides, where rows with gaps between them are read
VARIANTS_TOGETHER = 128  # of a run, and more bytes if need be


def read_plink(
    path: str | PathLike[str],
    *,
    keep: SampleList | None = None,
    remove: SampleList | None = None,
    chromosomes: str | int | Iterable[str | int] | None = None,
    maf: float = 0.0,
    max_missing: float = 1.0,
    every: int = 1,
    memory: float = DEFAULT_MEMORY,
) -> "PlinkFile":
    """Open genotypes without reading them; the result is samples x variants wherever data are asked for.

    Genotypes are copies of the first allele of the .bim file, 0 to 2, and -9 where missing. Filters are computed
    when they are first needed, in one walk over the packed file, on the samples kept.

    Parameters
    ----------
    path : path_like
        With or without the ending; the three files lie beside each other. Populations are taken from a .pop
        file beside them (one label for each sample), where there is one.
    keep : path_like or sequence, optional
        Only these samples: names, pairs of family and name, or a text file with either on each line.
    remove : path_like or sequence, optional
        Not these samples.
    chromosomes : str, int or iterable of these, optional
        Only variants of these, as written in the .bim file.
    maf : float
        Leave out variants whose rarer allele is rarer than this.
    max_missing : float
        Leave out variants with a larger share of missing genotypes.
    every : int
        Keep every nth of the variants that pass the other filters.
    memory : float
        GiB for blocks on their way from the file.

    Returns
    -------
    PlinkFile
        What every verb takes as `data`.

    Raises
    ------
    DataFileError
        Where a file is not there, or is something else.
    InvalidProblemError
        Where a filter has no meaning, or leaves nothing.

    See Also
    --------
    write_plink : Write such files.
    load_table : Any format.

    Examples
    --------
    >>> import numpy as np, certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "example"
    >>> certpca.write_plink(file, np.array([[0, 2, 1], [1, -9, 2], [2, 0, 0], [1, 1, 1]], dtype=np.int8))
    >>> genotypes = certpca.read_plink(file)
    >>> genotypes.shape, genotypes.names
    ((4, 3), ('v1', 'v2', 'v3'))
    >>> certpca.solve(genotypes, 2, missing="mean").names
    ('v1', 'v2')
    """
    some = (chromosomes,) if isinstance(chromosomes, (str, int)) else chromosomes
    filters = Filters(maf, max_missing, None if some is None else tuple(str(name) for name in some), every)
    base = base_of(Path(path))
    bed, bim, fam = (Path(base + ending) for ending in ENDINGS)
    missing = [str(file) for file in (bed, bim, fam) if not file.exists()]
    if missing:
        msg = f"there is no file {missing[0]!r}; PLINK data are three files of one name ending in .bed, .bim and .fam"
        raise DataFileError(msg)
    samples, variants = read_samples(fam, Path(base + ".pop")), read_variants(bim)
    table = opened(bed, samples.names.size, variants.names.size)
    chosen = np.ones(samples.names.size, dtype=bool)
    kept = None if keep is None else sample_list(keep, "keep")
    removed = None if remove is None else sample_list(remove, "remove")
    if kept is not None:
        chosen &= samples_listed(samples, kept, "keep")
    if removed is not None:
        chosen &= ~samples_listed(samples, removed, "remove")
    if not chosen.any():
        msg = "no sample is left: all are removed"
        raise InvalidDataError(msg)
    genotypes = PlinkFile(bed, table, samples, variants, np.flatnonzero(chosen), filters, memory)
    genotypes.reading = plain({"keep": kept, "remove": removed, **filters.said()})
    return genotypes


@final
class PlinkFile(Reader):
    """Genotypes in a packed file, as samples x variants; made by `read_plink`.

    `variants` and `samples` describe what is left after the filters; `data[:, 10:20]` decodes a few variants.
    """

    dtype = np.dtype(np.int8)
    columns_apart = True

    def __init__(
        self,
        file: Path,
        table: PackedFile | PackedTable,
        samples: Samples,
        variants: Variants,
        kept: Indices,
        filters: Filters,
        memory: float,
    ) -> None:
        super().__init__(memory)
        self.file = file
        self._table = table
        self._kept = kept
        self._all_samples, self._all_variants = samples, variants
        self._filters = filters

    def __repr__(self) -> str:
        """Say what the file holds, without reading it."""
        held = f"{self._kept.size} of {self._all_samples.names.size} samples, {self._all_variants.names.size} variants"
        return f"PlinkFile({str(self.file)!r}: {held} before filters)"

    @cached_property
    def samples(self) -> Samples:
        """Names, families, populations and so on of the samples kept."""
        return self._all_samples.take(self._kept)

    @cached_property
    def variants(self) -> Variants:
        """Names, chromosomes, positions and alleles of the variants left."""
        return self._all_variants.take(self._chosen)

    @cached_property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]  # known only after the filters
        """Samples and variants."""
        return int(self._kept.size), int(self._chosen.size)

    @cached_property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]  # known only after the filters
        """Names of the variants."""
        return tuple(self.variants.names.tolist())

    @property
    def _chosen(self) -> Indices:
        """Rows of the packed table that pass the filters."""
        return self._filtered[0]

    @cached_property
    def _filtered(self) -> tuple[Indices, NDArray[np.int64] | None]:
        """Return the rows that pass, and their counts where a filter needed counts."""
        filters, counts = self._filters, None
        rows = filters.on_chromosomes(self._all_variants)
        if filters.needs_counts:
            counts = self._count(rows)
            passing = filters.passing(counts, self._kept.size)
            rows, counts = rows[passing], counts[passing]
        rows = rows[:: filters.every]
        if rows.size == 0:
            msg = (
                f"no variant of {str(self.file)!r} is left with maf={filters.maf} and "
                f"max_missing={filters.max_missing}; use weaker filters"
            )
            raise InvalidDataError(msg)
        return rows, None if counts is None else counts[:: filters.every]

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        rows, counts = self._filtered
        return self._count(rows) if counts is None else counts

    def _count(self, rows: Indices) -> NDArray[np.int64]:
        """Count missing, single and absent alleles of variants among the samples kept, in one walk."""
        mask = np.zeros(4 * self._table.length, dtype=np.uint8)
        mask[self._kept] = 3
        together = mask.reshape(-1, 4) << np.array([0, 2, 4, 6], dtype=np.uint8)
        bits = np.bitwise_or.reduce(together, axis=1).astype(np.uint8)
        counts = np.empty((rows.size, 3), dtype=np.int64)

        def work(thread: int, part: slice, table: packed.Packed, here: Indices) -> None:
            del thread
            counts[part] = packed.count_codes(table, here, bits)

        self._walk(rows, work, threads_allowed())
        return counts

    def _walk(self, rows: Indices, work: Callable[[int, slice, packed.Packed, Indices], None], threads: int) -> None:
        """Read runs of rows while threads work on those that are there.

        `work` takes the number of the thread, which of the rows there are, a table, and where in that table they are.
        """
        if rows.size == 0:
            return
        length = self._table.length
        wanted = min(max(LARGEST_RUN // length, VARIANTS_TOGETHER), -(-rows.size // threads))
        width = max(1, min(wanted, self.bytes_allowed // ((slots_for(rows.size, threads) + GAPPED) * length)))
        width -= width % VARIANTS_TOGETHER if width > VARIANTS_TOGETHER else 0
        parts = [slice(start, min(start + width, rows.size)) for start in range(0, rows.size, width)]
        buffers: dict[int, packed.Packed] = {}

        def read(slot: int, part: slice) -> tuple[packed.Packed, Indices]:
            if slot not in buffers:
                buffers[slot] = np.empty((min(width, rows.size), length), dtype=np.uint8)
            return self._table.run(rows[part], buffers[slot])

        share_out(parts, read, lambda thread, part, made: work(thread, part, *made), threads)
        self._walked += rows.size / self._all_variants.names.size

    def read(self, columns: slice | Indices) -> NDArray[np.int8]:
        """Decode a few variants."""
        rows = self._chosen[columns]
        counts = packed.decode(self._table.take(rows))
        self._walked += rows.size / self._all_variants.names.size
        everyone = self._kept.size == self._all_samples.names.size
        return (counts[:, : self._kept.size] if everyone else counts[:, self._kept]).T

    def missing_code(self) -> int | None:
        """Return -9."""
        return packed.MISSING

    def moments(self, *, center: bool) -> Moments:
        """Derive exact moments from counts of the packed codes."""
        counts = self._counts
        known = self._kept.size - counts[:, 0]
        double = known - counts[:, 1] - counts[:, 2]
        total, squares = 2 * double + counts[:, 1], 4 * double + counts[:, 1]
        safe = np.maximum(known, 1)
        spread: Vector = (known * squares - total**2) / safe if center else squares.astype(np.float64)
        return Moments(
            int(self._kept.size), known.astype(np.float64), total / safe, spread, np.zeros(known.size, dtype=bool)
        )

    def times(self, panel: Array, fill: Vector | None) -> Array:
        """Multiply packed variants; those that count nothing are not read."""
        live, threads = np.flatnonzero(panel.any(axis=1)), threads_allowed()
        added = self._products(panel, threads)

        def work(thread: int, part: slice, table: packed.Packed, here: Indices) -> None:
            which = live[part]
            added.forth(thread, PackedRows(table, here, _part(fill, which)), panel[which])

        self._walk(self._chosen[live], work, threads)
        return added.total()[self._kept]

    def transposed_times(self, scores: Array, fill: Vector | None) -> Array:
        """Multiply packed variants; see `packed_products.py`."""
        threads = threads_allowed()
        multiply = self._products(scores, threads)
        turned = multiply.turned(self._padded(scores))
        product = np.empty((self._chosen.size, scores.shape[1]), dtype=scores.dtype)

        def work(thread: int, part: slice, table: packed.Packed, here: Indices) -> None:
            del thread
            product[part] = multiply.back(PackedRows(table, here, _part(fill, part)), turned)

        self._walk(self._chosen, work, threads)
        return product

    def sample_product(self, scores: Array, mean: Vector, weight: Vector, fill: Vector | None) -> Array:
        """Multiply there and back while packed variants are in the cache."""
        threads = threads_allowed()
        added = self._products(scores, threads)
        turned, square = added.turned(self._padded(scores)), weight**2

        def work(thread: int, part: slice, table: packed.Packed, here: Indices) -> None:
            added.around(thread, PackedRows(table, here, _part(fill, part)), mean[part], square[part], turned)

        self._walk(self._chosen, work, threads)
        return added.total()[self._kept]

    def _products(self, panel: Array, threads: int) -> Products:
        return Products(4 * self._table.length, panel.shape[1], panel.dtype, threads)

    def _padded(self, scores: Array) -> Array:
        """Give every sample of the file a row; those left out count nothing."""
        padded = np.zeros((4 * self._table.length, scores.shape[1]), dtype=scores.dtype)
        padded[self._kept] = scores
        return padded

    def held(self, columns: slice) -> "PlinkFile":
        """Return some variants with their packed genotypes in memory, for a process that works on these only."""
        rows = self._chosen[columns]
        everything = Filters()
        table = PackedTable(self._table.take(rows))
        variants = self._all_variants.take(rows)
        return PlinkFile(self.file, table, self._all_samples, variants, self._kept, everything, self.memory)


def _part(fill: Vector | None, part: slice | Indices) -> Vector | None:
    return None if fill is None else fill[part]
