"""Whole numbers as one types them: 5,10,20 and ranges such as 5:50:5."""

import argparse

MOST = 10_000  # numbers of one list, as many as a path may have


def numbers(text: str) -> list[int]:
    """Read whole numbers between commas; FIRST:LAST and FIRST:LAST:STEP stand for all from the first to the last.

    Examples
    --------
    >>> from certpca.frontends.cli.ranges import numbers
    >>> numbers("3,5:20:5")
    [3, 5, 10, 15, 20]
    """
    found: list[int] = []
    for entry in text.split(","):
        found += _listed(entry.strip(), text)
        if len(found) > MOST:
            msg = f"{text!r} stands for more than {MOST:,} numbers; take larger steps, as in 10:1000:10"
            raise argparse.ArgumentTypeError(msg)
    return found


def _listed(entry: str, text: str) -> list[int]:
    """Return what one entry stands for, but no more numbers than are needed to see that they are too many."""
    ends = entry.split(":")
    try:
        first, last, step = [*map(int, ends), *((int(ends[0]),) if len(ends) == 1 else ()), 1][:3]
    except ValueError:
        first = last = step = 0
    if not 1 <= len(ends) <= 3 or first < 1 or step < 1 or last < first:
        meant = f"; the smaller first: {last}:{first}" if first > last > 0 else ""
        msg = f"whole numbers from 1 and ranges FIRST:LAST:STEP between commas, such as 5,10,20:50:10, got {text!r}"
        raise argparse.ArgumentTypeError(msg + meant)
    return list(range(first, min(last, first + step * MOST) + 1, step))
