"""A second checker of certpca certificates: whole numbers instead of floating point, one file, no dependencies.

    python certpca_exact.py certificate.json data.csv

It was written from docs/format.md alone and shares no code with certpca's own checker. Floating point only *suggests*
numbers (eigenvalues, directions c, square roots of matrices), for which any value gives a valid bound; everything that
is concluded is concluded in whole numbers. A quantity of the size of A is kept in units of 2^-2h, one of the size of
its factor F in units of 2^-h, where h is such that the longest column of F has about `BITS` binary digits. What is cut
off is allowed for: `Problem.error` bounds the norm of what A differs from the matrix that is held, `epsilon` and
`delta` what that differs from the product of the factor that is used.
"""

import ast
import csv
import functools
import hashlib
import io
import itertools
import json
import math
import re
import struct
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from operator import mul, sub
from pathlib import Path
from typing import Any, NamedTuple

BITS = 96  # of the entries of a factor; 192 of those of a matrix
WORK = 128  # of the entries in an elimination
LARGEST = 2048  # features, and order of a matrix: beyond it this checker takes too long
LONGEST = 1 << 18  # binary digits of a fraction
LISTED, NODES, DEPTH = 5_000, 10_000_000, 200
ALLOWED = Fraction(1, 10**8)  # relative, by which an objective may be above what is captured
Matrix = list[list[int]]
Vector = list[int]
Pairs = tuple[tuple[int, int], ...]  # of cuts: the region has (r·ξ)(s·ξ) ≤ 0 for each


class Refused(Exception):  # noqa: N818 - a verdict, not an error
    """The certificate is not confirmed; the text says why."""


def require(condition: bool, why: str) -> None:
    """Refuse unless the condition holds."""
    if not condition:
        raise Refused(why)


# --- files ---------------------------------------------------------------------------------------------------------


class Array(NamedTuple):
    """An array of a file: its letter of type, its shape, and its numbers in C order."""

    kind: str
    shape: tuple[int, ...]
    flat: Sequence[float]

    def rows(self) -> list[list[float]]:
        """Return the rows along the first axis, each flat."""
        step = math.prod(self.shape[1:])
        return [list(self.flat[i * step : (i + 1) * step]) for i in range(self.shape[0])]


CODES = {"f2": "e", "f4": "f", "f8": "d", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I"}
CODES |= {"i8": "q", "u8": "Q", "b1": "?"}


def npy(raw: bytes) -> tuple[str, Array]:
    """Read an array in NumPy's format; return how it describes its type, and the array."""
    require(raw[:6] == b"\x93NUMPY" and raw[6:8] in (b"\1\0", b"\2\0"), "an array is not in NPY format 1.0 or 2.0")
    width = 2 if raw[6] == 1 else 4
    start = 8 + width + int.from_bytes(raw[8 : 8 + width], "little")
    try:
        header = ast.literal_eval(raw[8 + width : start].decode("latin-1").strip())
        descr, fortran, shape = header["descr"], header["fortran_order"], tuple(header["shape"])
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, MemoryError) as error:
        msg = "an array has a damaged header"
        raise Refused(msg) from error
    require(isinstance(descr, str) and descr[1:] in CODES and descr[0] in "<>|=", f"an array has type {descr!r}")
    require(all(type(x) is int and x >= 0 for x in shape), "an array has a damaged shape")
    count, order = math.prod(shape), ">" if descr[0] == ">" else "<"
    size = struct.calcsize(order + CODES[descr[1:]])
    require(len(raw) - start == count * size, "an array has more or fewer numbers than its shape says")
    flat: Sequence[float] = struct.unpack(f"{order}{count}{CODES[descr[1:]]}", raw[start:])
    if fortran and len(shape) > 1 and count:
        steps = [math.prod(shape[:axis]) for axis in range(len(shape))]
        places = itertools.product(*(range(0, n * step, step) for n, step in zip(shape, steps, strict=True)))
        flat = [flat[sum(place)] for place in places]
    return descr, Array("f" if descr[1] == "f" else "i", shape, flat)


def read_evidence(certificate: dict[str, Any], folder: Path) -> dict[str, Array]:
    """Read the arrays that lie beside a certificate, pinned by a hash."""
    if "evidence" not in certificate:
        return {}
    named: Any = certificate["evidence"]
    require(isinstance(named, dict) and set(named) == {"file", "digest"}, "the field evidence is malformed")
    file, digest = named["file"], named["digest"]
    require(isinstance(file, str) and isinstance(digest, str), "the field evidence is malformed")
    plain = 0 < len(file) <= 255 and file not in (".", "..") and not re.search(r"[/\\:\x00-\x1f\x7f]", file)
    require(plain and (folder / file).is_file(), "there is no such evidence beside the certificate")
    raw = (folder / file).read_bytes()
    require(hashlib.blake2b(raw, digest_size=20).hexdigest() == digest, "the evidence is not that of the digest")
    arrays = {}
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = archive.infolist()
            require(sum(x.file_size for x in members) <= len(raw), "the evidence unpacks to more than the file has")
            for member in members:
                require(member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1, "packed evidence")
                name = member.filename
                require(name.endswith(".npy") and name[:-4] not in arrays, f"the evidence has a stray {name!r}")
                descr, array = npy(archive.read(member))
                require(descr[0] in "<|" and descr[1:] not in ("f2", "b1"), f"{name} has type {descr!r}")
                require(array.kind == "i" or all(map(math.isfinite, array.flat)), f"{name} is not finite")
                arrays[name[:-4]] = array
    except (zipfile.BadZipFile, struct.error, EOFError, NotImplementedError, ValueError) as error:
        msg = f"the evidence cannot be read ({error})"
        raise Refused(msg) from error
    return arrays


