"""Memory that is freed stays at hand for the next call."""

from functools import cache

import numpy as np

LARGEST_BLOCK = (32 << 20) - (64 << 10)  # bytes: the largest that the C library of Linux learns from


@cache
def keep_freed_memory() -> None:
    """Let blocks up to 32 MiB that are freed be used again, once and for all in this process.

    The C library of Linux gives each larger block back to the system when it is freed, so that its next use costs a
    fault for every page: a third of the time of a solve of a few milliseconds. It stops that for blocks up to the size
    of any that it saw freed, so here it sees one, whose pages nobody touches. Others take no notice.
    """
    np.empty(LARGEST_BLOCK, dtype=np.uint8)
