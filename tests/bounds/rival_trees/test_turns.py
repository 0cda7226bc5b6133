import math

import pytest

from certpca.bounds.rival_trees.turns import FLOOR, HEAD_START, Record, next_turn


def record(*seen: tuple[float, float], over: bool = False) -> Record:
    found, before = Record(over=over), 0.0
    for at, gap in seen:
        found, before = found.then(at - before, gap), at
    return found


STEEP = record((1.0, 0.08), (2.0, 0.04), (4.0, 0.02))
SLOW = record((1.0, 0.08), (2.0, 0.07), (4.0, 0.06))
FLAT = record((1.0, 0.03), (2.0, 0.03), (4.0, 0.03))


def test_the_first_goes_on_alone_for_a_moment():
    assert next_turn([Record(), Record()], 0.0) == 0
    assert next_turn([record((0.9 * HEAD_START, 0.1)), Record()], 0.0) == 0
    assert next_turn([record((1.1 * HEAD_START, 0.1)), Record()], 0.0) == 1


@pytest.mark.parametrize("rival", [SLOW, FLAT])
def test_time_goes_to_the_one_that_falls_faster(rival):
    assert next_turn([STEEP, rival], 0.0) == 0
    assert next_turn([rival, STEEP], 0.0) == 1


def test_none_is_forgotten():
    """The one that promises less still gets its share of the time."""
    long = record((10.0, 0.08), (20.0, 0.04), (4.0 / FLOOR, 0.02))
    assert next_turn([long, FLAT], 0.0) == 1
    assert next_turn([FLAT, long], 0.0) == 0


def test_one_that_is_over_has_no_more_turns():
    ended = record((1.0, 0.08), (2.0, 0.04), over=True)
    assert next_turn([ended, FLAT], 0.0) == 1
    assert next_turn([FLAT, ended], 0.0) == 0
    assert next_turn([ended, ended], 0.0) is None


def test_a_power_of_time_is_foretold_exactly():
    root = record(*((at, at**-0.5) for at in (1.0, 2.0, 4.0, 8.0)))
    assert root.seconds_until(root.gap / 2) == pytest.approx(24.0)  # four times as long in all
    assert root.seconds_until(root.gap) == 0.0


def test_between_two_that_stand_still_the_tighter_goes_on():
    wide = record((1.0, 0.5), (2.0, 0.5), (4.0, 0.5))
    assert next_turn([wide, FLAT], 0.0) == 1


def test_bounds_that_are_reached_or_nothing_leave_numbers():
    zero = record((1.0, 0.0), (2.0, 0.0), (4.0, 0.0))
    assert next_turn([zero, STEEP], 0.0) in (0, 1)


@pytest.mark.parametrize("enough", [0.0, 1e-300, 1e-9])
def test_gaps_out_of_reach_are_never_reached(enough):
    barely = record((1.0, 0.5), (2.0, 0.48), (4.0, 0.46))
    assert barely.seconds_until(enough) == math.inf
    assert next_turn([barely, record((1.0, 1e-9), (2.0, 1e-12), (4.0, 1e-15))], enough) in (0, 1)


def test_steps_in_no_time_tell_nothing():
    assert record((0.0, 0.5), (0.0, 0.4)).seconds_until(0.1) == 0.0
    assert record((0.0, 0.5), (1.0, 0.4)).seconds_until(0.1) == 0.0
