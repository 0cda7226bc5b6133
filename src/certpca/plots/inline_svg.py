"""Drawings inside a page: SVG with the colours and letters of the page, so that it follows light and dark."""

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from certpca.plots.canvas import draw, height_of, styled
from certpca.plots.palette import LIGHT

WIDTH, HEIGHT = 440, 290
KEY_WIDTH, KEY_HEIGHT = 22, 12
POINTS = 72  # of which an inch has as many
HREF = "{http://www.w3.org/1999/xlink}href"
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
SIZE_OF_LETTERS = re.compile(r"([\d.]+)px")
SMALL = 10.0  # letters below keep their size
OWN_NAME = re.compile(r"_\d+$")  # matplotlib's own
NO_TIPS: Mapping[str, Sequence[str]] = {}
VARIABLES = {colour: f"var(--{name})" for name, colour in LIGHT.items()}


def inline_svg(
    name: str,
    *values: Any,
    title: str,
    words: str,
    tips: Mapping[str, Sequence[str]] = NO_TIPS,
    **settings: Any,
) -> tuple[str, list[tuple[str, str]]]:
    """Draw a plot for a page.

    Parameters
    ----------
    name, values, settings
        As in `draw`.
    title, words
        What the drawing shows, for those who do not see it.
    tips
        Texts that the pointer brings up, one for each point of the parts of the drawing with these names.

    Returns
    -------
    tuple
        The drawing, and its legend: a small drawing and a text for each line.
    """
    from matplotlib.figure import Figure

    size = {"font.size": 11.0, "axes.labelsize": 12.0, "lines.linewidth": 2.0, "legend.loc": "upper left"}
    with styled({"svg.fonttype": "none", "svg.hashsalt": name, **size}):
        height = max(HEIGHT / POINTS, height_of(name, *values, **settings))
        figure = Figure(figsize=(WIDTH / POINTS, height), layout="constrained")
        ax = draw(name, *values, ax=figure.subplots(), **settings)
        handles, labels = ax.get_legend_handles_labels()
        if ax.get_legend() is not None:
            ax.get_legend().remove()
        drawing = _root(figure)
        keys = [_key(handle, f"{name}-{place}") for place, handle in enumerate(handles)]
    for part in drawing.iter():
        _tip(part, tips.get(part.get("class", ""), ()))
    drawing.attrib |= {"class": "chart", "role": "img", "aria-labelledby": f"{name}-title {name}-words"}
    for place, (tag, text) in enumerate((("title", title), ("desc", words))):
        element = ElementTree.Element(tag, {"id": f"{name}-{'words' if place else 'title'}"})
        element.text = text
        drawing.insert(place, element)
    return _text(drawing), [(key, label.strip()) for key, label in zip(keys, labels, strict=True)]


def _tip(group: ElementTree.Element, texts: Sequence[str]) -> None:
    """Give the points of a group a text each; where they are not as many, something else was drawn."""
    points = list(group.iter("use"))
    if texts and len(points) == len(texts):
        for point, text in zip(points, texts, strict=True):
            ElementTree.SubElement(point, "title").text = text


def _key(handle: Any, salt: str) -> str:
    """Draw what a line of the legend explains."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams["svg.hashsalt"] = salt  # no two drawings of a page name their parts alike
    figure = Figure(figsize=(KEY_WIDTH / POINTS, KEY_HEIGHT / POINTS))
    close = {
        "frameon": False,
        "markerscale": 1.5,
        "borderpad": 0,
        "handletextpad": 0,
        "borderaxespad": 0,
        "labelspacing": 0,
    }
    figure.legend([handle], [""], loc="center", handlelength=1.8, fontsize=11, **close)
    drawing = _root(figure)
    drawing.attrib |= {"class": "key", "aria-hidden": "true"}
    return _text(drawing)


def _root(figure: Any) -> ElementTree.Element:
    """Return a figure as a tree, without what a page does not need."""
    stream = io.StringIO()
    figure.savefig(
        stream, format="svg", transparent=True, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type"))
    )
    drawn = ElementTree.fromstring(stream.getvalue())
    root = ElementTree.Element("svg", {"viewBox": drawn.attrib["viewBox"]})
    root.extend(part for child in drawn for part in _simplified(child))
    return root


def _simplified(element: ElementTree.Element) -> list[ElementTree.Element]:
    """Shorten numbers, name colours by variables, and keep only names that a plot gave or something refers to."""
    tag = element.tag.rpartition("}")[2]
    style = dict(part.strip().split(": ", 1) for part in element.get("style", "").split(";") if part.strip())
    if tag == "style" or style == {"fill": "none"}:  # a style sheet would be that of the whole page
        return []
    if tag == "text":  # letters are those of the page, small ones in their size
        size = SIZE_OF_LETTERS.match(style.get("font-size", style.get("font", "")))
        style = {key: value for key, value in style.items() if key in ("fill", "text-anchor")}
        if size is not None and float(size[1]) < SMALL:
            style["font-size"] = f"{float(size[1]):g}px"
    simple = ElementTree.Element(tag)
    for name, value in element.attrib.items():
        if name in ("d", "x", "y", "width", "height", "transform"):
            simple.set(name, LONG_NUMBER.sub(lambda found: f"{float(found[0]):.2f}", " ".join(value.split())))
        elif name == "clip-path" or (name == "id" and tag != "g"):
            simple.set(name, value)
        elif name == HREF:
            simple.set("href", value)
        elif name == "id" and not OWN_NAME.search(value):
            simple.set("class", value)
    if simple.get("transform", "").startswith("rotate(-0 "):
        del simple.attrib["transform"]
    if style:
        simple.set("style", ";".join(f"{key}:{VARIABLES.get(value, value)}" for key, value in style.items()))
    simple.text = element.text if tag == "text" else None
    simple.extend(part for child in element for part in _simplified(child))
    if tag in ("g", "defs") and not len(simple):
        return []
    if tag == "g" and not simple.attrib:
        return list(simple)
    _say_once(simple)
    return [simple]


def _say_once(group: ElementTree.Element) -> None:
    """Take a style that all points of a group have to the group."""
    styles = {child.get("style") for child in group}
    if group.tag == "g" and len(group) > 1 and len(styles) == 1 and "style" not in group.attrib:
        style = styles.pop()
        for child in group:
            child.attrib.pop("style", None)
        if style is not None:
            group.set("style", style)


def _text(drawing: ElementTree.Element) -> str:
    """Write a drawing, with styles as attributes: a page with a strict policy has no others."""
    for part in drawing.iter():
        for line in part.attrib.pop("style", "").split(";"):
            key, _, value = line.partition(":")
            if value:
                part.set(key, value)
    return ElementTree.tostring(drawing, encoding="unicode")
