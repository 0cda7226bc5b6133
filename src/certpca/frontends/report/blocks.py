"""The parts a report is made of, before it is HTML or Markdown. All text in them is plain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text; a note is set smaller."""

    text: str
    note: bool = False


@dataclass(frozen=True, slots=True)
class FactList:
    """Names and values."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first `texts` columns hold words, not numbers; a folded one shows only that text until opened.

    `links` are addresses that words lead to, and `name` is that of a file with the table.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    folded: str = ""
    texts: int = 0
    links: Mapping[str, str] = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """One loading."""

    name: str
    value: float
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    """Loadings by falling magnitude."""

    bars: Sequence[Bar]
    caption: str
    links: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chart:
    """A plot by its name, what is to be drawn, and what that shows in words, for those who do not see it.

    `tips` are texts for the points of a part of the drawing, shown under the pointer.
    """

    title: str
    words: str
    plot: str
    values: Sequence[Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
    tips: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Command:
    """A line to type."""

    line: str


@dataclass(frozen=True, slots=True)
class Turn:
    """What one position of a slider shows."""

    label: str
    text: str
    table: Table


@dataclass(frozen=True, slots=True)
class Turns:
    """A slider over several views of one thing, of which one is seen at a time, at first the one at `shown`."""

    label: str
    turns: Sequence[Turn]
    shown: int


Block = Paragraph | FactList | Table | Bars | Chart | Command | Turns


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what is under it."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    title: str
    subtitle: str
    state: str
    badge: str
    headline: str
    standing: str
    figures: Sequence[tuple[str, str]] = field(default_factory=tuple)
    sections: Sequence[Section] = field(default_factory=tuple)
    footer: str = ""
