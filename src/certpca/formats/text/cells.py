"""What a cell of a text table says: a number, true or false, nothing, or something else."""

import math
import re
from itertools import pairwise

MISSING_TEXTS = frozenset({"", "na", "nan", "-nan", "n/a", "null", "none", ".", "<na>", "#n/a", "#na", "#null!"})
TRUTHS = {"true": 1.0, "false": 0.0}
WITH_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:[,.' \u00a0\u202f]\d{3})+(?:[.,]\d*)?")
MAYBE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ].*)?")
PLAIN_WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")


def is_missing(cell: str) -> bool:
    """Say whether a cell is empty or has one of the words for that."""
    return cell.strip().lower() in MISSING_TEXTS


def number_of(cell: str, decimal: str = ".") -> float | None:
    """Return the number of a cell, NaN where it is missing, None where it holds something else."""
    text = cell.strip()
    if text.lower() in MISSING_TEXTS:
        return math.nan
    if decimal == ",":
        if "." in text:
            return None
        text = text.replace(",", ".")
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def truth_of(cell: str) -> float | None:
    """Return 1 or 0 for a cell that says true or false."""
    return TRUTHS.get(cell.strip().lower())


def is_value(cell: str) -> bool:
    """Say whether a cell can stand among numbers, with either decimal sign."""
    if number_of(cell) is not None or truth_of(cell) is not None:
        return True
    return WITH_COMMA.fullmatch(cell.strip()) is not None


def why_no_number(cell: str) -> str:
    """Say what is wrong with a cell."""
    text = cell.strip()
    if truth_of(cell) is not None:
        return f"{text!r} stands among numbers"
    if THOUSANDS.fullmatch(text):
        return f"{text!r} seems to have separators of thousands; write numbers without them"
    if WITH_COMMA.fullmatch(text):
        return f"{text!r} has a decimal comma, others have points"
    if number_of(cell) is not None:
        return f"{text!r} has a decimal point, others have commas"
    if DATE.fullmatch(text):
        return f"{text!r} is a date, not a number"
    shown = text if len(text) <= 60 else f"{text[:57]}…"
    return f"{shown!r} is not a number"


def whole_number_of(cell: str) -> int | None:
    """Return a whole number written plainly, as names of columns are."""
    text = cell.strip()
    return int(text) if PLAIN_WHOLE.fullmatch(text) else None


def counts_in_steps(cells: list[str]) -> bool:
    """Say whether three cells or more count in equal steps, like 0, 1, 2 or 1990, 2000, 2010 or 400.0, 400.5, 401.0."""
    if len(cells) < 3:
        return False
    numbers = [number_of(cell) for cell in cells]
    if any(number is None or not math.isfinite(number) for number in numbers):
        return False
    found = [float(number) for number in numbers if number is not None]
    step = found[1] - found[0]
    if step == 0 or (abs(step) != 1 and len(found) < 4):
        return False
    slack = 1e-9 * max(abs(found[0]), abs(found[-1]))
    return all(abs(after - before - step) <= slack for before, after in pairwise(found))