def read_json(text: str) -> Any:
    """Read JSON strictly: no name twice, no number that is not finite, none of more than 100 digits."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        require(len({name for name, _ in items}) == len(items), "a name occurs twice in one object")
        return dict(items)

    def whole(digits: str) -> int:
        require(len(digits) <= 100, "a whole number has more than 100 digits")
        return int(digits)

    def real(digits: str) -> float:
        require(math.isfinite(float(digits)), "a number is not finite")
        return float(digits)

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_int=whole, parse_float=real, parse_constant=real)
    except (ValueError, RecursionError) as error:
        msg = f"the file is not JSON ({error})"
        raise Refused(msg) from error


def read_table(file: Path) -> list[list[float]]:
    """Read data: .npy, .npz (one array, or a sparse matrix as SciPy stores it), or text with separators."""
    if file.suffix == ".npy":
        return _table(npy(file.read_bytes())[1])
    if file.suffix == ".npz":
        with zipfile.ZipFile(file) as archive:
            if "indptr.npy" in archive.namelist():
                return _sparse(archive)
            require(len(archive.namelist()) == 1, f"{file.name} has not one array")
            return _table(npy(archive.read(archive.namelist()[0]))[1])
    lines = [line for line in file.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    require(bool(lines), f"{file.name} is empty")
    mark = max(",;\t", key=lines[0].count)
    cells = list(csv.reader(lines, delimiter=mark) if mark in lines[0] else (line.split() for line in lines))
    header = any(_number(cell) is None for cell in cells[0])
    first = int(all(_number(row[0]) is None for row in cells[header:]))  # a column of names
    table = [[_number(cell) for cell in row[first:]] for row in cells[header:]]
    require(all(None not in row for row in table), f"{file.name} has cells that are not numbers")
    require(len({len(row) for row in table}) == 1, f"{file.name} has rows of different lengths")
    return [[float(x) for x in row if x is not None] for row in table]


def _number(cell: str) -> float | None:
    if cell.strip() in ("", "NA", "N/A", "nan", "NaN", "NULL"):
        return math.nan
    try:
        return float(cell)
    except ValueError:
        return None


def _table(array: Array) -> list[list[float]]:
    require(len(array.shape) == 2, "the data are not a table")
    return [[float(x) for x in row] for row in array.rows()]


def _sparse(archive: zipfile.ZipFile) -> list[list[float]]:
    ends, places, values, shape = (npy(archive.read(f"{x}.npy"))[1] for x in ("indptr", "indices", "data", "shape"))
    by_rows = b"csr" in archive.read("format.npy")
    m, n = (int(x) for x in shape.flat)
    table = [[0.0] * n for _ in range(m)]
    for line, (start, end) in enumerate(itertools.pairwise(map(int, ends.flat))):
        for place, value in zip(places.flat[start:end], values.flat[start:end], strict=True):
            i, j = (line, int(place)) if by_rows else (int(place), line)
            table[i][j] += float(value)
    return table


class Evidence:
    """The arrays of a certificate, or of one of its parts."""

    def __init__(self, arrays: dict[str, Array], prefix: str = "") -> None:
        self.arrays, self.prefix = arrays, prefix

    def part(self, name: str) -> "Evidence":
        """Return the arrays of a part."""
        return Evidence(self.arrays, f"{self.prefix}{name}_")

    def names(self) -> list[str]:
        """Return the names within this part."""
        return [name[len(self.prefix) :] for name in self.arrays if name.startswith(self.prefix)]

    def has(self, name: str) -> bool:
        """Say whether there is such an array."""
        return self.prefix + name in self.arrays

    def get(self, name: str, *shape: int | None, kind: str = "f") -> Array:
        """Return an array of that shape, in which None stands for any length."""
        require(self.has(name), f"the evidence lacks {self.prefix}{name}")
        array = self.arrays[self.prefix + name]
        fits = len(array.shape) == len(shape) and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True))
        require(array.kind == kind and fits, f"{self.prefix}{name} has a wrong type or shape")
        require(all(x <= 8192 for x in array.shape if len(shape) > 1), f"{self.prefix}{name} is too large")
        return array

    def number(self, name: str, low: float = 0.0) -> float:
        """Return a number that must not be below another."""
        value = self.get(name).flat[0]
        require(value >= low, f"{self.prefix}{name} is negative")
        return value

    def indices(self, name: str, below: int, length: int | None = None) -> list[int]:
        """Return increasing indices."""
        found = [int(x) for x in self.get(name, length, kind="i").flat]
        rising = all(a < b for a, b in itertools.pairwise(found))
        require(rising and all(0 <= x < below for x in found), f"{self.prefix}{name} is not increasing or out of range")
        return found


# --- whole numbers -------------------------------------------------------------------------------------------------


def fix(value: float, bits: int) -> int:
    """Return a floating-point number in units of 2^-bits, rounded down."""
    require(math.isfinite(value), "a number of the evidence is too large")
    over, under = value.as_integer_ratio()
    return (over << bits) // under if bits >= 0 else over // (under << -bits)


def real(value: int, bits: int) -> float:
    """Return about value · 2^-bits, for suggestions alone."""
    return value / (1 << bits) if bits >= 0 else float(value << -bits)


def dot(x: Iterable[Any], y: Iterable[Any]) -> Any:
    """Return the inner product."""
    return sum(map(mul, x, y))


def gram(vectors: Sequence[Sequence[int]]) -> Matrix:
    """Return all inner products."""
    out = [[0] * len(vectors) for _ in vectors]
    for i, x in enumerate(vectors):
        for j in range(i + 1):
            out[i][j] = out[j][i] = dot(x, vectors[j])
    return out


def plus(x: Matrix, y: Matrix, sign: int = 1) -> Matrix:
    """Return x + sign · y."""
    return [[a + sign * b for a, b in zip(p, q, strict=True)] for p, q in zip(x, y, strict=True)]


def on(matrix: Matrix, places: Sequence[int]) -> Matrix:
    """Return the principal submatrix on these places."""
    return [[matrix[i][j] for j in places] for i in places]


def below(matrix: Matrix, top: int) -> bool:
    """Prove that no eigenvalue of a symmetric matrix is above `top`, or return False.

    S = top·I − matrix is eliminated in whole numbers. Each step replaces the exact Schur complement, which is
    semidefinite exactly if S is, by one that is off by less than 2 in each entry, so by less than 2m in norm where it
    has m rows; cutting off digits first changes S by less than n. Taking n + n(n − 1) = n² off the diagonal allows for
    both.
    """
    n = len(matrix)
    s = [[-x for x in row[: i + 1]] for i, row in enumerate(matrix)]
    for i in range(n):
        s[i][i] += top
    if any(s[i][i] < 0 for i in range(n)):
        return False
    cut = max(0, max((s[i][i] for i in range(n)), default=0).bit_length() - WORK)
    s = [[x >> cut for x in row] for row in s]
    for i in range(n):
        s[i][i] -= n * n
    digits = WORK + 2
    for k in range(n):
        pivot, column = s[k][k], [s[i][k] for i in range(k + 1, n)]
        if pivot <= 0 or any(abs(x) >> digits for x in column):
            return False
        for i, x in enumerate(column, k + 1):
            if x:
                factor = (x << digits) // pivot
                s[i][k + 1 :] = [a - ((factor * b) >> digits) for a, b in zip(s[i][k + 1 :], column, strict=False)]
    return True


def largest(matrix: Matrix, goal: int | None = None) -> int:
    """Return a proved upper bound of the largest eigenvalue: the goal if that is one, else a sharp one."""
    if not matrix or (goal is not None and below(matrix, goal)):
        return goal if goal is not None else 0
    size = max(max(map(abs, row)) for row in matrix)
    if not size:
        return 1
    values, _ = eigen([[x / size for x in row] for row in matrix])
    estimate, slack = int(Fraction(max(values)) * size), len(matrix) * (size >> 46) + 4 * len(matrix) ** 2
    while not below(matrix, estimate + slack):
        slack *= 4
    return estimate + slack


def eigen(matrix: Sequence[Sequence[float]]) -> tuple[list[float], list[list[float]]]:
    """Return about the eigenvalues and eigenvectors, by one-sided rotations of the rows of matrix + c·I."""
    n, c = len(matrix), 2 * max(sum(map(abs, row)) for row in matrix) or 1.0
    rows = [[x + c * (i == j) for j, x in enumerate(row)] for i, row in enumerate(matrix)]
    for _ in range(15):
        norms, turned = [dot(x, x) for x in rows], False
        for p, q in itertools.combinations(range(n), 2):
            x, y = rows[p], rows[q]
            g = dot(x, y)
            if g * g > 1e-29 * norms[p] * norms[q]:
                turned = True
                tau = (norms[q] - norms[p]) / (2 * g)
                t = math.copysign(1 / (abs(tau) + math.hypot(1, tau)), tau)
                co = 1 / math.hypot(1, t)
                si = co * t
                rows[p] = [co * a - si * b for a, b in zip(x, y, strict=True)]
                rows[q] = [si * a + co * b for a, b in zip(x, y, strict=True)]
                norms[p], norms[q] = norms[p] - t * g, norms[q] + t * g
        if not turned:
            break
    lengths = [math.hypot(*x) for x in rows]
    return [length - c for length in lengths], [[a / s for a in x] for x, s in zip(rows, lengths, strict=True)]


def root_of(value: Fraction) -> Fraction:
    """Return the square root, rounded down in its 160th binary digit or later; exact for squares of short fractions."""
    product = value.numerator * value.denominator
    shift = max(0, 170 - product.bit_length() // 2)
    return Fraction(math.isqrt(product << 2 * shift), value.denominator << shift)


def square_root(value: int) -> int:
    """Return a whole number that is not below the square root."""
    return math.isqrt(max(value, 0)) + 1


def largest_sum(values: Iterable[int], count: int) -> int:
    """Return the sum of the largest `count`."""
    return sum(sorted(values, reverse=True)[: max(count, 0)])


# --- from data to matrix -------------------------------------------------------------------------------------------

NORMALISATION = ("center", "divisor", "fill_missing", "kind", "missing", "scale")


class Problem:
    """The matrix that a table and a normalisation give, A_ij = E_ij / (√(q_i q_j) · divisor) with E, q rational."""

    def __init__(self, table: list[list[float]], how: dict[str, Any]) -> None:
        self.rows, self.size = len(table), len(table[0])
        self.given = how["kind"] == "matrix"
        require(max(self.size, 1) <= LARGEST, f"this checker takes at most {LARGEST:,} features; {self.size:,} here")
        columns = [list(column) for column in zip(*table, strict=True)]
        (self._given if self.given else self._data)(columns, how)

    def _given(self, columns: list[list[float]], how: dict[str, Any]) -> None:
        require(self.rows == self.size, "the matrix is not square")
        plain = (how["center"], how["scale"], how["missing"], how["fill_missing"]) == (False, False, None, False)
        require(plain and how["divisor"] == 1.0, "a given matrix is said to be normalised")
        require(all(math.isfinite(x) for column in columns for x in column), "the matrix is not finite")
        digits = max(x.as_integer_ratio()[1].bit_length() for column in columns for x in column)
        self.exact = [[fix(x, digits) for x in column] for column in columns]
        self.exact = plus(self.exact, [list(row) for row in zip(*self.exact, strict=True)])
        self.weights, self.divisor = [Fraction(1)] * self.size, 1 << (digits + 1)
        top = max(abs(x) for row in self.exact for x in row)
        self.h = BITS - (top.bit_length() - digits) // 2 if top else BITS
        shift = 2 * self.h - digits - 1
        self.matrix = [[x << shift if shift >= 0 else x >> -shift for x in row] for row in self.exact]
        self.error = 0 if shift >= 0 else self.size

    def _data(self, columns: list[list[float]], how: dict[str, Any]) -> None:
        code, center, scale, m = how["missing"], how["center"], how["scale"], self.rows
        divisor = how["divisor"]
        require(divisor == int(divisor) and 1 <= divisor <= m, "the divisor is not a whole number up to the rows")
        require(code in (None, -9), "no such code of missing values")
        require(
            center or not (code == -9 or how["fill_missing"] or scale == "2pq"), "values are filled but not centred"
        )
        require(code is None or how["fill_missing"], "missing values have a code and are not filled")
        self.divisor = 1 if scale is True else int(divisor)
        parts = [self._column(column, how) for column in columns]
        self.vectors, self.weights = [x for x, _ in parts], [q for _, q in parts]
        top = max(dot(x, x) / (q * self.divisor) for x, q in parts)
        self.h = BITS - (top.numerator.bit_length() - top.denominator.bit_length()) // 2 if top else BITS
        unit = Fraction(2) ** self.h
        roots = [unit / root_of(q * self.divisor) for q in self.weights]
        self.samples = [[x * r.numerator // r.denominator for x in v] for v, r in zip(self.vectors, roots, strict=True)]
        self.matrix = gram(self.samples)
        # Each entry of a column is off by less than 2: what is cut off, and the root's relative 2^-160.
        longest = square_root(max(self.matrix[i][i] for i in range(self.size)))
        self.error = self.size * (4 * square_root(m) * longest + 4 * m)

    def _column(self, column: list[float], how: dict[str, Any]) -> tuple[Vector, Fraction]:
        """Return a multiple of the centred column in whole numbers, and the square q that makes it what it is."""
        code = how["missing"]
        require(not any(math.isinf(x) for x in column), "the data are not finite")
        if code is not None:
            usual = all(x == int(x) and (x >= 0 or x == code) for x in column if not math.isnan(x))
            require(usual and not any(map(math.isnan, column)), "data with a code have other negatives, or fractions")
        there = [not math.isnan(x) and (code is None or x != code) for x in column]
        require(all(there) or how["fill_missing"], "values are missing and not filled")
        digits = max((x.as_integer_ratio()[1] for x, y in zip(column, there, strict=True) if y), default=1).bit_length()
        values = [fix(x, digits) if y else 0 for x, y in zip(column, there, strict=True)]
        count, total = max(sum(there), 1), sum(values)
        if how["center"]:
            values = [count * x - total if y else 0 for x, y in zip(values, there, strict=True)]
        else:
            count = 1
        square = Fraction((count << digits) ** 2)
        if how["scale"] is True:
            square = Fraction(dot(values, values))
            require(square > 0, "a column is constant and cannot be scaled")
        elif how["scale"] == "2pq":
            p = Fraction(total, (count << digits) * 2)
            require(0 < p < 1, "an allele frequency is not between 0 and 1")
            square *= 2 * p * (1 - p)
        return values, square

    def product(self, i: int, j: int) -> int:
        """Return E_ij, exactly."""
        return self.exact[i][j] if self.given else int(dot(self.vectors[i], self.vectors[j]))

    @functools.cached_property
    def factor(self) -> list[Vector]:
        """Return the columns of the factor that evidence refers to, about."""
        if not self.given and (self.rows <= self.size or self.size > 20_000):
            return self.samples
        values, vectors = eigen([[real(x, 2 * BITS) for x in row] for row in self.matrix])
        lengths = [math.sqrt(max(x, 0.0)) for x in values]
        halves = [[s * x for x in v] for s, v in zip(lengths, vectors, strict=True)]
        across, turned = list(zip(*vectors, strict=True)), list(zip(*halves, strict=True))
        return [[fix(dot(x, y), BITS) for y in turned] for x in across]

    @functools.cached_property
    def product_of_factor(self) -> Matrix:
        """Return G, the product of the factor that is used with itself."""
        return self.matrix if self.factor is getattr(self, "samples", None) else gram(self.factor)

    @functools.cached_property
    def delta(self) -> int:
        """Return a bound of the norm of A − G."""
        rest = plus(self.matrix, self.product_of_factor, -1)
        return self.error + max(sum(map(abs, row)) for row in rest)

    @functools.cached_property
    def epsilon(self) -> int:
        """Return a bound of the largest eigenvalue of A − G, at least 0."""
        if self.delta >> (2 * BITS - 40) == 0:
            return self.delta
        return self.error + max(0, largest(plus(self.matrix, self.product_of_factor, -1)))

    @property
    def depth(self) -> int:
        """Return the dimension d in which the factor lives."""
        return len(self.factor[0])

    def fixed(self, value: float) -> int:
        """Return a number of the size of A in our units."""
        return fix(value, 2 * self.h)


def fingerprints(table: list[list[float]], how: dict[str, Any]) -> set[str]:
    """Return the fingerprint of a table, and that of an early version, which knew no thin columns."""
    m, n = len(table), len(table[0])
    head = repr((m, n, sorted(how.items()))).encode()
    columns = [[x + 0.0 for x in column] for column in zip(*table, strict=True)]
    small = [all(not math.isnan(x) and -128 <= x <= 127 and x == int(x) for x in column) for column in columns]
    entries = [[(i, x) for i, x in enumerate(column) if x] for column in columns]
    found = set()
    for thin in ([len(e) * (64 if s else 8) < m for e, s in zip(entries, small, strict=True)], [False] * n):
        whole, others, counts, places, values = (hashlib.blake2b(digest_size=20) for _ in range(5))
        for j in range(n):
            if thin[j]:
                counts.update(struct.pack("<q", len(entries[j])))
                places.update(struct.pack(f"<{len(entries[j])}q", *(i for i, _ in entries[j])))
                values.update(struct.pack(f"<{len(entries[j])}d", *(x for _, x in entries[j])))
            elif small[j]:
                whole.update(struct.pack(f"{m}b", *map(int, columns[j])))
            else:
                others.update(struct.pack(f"<{m}d", *columns[j]))
        text = head + _bits(small) + whole.digest() + others.digest()
        if any(thin):
            text += _bits(thin) + counts.digest() + places.digest() + values.digest()
        found.add(hashlib.blake2b(text, digest_size=20).hexdigest())
    return found


def _bits(flags: list[bool]) -> bytes:
    padded = flags + [False] * (-len(flags) % 8)
    return bytes(sum(bit << (7 - i) for i, bit in enumerate(padded[k : k + 8])) for k in range(0, len(padded), 8))


# --- what features cost: dual points and levels ----------------------------------------------------------------------


@dataclass
class Claim:
    """What a certificate of one component claims and brings."""

    kind: str
    sparsity: int
    support: list[int]
    captured: int
    tree: Any
    evidence: Evidence
    goal: int | None = None  # the claim itself, where it is known how far this bound may go
    outside: int = 0
    inside: int = 0

    def decide(self, outside: int, inside: int) -> None:
        """Refuse unless as many features are decided as claimed."""
        require(self.outside <= outside, f"{outside} features are proved to be in no optimum, {self.outside} claimed")
        require(self.inside <= inside, f"{inside} features are proved to be in every optimum, {self.inside} claimed")


@dataclass
class Covers:
    """Vectors z_i with z_i z_iᵀ + s_i I ⪰ a_i a_iᵀ − R and Σ s_i ≤ slack, and Σ z_i z_iᵀ."""

    vectors: list[Vector]
    slack: int
    total: Matrix = field(init=False)

    def __post_init__(self) -> None:
        self.total = gram(list(zip(*self.vectors, strict=True))) if self.vectors else []

    def exchanged(self, i: int, column: Vector | None) -> Matrix:
        """Return the sum without feature i, or with its own square in the place of its cover."""
        z = self.vectors[i]
        a = column or [0] * len(z)
        return [
            [x - p * q + s * t for x, q, t in zip(row, z, a, strict=True)]
            for row, p, s in zip(self.total, z, a, strict=True)
        ]


def cover(column: Vector, level: Callable[[Vector], Vector], direction: Sequence[float]) -> Vector | None:
    """Return z = Bc/√q for B = aaᵀ − R and q = cᵀBc, in units of 2^-h; q is rounded down. None unless q > 0."""
    size = max(map(abs, direction), default=0.0)
    if not (0 < size < math.inf) or any(map(math.isnan, direction)):
        return None
    c = [int(x / size * (1 << 44)) for x in direction]  # any c will do
    inner = dot(column, c)
    image = [x * inner - y for x, y in zip(column, level(c), strict=True)]
    square = dot(image, c)
    if square <= inner * inner >> 60:  # not clearly positive
        return None
    root = math.isqrt(square << 128)
    return [(x << 64) // root for x in image]


def slack_of(vectors: list[Vector]) -> int:
    """Return what cutting off digits of all z_i can change in the sum of squares: 2|z|√d + d for each."""
    return sum(2 * square_root(len(z) * dot(z, z)) + len(z) for z in vectors)


def close(bound: int, goal: int | None) -> bool:
    """Say whether a bound misses a claim by so little that other directions c, which are free, may reach it."""
    return goal is not None and goal < bound < goal + (goal >> 18)


def secular(over: Sequence[float], under: Sequence[float]) -> float:
    """Return about the root θ of Σ over / (θ + under) = 1, from the left, by Newton's method for the inverse."""
    theta = 0.0
    for _ in range(60):
        terms = [(a / (theta + b), b) for a, b in zip(over, under, strict=True) if a]
        value, slope = sum(t for t, _ in terms), sum(t / (theta + b) for t, b in terms)
        step = (value - 1) * value / slope if slope else 0.0
        if not abs(step) > 1e-15 * theta:
            break
        theta += step
    return theta


