"""A loop over states: what is stored, where it goes on, and when it ends."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

import array_api_strict
import numpy as np
import pytest

from certpca.runtime.arrays import Array, Indices, Vector
from certpca.runtime.budget import Budget, Progress
from certpca.runtime.checkpoint import Checkpoint, CheckpointFolder, opened
from certpca.runtime.errors import DataFileError
from certpca.runtime.lateness import OutOfTimeError
from certpca.runtime.packing import MADE_AGAIN, Kept
from certpca.runtime.resumable import once, resumable


class Colour(Enum):
    RED = "as fire"


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    vector: Vector


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    parts: tuple[Part, ...]
    first: Part | None
    colour: Colour
    numbers: dict[int, float]
    seen: set[int]
    pair: tuple[int, str]
    picked: Indices
    panel: Array
    forgotten: object = field(default=None, metadata=MADE_AGAIN)


@dataclass(frozen=True, slots=True)
class Count:
    number: int = 0


@pytest.fixture
def states(tmp_path: Path) -> Iterator[Checkpoint]:
    every_step = CheckpointFolder(tmp_path / "states", pause=0.0, share=0.0)
    with opened(every_step, dict) as folder:
        assert folder is not None
        yield folder


def _whole() -> Whole:
    parts = tuple(Part(np.full(2000, float(number))) for number in range(3))
    panel = array_api_strict.asarray(np.eye(2))
    return Whole(parts, parts[1], Colour.RED, {3: 0.5}, {2, 1}, (4, "x"), np.array([1, 7]), panel, object())


def assert_same(back: Whole, state: Whole) -> None:
    assert [part.vector.tolist() for part in back.parts] == [part.vector.tolist() for part in state.parts]
    assert (back.colour, back.numbers, back.seen, back.pair) == (state.colour, {3: 0.5}, {1, 2}, (4, "x"))
    np.testing.assert_array_equal(back.picked, state.picked)
    assert back.picked.dtype == state.picked.dtype
    assert back.forgotten is None


def test_a_state_comes_back_by_the_types_of_its_fields(states: Checkpoint) -> None:
    state = _whole()
    states.store("some", state)
    back = states.load("some", Whole, adopt=array_api_strict.asarray)
    assert_same(back, state)
    assert isinstance(back.panel, type(state.panel))


def test_what_never_changes_is_stored_once(states: Checkpoint, tmp_path: Path) -> None:
    state, kept = _whole(), Kept(Part)
    for _ in range(3):
        states.store("some", state, now=True, kept=kept)
    more = replace(state, parts=(*state.parts, Part(np.ones(3))))
    states.store("some", more, now=True, kept=kept)
    names = sorted(file.name for file in (tmp_path / "states").glob("*.npz"))
    assert names == ["some-kept-0.npz", "some-kept-1.npz", "some.npz"]
    again = Kept(Part)
    back = states.load("some", Whole, kept=again)
    assert_same(back, more)
    assert back.first is back.parts[1]
    states.store("some", back, now=True, kept=again)
    assert len(list((tmp_path / "states").glob("*.npz"))) == 3


def test_a_state_of_something_else_is_refused(states: Checkpoint) -> None:
    states.store("some", Count(3))
    with pytest.raises(DataFileError, match=r"some\.npz' .* is damaged \(it holds something other than Part\)"):
        states.load("some", Part)


def counted(progress: Progress, until: int = 5, **more: object) -> tuple[Count, list[int]]:
    """Count, and note which numbers were counted in this process."""
    seen: list[int] = []

    def step(count: Count) -> Count:
        seen.append(count.number + 1)
        return Count(count.number + 1)

    found = resumable(
        step,
        lambda: Count(0),
        progress,
        "count",
        Count,
        enough=lambda count: count.number >= until,
        **more,  # type: ignore[arg-type]
    )
    return found, seen


def test_goes_on_where_it_was(states: Checkpoint) -> None:
    assert counted(Progress(checkpoint=states), until=2) == (Count(2), [1, 2])
    assert counted(Progress(checkpoint=states)) == (Count(5), [3, 4, 5])
    assert counted(Progress(checkpoint=states)) == (Count(5), [])


def test_without_a_checkpoint_it_is_a_loop() -> None:
    assert counted(Progress()) == (Count(5), [1, 2, 3, 4, 5])


def test_what_was_stored_about_something_else_is_left_alone(states: Checkpoint) -> None:
    counted(Progress(checkpoint=states), until=2, about=7)
    assert counted(Progress(checkpoint=states), about=8)[1] == [1, 2, 3, 4, 5]


def test_ends_at_the_budget_and_tells_the_listener(states: Checkpoint) -> None:
    told: list[float] = []
    progress = Progress(Budget(steps=3), lambda step: told.append(step.objective), states)
    found, _ = counted(progress, tell=lambda count: (count.number, 10.0, ""))
    assert found == Count(2)
    assert told == [0.0, 1.0, 2.0]
    assert counted(Progress(checkpoint=states)) == (Count(5), [3, 4, 5])


def test_a_step_without_time_leaves_the_state_before(states: Checkpoint) -> None:
    def step(count: Count) -> Count:
        if count.number == 2:
            raise OutOfTimeError
        return Count(count.number + 1)

    progress = Progress(checkpoint=states)
    found = resumable(step, Count, progress, "count", Count, enough=lambda count: False)
    assert found == Count(2)
    assert counted(Progress(checkpoint=states))[1] == [3, 4, 5]


def test_states_in_which_a_limit_had_a_hand_are_not_stored_where_that_matters(states: Checkpoint) -> None:
    progress = Progress(checkpoint=states)
    progress.run_out()
    counted(progress, only_whole=True)
    assert counted(Progress(checkpoint=states))[1] == [1, 2, 3, 4, 5]


def test_what_is_made_once_is_made_once_unless_it_was_cut_short(states: Checkpoint) -> None:
    short = Progress(checkpoint=states)
    short.run_out()
    assert once(lambda: Count(1), short, "made", Count) == Count(1)
    assert once(lambda: Count(2), Progress(checkpoint=states), "made", Count) == Count(2)
    assert once(lambda: Count(3), Progress(checkpoint=states), "made", Count) == Count(2)
