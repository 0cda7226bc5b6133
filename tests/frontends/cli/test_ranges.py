"""Whole numbers as one types them."""

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certpca.frontends.cli.main import main
from certpca.frontends.cli.ranges import MOST, numbers


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("7", [7]),
        ("5,10,20", [5, 10, 20]),
        ("5:8", [5, 6, 7, 8]),
        ("5:50:20", [5, 25, 45]),
        ("1:3, 10:30:10,7", [1, 2, 3, 10, 20, 30, 7]),
        ("4:4", [4]),
    ],
)
def test_lists_and_ranges(text, found):
    assert numbers(text) == found


@given(st.integers(1, 500), st.integers(0, 500), st.integers(1, 60))
def test_ranges_have_both_ends_where_steps_meet_them(first, width, step):
    found = numbers(f"{first}:{first + width}:{step}")
    assert found == list(range(first, first + width + 1, step))


@pytest.mark.parametrize(
    "text", ["", "a", "5:", ":5", "5:2", "1:9:0", "1:9:-1", "1:2:3:4", "0", "-3", "2.5", "5;6", "0:3"]
)
def test_anything_else_is_refused_with_an_example(text):
    with pytest.raises(argparse.ArgumentTypeError, match="such as 5,10,20:50:10"):
        numbers(text)


def test_a_range_typed_downwards_is_turned_in_the_advice():
    with pytest.raises(argparse.ArgumentTypeError, match="the smaller first: 2:5"):
        numbers("5:2")


def test_more_numbers_than_a_path_may_have_are_refused_at_once():
    with pytest.raises(argparse.ArgumentTypeError, match=f"more than {MOST:,} numbers"):
        numbers("1:1000000000000")


def test_the_command_refuses_them_in_one_line(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["path", "data.csv", "--sparsities", "9:3"])
    assert stop.value.code == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "the smaller first: 3:9" in err