def unpacked(flat: Sequence[float], order: int) -> list[list[float]]:
    """Return a symmetric matrix from its packed lower triangle."""
    return [[flat[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(order)] for i in range(order)]


def dual_point(columns: list[Vector], evidence: Evidence, h: int, most: int) -> tuple[int, Covers]:
    """Return the level ρ and covers of a_i a_iᵀ − ρI, by the density of the evidence."""
    d = len(columns[0])
    rho = fix(evidence.number("level"), 2 * h)
    level = real(rho, 2 * BITS)
    flat = evidence.get("density", d * (d + 1) // 2).flat
    roots = evidence.get("theta", most).flat if evidence.has("theta") else [0.0] * most
    values, vectors = eigen(unpacked(flat, d))
    top = max(values)
    density = [max(x, 1e-14 * top) / (sum(values) or 1.0) for x in values] if top > 0 else [1.0 / d] * d
    found = []
    for column, stored in zip(columns, roots, strict=True):
        if dot(column, column) <= rho:
            found.append([0] * d)
            continue
        a = [real(x, BITS) for x in column]
        b = [dot(v, a) for v in vectors]
        theta = real(fix(stored, 2 * h), 2 * BITS)
        if theta <= 0:
            theta = secular([p * x * x for p, x in zip(density, b, strict=True)], [level * p for p in density])
        weights = [p * x / (theta + level * p) if theta > 0 else x for p, x in zip(density, b, strict=True)]
        c = [dot(weights, across) for across in zip(*vectors, strict=True)]
        found.append(cover(column, lambda v: [rho * x for x in v], c) or column)
    return rho, Covers(found, slack_of(found))


class Level:
    """R = rI + WSWᵀ, proved to be semidefinite, and covers of a_i a_iᵀ − R (− wI)."""

    def __init__(
        self,
        basis: list[list[float]],
        flat: Sequence[float],
        level: float,
        frame: list[list[float]],
        weights: Sequence[float],
        h: int,
    ) -> None:
        self.basis, self.level, self.h = basis, real(fix(level, 2 * h), 2 * BITS), h
        self.frame = [[math.ldexp(x, BITS - h) for x in row] for row in frame]
        self.weights = [abs(x) for x in weights]
        d, w = len(basis), len(frame)
        big = max((abs(x) for row in basis for x in row), default=0.0)
        bits = BITS - math.frexp(big)[1]
        rows = [[fix(x, bits) for x in row] for row in basis]
        core = unpacked(flat, w)
        cores = BITS - math.frexp(max(map(abs, flat), default=0.0))[1]
        inner = [[fix(x, cores) for x in row] for row in core]
        half = [[dot(x, y) for y in inner] for x in rows]
        shift = 2 * bits + cores - 2 * h  # any R will do, so digits are cut off
        self.matrix = [[0] * d for _ in range(d)]
        for i in range(d):
            for j in range(i + 1):
                value = dot(half[i], rows[j])
                self.matrix[i][j] = self.matrix[j][i] = value >> shift if shift >= 0 else value << -shift
        extra = (max(*(self.matrix[i][i] for i in range(d)), 1 << 2 * BITS) >> 70) + fix(level, 2 * h)
        for i in range(d):
            self.matrix[i][i] += extra
        require(below([[-x for x in row] for row in self.matrix], 0), "the level is not semidefinite")

    def turned(self, columns: list[Vector], prices: list[float], found: list[Vector], matrix: Matrix) -> list[Vector]:
        """Return covers that are a little smaller where this matrix is largest, by other roots θ; any will do."""
        values, vectors = eigen([[real(x, 2 * BITS) for x in row] for row in matrix])
        top = vectors[values.index(max(values))]

        def size(z: Vector) -> float:
            return abs(float(dot(top, (real(x, BITS) for x in z))))

        tries = zip(columns, prices, found, strict=True)
        return [min(z, self.cover(a, w, 0.97), self.cover(a, w, 1.03), key=size) for a, w, z in tries]

    def cover(self, column: Vector, price: float = 0.0, tilt: float = 1.0) -> Vector:
        """Return a vector whose square covers, as the format suggests; zero where R covers a_i a_iᵀ by itself."""
        a = [real(x, BITS) for x in column]
        full = len(self.frame) == len(a)
        g = [dot(v, a) for v in zip(*self.basis, strict=True)]
        b = [dot(row, g) for row in self.frame]
        r = self.level or 1.0
        e = 0.0 if full else max(dot(a, a) - dot(g, g), 0.0) / r
        kappa = dot(b, b) + e
        paid = fix(price, 2 * self.h)
        if kappa > 1:
            y, h = self._direction(b, e, r, real(paid, 2 * BITS), tilt)
            inner = [
                dot(y, t) - (0.0 if full else h) * x for t, x in zip(zip(*self.frame, strict=True), g, strict=True)
            ]
            c = [dot(row, inner) + (0.0 if full else h) * x for row, x in zip(self.basis, a, strict=True)]
            z = cover(column, lambda v: [dot(row, v) + paid * x for row, x in zip(self.matrix, v, strict=True)], c)
            if z:
                return z
        return self._multiple(column, a, paid)

    def _direction(self, b: list[float], e: float, r: float, price: float, tilt: float) -> tuple[list[float], float]:
        """Return y and h of the format's text."""
        p, rest = self.weights[:-1], self.weights[-1]
        if not price:
            theta = secular([*(x * y * y for x, y in zip(p, b, strict=True)), rest * e], self.weights) * tilt
            y = [x * y / (theta + x) if theta + x else 0.0 for x, y in zip(p, b, strict=True)]
            return y, rest / (r * (theta + rest)) if theta + rest else 0.0
        p, rest = [max(x, 1e-300) for x in p], max(rest, 1e-300)
        outer = [[price * dot(s, t) + (i == j) for j, t in enumerate(self.frame)] for i, s in enumerate(self.frame)]

        def at(theta: float) -> tuple[list[float], float]:
            rows = [[x + theta / p[i] * (i == j) for j, x in enumerate(row)] for i, row in enumerate(outer)]
            return solve(rows, b), 1 / (r * (theta / rest + 1) + price)

        theta = 0.0
        for _ in range(40):
            y, h = at(theta)
            value = dot(b, y) + e * r * h
            slope = sum(x * x / q for x, q in zip(y, p, strict=True)) + e * (r * h) ** 2 / rest
            step = (value - 1) * value / slope if slope else 0.0
            if not abs(step) > 1e-13 * theta:
                break
            theta = max(theta + step, 0.0)
        return at(theta * tilt)

    @functools.cached_property
    def _spectrum(self) -> tuple[list[float], list[list[float]], int]:
        """Return about the eigenvalues and eigenvectors of R, and a proved lower bound of the former, or 0."""
        values, vectors = eigen([[real(x, 2 * BITS) for x in row] for row in self.matrix])
        low = fix(max(min(values), 0.0) / 2, 2 * BITS)
        return values, vectors, low if below([[-x for x in row] for row in self.matrix], -low) else 0

    def _multiple(self, column: Vector, a: list[float], paid: int) -> Vector:
        """Return √(1 − 1/κ) a, zero where κ ≤ 1, for κ ≥ aᵀQ⁻¹a with Q = R + wI.

        For any y and s = a − Qy that is κ = yᵀQy + 2yᵀs + |s|²/λ_min(Q).
        """
        values, vectors, low = self._spectrum
        low += paid  # R itself is semidefinite
        if not low:
            return column
        price = real(paid, 2 * BITS)
        parts = [dot(v, a) / (max(x, 0.0) + price) for x, v in zip(values, vectors, strict=True)]
        y = [fix(dot(parts, across), BITS) for across in zip(*vectors, strict=True)]
        image = [dot(row, y) + paid * x for row, x in zip(self.matrix, y, strict=True)]
        rest = [(x << 2 * BITS) - t for x, t in zip(column, image, strict=True)]
        unit = 1 << 4 * BITS
        kappa = dot(y, image) + 2 * dot(y, rest) + dot(rest, rest) // low + 1
        if kappa <= unit:
            return [0] * len(column)
        root = square_root(((kappa - unit) << 128) // kappa + 1)
        return [(x * root) >> 64 for x in column]


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Return about the solution of a positive definite system."""
    rows = [[*row, x] for row, x in zip(matrix, right, strict=True)]
    for k, row in enumerate(rows):
        for other in rows[k + 1 :]:
            t = other[k] / row[k]
            other[k:] = [x - t * y for x, y in zip(other[k:], row[k:], strict=True)]
    y = [0.0] * len(rows)
    for k in range(len(rows) - 1, -1, -1):
        y[k] = (rows[k][-1] - dot(rows[k][k + 1 : -1], y[k + 1 :])) / rows[k][k]
    return y


# --- rules for one component -----------------------------------------------------------------------------------------


def closed_forms(problem: Problem, claim: Claim) -> int:
    """Bound by the trace, by row sums, or by the largest eigenvalue."""
    k = claim.sparsity
    claim.decide(0, 0)
    if claim.kind == "largest-eigenvalue":
        goal = None if claim.goal is None else claim.goal - problem.error
        return largest(problem.matrix, goal) + problem.error
    matrix = problem.product_of_factor
    if claim.kind == "trace":
        return largest_sum((matrix[i][i] for i in range(problem.size)), k) + problem.epsilon
    return max(largest_sum(map(abs, row), k) for row in matrix) + problem.epsilon


def screened(problem: Problem, claim: Claim, among: list[int] | None = None) -> list[int]:
    """Return the features that a first dual point does not leave out; of each other it is proved that it may be."""
    every = list(range(problem.size)) if among is None else among
    if not any(name.startswith("screen_") for name in claim.evidence.names()):
        return every
    k, t, d = claim.sparsity, claim.captured, problem.depth
    columns = [problem.factor[i] for i in every]
    rho, covers = dual_point(columns, claim.evidence.part("screen"), problem.h, len(every))
    if k == len(every) or d < 2 or t <= 0:
        return every
    shift = 2 * BITS
    values, vectors = eigen([[real(x, shift) for x in row] for row in covers.total])
    level, room, gamma = max(values), real(t - (k - 1) * rho, shift), (d + 8) * 2.0**-53 / (1 - (d + 8) * 2.0**-53)
    size = max(abs(level), real(t, shift))
    margin = 8 * (2 * gamma * sum(map(abs, values)) + 2 * d * gamma * size) / (1e-6 * size)
    margin = max(1e-5, margin)
    if not room > level + 1e-6 * size or margin >= 0.1:
        return every
    left = []
    for place, i in enumerate(every):
        both = ([real(x, BITS) for x in w] for w in (columns[place], covers.vectors[place]))
        a, z = ([dot(v, x) for v in vectors] for x in both)
        inverse = [1 / (room - x) for x in values]
        aa, az, zz = (sum(map(mul, map(mul, x, y), inverse)) for x, y in ((a, a), (a, z), (z, z)))
        if not aa - az * az / (1 + zz) < 1 - margin * (1 + aa):
            left.append(i)
            continue
        limit = t - (k - 1) * rho - covers.slack - problem.epsilon - 1
        require(below(covers.exchanged(place, columns[place]), limit), f"feature {i} is left out without proof")
    require(len(left) >= k, "fewer features are left than the sparsity")
    return left


def l0_dual(problem: Problem, claim: Claim) -> int:
    """Kρ + λ_max(Σ Y_i) over the features that are left."""
    left, k = screened(problem, claim), claim.sparsity
    columns = [problem.factor[i] for i in left]
    rho, covers = dual_point(columns, claim.evidence, problem.h, len(left))
    rest = k * rho + covers.slack + problem.epsilon
    bound = largest(covers.total, None if claim.goal is None else claim.goal - rest) + rest
    decide(problem, claim, left, covers, claim.captured - rest - 1, rho)
    return max(bound, claim.captured) if len(left) < problem.size else bound


def decide(problem: Problem, claim: Claim, left: list[int], covers: Covers, room: int, level: Matrix | int) -> None:
    """Count features that a dual point decides: supports with i pay its level k − 1 times, those without it k times."""
    outside, inside, chosen, k = problem.size - len(left), 0, set(claim.support), claim.sparsity
    once, more = (level, None) if isinstance(level, int) else (0, level)
    for place, i in enumerate(left):
        if outside < claim.outside and i not in chosen:
            matrix = covers.exchanged(place, problem.factor[i])
            outside += below(plus(matrix, more, k - 1) if more else matrix, room + once)
        if inside < claim.inside and i in chosen and k < problem.size:
            matrix = covers.exchanged(place, None)
            inside += below(plus(matrix, more, k) if more else matrix, room)
    claim.decide(outside, inside)


def l0_tree(problem: Problem, claim: Claim) -> int:
    """Dual points for regions of directions, which cover all."""
    left, k, evidence = screened(problem, claim), claim.sparsity, claim.evidence
    columns, rays, worst = [problem.factor[i] for i in left], rays_of(problem, evidence), 0
    for leaf, pairs in regions(claim.tree, len(rays)):
        part = evidence.part(f"leaf{leaf}")
        rho, covers = dual_point(columns, part, problem.h, len(left))
        matrix, cut = without_pairs(covers.total, rays, pairs, part, "weights", problem.h)
        rest = k * rho + covers.slack + problem.epsilon + cut
        worst = max(worst, largest(matrix, None if claim.goal is None else claim.goal - rest) + rest)
    claim.decide(problem.size - len(left), 0)
    return max(worst, claim.captured) if len(left) < problem.size else worst


def rays_of(problem: Problem, evidence: Evidence) -> list[Vector]:
    """Return the rays that split directions, in units of 2^-64; any will do."""
    rows = evidence.get("rays", None, problem.depth).rows() if evidence.has("rays") else []
    require(all(1e-3 <= max(map(abs, row)) <= 1e3 for row in rows), "a ray is out of range")
    return [[fix(x, 64) for x in row] for row in rows]


def regions(tree: Any, count: int) -> Iterator[tuple[int, Pairs]]:
    """Yield the leaves of a tree of directions and the pairs on their ways; refuse trees that do not cover all."""
    used = set()
    stack: list[tuple[Any, Pairs, int]] = [(tree, (), 0)]
    while stack:
        node, pairs, depth = stack.pop()
        require(isinstance(node, dict), "a node of the tree is not an object")
        if "leaf" in node:
            leaf = whole(node["leaf"], 0, NODES, "leaf")
            require(leaf not in used, "a leaf is named twice")
            used.add(leaf)
            yield leaf, pairs
            continue
        cuts, children = node.get("cuts"), node.get("children")
        require(isinstance(cuts, list) and isinstance(children, list) and depth < DEPTH, "a split is malformed")
        require(len(cuts) == len(children) + 1 >= 2, "a split has not one cut more than children")
        cuts = [whole(c, -count, count, "cut") for c in cuts]
        require(all(cuts), "a cut is no ray")
        require(cuts[-1] == -cuts[0] or (cuts[0], cuts[-1]) in pairs, "a split does not cover its region")
        stack += [
            (child, (*pairs, pair), depth + 1) for child, pair in zip(children, itertools.pairwise(cuts), strict=True)
        ]


def without_pairs(
    matrix: Matrix, rays: list[Vector], pairs: Pairs, part: Evidence, name: str, h: int
) -> tuple[Matrix, int]:
    """Return matrix − Σ σ (rsᵀ + srᵀ)/2, σ from an array of the leaf, and what cutting off digits can change."""
    weights = part.get(name, len(pairs)).flat
    require(all(x >= 0 for x in weights), "a weight is negative")
    for (r, s), weight in zip(pairs, weights, strict=True):
        sigma = fix(weight, 2 * h)
        x, y = ([v if c > 0 else -v for v in rays[abs(c) - 1]] for c in (r, s))
        matrix = [
            [m - ((sigma * (p * b + q * a)) >> 129) for m, a, b in zip(row, x, y, strict=True)]
            for row, p, q in zip(matrix, x, y, strict=True)
        ]
    return matrix, len(matrix) * len(pairs)


def l0_reduced(problem: Problem, claim: Claim) -> int:
    """Bound in a few directions W, and what the others add."""
    d, n, k, h = problem.depth, problem.size, claim.sparsity, problem.h
    basis = claim.evidence.get("basis", d, None)
    require(1 <= basis.shape[1] < d, "the basis has not fewer directions than samples")
    directions: list[list[float]] = []
    for column in zip(*basis.rows(), strict=True):
        vector = list(column)
        for _ in range(2):  # twice is enough
            for other in directions:
                t = dot(vector, other)
                vector = [x - t * y for x, y in zip(vector, other, strict=True)]
        length = math.hypot(*vector)
        require(length > 0, "the directions of the basis depend on each other")
        directions.append([x / length for x in vector])
    unit = 1 << BITS
    w = [[fix(x, BITS) for x in v] for v in directions]
    off = max(sum(abs(x - unit * unit * (i == j)) for j, x in enumerate(row)) for i, row in enumerate(gram(w)))
    require(4 * off < unit * unit, "the directions of the basis depend on each other")
    coordinates = [[dot(v, a) for v in w] for a in problem.factor]
    columns = [[x >> BITS for x in c] for c in coordinates]
    rest = [
        [x - (dot(c, across) >> 2 * BITS) for x, across in zip(a, zip(*w, strict=True), strict=True)]
        for a, c in zip(problem.factor, coordinates, strict=True)
    ]
    # Both are cut off by less than one in each entry.
    longest = square_root(max(problem.product_of_factor[i][i] for i in range(n)))
    cut = n * (2 * square_root(d) * 2 * longest + d)
    rho, covers = dual_point(columns, claim.evidence, h, n)
    bound = largest(covers.total) + k * rho + covers.slack + cut
    bound = bound * unit * unit // (unit * unit - off) + 1
    others = min(largest(gram(list(zip(*rest, strict=True)))), largest_sum((dot(q, q) for q in rest), k))
    claim.decide(0, 0)
    return bound + others + cut + problem.epsilon


def level_of(problem: Problem, evidence: Evidence, basis: Array | None = None) -> Level:
    """Return the level of l0-level, in its own directions or in given ones."""
    basis = basis or evidence.get("directions", problem.depth, None)
    w = basis.shape[1]
    require(1 <= w <= problem.depth, "the level has more directions than there are samples")
    return Level(
        basis.rows(),
        evidence.get("matrix", w * (w + 1) // 2).flat,
        evidence.number("level"),
        evidence.get("frame", w, w).rows(),
        evidence.get("weights", w + 1).flat,
        problem.h,
    )


def l0_level(problem: Problem, claim: Claim) -> int:
    """λ_max(kR + Σ Y_i)."""
    level, k = level_of(problem, claim.evidence), claim.sparsity
    free = [0.0] * problem.size
    found = [level.cover(a) for a in problem.factor]
    for again in (True, False):
        covers = Covers(found, slack_of(found))
        rest, matrix = covers.slack + problem.epsilon, plus(covers.total, level.matrix, k)
        bound = largest(matrix, None if claim.goal is None else claim.goal - rest) + rest
        if not (again and close(bound, claim.goal)):
            break
        found = level.turned(problem.factor, free, found, matrix)
    if claim.kind == "l0-level-random":
        claim.decide(0, 0)
    decide(problem, claim, list(range(problem.size)), covers, claim.captured - rest - 1, level.matrix)
    return bound


def count_tree(problem: Problem, claim: Claim) -> int:
    """Levels for cells of supports that have so many features of groups."""
    evidence, n, k = claim.evidence, problem.size, claim.sparsity
    basis = evidence.get("directions", problem.depth, None)
    require(basis.shape[1] > 0, "the levels have no directions")
    worst, used = 0, set()
    groups: dict[int, list[int]] = {}
    stack: list[tuple[Any, dict[int, tuple[int, int]], int]] = [(claim.tree, {}, 0)]

    def group(g: int) -> list[int]:
        if g not in groups:
            groups[g] = evidence.indices(f"group{g}_features", n)
            require(bool(groups[g]), "a group is empty")
        return groups[g]

    while stack:
        node, way, depth = stack.pop()
        require(isinstance(node, dict), "a node of the tree is not an object")
        if "cell" not in node:
            g, most = (whole(node.get(x), 0, NODES, x) for x in ("group", "most"))
            sides = node.get("children")
            require(isinstance(sides, list) and len(sides) == 2 and depth < DEPTH, "a split has not two sides")
            low, high = way.get(g, (0, n))
            group(g)
            stack.append((sides[0], {**way, g: (low, min(high, most))}, depth + 1))
            stack.append((sides[1], {**way, g: (max(low, most + 1), high)}, depth + 1))
            continue
        cell = whole(node["cell"], 0, NODES, "cell")
        require(cell not in used, "a cell is named twice")
        used.add(cell)
        if any(len(group(g)) < low for g, (low, _) in way.items()):
            continue
        part = evidence.part(f"cell{cell}")
        named = [whole(int(g), 0, NODES, "group") for g in part.get("groups", None, kind="i").flat]
        require(len(named) <= 6, "a cell has more than six groups")
        inside = [i for g in named for i in group(g)]
        require(len(set(inside)) == len(inside), "groups of a cell have a feature in common")
        members = [sorted(set(range(n)) - set(inside)), *map(group, named)]
        ranges = [(way.get(g, (0, n))[0], min(way.get(g, (0, n))[1], len(group(g)), k)) for g in named]
        worst = cell_bound(problem, claim, part, basis.rows(), members, ranges, worst)
    claim.decide(0, 0)
    return worst


def cell_bound(
    problem: Problem,
    claim: Claim,
    part: Evidence,
    basis: list[list[float]],
    members: list[list[int]],
    ranges: list[tuple[int, int]],
    worst: int,
) -> int:
    """Return the larger of `worst` and the bound of a cell: a level for each group, the worst of all counts."""
    vertices = list(corners(claim.sparsity, len(members[0]), ranges))
    if not vertices:  # no supports are there
        return worst
    p, w = len(members), len(basis[0])
    flats, levels = part.get("matrix", p, w * (w + 1) // 2).rows(), part.get("level", p).flat
    require(all(x >= 0 for x in levels), "a level is negative")
    frames, weights = part.get("frame", p, w, w).rows(), part.get("weights", p, w + 1).rows()
    found: list[Vector] = []
    matrices = []
    for b in range(p):
        frame = [frames[b][i * w : (i + 1) * w] for i in range(w)]
        level = Level(basis, flats[b], levels[b], frame, weights[b], problem.h)
        matrices.append(level.matrix)
        found += [level.cover(problem.factor[i]) for i in members[b]]
    covers = Covers(found, slack_of(found))
    rest = covers.slack + problem.epsilon
    for counts in vertices:
        total = covers.total
        for count, matrix in zip(counts, matrices, strict=True):
            total = plus(total, matrix, count)
        goal = max(worst, claim.goal or 0) - rest
        worst = max(worst, largest(total, goal if goal > 0 else None) + rest)
    return worst


def corners(k: int, others: int, ranges: list[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    """Yield the vertices of all counts within ranges whose sum is from k − others to k, the rest before them."""
    seen = set()
    for ends in itertools.product(*ranges):
        tries = [ends]
        for b, total in itertools.product(range(len(ends)), (k, k - others)):
            tries.append((*ends[:b], total - sum(ends) + ends[b], *ends[b + 1 :]))
        for counts in tries:
            fits = all(low <= x <= high for x, (low, high) in zip(counts, ranges, strict=True))
            if fits and 0 <= k - sum(counts) <= others and counts not in seen:
                seen.add(counts)
                yield (k - sum(counts), *counts)


# --- search trees --------------------------------------------------------------------------------------------------


class Rows:
    """T(C; I, R, b) of the format: for each feature its entries, the largest first, and what it takes of them.

    With `free`, places may stay empty: entries that are negative count as zero. With `counted`, T is over supports
    with so many features of each block.
    """

    def __init__(
        self, c: Matrix, inside: list[int], rest: list[int], b: int, free: bool, counted: "Counts | None" = None
    ) -> None:
        self.counted = counted
        self.c, self.inside, self.rest, self.b, self.free = c, inside, rest, b, free
        self.rest_set = set(rest)
        self.base = {i: sum(c[i][j] for j in inside) + (c[i][i] if i in self.rest_set else 0) for i in (*inside, *rest)}
        self.ranked = {}
        for i in (*inside, *rest):
            values = sorted((c[i][j] for j in rest if j != i), reverse=True)
            self.ranked[i] = [max(x, 0) for x in values] + [0] * (b + 1) if free else values

    def _summed(self, rows: dict[int, int], count: int) -> int:
        chosen = [max(x, 0) if self.free else x for i, x in rows.items() if i in self.rest_set]
        return sum(rows[i] for i in self.inside) + largest_sum(chosen, count)

    def _row(self, i: int, f: int | None, fewer: int) -> int:
        """Return the row of i when it takes `fewer` entries less and none is that of f."""
        width = self.b - fewer - (i in self.rest_set)
        taken = self.base[i] + sum(self.ranked[i][:width])
        if f is None:
            return taken
        own = max(self.c[i][f], 0) if self.free else self.c[i][f]
        return taken + min(own, self.ranked[i][width]) - own

    def bound(self) -> int:
        """Return T."""
        if self.counted is not None:
            return self._counted(self.counted.less(self.inside))
        return self._summed({i: self._row(i, None, 0) for i in (*self.inside, *self.rest)}, self.b)

    def _counted(self, counts: "Counts") -> int:
        total, last = 0, {}
        for i in self.inside:
            total += self.base[i] + counts.most_of({j: self.c[i][j] for j in self.rest}, self.b)
        for i in self.rest:
            others = {j: self.c[i][j] for j in self.rest if j != i}
            last[i] = self.base[i] + counts.less([i]).most_of(others, self.b - 1)
        return total + counts.most_of(last, self.b)

    def within(self, f: int) -> int:
        """Return T for supports that contain f."""
        others = [i for i in (*self.inside, *(self.rest if self.b > 1 else ())) if i != f]
        return self._row(f, None, 0) + self._summed({i: self.c[i][f] + self._row(i, f, 1) for i in others}, self.b - 1)

    def without(self, f: int) -> int:
        """Return T for supports that do not contain f."""
        return self._summed({i: self._row(i, f, 0) for i in (*self.inside, *self.rest) if i != f}, self.b)


class Counts(NamedTuple):
    """At least and at most how many of some blocks a support has."""

    blocks: list[tuple[frozenset[int], int, int]]

    def less(self, held: Sequence[int]) -> "Counts":
        """Return how many others it has beside some."""
        found = []
        for x, low, high in self.blocks:
            known = len(x.intersection(held))
            found.append((x, max(low - known, 0), max(high - known, 0)))
        return Counts(found)

    def at(self, places: dict[int, int]) -> "Counts":
        """Name features by their places; those that have none are not there."""
        return Counts([(frozenset(places[i] for i in x if i in places), low, high) for x, low, high in self.blocks])

    def most_of(self, values: dict[int, int], b: int) -> int:
        """Return the most that b of the values add up to, none below zero, with as many of each block."""
        total, left = 0, []
        of = {i: number for number, (x, _, _) in enumerate(self.blocks) for i in x}
        used = [0] * len(self.blocks)
        for i, value in sorted(values.items(), key=lambda item: -item[1]):
            number = of.get(i)
            if number is None:
                left.append(max(value, 0))
                continue
            _, low, high = self.blocks[number]
            used[number] += 1
            if used[number] <= low:
                total += max(value, 0)
            elif used[number] <= high:
                left.append(max(value, 0))
        return total + largest_sum(left, max(b - sum(low for _, low, _ in self.blocks), 0))


class Point(NamedTuple):
    """Numbers for pairs: C, and A − U + diag α, on some features."""

    places: dict[int, int]
    costs: Matrix
    matrix: Matrix


def positive(evidence: Evidence, name: str) -> float:
    """Return a number that must be positive."""
    value = evidence.number(name)
    require(value > 0, f"{name} is not positive")
    return value


def pairs_of(u: Matrix, alpha: list[int], skew: Matrix) -> Matrix:
    """Return C_ij = U_ij² / (2(α_i + α_j)) + K_ij, rounded up."""
    return [
        [-(-x * x // (2 * (alpha[i] + alpha[j]))) + skew[i][j] for j, x in enumerate(row)] for i, row in enumerate(u)
    ]


def stored_pairs(evidence: Evidence, prefix: str, scale: float, q: int, bits: int) -> tuple[Matrix, Matrix, list[int]]:
    """Return U, K and α of a point."""
    rows = evidence.get(f"{prefix}pairs", q, q).rows()
    flat = evidence.get(f"{prefix}alpha", q).flat
    require(all(x > 0 for x in flat), "a weight α is not positive")
    alpha = [max(1, fix(scale * x, bits)) for x in flat]
    stored = [[fix(scale * x, bits) for x in row] for row in rows]
    u = [[stored[min(i, j)][max(i, j)] for j in range(q)] for i in range(q)]
    skew = [[0 if i == j else stored[i][j] if i > j else -stored[j][i] for j in range(q)] for i in range(q)]
    return u, skew, alpha


Option = tuple[Matrix | None, int]  # a bound: the largest eigenvalue, or 0, plus a number


class SearchTree:
    """Bounds λ_max(A_SS) − Σ w_i over supports, by a tree of operations."""

    def __init__(
        self,
        matrix: Matrix,
        diagonal: list[int] | None,
        k: int,
        evidence: Evidence,
        bits: int,
        grades: Sequence[int] = (),
        prices: list[int] | None = None,
        counts: Counts | None = None,
    ) -> None:
        self.counts = counts
        self.matrix, self.diagonal, self.k, self.evidence, self.bits = matrix, diagonal, k, evidence, bits
        self.free, self.prices = prices is not None, prices or [0] * len(matrix)
        self.grades, self.worst = sorted(x for x in grades if x > 0), 0
        self.points: dict[int, Point] = {}

    @functools.cached_property
    def scale(self) -> float:
        """Return what stored numbers are taken times."""
        return positive(self.evidence, "scale")

    def count(self, options: list[Option]) -> None:
        """Count the least of some bounds: at the present worst, at a grade, or for what it is."""
        options = sorted(options, key=lambda option: option[0] is not None)
        for grade in (self.worst, *(x for x in self.grades if x > self.worst)):
            if any(part <= grade if m is None else below(m, grade - part) for m, part in options):
                self.worst = grade
                return
        self.worst = max(self.worst, min((0 if m is None else largest(m)) + part for m, part in options))

    def run(
        self, tree: Any, inside: Iterable[int] = (), rest: Iterable[int] | None = None, decided: int | None = None
    ) -> tuple[list[int], list[int]]:
        """Go through the tree; return which are fixed out and in at the root with bounds below `decided`."""
        require(isinstance(tree, list) and 0 < len(tree) <= NODES and self.scale > 0, "the tree is not a list of nodes")
        start = list(range(len(self.matrix))) if rest is None else sorted(rest)
        stack, used = [(0, sorted(inside), start)], {0}
        outside: list[int] = []
        within: list[int] = []
        while stack:
            number, chosen, free = stack.pop()
            ended = False
            require(isinstance(tree[number], list), "a node is not a list of operations")
            for operation in tree[number]:
                require(isinstance(operation, dict), "an operation is not an object")
                if "fix" in operation:
                    out, into = self._fix(operation, chosen, free)
                    if number == 0 and decided is not None and self.worst < decided:
                        outside, within = outside + out, within + into
                    chosen = sorted([*chosen, *into])
                    free = [i for i in free if i not in {*out, *into}]
                    continue
                ended = True
                if "split" in operation:
                    i = whole(operation["split"], 0, len(self.matrix) - 1, "split")
                    require(i in free, "a split is on a feature that is decided")
                    sides = [whole(operation.get(x), 1, len(tree) - 1, "node") for x in ("in", "out")]
                    require(len({*sides}) == 2 and not used & {*sides}, "a node is used twice")
                    used |= {*sides}
                    less = [j for j in free if j != i]
                    stack += [(sides[0], sorted([*chosen, i]), less), (sides[1], chosen, less)]
                else:
                    self._leaf(operation, chosen, free)
                break
            require(ended, "a node has neither split nor leaf")
        return outside, within

    def _fix(self, operation: dict[str, Any], chosen: list[int], free: list[int]) -> tuple[list[int], list[int]]:
        lists = [operation.get("out", []), operation.get("in", [])]
        require(all(isinstance(x, list) for x in lists), "a fix is malformed")
        out, into = ([whole(i, 0, len(self.matrix) - 1, "feature") for i in x] for x in lists)
        both = [*out, *into]
        require(len(set(both)) == len(both) and set(both) <= set(free), "a fix is of features that are decided")
        b = self.k - len(chosen)
        require(operation["fix"] in ("squares", "pairs"), "no such way to fix")
        if both:
            self.count([self._costed(operation, operation["fix"], chosen, free, b, (out, into))])
        return out, into

    def _costed(
        self,
        operation: dict[str, Any],
        way: str,
        chosen: list[int],
        free: list[int],
        b: int,
        fixing: tuple[list[int], list[int]] | None = None,
    ) -> Option:
        """Return the bound by squares or pairs: of all supports, or the largest of those that a fixing leaves out."""
        enough = min(b, len(free)) >= 1 if self.free else 1 <= b < len(free)
        require(enough, "squares and pairs need something to choose")
        every = sorted([*chosen, *free])
        point = self._point(operation.get("point")) if way == "pairs" else self._squares(operation, every)
        require(set(every) <= set(point.places), "a point lacks features of a node")
        places = point.places
        names = [places[i] for i in every]
        costs = on(point.costs, names)
        for place, i in enumerate(every):
            costs[place][place] -= self.prices[i]
        at = {i: place for place, i in enumerate(every)}
        counted = None if self.counts is None else self.counts.at(at)
        rows = Rows(costs, [at[i] for i in chosen], [at[i] for i in free], b, self.free, counted)
        if fixing is None:
            total = rows.bound()
        else:
            total = max([rows.within(at[i]) for i in fixing[0]] + [rows.without(at[i]) for i in fixing[1]])
        if way == "pairs":
            return on(point.matrix, names), total
        shift = fix(self.scale * number(operation.get("shift"), "shift"), self.bits)
        if "alpha" in operation:
            return None, shift + max(1, fix(self.scale * number(operation["alpha"], "alpha"), self.bits)) + total
        return None, shift + square_root(total)

    def _squares(self, operation: dict[str, Any], every: list[int]) -> Point:
        shift = fix(self.scale * number(operation.get("shift"), "shift"), self.bits)
        u = [[self.matrix[i][j] - shift * (i == j) for j in every] for i in every]
        if "alpha" in operation:
            require(number(operation["alpha"], "alpha") > 0, "alpha is not positive")
            alpha = max(1, fix(self.scale * operation["alpha"], self.bits))
            costs = [[-(-x * x // (4 * alpha)) for x in row] for row in u]
        else:
            require(not self.free, "squares with prices need alpha")
            costs = [[x * x for x in row] for row in u]
        return Point({i: place for place, i in enumerate(every)}, costs, [])

    def _point(self, name: Any) -> Point:
        j = whole(name, 0, NODES, "point")
        if j not in self.points:
            features = self.evidence.indices(f"point{j}_features", len(self.matrix))
            u, skew, alpha = stored_pairs(self.evidence, f"point{j}_", self.scale, len(features), self.bits)
            rest = plus(on(self.matrix, features), u, -1)
            for i, x in enumerate(alpha):
                rest[i][i] += x
            self.points[j] = Point({x: i for i, x in enumerate(features)}, pairs_of(u, alpha, skew), rest)
        return self.points[j]

    def _leaf(self, leaf: dict[str, Any], chosen: list[int], free: list[int]) -> None:
        way, b, every = str(leaf.get("leaf")), self.k - len(chosen), sorted([*chosen, *free])
        ways = ("empty", "eigenvalue", "trace", "list", "squares", "pairs", "cheapest")
        require(way in ways, f"no such way to bound a leaf: {way!r}")
        if b < 0 or (len(free) < b and not self.free):
            return
        require(way != "empty", "a leaf has supports and is said to have none")
        paid = -sum(self.prices[i] for i in chosen)
        if b == 0 or not free:
            self.count([(on(self.matrix, chosen), paid)] if chosen else [(None, 0)])
        elif b == len(free) and not self.free:
            self.count([(on(self.matrix, every), 0)])
        elif way == "list":
            counts = range(b + 1) if self.free else (b,)
            require(sum(math.comb(len(free), c) for c in counts) <= LISTED, "a leaf lists too many supports")
            for more in itertools.chain.from_iterable(itertools.combinations(free, c) for c in counts):
                support = sorted([*chosen, *more])
                self.count(
                    [(on(self.matrix, support), -sum(self.prices[i] for i in support))] if support else [(None, 0)]
                )
        else:
            self.count(self._options(leaf, way, chosen, free, b))

    def _options(self, leaf: dict[str, Any], way: str, chosen: list[int], free: list[int], b: int) -> list[Option]:
        every, paid, options = sorted([*chosen, *free]), [self.prices[i] for i in chosen], []
        cheapest = way == "cheapest"
        if way == "squares" or (cheapest and "shift" in leaf):
            options.append(self._costed(leaf, "squares", chosen, free, b))
        if way == "pairs" or (cheapest and "point" in leaf):
            options.append(self._costed(leaf, "pairs", chosen, free, b))
        if way == "trace" or (cheapest and self.diagonal is not None):
            require(self.diagonal is not None, "the trace is no bound here")
            own = self.diagonal or []
            gains = [max(0, own[j] - self.prices[j]) if self.free else own[j] for j in free]
            options.append((None, sum(own[i] for i in chosen) - sum(paid) + largest_sum(gains, b)))
        if way == "eigenvalue" or cheapest:
            options.append((on(self.matrix, every), -sum(paid)))
        return options


def search_tree(problem: Problem, claim: Claim) -> int:
    """Branch and bound over supports."""
    left = screened(problem, claim)
    bound, outside, inside = tree_on(problem, claim, left, problem.matrix, claim.evidence, claim.tree)
    claim.decide(len(outside) + problem.size - len(left), len(inside))
    return max(bound, claim.captured) if len(left) < problem.size else bound


def tree_on(
    problem: Problem, claim: Claim, left: list[int], matrix: Matrix, evidence: Evidence, nodes: Any
) -> tuple[int, list[int], list[int]]:
    """Return the bound of a search tree on some features, and which it decides."""
    own = [problem.product_of_factor[i][i] for i in left] if uses_trace(nodes) else []
    slack = max(problem.error, problem.epsilon if own else 0)
    grades = [claim.captured - slack - (claim.captured >> 30) - 1]
    if claim.goal is not None:
        grades.append(claim.goal - slack)
    tree = SearchTree(on(matrix, left), own, claim.sparsity, evidence, 2 * problem.h, grades)
    outside, inside = tree.run(nodes, decided=claim.captured - slack)
    return tree.worst + slack, [left[i] for i in outside], [left[i] for i in inside]


def uses_trace(nodes: Any) -> bool:
    """Say whether a tree has leaves that need the diagonal of G."""
    operations = (x for node in nodes if isinstance(node, list) for x in node) if isinstance(nodes, list) else ()
    return any(isinstance(x, dict) and x.get("leaf") in ("trace", "cheapest") for x in operations)


class Round(NamedTuple):
    """Rows of pairs for some features: λ, C, each row's other entries from the largest on, and β."""

    inner: list[int]
    level: int
    costs: Matrix
    ranked: Matrix
    beta: Vector


def round_of(part: Evidence, matrix: Matrix, k: int, bits: int) -> Round:
    """Return what one round of rows says."""
    n, scale = len(matrix), positive(part, "scale")
    inner = part.indices("features", n)
    u, skew, stored = stored_pairs(part, "", scale, len(inner), bits)
    shift, rest = fix(scale * part.get("shift").flat[0], bits), max(1, fix(scale * positive(part, "rest"), bits))
    alpha, room = [rest] * n, 0
    full = [[x - shift * (i == j) for j, x in enumerate(row)] for i, row in enumerate(matrix)]
    extra, core = [[0] * n for _ in matrix], plus(on(matrix, inner), u, -1)
    for a, i in enumerate(inner):
        alpha[i] = stored[a]
        core[a][a] += stored[a]
        for b, j in enumerate(inner):
            full[i][j], extra[i][j] = u[a][b], skew[a][b]
    if part.has("partners") or part.has("across") or part.has("room"):
        partners = part.indices("partners", n)
        require(not set(partners) & set(inner), "partners are features of the rows")
        across = part.get("across", len(inner), len(partners)).rows()
        room = max(1, fix(scale * positive(part, "room"), bits))
        for (a, i), (b, j) in itertools.product(enumerate(inner), enumerate(partners)):
            full[i][j] = full[j][i] = fix(scale * across[a][b], bits)
        y = [[matrix[i][j] - full[i][j] for j in partners] for i in inner]
        core = plus(
            core, [[x // room + len(inner) * (i == j) for j, x in enumerate(row)] for i, row in enumerate(gram(y))]
        )
    costs = pairs_of(full, alpha, extra)
    ranked = [sorted((x for j, x in enumerate(row) if j != i), reverse=True) for i, row in enumerate(costs)]
    beta = [costs[i][i] + sum(ranked[i][: k - 1]) for i in range(n)]
    return Round(inner, max(largest(core), shift + rest + room), costs, ranked, beta)


def pair_rows(problem: Problem, claim: Claim) -> int:
    """Bound by rounds of rows, and perhaps a search tree for the features that they leave."""
    k, evidence, left = claim.sparsity, claim.evidence, list(range(problem.size))
    require(2 <= k < problem.size and evidence.has("rows0_scale"), "there are no rows, or not 2 ≤ k < n")
    worst = 0
    outside: set[int] = set()
    for t in itertools.takewhile(lambda t: evidence.has(f"rows{t}_scale"), itertools.count()):
        part, n = evidence.part(f"rows{t}"), len(left)
        inner, level, costs, ranked, beta = round_of(part, on(problem.product_of_factor, left), k, 2 * problem.h)
        within, forced = set(inner), []
        for i in range(n):
            less = (max(0, ranked[j][k - 2] - costs[j][i]) if j in within else 0 for j in range(n) if j != i)
            others = map(sub, (beta[j] for j in range(n) if j != i), less)
            forced.append(level + beta[i] + largest_sum(others, k - 1) + problem.epsilon)
        if worst < claim.captured:
            outside |= {left[i] for i in range(n) if forced[i] < claim.captured}
        if not part.has("left"):
            last = claim.tree is None and not evidence.has(f"rows{t + 1}_scale")
            require(last, "a round that leaves nothing is not the last, or there is a tree besides")
            claim.decide(len(outside), 0)
            return max(worst, level + largest_sum(beta, k) + problem.epsilon)
        going = part.indices("left", n)
        require(len(going) >= k, "fewer features are left than the sparsity")
        worst = max([worst, *(forced[i] for i in set(range(n)) - set(going))])
        left = [left[i] for i in going]
    among = screened(problem, claim, left)
    bound, out, into = tree_on(problem, claim, among, problem.matrix, claim.evidence, claim.tree)
    if worst < claim.captured:
        outside |= {*out, *(set(left) - set(among))}
    claim.decide(len(outside), len(into) if worst < claim.captured else 0)
    return max(worst, bound, claim.captured if len(among) < len(left) else 0)


def shifted(
    problem: Problem, evidence: Evidence, chosen: list[int], others: list[int], u: Matrix, peak: int
) -> tuple[Matrix, int]:
    """Return U and max |U_ij| where it is stored on some features and the matrix, shifted and clipped, elsewhere."""
    require(bool(others), "the dual matrix leaves no feature out")
    directions = evidence.get("directions", len(chosen), None).rows()
    count = len(directions[0])
    require(1 <= count <= 64, "there are no directions, or too many")
    shifts = evidence.get("shifts", len(others), count).rows()
    weights = evidence.get("weights", len(others)).flat
    require(0 < max(weights) * 2.0**-100 <= min(weights), "weights are not positive, or too unlike")
    peak = max(peak, problem.fixed(evidence.number("level")))
    whole = [[max(-peak, min(peak, x)) for x in row] for row in problem.product_of_factor]
    for (a, i), (b, j) in itertools.product(enumerate(chosen), enumerate(others)):
        more = problem.fixed(math.fsum(map(mul, directions[a], shifts[b])))
        whole[i][j] = whole[j][i] = max(-peak, min(peak, problem.product_of_factor[i][j] + more))
    for (a, i), (b, j) in itertools.product(enumerate(chosen), repeat=2):
        whole[i][j] = u[a][b]
    return whole, peak


def sdp_dual(problem: Problem, claim: Claim) -> int:
    """λ_max(G − U) + k max |U_ij|."""
    evidence, n, k = claim.evidence, problem.size, claim.sparsity
    matrix = problem.product_of_factor
    claim.decide(0, 0)
    evidence.get("top")
    if evidence.has("matrix"):
        chosen = evidence.indices("features", n) if evidence.has("features") else list(range(n))
        m = len(chosen)
        u = [[problem.fixed(x) for x in row] for row in unpacked(evidence.get("matrix", m * (m + 1) // 2).flat, m)]
        peak = max((abs(x) for row in u for x in row), default=0)
        others = sorted(set(range(n)) - set(chosen))
        if evidence.has("shifts"):
            u, peak, rest = *shifted(problem, evidence, chosen, others, u, peak), matrix
        else:
            if others:
                peak = max(peak, square_root(max(matrix[i][i] for i in others) * max(matrix[i][i] for i in range(n))))
            rest = on(matrix, chosen)
    else:
        rows = evidence.get("factor", n, None).rows()
        require(1 <= len(rows[0]) <= 1024, "the factor has no columns, or too many")
        w = [[fix(x, problem.h) for x in row] for row in rows]
        active = evidence.indices("active", n)
        signs = {i: 1 if v > 0 else -1 for i, v in zip(active, evidence.get("vector", len(active)).flat, strict=True)}
        require(bool(active) and 0 not in evidence.get("vector", len(active)).flat, "the active vector has a zero")
        repair = [problem.fixed(x) for x in evidence.get("repair", n).flat]
        peak = max(problem.fixed(evidence.number("level")), *(w[i][0] ** 2 for i in active))
        u, rest = gram(w), matrix
        for i, j in itertools.product(range(n), repeat=2):
            if i in signs and j in signs:
                u[i][j] = w[i][0] * w[j][0]
            else:
                more = repair[j] * signs[i] if i in signs else repair[i] * signs[j] if j in signs else 0
                u[i][j] = max(-peak, min(peak, u[i][j] + more))
    more = k * peak + problem.epsilon
    goal = None if claim.goal is None else claim.goal - more
    return max(0, largest(plus(rest, u, -1), goal)) + more


# --- rules for several components ------------------------------------------------------------------------------------


@dataclass
class SetClaim:
    """What a certificate of several components claims and brings."""

    kind: str
    problem: str
    sparsities: list[int]
    supports: list[list[int]]
    loadings: list[list[float]]
    tree: Any
    evidence: Evidence
    goal: int


def feasible(problem: Problem, claim: SetClaim) -> int:
    """Return what exactly feasible components next to the stored ones capture, or less."""
    kept = [
        [(i, x) for i, x in zip(s, v, strict=True) if x] for s, v in zip(claim.supports, claim.loadings, strict=True)
    ]
    require(all(kept), "a component has no loadings")
    k = claim.sparsities
    require(all(len(x) <= y for x, y in zip(kept, k, strict=True)), "a component has more loadings than its sparsity")
    listed = [i for support in claim.supports for i in support]
    if claim.problem == "disjoint":
        require(len(set(listed)) == len(listed), "two components have a feature in common")
        parts = [captured_by(problem, [i for i, _ in x], [v for _, v in x]) for x in kept]
        return int(sum(parts, Fraction(0)) // 1)
    if claim.problem == "shared":
        together = {i for x in kept for i, _ in x}
        require(len(set(k)) == 1 and len(together) <= k[0], "the components are not on one support of that size")
    # x_i = u_i √q_i: in u both products are rational, xᵀAx = uᵀEu / divisor and xᵀx = uᵀQu.
    roots = {i: root_of(problem.weights[i]) for i in listed}
    products = {(i, j): problem.product(i, j) for i in roots for j in roots}
    q = problem.weights

    def against(u: dict[int, Fraction], i: int) -> Fraction:
        if claim.problem == "uncorrelated":
            return sum((products[i, j] * x for j, x in u.items()), Fraction(0))
        return q[i] * u.get(i, 0)

    found: list[dict[int, Fraction]] = []
    total = Fraction(0)
    stored = [{i: short(Fraction(x) / roots[i]) for i, x in part} for part in kept]
    for s, t in itertools.combinations(stored, 2):
        cross, *own = (sum((x * against(a, i) for i, x in b.items()), Fraction(0)) for a, b in ((s, t), (s, s), (t, t)))
        off = cross**2 > Fraction(101, 100) * Fraction(1, 10**18) * own[0] * own[1]
        require(not off, f"two components are not {claim.problem}")
    for u in stored:
        turned: list[tuple[dict[int, Fraction], Fraction]] = []
        moved = dict(u)
        for other in found:
            g = {i: against(other, i) / q[i] for i in u}
            for h, square in turned:
                share = sum((q[i] * g[i] * h[i] for i in u), Fraction(0)) / square
                g = {i: g[i] - share * h[i] for i in u}
            square = sum((q[i] * x * x for i, x in g.items()), Fraction(0))
            if square:
                turned.append((g, square))
                share = sum((q[i] * g[i] * moved[i] for i in u), Fraction(0)) / square
                moved = {i: x - share * g[i] for i, x in moved.items()}
        length = sum((q[i] * x * x for i, x in u.items()), Fraction(0))
        distance = sum((q[i] * (x - u[i]) ** 2 for i, x in moved.items()), Fraction(0))
        require(distance * 10**9 < length, "no feasible components are near the stored ones")
        digits = max(x.numerator.bit_length() for x in moved.values())
        require(digits < LONGEST, "so many components that are feasible exactly have too long fractions")
        found.append(moved)
        length = sum((q[i] * x * x for i, x in moved.items()), Fraction(0))
        total += sum(x * y * products[i, j] for i, x in moved.items() for j, y in moved.items()) / length
    return int(total / problem.divisor * Fraction(4) ** problem.h // 1)


def short(value: Fraction) -> Fraction:
    """Round to 53 binary digits."""
    shift = value.denominator.bit_length() - value.numerator.bit_length() + 53
    return Fraction(round(value * Fraction(2) ** shift)) / Fraction(2) ** shift


def sum_of_singles(problem: Problem, claim: SetClaim) -> int:
    """Add up bounds for one component each."""
    require(isinstance(claim.tree, dict), "the parts are not an object")
    parts, serves = claim.tree.get("parts"), claim.tree.get("serves")
    require(isinstance(parts, list) and isinstance(serves, list), "the parts are not lists")
    require(len(parts) <= 10_000 and len(serves) == len(claim.sparsities), "not every component is served")
    bounds, known = [], set()
    for t, part in enumerate(parts):
        require(isinstance(part, dict), "a part is not an object")
        kind = part.get("kind")
        require(isinstance(kind, str), "a part has no kind")
        chance = kind.endswith("-random") and not claim.kind.endswith("-random")
        require(not chance, "a part draws random numbers and the kind does not say so")
        name = f"{kind.replace('-', '')}{t}"
        known.add(name)
        bounds.append(single(problem, part, claim.evidence.part(name), None))
    require(all(x.split("_")[0] in known for x in claim.evidence.names()), "the evidence has arrays of no part")
    total = 0
    for k, serving in zip(claim.sparsities, serves, strict=True):
        index = whole(serving, 0, len(parts) - 1, "part")
        require(parts[index]["sparsity"] >= k, "a part for fewer loadings serves a component")
        total += max(0, bounds[index])
    return total


def priced_trees(problem: Problem, claim: SetClaim) -> int:
    """Prices of features, and what each component gains beyond them, for parts of all ways to share features."""
    n, k, r, tree = problem.size, claim.sparsities, len(claim.sparsities), claim.tree
    require(isinstance(tree, list) and 0 < len(tree) <= NODES, "the tree is not a list of parts")
    worst, used = 0, {0}
    empty: frozenset[int] = frozenset()
    blocks = blocks_of(problem, claim.evidence)
    stack = [(0, [Kind(x, empty, frozenset(range(n)), ((0, x),) * len(blocks)) for x in k], 0)]
    while stack:
        number, kinds, moved = stack.pop()
        node, rest = tree[number], empty.union(*(x.may for x in kinds))
        require(isinstance(node, dict), "a part is not an object")
        different = list(dict.fromkeys(kinds))
        if "block" in node:
            ways = counted_ways(node, kinds, blocks)
            parts = [whole(y, 1, len(tree) - 1, "part") for y in node["into"]]
            require(len(set(parts)) == len(parts) and not used & set(parts), "a part is used twice")
            used |= set(parts)
            stack += [(y, way, moved) for y, way in zip(parts, ways, strict=False)]
            continue
        if "split" in node:
            i, into = whole(node["split"], 0, n - 1, "split"), node.get("into")
            require(i in rest and isinstance(into, list), "a split is on a feature that is decided")
            require(all(isinstance(x, list) and len(x) == 2 for x in into), "a split is malformed")
            takes = [(whole(t, 0, r - 1, "component"), whole(y, 1, len(tree) - 1, "part")) for t, y in into]
            parts = [whole(node.get("none"), 1, len(tree) - 1, "part"), *(y for _, y in takes)]
            require(len(set(parts)) == len(parts) and not used & set(parts), "a part is used twice")
            used |= set(parts)
            given = [kinds[t] for t, _ in takes]
            lost, cost = [x._replace(may=x.may - {i}) for x in kinds], moved
            if "twins" in node:
                require(isinstance(node["twins"], list) and len(takes) == 1, "a split of twins is malformed")
                block = {i, *(whole(j, 0, n - 1, "twin") for j in node["twins"])}
                require(not blocks, "twins are exchanged although features of blocks are counted")
                require(block <= given[0].may, "a split is on features that are decided")
                require(all(block <= x.may or not block & x.may for x in kinds), "twins are not free for the same")
                cost += 2 * (max(exchange(problem.matrix, i, j) for j in block) + 2 * problem.error)
                none = [x._replace(may=x.may - block) if x == given[0] else x for x in kinds]
            else:
                needed = [x for x in different if len(x.has) < x.sparsity and i in x.may]
                require(all(x in given for x in needed), "a split gives the feature not to all that may")
                none = lost
            stack.append((parts[0], none, moved))
            for t, y in takes:
                stack.append((y, [*lost[:t], lost[t]._replace(has=lost[t].has | {i}), *lost[t + 1 :]], cost))
            continue
        leaf, slots = whole(node.get("leaf"), 0, NODES, "leaf"), node.get("slots")
        if not enough(kinds, blocks):
            continue
        part = claim.evidence.part(f"leaf{leaf}")
        worst = max(worst, moved + priced_leaf(problem, part, slots, kinds, rest, blocks))
    return worst + r * max(problem.epsilon, problem.error)


class Kind(NamedTuple):
    """How many features a component may have, what it has, what else it may have, and how many of each block."""

    sparsity: int
    has: frozenset[int]
    may: frozenset[int]
    counts: tuple[tuple[int, int], ...]


def blocks_of(problem: Problem, evidence: Evidence) -> list[frozenset[int]]:
    """Read the blocks in which features are counted."""
    blocks: list[frozenset[int]] = []
    while evidence.has(f"block{len(blocks)}_features"):
        blocks.append(frozenset(evidence.indices(f"block{len(blocks)}_features", problem.size)))
    named = sum(name.startswith("block") for name in evidence.names())
    require(named == len(blocks) <= 64 and all(blocks), "blocks are empty, too many, or not numbered from zero")
    require(len({i for x in blocks for i in x}) == sum(map(len, blocks)), "blocks have features in common")
    return blocks


def enough(kinds: list[Kind], blocks: list[frozenset[int]]) -> bool:
    """Say whether components can have as many of each block as they must."""
    fits = all(max(len(x.has), sum(low for low, _ in x.counts)) <= x.sparsity for x in kinds)
    return fits and all(sum(x.counts[b][0] for x in kinds) <= len(block) for b, block in enumerate(blocks))


def counted_ways(node: dict[str, Any], kinds: list[Kind], blocks: list[frozenset[int]]) -> list[list[Kind]]:
    """Return what components may be where 0, 1, 2, … of those that are alike have more of a block than a number."""
    b, t = whole(node["block"], 0, len(blocks) - 1, "block"), whole(node.get("of"), 0, len(kinds) - 1, "component")
    low, high = kinds[t].counts[b]
    above = whole(node.get("above"), low, high - 1, "number of features")
    ways: list[list[Kind]] = []
    for many in range(kinds.count(kinds[t]) + 1):
        way, left = [], many
        for x in kinds:
            if x == kinds[t]:
                own = (above + 1, high) if left > 0 else (low, above)
                left -= 1
                way.append(x._replace(counts=(*x.counts[:b], own, *x.counts[b + 1 :])))
            else:
                way.append(x)
        ways.append(way)
    into: Any = node.get("into")
    require(isinstance(into, list) and len(into) <= len(ways), "a split by counts has too many parts")
    require(not any(enough(way, blocks) for way in ways[len(into) :]), "a split by counts leaves out a number")
    return ways


def priced_leaf(
    problem: Problem,
    part: Evidence,
    slots: Any,
    kinds: list[Kind],
    rest: frozenset[int],
    blocks: list[frozenset[int]],
) -> int:
    """Add up prices of features, and of directions, and what components gain beyond them."""
    different, flat = list(dict.fromkeys(kinds)), part.get("prices", problem.size).flat
    require(all(x >= 0 for x in flat), "a price is negative")
    prices = [problem.fixed(x) if i in rest else 0 for i, x in enumerate(flat)]
    require(isinstance(slots, list) and len(slots) == len(different), "not every kind of component has a tree")
    matrix, paid, shift = problem.matrix, 0, 0
    diagonal: list[int] | None = [problem.product_of_factor[i][i] for i in range(problem.size)]
    if part.has("directions") or part.has("shift"):
        matrix, paid, shift = without_directions(problem, part)
        diagonal = None
    value = {}
    for s, kind in enumerate(different):
        counted = []
        for b, (block, (low, high)) in enumerate(zip(blocks, kind.counts, strict=True)):
            others = sum(x.counts[b][0] for x in kinds) - low
            counted.append((block, low, min(high, len(block) - others)))
        counts = Counts(counted) if blocks else None
        own, bits = part.part(f"slot{s}"), 2 * problem.h
        search = SearchTree(matrix, diagonal, kind.sparsity, own, bits, prices=prices, counts=counts)
        search.run(slots[s], kind.has, kind.may)
        value[kind] = search.worst - shift
    return paid + sum(prices) + sum(value[x] for x in kinds)


def exchange(matrix: Matrix, i: int, j: int) -> int:
    """Return no less than the norm of what a matrix changes by where two features are exchanged."""
    others = sum(abs(x - y) for m, (x, y) in enumerate(zip(matrix[i], matrix[j], strict=True)) if m not in (i, j))
    return abs(matrix[i][i] - matrix[j][j]) + 2 * others


def without_directions(problem: Problem, evidence: Evidence) -> tuple[Matrix, int, int]:
    """Return A − M + cI, tr M and c for prices M = VVᵀ of directions of loadings."""
    n = problem.size
    rows = [[fix(x, problem.h) for x in row] for row in evidence.get("directions", n, None).rows()]
    shift = problem.fixed(evidence.number("shift"))
    matrix = plus(problem.matrix, gram(rows), -1)
    for i in range(n):
        matrix[i][i] += shift
    return matrix, sum(int(dot(row, row)) for row in rows), shift


def matrix_prices(problem: Problem, claim: SetClaim) -> int:
    """Prices of directions of loadings."""
    evidence, k = claim.evidence, claim.sparsities
    matrix, paid, shift = without_directions(problem, evidence)
    different = list(dict.fromkeys(k))
    require(isinstance(claim.tree, list) and len(claim.tree) == len(different), "not every sparsity has a tree")
    value = {}
    for s, sparsity in enumerate(different):
        search = SearchTree(matrix, None, sparsity, evidence.part(f"slot{s}"), 2 * problem.h)
        search.run(claim.tree[s])
        value[sparsity] = search.worst - shift
    return paid + sum(value[x] for x in k) + len(k) * problem.error


def set_levels(problem: Problem, claim: SetClaim) -> int:
    """Levels for several components."""
    evidence, k, r, d = claim.evidence, claim.sparsities, len(claim.sparsities), problem.depth
    level, prices = level_of(problem, evidence), prices_of(problem, evidence)
    found = [level.cover(a, w) for a, w in zip(problem.factor, prices, strict=True)]
    paid, lifted = sum(map(problem.fixed, prices)), [[0] for _ in range(d)]
    if evidence.has("lifted"):
        stored = evidence.get("lifted", d, None)
        require(stored.shape[1] <= d, "more directions are lifted than there are")
        lifted = [[fix(x, problem.h) for x in row] for row in stored.rows()]
        paid += sum(int(dot(row, row)) for row in lifted)
    bound = together(problem, claim, level, found, gram(lifted)) + paid
    if close(bound, claim.goal):
        matrix = plus(plus(gram(list(zip(*found, strict=True))), gram(lifted), -1), level.matrix, max(k))
        found = level.turned(problem.factor, prices, found, matrix)
        bound = min(bound, together(problem, claim, level, found, gram(lifted)) + paid)
    if claim.kind == "uncorrelated-level":
        delta = max(problem.delta, 1)
        mu = max(square_root(delta * bound), delta)
        bound += (r - 1) * (bound * delta // mu + 1) + r * (mu + delta)
    return bound


def prices_of(problem: Problem, evidence: Evidence) -> list[float]:
    """Return the price of each feature, zero where none is stored."""
    prices = [0.0] * problem.size
    if evidence.has("priced") or evidence.has("prices"):
        chosen = evidence.indices("priced", problem.size)
        for i, x in zip(chosen, evidence.get("prices", len(chosen)).flat, strict=True):
            require(x >= 0, "a price is negative")
            prices[i] = x
    return prices


def together(problem: Problem, claim: SetClaim, level: Level, found: list[Vector], lifted: Matrix) -> int:
    """Return what levels prove, but for what is paid by prices and lifted directions."""
    k, r, covers = claim.sparsities, len(claim.sparsities), Covers(found, slack_of(found))
    total = plus(covers.total, lifted, -1)
    if claim.kind == "shared-level":
        height = max(0, largest(level.matrix)) * k[0]
        return height + min(r, k[0]) * (max(0, largest(total)) + covers.slack) + r * problem.epsilon
    bounds = {x: max(0, largest(plus(total, level.matrix, x))) + covers.slack for x in set(k)}
    return sum(bounds[x] for x in k) + r * problem.epsilon


def priced_regions(problem: Problem, claim: SetClaim) -> int:
    """Prices, and a level for each region of directions: each component may have its best one in another region."""
    evidence, k = claim.evidence, claim.sparsities
    rays, prices = rays_of(problem, evidence), prices_of(problem, evidence)
    paid = sum(map(problem.fixed, prices)) + len(k) * problem.epsilon
    bounds: list[int] = []
    for turn in (False, True):
        worst = dict.fromkeys(k, 0)
        for leaf, pairs in regions(claim.tree, len(rays)):
            one_region(problem, claim, evidence.part(f"leaf{leaf}"), rays, pairs, prices, worst, turn)
        bounds.append(sum(worst[x] for x in k) + paid)
        if not close(bounds[0], claim.goal):
            break
    return min(bounds)


def one_region(
    problem: Problem,
    claim: SetClaim,
    part: Evidence,
    rays: list[Vector],
    pairs: Pairs,
    prices: list[float],
    worst: dict[int, int],
    turn: bool,
) -> None:
    """Raise the bound of each sparsity, without what is paid, to that of a region; `turn`: by other directions c."""
    level = level_of(problem, part, claim.evidence.get("directions", problem.depth, None))
    found = [level.cover(a, w) for a, w in zip(problem.factor, prices, strict=True)]
    if turn:
        matrix, _ = without_pairs(Covers(found, 0).total, rays, pairs, part, "sigmas", problem.h)
        found = level.turned(problem.factor, prices, found, plus(matrix, level.matrix, max(worst)))
    covers = Covers(found, slack_of(found))
    matrix, cut = without_pairs(covers.total, rays, pairs, part, "sigmas", problem.h)
    rest = covers.slack + cut
    for k, so_far in worst.items():
        reached = so_far - rest if so_far > rest else None  # most regions are not the worst: that is cheaper to see
        worst[k] = max(so_far, max(0, largest(plus(matrix, level.matrix, k), reached)) + rest)


def shared_split(problem: Problem, claim: SetClaim) -> int:
    """One choice of features: in some directions each counts for what it has, for the others it has a price.

    The frame E is what the stored numbers are once digits are cut off, and entries of EᵀF are off by less than 1.
    """
    evidence, n, d, k = claim.evidence, problem.size, problem.depth, claim.sparsities[0]
    frame = [[fix(x, BITS) for x in row] for row in evidence.get("frame", d, d).rows()]
    require(all(abs(x) <= 2 << BITS for row in frame for x in row), "the frame has too long directions")
    across = list(zip(*frame, strict=True))
    off = [x - (1 << 2 * BITS) * (i == j) for i, row in enumerate(gram(across)) for j, x in enumerate(row)]
    loose = square_root(dot(off, off))
    require(loose <= 1 << 2 * BITS - 2, "the frame is not close to orthonormal")
    weights, roots = evidence.get("weights", None).flat, evidence.get("roots", n).flat
    require(0 < len(weights) <= d and min(weights) > 0, "the weights are not positive, or too many")
    require(min(roots) >= 0, "a root is negative")
    apart, prices = d - len(weights), [problem.fixed(w) for w in prices_of(problem, evidence)]
    lifted = evidence.get("lifted", len(weights), None)
    require(lifted.shape[1] <= len(weights), "more directions are lifted than there are")
    raised = [[fix(x, problem.h) for x in row] for row in lifted.rows()]
    found, marks = [], []
    for column, price, root in zip(problem.factor, prices, roots, strict=True):
        seen = [dot(direction, column) >> BITS for direction in across]
        marks.append(dot(seen[:apart], seen[:apart]) + price)
        found.append(priced_cover(seen[apart:], price, [p / (root + p) for p in weights]))
    covers, count = Covers(found, slack_of(found)), min(len(claim.sparsities), k)
    bound = largest_sum(marks, k) + sum(int(dot(row, row)) for row in raised)
    bound += count * (max(0, largest(plus(covers.total, gram(raised), -1))) + covers.slack)
    bound += 2 * square_root(bound * n * d) + n * d
    return (bound << 2 * BITS) // ((1 << 2 * BITS) - loose) + 1 + len(claim.sparsities) * problem.epsilon


def priced_cover(rest: Vector, price: int, shares: list[float]) -> Vector:
    """Return z with zzᵀ ⪰ bbᵀ − wI for the price w, by the direction of b_j times a share."""
    square = dot(rest, rest)
    if not price or square <= price:
        return [0] * len(rest) if price else rest
    direction = [real(x, BITS) * share for x, share in zip(rest, shares, strict=True)]
    z = cover(rest, lambda c: [price * x for x in c], direction)
    if z:
        return z
    root = square_root(((square - price) << 128) // square + 1)
    return [(x * root) >> 64 for x in rest]


# --- verdicts --------------------------------------------------------------------------------------------------------

DUAL, POINT = "density|level|theta", r"scale|point(0|[1-9]\d{0,8})_(features|pairs|alpha)"
SCREEN, LEVEL, NUMBER = f"screen_({DUAL})", "directions|matrix|level|frame|weights", r"(0|[1-9]\d{0,8})"
PRICED = f"leaf{NUMBER}_(prices|directions|shift|slot{NUMBER}_({POINT}))|block{NUMBER}_features"
REGIONS = f"rays|directions|priced|prices|leaf{NUMBER}_(matrix|level|frame|weights|sigmas)"
ROWS = "scale|features|pairs|alpha|shift|rest|partners|across|room|left"
RULES: dict[str, tuple[Callable[[Problem, Claim], int], str]] = {
    "trace": (closed_forms, ""),
    "row-sums": (closed_forms, ""),
    "largest-eigenvalue": (closed_forms, ""),
    "l0-dual": (l0_dual, f"{DUAL}|{SCREEN}"),
    "l0-tree": (l0_tree, f"rays|{SCREEN}|leaf{NUMBER}_({DUAL}|weights)"),
    "l0-reduced": (l0_reduced, f"basis|{DUAL}"),
    "l0-reduced-random": (l0_reduced, f"basis|{DUAL}"),
    "l0-level": (l0_level, LEVEL),
    "l0-level-random": (l0_level, f"{LEVEL}|leading"),
    "count-tree": (count_tree, f"directions|group{NUMBER}_features|cell{NUMBER}_(groups|matrix|level|frame|weights)"),
    "search-tree": (search_tree, f"{POINT}|{SCREEN}"),
    "pair-rows": (pair_rows, f"{POINT}|{SCREEN}|rows{NUMBER}_({ROWS})"),
    "sdp-dual": (sdp_dual, "matrix|features|directions|shifts|weights|top|factor|active|vector|repair|level"),
}
ALL = ("disjoint", "orthogonal", "uncorrelated", "shared")
SET_RULES: dict[str, tuple[Callable[[Problem, SetClaim], int], str, tuple[str, ...]]] = {
    "sum-of-singles": (sum_of_singles, ".*", ALL),
    "sum-of-singles-random": (sum_of_singles, ".*", ALL),
    "priced-trees": (priced_trees, PRICED, ("disjoint",)),
    "matrix-prices": (matrix_prices, f"directions|shift|slot{NUMBER}_({POINT})", ("orthogonal", "disjoint", "shared")),
    "shared-level": (set_levels, f"{LEVEL}|lifted", ("shared",)),
    "shared-split": (shared_split, "frame|weights|roots|priced|prices|lifted", ("shared",)),
    "uncorrelated-level": (set_levels, f"{LEVEL}|lifted", ("uncorrelated", "shared")),
    "priced-level": (set_levels, f"{LEVEL}|priced|prices", ("disjoint",)),
    "priced-regions": (priced_regions, REGIONS, ("disjoint",)),
}


def whole(value: Any, low: int, high: int, what: str) -> int:
    """Return a whole number within limits."""
    require(type(value) is int and low <= value <= high, f"{what} is not a whole number from {low} to {high}")
    return int(value)


def number(value: Any, what: str, point: bool = True) -> float:
    """Return a real number, written with a point unless a whole one will do."""
    fits = isinstance(value, float) or (not point and type(value) is int and abs(value) < 1 << 63)
    require(fits and math.isfinite(value), f"{what} is not a number")
    return float(value)


def component(record: dict[str, Any], size: int) -> tuple[int, list[int], list[float]]:
    """Return sparsity, support and loadings of a record."""
    k = whole(record.get("sparsity"), 1, size, "sparsity")
    support, loadings = listed(record.get("support"), record.get("loadings"), size)
    require(len(support) <= k, "there are more loadings than the sparsity allows")
    return k, support, loadings


def listed(support: Any, loadings: Any, size: int) -> tuple[list[int], list[float]]:
    """Return indices that increase, and as many loadings."""
    require(isinstance(support, list) and isinstance(loadings, list), "support or loadings are not lists")
    require(len(support) == len(loadings), "support and loadings differ in length")
    places = [whole(i, 0, size - 1, "a feature of the support") for i in support]
    require(all(a < b for a, b in itertools.pairwise(places)), "the support is not increasing")
    return places, [number(x, "a loading", point=False) for x in loadings]


def captured_by(problem: Problem, support: list[int], loadings: list[float]) -> Fraction:
    """Return what loadings capture, or a little less, in units of 2^-2h."""
    if not support:
        some = not problem.given or any(problem.matrix[i][i] >= 0 for i in range(problem.size))
        require(some, "no loadings, and no feature has a variance")
        return Fraction(0)
    digits = max(x.as_integer_ratio()[1].bit_length() for x in loadings)
    v = [fix(x, digits) for x in loadings]
    require(any(v), "all loadings are zero")
    part = on(problem.matrix, support)
    value = Fraction(sum(x * dot(row, v) for x, row in zip(v, part, strict=True)), dot(v, v)) - problem.error
    return value if problem.given else max(value, Fraction(0))


def single(problem: Problem, record: dict[str, Any], evidence: Evidence, goal: int | None) -> int:
    """Return max(bound, captured) for a certificate, or a part, of one component; refuse what is not decided."""
    kind = record.get("kind")
    require(isinstance(kind, str) and kind in RULES, f"the kind {kind!r} is unknown")
    rule, names = RULES[str(kind)]
    for name in evidence.names():
        require(re.fullmatch(names, name) is not None, f"the evidence has an array {name!r} that is not known")
    k, support, loadings = component(record, problem.size)
    captured = int(captured_by(problem, support, loadings) // 1)
    counts = [record.get(f"features_in_{x}_optimum", 0) for x in ("no", "every")]
    return max(
        0, captured, rule(problem, Claim(str(kind), k, support, captured, record.get("tree"), evidence, goal, *counts))
    )


def several(problem: Problem, record: dict[str, Any], evidence: Evidence, goal: int) -> tuple[int, int]:
    """Return bound and what is captured for a certificate of several components."""
    kind, what = record.get("kind"), record.get("problem")
    require(isinstance(kind, str) and kind in SET_RULES, f"the kind {kind!r} is unknown")
    rule, names, problems = SET_RULES[str(kind)]
    require(what in problems, f"the kind {kind} says nothing about the problem {what!r}")
    for name in evidence.names():
        require(re.fullmatch(names, name) is not None, f"the evidence has an array {name!r} that is not known")
    lists = [record.get(x) for x in ("sparsities", "supports", "loadings")]
    sparsities, supports, loadings = (x if isinstance(x, list) else [] for x in lists)
    require(0 < len(sparsities) == len(supports) == len(loadings) <= problem.size, "the components are malformed")
    k = [whole(x, 1, problem.size, "a sparsity") for x in sparsities]
    parts = [listed(*x, problem.size) for x in zip(supports, loadings, strict=True)]
    require(all(len(x[0]) <= y for x, y in zip(parts, k, strict=True)), "a component has more loadings than allowed")
    claim = SetClaim(
        str(kind), str(what), k, [x for x, _ in parts], [x for _, x in parts], record.get("tree"), evidence, goal
    )
    captured = feasible(problem, claim)
    return max(captured, rule(problem, claim)), captured


@dataclass(frozen=True)
class Verdict:
    """What was proved: no component captures more than `bound`, and the stored ones capture `captured`."""

    kind: str
    claimed: float
    bound: float
    captured: float


def check(record: dict[str, Any], table: list[list[float]], folder: Path) -> Verdict:
    """Check one certificate against a table of floating-point numbers; raise `Refused` unless its claims are proved."""
    sets = record.get("format") == "certpca set certificate 1"
    require(sets or record.get("format") == "certpca certificate 1", f"the format {record.get('format')!r} is unknown")
    require(bool(table) and bool(table[0]), "the data are empty")
    how = normalisation(record.get("normalisation"))
    size = whole(record.get("size"), 1, 10**9, "size")
    require(size == len(table[0]), f"the certificate is about {size} features, the data have {len(table[0])}")
    upper = number(record.get("upper_bound"), "upper_bound", point=False)
    objective = number(record.get("objective"), "objective", point=False)
    require(0 <= upper <= 1e300 and abs(objective) <= 1e300, "upper_bound or objective is out of range")
    if not sets:
        for name in ("no", "every"):
            whole(record.get(f"features_in_{name}_optimum"), 0, size, f"features_in_{name}_optimum")
    require({"tree", "fingerprint"} <= set(record), "a field is missing")
    require(record["fingerprint"] in fingerprints(table, how), "the data or the normalisation are other ones")
    evidence = Evidence(read_evidence(record, folder))
    problem = Problem(table, how)
    unit = Fraction(4) ** problem.h
    goal = int(Fraction(upper) * unit // 1)
    if sets:
        bound, captured = several(problem, record, evidence, goal)
    else:
        bound = single(problem, record, evidence, goal)
        captured = int(captured_by(problem, *component(record, size)[1:]) // 1)
    found, got = Fraction(bound) / unit, Fraction(captured) / unit
    require(Fraction(upper) >= found, f"the claim is {upper!r}, and {float(found)!r} is what is proved")
    enough = Fraction(objective) <= got + ALLOWED * abs(got)
    require(enough, f"the objective is {objective!r}, and the loadings capture {float(got)!r}")
    return Verdict(str(record["kind"]), upper, float(found), float(got))


def normalisation(how: Any) -> dict[str, Any]:
    """Return the field, if it is well formed."""
    require(isinstance(how, dict) and sorted(how) == list(NORMALISATION), "the normalisation has other fields")
    fits = how["kind"] in ("matrix", "data") and type(how["center"]) is bool and type(how["fill_missing"]) is bool
    fits = fits and (type(how["scale"]) is bool or how["scale"] == "2pq") and isinstance(how["divisor"], float)
    require(fits and (how["missing"] is None or type(how["missing"]) is int), "the normalisation is malformed")
    return dict(how)


def certificates(record: Any, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the certificates of a file that can be checked against data: of results, paths and components too."""
    require(isinstance(record, dict), "the file is not a certificate")
    form = record.get("format")
    if form == "certpca solution 1" and isinstance(record.get("certificate"), str):
        name = record["certificate"]
        require(not re.search(r"[/\\:\x00-\x1f]", name), "the result names a certificate elsewhere")
        yield from certificates(read_json((folder / name).read_text(encoding="utf-8")), folder)
    elif form == "certpca solution 1":
        yield from [record["certificate"]] if isinstance(record.get("certificate"), dict) else []
    elif form == "certpca path 1":
        for solution in record.get("solutions", []):
            yield from certificates(solution, folder)
    elif form == "certpca components 1":
        if isinstance(record.get("certificate"), dict):
            yield record["certificate"]
        else:  # later ones are about deflated matrices
            yield from certificates((record.get("components") or [None])[0], folder)
    else:
        yield record


def check_file(certificate: Path, table: list[list[float]]) -> list[Verdict]:
    """Check all certificates of a file."""
    found = list(certificates(read_json(certificate.read_text(encoding="utf-8")), certificate.parent))
    require(bool(found), "the file has no certificate")
    try:
        return [check(record, table, certificate.parent) for record in found]
    except (OverflowError, ZeroDivisionError, ValueError, RecursionError) as error:
        msg = f"this checker cannot deal with these numbers ({error})"
        raise Refused(msg) from error


def main(arguments: list[str] | None = None) -> int:
    """Check a certificate; 0 if it is confirmed, 1 if it is not, 2 if something cannot be read."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) != 2:
        print("usage: certpca_exact.py certificate.json data.(csv|npy|npz)", file=sys.stderr)
        return 2
    try:
        verdicts = check_file(Path(given[0]), read_table(Path(given[1])))
    except Refused as refusal:
        print(f"NOT CONFIRMED: {refusal}")
        return 1
    except (OSError, UnicodeDecodeError) as error:
        print(f"cannot be read: {error}", file=sys.stderr)
        return 2
    for verdict in verdicts:
        print(f"confirmed by {verdict.kind}: no more than {verdict.claimed!r}; captured {verdict.captured!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
