"""What an analysis of some data will take: measured on the data themselves, so that it holds for this machine."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

PANEL = 4  # vectors of the product that is timed
# Products of a search by `auto`, counted on expression, text and genotypes at k = 10 to 1,000 (from 290 to 1,400), and
# walks over a file (docs/large_data.md).
IN_MEMORY = (300, 1_500)
OVER_A_FILE = (5, 40)
FIRST_SECONDS = 0.5  # until libraries are loaded and loops compiled
COPIES = 2  # of the numbers, in double precision, that a search holds at a time, up to BLOCK_BYTES
BLOCK_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Expected:
    """What to expect.

    Parameters
    ----------
    bytes
        Memory for the data and for products with them.
    search_seconds
        From, to: for one component, without a proof.
    checking_seconds
        Until a checker has read and measured the data, before it looks at any evidence.
    product_seconds
        For one product, or one walk over the file.
    """

    bytes: int
    search_seconds: tuple[float, float]
    checking_seconds: float
    product_seconds: float


def expected(operator: Any, data: Any) -> Expected:
    """Time a product with the matrix, and say what the rest takes.

    Parameters
    ----------
    operator
        The matrix.
    data
        What it was made of: an array, scipy.sparse or a reader.
    """
    from certpca.bounds.proof_costs import ProofCosts

    panel = operator.adopt(np.random.default_rng(0).standard_normal((operator.size, PANEL)))
    times = []
    for _ in range(1 if operator.cost.reads else 3):  # the first may load and compile things
        begin = time.perf_counter()
        operator.matmat(panel)
        times.append(time.perf_counter() - begin)
    took = min(times)
    fewest, most = OVER_A_FILE if operator.cost.reads else IN_MEMORY
    return Expected(
        bytes=_bytes(operator, data),
        search_seconds=(FIRST_SECONDS + fewest * took, FIRST_SECONDS + most * took),
        checking_seconds=float(ProofCosts(operator).preparing()),
        product_seconds=took,
    )


def _bytes(operator: Any, data: Any) -> int:
    rows, size = (int(side) for side in data.shape)
    held = int(getattr(data, "bytes_allowed", 0)) if operator.cost.reads else bytes_of(data)
    return held + COPIES * min(8 * rows * size, BLOCK_BYTES) + 64 * 8 * (rows + size)


def bytes_of(data: Any) -> int:
    """Return the memory that data take as they are."""
    sparse = hasattr(data, "indptr")
    parts = (data.data, data.indices, data.indptr) if sparse else (data,)
    return sum(int(np.prod(part.shape)) * int(part.dtype.itemsize) for part in parts)


def in_words(count: int) -> str:
    """Write a number of bytes."""
    amount, unit = float(count), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1_000:
            break
        amount, unit = amount / 1_000, larger
    return f"{amount:.3g} {unit}"


def duration(seconds: float) -> str:
    """Write a time roughly."""
    if seconds < 1:
        return "less than a second"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:.0f} h"
