"""What is printed of a bound is never below it, of what is captured never above it."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from certpca.runtime.rounded import down, percent_down, percent_up, up

NUMBERS = st.floats(-1e300, 1e300, allow_subnormal=False)
SHARES = st.floats(0.0, 1.0)


@given(NUMBERS, st.integers(1, 12))
def test_numbers_stay_on_their_side(value: float, digits: int) -> None:
    exact = Decimal(value)
    assert Decimal(down(value, digits)) <= exact <= Decimal(up(value, digits))


@given(NUMBERS, st.integers(2, 12))
def test_numbers_are_off_by_less_than_one_in_their_last_digit(value: float, digits: int) -> None:
    allowed = abs(Decimal(value)) * Decimal(10) ** (1 - digits)
    assert Decimal(up(value, digits)) - Decimal(value) <= allowed
    assert Decimal(value) - Decimal(down(value, digits)) <= allowed


@given(SHARES, st.integers(0, 6))
def test_shares_stay_on_their_side(share: float, places: int) -> None:
    exact = 100 * Decimal(share)
    assert Decimal(percent_down(share, places)[:-1]) <= exact <= Decimal(percent_up(share, places)[:-1])


def test_what_is_not_known_is_a_dash() -> None:
    assert percent_up(float("nan")) == "-"
    assert up(float("inf")) == "inf"
