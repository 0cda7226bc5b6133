"""Numbers for readers, rounded so that what is said of them stays true: bounds up, what is captured down."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

NORMAL = 2.0**-1021


def up(value: float, digits: int = 6) -> str:
    """Write a number with that many digits, never below it.

    Examples
    --------
    >>> up(12.476318), down(12.476318)
    ('12.4764', '12.4763')
    """
    return _rounded(value, digits, ROUND_CEILING)


def down(value: float, digits: int = 6) -> str:
    """Write a number with that many digits, never above it."""
    return _rounded(value, digits, ROUND_FLOOR)


def percent_up(share: float, places: int = 2) -> str:
    """Write a share in per cent, never below it; what is not known is a dash.

    Examples
    --------
    >>> percent_up(0.012341), percent_down(0.012349), percent_up(float("nan"))
    ('1.24%', '1.23%', '-')
    """
    return _percent(share, places, ROUND_CEILING)


def percent_down(share: float, places: int = 2) -> str:
    """Write a share in per cent, never above it."""
    return _percent(share, places, ROUND_FLOOR)


def _rounded(value: float, digits: int, way: str) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    short = Context(prec=digits, rounding=way).plus(Decimal(value))  # a Decimal is the exact value of a float
    return f"{float(short):.{digits}g}"


def _percent(share: float, places: int, way: str) -> str:
    if not math.isfinite(share):
        return "-" if math.isnan(share) else f"{share:g}"
    if abs(share) >= 1e6:  # so many digits would tell nothing
        return f"{_rounded(100 * share, 3, way)}%"
    return f"{(100 * Decimal(share)).quantize(Decimal(1).scaleb(-places), way)}%"


def times_two_to(value: float, power: int, away: float) -> float:
    """Multiply by two to the power; below the normal range that rounds, and then one step towards `away` is safe."""
    if power == 0 or not math.isfinite(value):
        return value
    product = math.ldexp(value, power) if power < 0 or abs(value) < math.ldexp(1.0, 1023 - power) else math.inf
    return math.nextafter(product, away) if value > 0 and product < NORMAL and power < 0 else product
