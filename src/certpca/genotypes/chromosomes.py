"""Names of chromosomes: PLINK's codes, UCSC's names and plain ones mean the same."""

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from certpca.runtime.errors import InvalidDataError

CODES = {"23": "X", "24": "Y", "25": "XY", "26": "MT"}  # PLINK's, for humans
OTHER_NAMES = {"M": "MT", "CHRM": "MT", "PAR1": "XY", "PAR2": "XY", "PAR": "XY"}
NOT_AUTOSOMES = frozenset(CODES.values())
LAST_CODE = 26  # a species with a higher number than that has 23 to 26 among its autosomes
ALL, AUTOSOMES = "all", "autosomes"  # words that stand for chromosomes
SHOWN = 30


def plain_name(name: str) -> str:
    """Return the name without a prefix and leading zeros, in capitals: ``chr07`` is 7, ``chrM`` and ``M`` are MT.

    Examples
    --------
    >>> [plain_name(name) for name in ("chr7", "07", "chrx", "M", "PAR1", "scaffold_9")]
    ['7', '7', 'X', 'MT', 'XY', 'SCAFFOLD_9']
    """
    short = re.sub(r"^CHR(?=.)", "", name.strip().upper())
    if short.isascii() and short.isdigit():
        return str(int(short))
    return OTHER_NAMES.get(short, short)


def plain_names(names: NDArray[np.object_]) -> NDArray[np.object_]:
    """Return plain names of all, where 23 to 26 are X, Y, XY and MT unless there are higher numbers."""
    plain = {name: plain_name(name) for name in dict.fromkeys(names)}
    if not any(name.isdigit() and int(name) > LAST_CODE for name in plain.values()):
        plain = {name: CODES.get(short, short) for name, short in plain.items()}
    found = np.empty(names.size, dtype=object)
    found[:] = [plain[name] for name in names]
    return found


def on_autosomes(names: NDArray[np.object_]) -> NDArray[np.bool_]:
    """Mark variants that are not on X, Y, their common part, or mitochondrial; unplaced ones are among them."""
    return ~np.isin(plain_names(names).astype(str), list(NOT_AUTOSOMES))


def on_chromosomes(names: NDArray[np.object_], wanted: Iterable[str]) -> NDArray[np.bool_]:
    """Mark variants on chromosomes of a list, by whatever name; ``"all"`` and ``"autosomes"`` stand for these."""
    marks = np.zeros(names.size, dtype=bool)
    plain = plain_names(names)
    present = set(plain)
    for name in wanted:
        if name in (ALL, AUTOSOMES):
            marks |= on_autosomes(names) if name == AUTOSOMES else True
            continue
        short = plain_name(name)
        meant = short if short in present else CODES.get(short, short)
        if meant not in present:
            held = ", ".join(list(dict.fromkeys(names))[:SHOWN])
            msg = (
                f"no variant is on chromosome {name!r}; the file has {held} ({AUTOSOMES} and {ALL} are words for many)"
            )
            raise InvalidDataError(msg)
        marks |= plain == meant
    return marks
