"""Genotypes of PLINK 1 (.bed, .bim, .fam), streamed from the packed file."""

from collections.abc import Callable
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from certpca.genotypes import packed
from certpca.genotypes.chromosomes import AUTOSOMES
from certpca.genotypes.clumping import clumped
from certpca.genotypes.packed_products import PackedRows, Products
from certpca.genotypes.packed_table import PackedStore, PackedTable
from certpca.genotypes.plink_filters import Filters, Some, filters_for, rarer
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
from certpca.readers.reading import as_options, plain
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
    chromosomes: Some | None = None,
    exclude_regions: Some | None = None,
    maf: float = 0.0,
    max_missing: float = 1.0,
    clump_r2: float | None = None,
    clump_kb: float | None = None,
    clump_variants: int | None = None,
    every: int = 1,
    memory: float = DEFAULT_MEMORY,
) -> "PlinkFile":
    """Open genotypes without reading them; the result is samples x variants wherever data are asked for.

    Genotypes are copies of the first allele of the .bim file, 0 to 2, and -9 where missing. Filters are computed
    when they are first needed, in one walk over the packed file, on the samples kept, and clumping in another. They
    apply in the order of the arguments, and results record them, so that `verify` reads the same matrix.

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
        Only variants of these: 7, ``"chr7"``, ``"X"`` (which PLINK codes 23), ``"autosomes"``, ``"all"``. By default X,
        Y, their common part and mitochondria (23 to 26, unless the file has higher numbers) are left out: men have one
        X, so its variants tell sexes apart before they tell populations.
    exclude_regions : str or iterable of str, optional
        Leave out variants there: a genome build (``"hg18"``, ``"hg19"``, ``"hg38"``) stands for its 24 regions of
        long-range linkage (Price et al. 2008), ``"6:25500000-33500000"`` for itself.
    maf : float
        Leave out variants whose rarer allele is rarer than this.
    max_missing : float
        Leave out variants with a larger share of missing genotypes.
    clump_r2 : float, optional
        Of variants near each other whose squared correlation exceeds this, keep the one whose rarer allele is most
        frequent (clumping); 0.2 is usual. Without it, components can be stretches of linked variants.
    clump_kb : float, optional
        How near, in thousands of positions to either side; by default 100 / clump_r2.
    clump_variants : int, optional
        How near in variants, in place of `clump_kb`.
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
    base = base_of(Path(path))
    bed, bim, fam = (Path(base + ending) for ending in ENDINGS)
    missing = [str(file) for file in (bed, bim, fam) if not file.exists()]
    if missing:
        msg = f"there is no file {missing[0]!r}; PLINK data are three files of one name ending in .bed, .bim and .fam"
        raise DataFileError(msg)
    samples, variants = read_samples(fam, Path(base + ".pop")), read_variants(bim)
    table = opened(bed, samples.names.size, variants.names.size)
    return filtered(
        bed,
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


def filtered(
    file: Path,
    table: PackedStore,
    samples: Samples,
    variants: Variants,
    *,
    keep: SampleList | None,
    remove: SampleList | None,
    memory: float,
    **wanted: Any,
) -> "PlinkFile":
    """Return the samples and variants wanted of genotypes that are open; `wanted` is for `filters_for`."""
    filters = filters_for(variants, **wanted)
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
    genotypes = PlinkFile(file, table, samples, variants, np.flatnonzero(chosen), filters, memory)
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
        table: PackedStore,
        samples: Samples,
        variants: Variants,
        kept: Indices,
        filters: Filters,
        memory: float,
    ) -> None:
        super().__init__(memory)
        self.file = file
        self._table = table
        self.kept = kept  # which samples of the file
        self._all_samples, self._all_variants = samples, variants
        self._filters = filters

    def __repr__(self) -> str:
        """Say what the file holds, without reading it."""
        held = f"{self.kept.size} of {self._all_samples.names.size} samples, {self._all_variants.names.size} variants"
        return f"PlinkFile({str(self.file)!r}: {held} before filters)"

    @cached_property
    def samples(self) -> Samples:
        """Names, families, populations and so on of the samples kept."""
        return self._all_samples.take(self.kept)

    @cached_property
    def variants(self) -> Variants:
        """Names, chromosomes, positions and alleles of the variants left."""
        return self._all_variants.take(self._chosen)

    @cached_property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]  # known only after the filters
        """Samples and variants."""
        return int(self.kept.size), int(self._chosen.size)

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
        rows = filters.in_places(self._all_variants)
        self._stages = {"place": rows.size}
        if filters.needs_counts:
            counts = self._count(rows)
            passing = filters.passing(counts, self.kept.size)
            rows, counts = rows[passing], counts[passing]
        self._stages["counts"] = rows.size
        if filters.clumping is not None and rows.size and counts is not None:
            stay = self._clumped(rows, rarer(counts, self.kept.size))
            rows, counts = rows[stay], counts[stay]
        self._stages["clumping"] = rows.size
        rows = rows[:: filters.every]
        if rows.size == 0:
            asked = as_options(plain(filters.said()))
            msg = f"no variant of {str(self.file)!r} is left with {asked}; use weaker filters"
            if self._stages["place"] == 0 and filters.chromosomes == (AUTOSOMES,):
                msg = (
                    f"all variants of {str(self.file)!r} are on sex chromosomes or mitochondrial, which are left out "
                    "unless asked for: chromosomes='all' (--chromosomes all)"
                )
            raise InvalidDataError(msg)
        return rows, None if counts is None else counts[:: filters.every]

    def _clumped(self, rows: Indices, frequency: Vector) -> Indices:
        """Return which of the rows clumping leaves."""
        clumping, variants = self._filters.clumping, self._all_variants
        assert clumping is not None
        return clumped(
            clumping,
            lambda places: self._taken(rows[places]),
            variants.chromosomes[rows],
            variants.positions[rows],
            frequency,
            self.kept,
            self._all_samples.names.size,
            self.bytes_allowed,
        )

    @property
    def told(self) -> str:
        """What filters left out, in a line; empty where nothing is."""
        self._chosen  # noqa: B018  # the filters are computed now
        return self._filters.told(self._all_variants, self._stages)

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        rows, counts = self._filtered
        return self._count(rows) if counts is None else counts

    def _count(self, rows: Indices) -> NDArray[np.int64]:
        """Count missing, single and absent alleles of variants among the samples kept, in one walk."""
        mask = np.zeros(4 * self._table.length, dtype=np.uint8)
        mask[self.kept] = 3
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
        counts = packed.decode(self._taken(rows))
        everyone = self.kept.size == self._all_samples.names.size
        return (counts[:, : self.kept.size] if everyone else counts[:, self.kept]).T

    def rows_of(self, columns: slice | Indices) -> Indices:
        """Return where in the file variants are that passed the filters."""
        return self._chosen[columns]

    def _taken(self, rows: Indices) -> packed.Packed:
        self._walked += rows.size / self._all_variants.names.size
        return self._table.take(rows)

    def missing_code(self) -> int | None:
        """Return -9."""
        return packed.MISSING

    def moments(self, *, center: bool) -> Moments:
        """Derive exact moments from counts of the packed codes."""
        counts = self._counts
        known = self.kept.size - counts[:, 0]
        double = known - counts[:, 1] - counts[:, 2]
        total, squares = 2 * double + counts[:, 1], 4 * double + counts[:, 1]
        safe = np.maximum(known, 1)
        spread: Vector = (known * squares - total**2) / safe if center else squares.astype(np.float64)
        return Moments(
            int(self.kept.size), known.astype(np.float64), total / safe, spread, np.zeros(known.size, dtype=bool)
        )

    def times(self, panel: Array, fill: Vector | None) -> Array:
        """Multiply packed variants; those that count nothing are not read."""
        live, threads = np.flatnonzero(panel.any(axis=1)), threads_allowed()
        added = self._products(panel, threads)

        def work(thread: int, part: slice, table: packed.Packed, here: Indices) -> None:
            which = live[part]
            added.forth(thread, PackedRows(table, here, _part(fill, which)), panel[which])

        self._walk(self._chosen[live], work, threads)
        return added.total()[self.kept]

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
        return added.total()[self.kept]

    def _products(self, panel: Array, threads: int) -> Products:
        return Products(4 * self._table.length, panel.shape[1], panel.dtype, threads)

    def _padded(self, scores: Array) -> Array:
        """Give every sample of the file a row; those left out count nothing."""
        padded = np.zeros((4 * self._table.length, scores.shape[1]), dtype=scores.dtype)
        padded[self.kept] = scores
        return padded

    def held(self, columns: slice) -> "PlinkFile":
        """Return some variants with their packed genotypes in memory, for a process that works on these only."""
        rows = self._chosen[columns]
        everything = Filters()
        table = PackedTable(self._table.take(rows))
        variants = self._all_variants.take(rows)
        return PlinkFile(self.file, table, self._all_samples, variants, self.kept, everything, self.memory)


def _part(fill: Vector | None, part: slice | Indices) -> Vector | None:
    return None if fill is None else fill[part]
