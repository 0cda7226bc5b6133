"""What marks missing values in whole numbers: -9, where it is the only negative one. Others have NaN."""

from collections.abc import Iterable
from typing import Any

from certpca.readers.moments import row_blocks
from certpca.runtime.arrays import Array, namespace

MISSING_GENOTYPE = -9


def negatives(block: Any) -> tuple[bool, bool]:
    """Say whether the mark of missing genotypes occurs, and whether other negative numbers do."""
    xp = namespace(block)
    lowest = int(xp.min(block)) if 0 not in block.shape else 0
    if lowest >= 0:
        return False, False
    other = lowest < MISSING_GENOTYPE or bool(xp.any((block < 0) & (block != MISSING_GENOTYPE)))
    return bool(xp.any(block == MISSING_GENOTYPE)), other


def code_in(found: Iterable[tuple[bool, bool]]) -> int | None:
    """Return -9 where it marks missing values in data whose `negatives` are known block by block."""
    marked = False
    for marks, others in found:
        if others:
            return None
        marked |= marks
    return MISSING_GENOTYPE if marked else None


def genotype_code(values: Array) -> int | None:
    """Return -9 where it marks missing values in an array."""
    return code_in(map(negatives, row_blocks(values, itemsize=1))) if _signed(values) else None


def possible_code(values: Array) -> int | None:
    """Return -9 where it would mark missing values: in integers that have no other negative value, or none at all."""
    if not _signed(values) or any(others for _, others in map(negatives, row_blocks(values, itemsize=1))):
        return None
    return MISSING_GENOTYPE


def _signed(values: Array) -> bool:
    return bool(namespace(values).isdtype(values.dtype, "signed integer"))
