"""Axes and marks in SVG. Colours come from the page's style sheet, so that they follow light and dark."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from certpca.frontends.report.escape import as_html

WIDTH, HEIGHT = 440, 290
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 30, 44
MOST_TICKS = 7
LEAST_SPAN = 1e-9
SHAPES = 4
COLOURS = 6


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of numbers along one side; `label` names what is measured."""

    low: float
    high: float
    label: str
    log: bool = False
    suffix: str = ""

    def place(self, value: float) -> float:
        """Say where a value lies, 0 at the low end and 1 at the high one."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Choose round numbers and write them with just enough digits."""
        values = _log_ticks(self.low, self.high) if self.log else _ticks(self.low, self.high)
        texts = _written(values, log=self.log)
        return [(value, text + self.suffix) for value, text in zip(values, texts, strict=True)]


def padded(low: float, high: float, label: str, suffix: str = "") -> Axis:
    """Make an axis with a little room at both ends."""
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return Axis(low - room, high + room, label, suffix=suffix)


@dataclass(frozen=True, slots=True)
class Frame:
    """Two axes and the rectangle they span."""

    across: Axis
    up: Axis
    name: str

    @property
    def drawable(self) -> bool:
        """Whether both axes span a range; numbers from a file can be too large, or too close to each other."""
        return all(
            math.isfinite(axis.high - axis.low)
            and axis.high - axis.low > LEAST_SPAN * max(abs(axis.low), abs(axis.high))
            for axis in (self.across, self.up)
        )

    def x(self, value: float) -> float:
        """Return the horizontal position of a value."""
        return round(LEFT + self.across.place(value) * (WIDTH - LEFT - RIGHT), 2)

    def y(self, value: float) -> float:
        """Return the vertical position of a value."""
        return round(HEIGHT - BOTTOM - self.up.place(value) * (HEIGHT - TOP - BOTTOM), 2)

    def path(self, xs: Sequence[float], ys: Sequence[float], *, closed: bool = False) -> str:
        """Return the data of an SVG path through points."""
        points = "L".join(f"{self.x(x)} {self.y(y)}" for x, y in zip(xs, ys, strict=True))
        return f"M{points}" + ("Z" if closed else "")

    def drawn(self, marks: Sequence[str], title: str, words: str) -> str:
        """Put axes, grid and marks together; readers that do not see them get the title and the words."""
        bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        parts = [
            f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-labelledby="{self.name}-title {self.name}-words">',
            f'<title id="{self.name}-title">{as_html(title)}</title>',
            f'<desc id="{self.name}-words">{as_html(words)}</desc>',
            f'<clipPath id="{self.name}-clip"><rect x="{LEFT}" y="{TOP}" width="{right - LEFT}" '
            f'height="{bottom - TOP}"/></clipPath>',
        ]
        for value, text in self.up.ticks():
            y = self.y(value)
            parts.append(f'<path class="grid" d="M{LEFT} {y}H{right}"/>')
            parts.append(f'<text class="tick" x="{LEFT - 7}" y="{y + 4}" text-anchor="end">{as_html(text)}</text>')
        for value, text in self.across.ticks():
            x = self.x(value)
            parts.append(f'<path class="axis" d="M{x} {bottom}v4"/>')
            parts.append(f'<text class="tick" x="{x}" y="{bottom + 18}" text-anchor="middle">{as_html(text)}</text>')
        parts.append(f'<path class="axis" d="M{LEFT} {bottom}H{right}"/>')
        parts.append(f'<text class="label" x="4" y="15">{as_html(self.up.label)}</text>')
        parts.append(
            f'<text class="label" x="{(LEFT + right) / 2}" y="{HEIGHT - 6}" text-anchor="middle">'
            f"{as_html(self.across.label)}</text>"
        )
        parts.append(f'<g clip-path="url(#{self.name}-clip)">{"".join(marks)}</g></svg>')
        return "".join(parts)


def marker(x: float, y: float, group: int, size: float = 3.2) -> str:
    """Draw a point; groups differ in colour and, for those who see no colours, in shape."""
    colour, shape = group % COLOURS, (group + group // COLOURS) % SHAPES
    style = f'class="group{colour}"' if group >= 0 else 'class="others"'
    if group < 0 or shape == 0:
        return f'<circle {style} cx="{x:g}" cy="{y:g}" r="{size:g}"/>'
    if shape == 1:
        side = 1.8 * size
        return f'<rect {style} x="{x - side / 2:.2f}" y="{y - side / 2:.2f}" width="{side:.2f}" height="{side:.2f}"/>'
    half = 1.3 * size
    if shape == 2:
        return f'<path {style} d="M{x:g} {y - half:.2f}l{half:.2f} {1.8 * half:.2f}h{-2 * half:.2f}z"/>'
    edge = f"{half:.2f}"
    return f'<path {style} d="M{x:g} {y - half:.2f}l{edge} {edge}l-{edge} {edge}l-{edge} -{edge}z"/>'


def key_marker(inner: str) -> str:
    """Wrap a mark of a legend in a drawing of its own."""
    return f'<svg class="key" viewBox="0 0 22 12" aria-hidden="true">{inner}</svg>'


def _ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / MOST_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [count * step for count in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        values = [factor * 10.0**power for power in powers for factor in factors]
        values = [value for value in values if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
        if len(values) <= MOST_TICKS:
            break
    return values[:: max(1, math.ceil(len(values) / (MOST_TICKS)))]


def _written(values: Sequence[float], *, log: bool) -> list[str]:
    if not values:
        return []
    largest = max(abs(value) for value in values)
    if largest >= 1e6 or (0 < largest < 1e-3):
        return [f"{value:.3g}".replace("e+0", "e").replace("e-0", "e−").replace("-", "−") for value in values]
    if log:
        return [f"{value:,.10g}" for value in values]
    step = min((b - a for a, b in pairwise(values)), default=largest or 1.0)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [f"{value:,.{digits}f}".replace("-", "−") if abs(value) > step / 2 else "0" for value in values]
