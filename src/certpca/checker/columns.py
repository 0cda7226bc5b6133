"""Columns of data, centred and scaled by the checker itself, with bounds on the roundings; and their hash."""

import math
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.checker.matrix import require_codes
from certpca.checker.normalisation import ALLELES
from certpca.checker.numbers import Mask, Vector, gamma, require
from certpca.checker.read_ahead import read_ahead, reading_threads
from certpca.checker.sparse_columns import Entries, ZeroFree, entries_by_rows, entries_of, nearly_zero
from certpca.checker.sparse_table import SparseTable, is_sparse
from certpca.checker.whole_numbers import ColumnSums, Uncentred, in_bytes, in_floating_point
from certpca.results.certificate import Source

BLOCK_BYTES = 4 << 20  # small enough for the cache, large enough for BLAS


def column_slices(rows: int, size: int, block_bytes: int = BLOCK_BYTES) -> Iterator[slice]:
    """Cut the columns into runs of moderate size."""
    width = max(1, block_bytes // (8 * rows))
    for start in range(0, size, width):
        yield slice(start, min(start + width, size))


def stored_columns(values: Any, columns: slice, chosen: Any = None) -> NDArray[Any]:
    """Return a run of columns of whatever holds the values, or some of that run, as they are stored."""
    if chosen is not None:  # which lie in a part of the run
        columns = slice(columns.start + int(chosen[0]), columns.start + int(chosen[-1]) + 1)
        chosen = chosen - chosen[0]
    part = values[:, columns]
    part = np.asarray(SparseTable(part)[:, :] if is_sparse(part) else _on_host(part))
    require(part.dtype.kind in "biuf", f"the data hold {part.dtype}, not real numbers")
    return np.asarray(part if chosen is None else part[:, chosen])


def _on_host(part: Any) -> NDArray[Any]:
    """Bring an array of any library to NumPy."""
    if isinstance(part, np.ndarray):
        return part
    if hasattr(part, "get"):  # CuPy
        return np.asarray(part.get())
    if hasattr(part, "detach"):  # torch
        return np.asarray(part.detach().cpu().numpy())
    return np.from_dlpack(part)


def sliceable(values: Any) -> Any:
    """Return values whose columns can be cut out."""
    return SparseTable(values) if is_sparse(values) else values


class Columns:
    """The columns of data, centred and scaled; `unit` turns their products back.

    Two walks over the data measure them: sizes first, then means, scales and `doubt`, by how much each column can be
    off in length. Where exact sums over all columns are known, no walk is needed.
    """

    def __init__(self, source: Source, sums: ColumnSums | None = None) -> None:
        self._source, self._values = source, sliceable(source.values)
        self.rows, self.size = (int(side) for side in source.values.shape)
        self.threads = reading_threads(self._values)
        self._gaps = np.ones(self.size, dtype=bool)  # columns that may have missing values,
        self._signed = np.ones(self.size, dtype=bool)  # and negative ones
        largest = np.empty(self.size)
        entries = None if source.weights is not None else entries_of(self._values)
        self._roots, self._shares = _roots_of(source.weights, self.rows)
        self._idle = None if self._shares is None else np.flatnonzero(self._shares == 0)
        known = None if sums is None or not sums.complete or source.weights is not None else sums
        if entries is not None and source.missing is None and np.isfinite(entries.values).all():
            largest, self._gaps[:] = entries.largest(), False
        elif known is not None:
            largest, self._gaps = known.largest, known.present < self.rows
        else:  # some may be missing, or a code says so, which sparse tables do not take
            entries = None
            for part, found in read_ahead(column_slices(self.rows, self.size), self._sized, self.threads):
                largest[part], self._gaps[part], self._signed[part] = found
        require(
            not self._gaps.any() or bool(source.fill_missing and source.center),
            "the data have missing values and no rule for them",
        )
        require(bool(np.isfinite(largest).all()), "the data have values that are not finite")
        self.any_nonzero = bool(largest.any())
        # Correlations scale every column by a power of two of its own; else one serves all, and the divisor has one.
        exponents = np.frexp(largest if source.scale is True else np.full(self.size, largest.max()))[1]
        mantissa, power = math.frexp(source.divisor)
        mantissa, power = (mantissa, power) if power % 2 == 0 else (2 * mantissa, power - 1)
        power = 0 if source.scale is True else 2 * int(exponents[0]) - power
        require(-1074 <= power <= 1023, "the data are too large or too small to square")
        self._units = np.ldexp(1.0, np.minimum(exponents, 1023))
        self._inverse = 1.0 / self._units  # exact, as they are powers of two
        self._factor = 1.0 / math.sqrt(mantissa)
        self.unit = math.ldexp(1.0, power)
        self._mean, self._over, self.doubt = np.zeros(self.size), np.ones(self.size), np.empty(self.size)
        self.squares = np.empty(self.size)
        if entries is not None:
            self._mean, self._over, self.doubt, self.squares = self._measured_sparse(entries)
            return
        if known is not None and self._measured_by(known):
            return
        for part, measured in read_ahead(column_slices(self.rows, self.size), self._measured, self.threads):
            self._mean[part], self._over[part], self.doubt[part], self.squares[part] = measured

    def _sized(self, columns: slice) -> tuple[Vector, Mask, Mask]:
        """Return the largest magnitudes of columns, which have missing values, and which negative ones."""
        stored, hole = stored_columns(self._values, columns), None
        if stored.dtype.kind == "f" or self._source.missing is not None or self._idle is not None:
            stored, hole = self._filled(columns, None)
        gaps = np.zeros(stored.shape[1], dtype=bool) if hole is None else np.asarray(hole.any(axis=0))
        highest, lowest = (np.asarray(end, dtype=np.float64) for end in (stored.max(axis=0), stored.min(axis=0)))
        return np.maximum(highest, -lowest), gaps, lowest < 0

    def _filled(self, columns: slice, chosen: Any) -> tuple[Vector, Mask | None]:
        """Return columns in float64 with zeros where values are missing, and where that is."""
        raw, hole = self._read(columns, chosen)
        if hole is not None:
            raw[hole] = 0.0
        return raw, hole

    def _read(self, columns: slice, chosen: Any) -> tuple[Vector, Mask | None]:
        stored = stored_columns(self._values, columns, chosen)
        raw = np.array(stored, dtype=np.float64)
        hole = None
        if self._gaps[columns].any():
            missing = self._source.missing
            require_codes(missing, stored)
            hole = np.asarray(np.isnan(raw) if missing is None else stored == missing)
        if self._idle is not None:
            # What weighs nothing must not decide by what power of two the others are divided: these could vanish.
            require(not bool(np.isinf(raw[self._idle]).any()), "the data have values that are not finite")
            raw[self._idle] = 0.0
        return raw, hole

    def _measured(self, columns: slice) -> tuple[Vector, Vector, Vector, Vector]:
        """Return mean, scale, error and squared length of each column, after centring and scaling."""
        source, rows = self._source, self.rows
        raw, hole = self._filled(columns, None)
        unit = self._units[columns]
        raw *= self._inverse[columns]
        mean, level = np.zeros(raw.shape[1]), np.zeros(raw.shape[1])
        if self._shares is not None:
            mean, level = self._weighted_means(raw, np.abs(raw), hole)
        elif source.center:
            count = np.full(raw.shape[1], rows) if hole is None else np.maximum(rows - hole.sum(axis=0), 1)
            mean = raw.sum(axis=0) / count
            # The mean is off by at most γ of the mean magnitude, in every row; each difference rounds once more.
            level = np.abs(raw).sum(axis=0) / count if self._signed[columns].any() else mean
        raw -= mean
        if hole is not None:
            raw[hole] = 0.0
        if self._roots is not None:
            raw *= self._roots
        lengths = np.sqrt(_squares(raw))
        over, doubt = self._allowed(unit, mean, level, lengths)
        return mean, over, doubt, _squares(self._scaled(raw, over))

    def _measured_by(self, sums: ColumnSums) -> bool:
        """Take the same from exact sums; say whether they are as near as is counted on."""
        inverse, zeros = self._inverse, np.zeros(self.size)
        count, mean, level, squares = np.maximum(sums.present, 1), zeros, zeros, sums.squares.astype(np.float64)
        if self._source.center:
            mean, level, squares = sums.total / count, sums.sizes / count, sums.centred_squares()
        lengths = np.sqrt(squares)
        if not bool((32 * np.abs(mean) <= math.sqrt(self.rows) * lengths)[squares > 0].all()):
            return False
        self._mean, level, lengths = mean * inverse, level * inverse, lengths * inverse
        self._over, self.doubt = self._allowed(self._units, self._mean, level, lengths)
        self.squares = np.square(self._scaled(lengths.copy(), self._over))
        return True

    def uncentred(self) -> Uncentred | None:
        """Return the data as they are stored, and what makes F of them, where they are bytes that weigh the same."""
        if self._roots is not None or not in_bytes(self._values):
            return None
        source, rows = self._source, self.rows
        mean = self._mean * self._units
        weight = self._scaled(self._inverse.copy(), self._over)
        reach = (np.sqrt(self.squares) + 2 * weight * math.sqrt(rows) * np.abs(mean)) * (1 + gamma(rows + 32))

        def block(columns: slice) -> Vector:
            stored = stored_columns(self._values, columns)
            gaps = bool(self._gaps[columns].any())
            if gaps:
                require_codes(source.missing, stored)
            return in_floating_point(stored, source.missing if gaps else None, mean[columns])

        return Uncentred(block, mean, weight, reach)

    def _weighted_means(self, raw: Vector, sizes: Vector, hole: Mask | None) -> tuple[Vector, Vector]:
        """Return weighted means, and those of magnitudes."""
        zeros = np.zeros(raw.shape[1])
        if not self._source.center:
            return zeros, zeros
        assert self._shares is not None
        present = np.full(raw.shape[1], self._shares.sum()) if hole is None else self._shares @ ~hole
        # Where all samples that have a value weigh nothing, the column is zero once it is weighted.
        over = np.where(present > 0, present, 1.0)
        return (self._shares @ raw) / over, (self._shares @ sizes) / over

    def _measured_sparse(self, entries: Entries) -> tuple[Vector, Vector, Vector, Vector]:
        """Return the same from the entries other than zero, of all columns at once."""
        rows, zeros = self.rows, self.rows - entries.counts
        raw = entries.values.astype(np.float64) * entries.spread(self._inverse)
        mean, level = np.zeros(self.size), np.zeros(self.size)
        if self._source.center:
            mean, level = entries.sums(raw) / rows, entries.sums(np.abs(raw)) / rows
        raw -= entries.spread(mean)
        lengths = np.sqrt(entries.sums(raw**2) + zeros * mean**2)
        over, doubt = self._allowed(self._units, mean, level, lengths)
        of_zeros = np.square(self._scaled(-mean, over))
        return mean, over, doubt, entries.sums(np.square(self._scaled(raw, entries.spread(over)))) + zeros * of_zeros

    def _allowed(self, unit: Vector, mean: Vector, level: Vector, lengths: Vector) -> tuple[Vector, Vector]:
        """Return what centred columns of these lengths are divided by, and how far off they can be then."""
        source, rows = self._source, self.rows
        # With weights, means are quotients of sums of products, and numbers are multiplied by roots that are rounded.
        of_mean, of_numbers = (rows + 8, 4) if self._roots is None else (4 * rows + 64, 2 * rows + 64)
        doubt = (gamma(of_mean) * level * math.sqrt(rows) + gamma(of_numbers) * lengths) * (1 + gamma(rows + 8))
        if source.scale is True:
            require(bool((lengths > 4 * doubt).all()), "a column is constant, so it has no correlation")
            # x/|x| moves by at most twice the relative error of x, and rounds.
            over, doubt = lengths, 2 * doubt / (lengths - doubt) + gamma(rows + 16)
        else:
            over = np.ones(lengths.size)
            if source.scale == ALLELES:
                off = (gamma(rows + 8) * level + gamma(4) * np.abs(mean)) * unit
                over, slip = _expected_spread(mean * unit / 2, off)
                doubt, lengths = (doubt + lengths * slip) / over * (1 + gamma(8)), lengths / over
            doubt = (doubt + gamma(8) * lengths) * self._factor * (1 + gamma(16))
        return over, doubt

    def _scaled(self, centred: Vector, over: Vector) -> Vector:
        if self._source.scale is not False:
            centred /= over
        if self._source.scale is not True:
            centred *= self._factor
        return centred

    def standardised(self, columns: slice, chosen: Any = None) -> Vector:
        """Return a run of columns, or some of it."""
        raw, hole = self._read(columns, chosen)
        inverse, mean, over = (
            known[columns] if chosen is None else known[columns][chosen]
            for known in (self._inverse, self._mean, self._over)
        )
        raw *= inverse
        raw -= mean
        if hole is not None:
            raw[hole] = 0.0
        if self._roots is not None:
            raw *= self._roots
        return self._scaled(raw, over)


def _squares(table: Vector) -> Vector:
    """Return the squared lengths of columns, without memory of its own for the squares."""
    sums: Vector = np.einsum("ij,ij->j", table, table)
    return sums


def _roots_of(weights: Any, rows: int) -> tuple[Vector | None, Vector | None]:
    """Return √ω as a column and ω, the weights brought to a mean of one, or nothing where there are none.

    The sum of the weights is off by a relative γ_rows, each ω by three roundings more, and its root by half of that and
    one: a relative γ_{rows+8} covers all (docs/mathematics.md, 17.4). Multiplied by a power of two first, no weight but
    zero is below 2⁻¹⁰⁰.
    """
    if weights is None:
        return None, None
    given = np.array(weights, dtype=np.float64)
    given = np.ldexp(given, -int(np.frexp(given.max())[1]))
    shares = given / given.sum() * rows
    return np.sqrt(shares)[:, None], shares


def _expected_spread(share: Vector, off: Vector) -> tuple[Vector, Vector]:
    """Return √(2p(1 − p)) for frequencies p that are off by at most `off`, and by how much of itself it is off.

    That is δ|1 − 2p|/(2p(1 − p)) to first order; more than twice as much is allowed for, and p must be far from 0 and 1
    compared with δ.
    """
    spread = share * (1 - share)
    require(bool((spread > 8 * off).all()), "a column has no allele frequency between 0 and 1")
    return np.sqrt(2 * spread), 2 * off / spread + gamma(16)


def fingerprint(
    source: Source, *, thin_apart: bool = True, block_bytes: int = BLOCK_BYTES, sums: ColumnSums | None = None
) -> str:
    """Hash the values, by columns, with the shape and the normalisation; add up sums on the way where they are wanted.

    Columns of small whole numbers are hashed as bytes and the others as float64, whatever type holds them, and columns
    that are nearly all zero by their other entries; which are which is hashed too, so that different values never hash
    the same numbers. The first version hashed columns of zeros like others (`thin_apart` false).
    """
    values = sliceable(source.values)
    rows, size = (int(side) for side in values.shape)
    entries = entries_of(values)
    small, thin = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    zero_free = ZeroFree()
    if entries is not None:  # what is thin need not be looked at by rows
        small = _all_whole(entries)
        thin = nearly_zero(entries.counts, rows, small) & thin_apart
        zero_free.add(entries.of(thin))
    whole, others = blake2b(digest_size=20), blake2b(digest_size=20)
    left = [part for part in column_slices(rows, size, block_bytes) if not thin[part].all()]

    def read(part: slice) -> tuple[NDArray[Any], Any]:
        if entries is None:
            stored = stored_columns(values, part)
            if sums is not None:
                sums.add(part, stored)
            return stored, _in_bytes(stored)
        return stored_columns(values, part, np.flatnonzero(~thin[part])), small[part]

    for part, (looked_at, small[part]) in read_ahead(left, read, reading_threads(values)):
        stored = looked_at
        if entries is None:
            thin[part] = nearly_zero(np.count_nonzero(stored, axis=0), rows, small[part]) & thin_apart
            if thin[part].any():
                zero_free.add(entries_by_rows(stored[:, thin[part]]))
                stored = stored[:, ~thin[part]]
        bytewise = small[part][~thin[part]]
        if bytewise.any():
            whole.update(_bytes_of(stored if bytewise.all() else stored[:, bytewise], np.int8))
        if not bytewise.all():
            others.update(_bytes_of(stored[:, ~bytewise] if bytewise.any() else stored, "<f8"))
    digest = blake2b(repr((rows, size, sorted(source.normalisation().items()))).encode(), digest_size=20)
    for text in (np.packbits(small).tobytes(), whole.digest(), others.digest()):
        digest.update(text)
    if thin.any():
        digest.update(np.packbits(thin).tobytes() + zero_free.digest())
    return digest.hexdigest()


def _bytes_of(columns: NDArray[Any], kind: Any) -> memoryview:
    """Return the numbers in a type, column after column; the two zeros of floating point are one number."""
    turned = columns.astype(kind, copy=False).T
    return np.ascontiguousarray(turned if turned.dtype.kind != "f" else turned + 0.0).data


def _in_bytes(stored: NDArray[Any]) -> Mask:
    """Say which columns hold nothing but whole numbers from -128 to 127."""
    if stored.dtype in (np.int8, np.bool_):
        return np.ones(stored.shape[1], dtype=bool)
    return np.asarray(_fits_a_byte(stored).all(axis=0))


def _all_whole(entries: Entries) -> Mask:
    return np.asarray(entries.sums(np.where(_fits_a_byte(entries.values), 0.0, 1.0)) == 0)


def _fits_a_byte(stored: NDArray[Any]) -> Mask:
    with np.errstate(invalid="ignore"):  # NaN and large numbers become some byte, and then differ from it
        return np.asarray(stored.astype(np.int8) == stored)
