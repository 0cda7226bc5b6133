"""The text files of a PLINK 1 data set: samples (.fam), variants (.bim) and lists of samples."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from certpca.runtime.arrays import Indices
from certpca.runtime.errors import DataFileError, InvalidDataError
from certpca.runtime.optional import zstd

Texts = NDArray[np.object_]
SampleName = str | tuple[str, str]
SampleList = str | PathLike[str] | Iterable[SampleName]


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Arrays of one length, taken together."""

    def take(self, chosen: Indices) -> Self:
        """Keep some entries of every array."""
        kept: dict[str, Any] = {}
        for item in fields(self):
            values = getattr(self, item.name)
            kept[item.name] = None if values is None else values[chosen]
        return type(self)(**kept)


@dataclass(frozen=True, slots=True, eq=False)
class Samples(_Rows):
    """The rows of genotype data.

    `populations` come from a file of the same name ending in .pop, one label for each sample, where there is one.
    """

    names: Texts
    families: Texts
    fathers: Texts
    mothers: Texts
    sexes: Texts
    phenotypes: Texts
    populations: Texts | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Variants(_Rows):
    """The columns of genotype data; `counted` is the allele whose copies are counted (PLINK's A1)."""

    names: Texts
    chromosomes: Texts
    positions: NDArray[np.int64]
    centimorgans: NDArray[np.float64]
    counted: Texts
    other: Texts


def read_samples(file: Path, populations: Path) -> Samples:
    """Read a .fam file and, where there is one, the .pop file beside it."""
    families, names, fathers, mothers, sexes, phenotypes = map(as_texts, _columns(file, 6))
    labels = populations_beside(populations, names.size, file)
    return Samples(names, families, fathers, mothers, sexes, phenotypes, labels)


def populations_beside(populations: Path, samples: int, file: Path) -> Texts | None:
    """Read a .pop file where there is one: a label for each sample of the file."""
    if not populations.exists():
        return None
    labels = as_texts(_columns(populations, 1)[0])
    if labels.size != samples:
        msg = f"{str(populations)!r} has {labels.size} labels for the {samples} samples of {str(file)!r}"
        raise DataFileError(msg)
    return labels


def read_variants(file: Path) -> Variants:
    """Read a .bim file."""
    chromosomes, names, centimorgans, positions, counted, other = _columns(file, 6)
    try:
        numbers = np.array(list(map(int, positions)), dtype=np.int64), np.array(list(map(float, centimorgans)))
    except (ValueError, OverflowError):
        _find_bad_numbers(file)
        raise
    return Variants(as_texts(names), as_texts(chromosomes), *numbers, as_texts(counted), as_texts(other))


def _find_bad_numbers(file: Path) -> None:
    """Say which line has what is not a number."""
    for number, cells in _lines(file, 6):
        try:
            float(cells[2])
            np.int64(int(cells[3]))
        except (ValueError, OverflowError):
            msg = (
                f"{str(file)!r}, line {number}: centimorgans and position must be numbers, "
                f"got {cells[2]!r} and {cells[3]!r}"
            )
            raise DataFileError(msg) from None


def sample_list(wanted: SampleList, what: str) -> tuple[SampleName, ...]:
    """Return the entries of a list: names, pairs of family and name, or a file with either on each line."""
    names: tuple[SampleName, ...]
    if isinstance(wanted, (str, PathLike)):
        names = tuple(cells[0] if len(cells) == 1 else (cells[0], cells[1]) for _, cells in _lines(Path(wanted), 1, 2))
    else:
        names = tuple(name if isinstance(name, str) else (str(name[0]), str(name[1])) for name in wanted)
    if not names:
        msg = f"the list of samples to {what} is empty"
        raise InvalidDataError(msg)
    return names


def samples_listed(samples: Samples, names: tuple[SampleName, ...], what: str) -> NDArray[np.bool_]:
    """Mark the samples of a list."""
    alone: dict[str, list[int]] = {}
    for index, name in enumerate(samples.names):
        alone.setdefault(name, []).append(index)
    pairs = {
        (family, name): [index]
        for index, (family, name) in enumerate(zip(samples.families, samples.names, strict=True))
    }
    chosen = np.zeros(samples.names.size, dtype=bool)
    for name in names:
        found = alone.get(name, []) if isinstance(name, str) else pairs.get(name, [])
        if not found:
            msg = f"sample {name!r} of the list to {what} is not in the .fam file"
            raise InvalidDataError(msg)
        if len(found) > 1:
            msg = f"{len(found)} samples are called {name!r}; list pairs of family and name to {what} one of them"
            raise InvalidDataError(msg)
        chosen[found[0]] = True
    return chosen


def _columns(file: Path, width: int) -> list[list[str]]:
    """Return the columns of a file with `width` cells in each line that is not blank."""
    text = text_of(file)
    # Checking first and splitting everything at once takes half the time of going line by line.
    if not {0, width} >= {len(line.split()) for line in text.split("\n")}:
        list(_lines(file, width))
    cells = text.split()
    return [cells[place::width] for place in range(width)]


def _lines(file: Path, *widths: int) -> Iterator[tuple[int, list[str]]]:
    """Walk over the lines that are not blank: number and cells, split at spaces and tabs."""
    for number, line in enumerate(text_of(file).split("\n"), 1):
        cells = line.split()
        if cells and len(cells) not in widths:
            expected = " or ".join(map(str, widths))
            msg = f"{str(file)!r}, line {number}: {len(cells)} fields where {expected} are needed"
            raise DataFileError(msg)
        if cells:
            yield number, cells


def text_of(file: Path) -> str:
    """Return the text of a file, packed by zstd or not; what is wrong with it is said of the file."""
    packed = file.suffix == ".zst"
    damage: tuple[type[Exception], ...] = (OSError, *((zstd().ZstdError, EOFError) if packed else ()))
    try:
        raw = zstd().decompress(file.read_bytes()) if packed else file.read_bytes()
        text = raw.decode("utf-8-sig")  # some editors put a mark before the text
        text = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    except FileNotFoundError:
        msg = f"there is no file {str(file)!r}"
        raise DataFileError(msg) from None
    except UnicodeDecodeError as error:
        msg = f"{str(file)!r} is not UTF-8 text: {error.reason} at byte {error.start}"
        raise DataFileError(msg) from error
    except damage as error:
        msg = f"{str(file)!r} cannot be read: {getattr(error, 'strerror', None) or error}"
        raise DataFileError(msg) from error
    if not text.strip():
        msg = f"{str(file)!r} is empty"
        raise DataFileError(msg)
    return text


def as_texts(column: list[str]) -> Texts:
    """Return texts as an array."""
    texts = np.empty(len(column), dtype=object)
    texts[:] = column
    return texts
