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
    """A table whose first `texts` columns hold words, not numbers; a folded one shows only that text until opened."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    folded: str = ""
    texts: int = 0


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


@dataclass(frozen=True, slots=True)
class Chart:
    """A plot by its name, what is to be drawn, and what that shows in words, for those who do not see it."""

    title: str
    words: str
    plot: str
    values: Sequence[Any]
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Command:
    """A line to type."""

    line: str


Block = Paragraph | FactList | Table | Bars | Chart | Command


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
