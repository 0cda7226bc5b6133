"""One self-contained HTML page: no other file, no request, and no script but its own."""

from collections.abc import Callable, Mapping
from typing import Any

from certpca.frontends.report.blocks import (
    Bar,
    Bars,
    Block,
    Chart,
    Command,
    Document,
    FactList,
    Paragraph,
    Section,
    Table,
    Turn,
    Turns,
)
from certpca.frontends.report.escape import LONGEST_NAME, as_html, shortened
from certpca.frontends.report.policy import policy
from certpca.frontends.report.script import SCRIPT
from certpca.frontends.report.style import STYLE
from certpca.frontends.report.words import signed

NO_LINKS: Mapping[str, str] = {}
SHORT_NAME = 14  # names up to this length get a narrow column


def to_html(document: Document) -> str:
    """Write a report as one page."""
    figures = "".join(
        f"<div><dt>{as_html(what)}</dt><dd>{as_html(value)}</dd></div>" for value, what in document.figures
    )
    sections = "\n".join(_section(section) for section in document.sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy(STYLE, SCRIPT)}">
<meta name="generator" content="certpca">
<title>{as_html(document.title)}</title>
<link rel="icon" href="data:,">
<style>{STYLE}</style>
</head>
<body>
<main>
<header>
<h1>{as_html(document.title)}</h1>
<p class="subtitle">{as_html(document.subtitle)}</p>
</header>
<div class="verdict {document.state}">
<p class="badge">{_sign(document.state)} {as_html(document.badge)}</p>
<p class="headline">{as_html(document.headline)}</p>
<p class="standing">{as_html(document.standing)}</p>
</div>
{f'<dl class="figures">{figures}</dl>' if figures else ""}
{sections}
</main>
<footer>{as_html(document.footer)}</footer>
<script>{SCRIPT}</script>
</body>
</html>
"""


def _sign(state: str) -> str:
    """Tell the states apart without colour."""
    sign = {"optimal": "✓", "gap": "✓", "incomparable": "✓", "refused": "✕", "none": "–"}[state]
    return f'<span aria-hidden="true">{sign}</span>'


def _section(section: Section) -> str:
    name = section.title.lower().replace(" ", "-")
    body = "\n".join(_RENDERERS[type(block)](block) for block in section.blocks)
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{as_html(section.title)}</h2>\n{body}\n</section>'


def _paragraph(block: Paragraph) -> str:
    note = ' class="note"' if block.note else ""
    return f"<p{note}>{as_html(block.text)}</p>"


def _fact_list(block: FactList) -> str:
    rows = "".join(f"<dt>{as_html(name)}</dt><dd>{as_html(value)}</dd>" for name, value in block.rows)
    return f'<dl class="facts">{rows}</dl>'


def _table(block: Table) -> str:
    header = "".join(_cell("th", ' scope="col"', cell, j < block.texts) for j, cell in enumerate(block.header))
    rows = "\n".join(
        f"<tr>{''.join(_cell('td', '', cell, j < block.texts, block.links) for j, cell in enumerate(row))}</tr>"
        for row in block.rows
    )
    name = f' data-name="{as_html(block.name)}"' if block.name else ""
    table = f'<table class="plain"{name}><thead><tr>{header}</tr></thead>\n<tbody>{rows}</tbody></table>'
    whole = f'<div class="table"><div class="scroll">{table}</div></div>'
    return f"<details><summary>{as_html(block.folded)}</summary>{whole}</details>" if block.folded else whole


def _cell(tag: str, attributes: str, text: str, worded: bool, links: Mapping[str, str] = NO_LINKS) -> str:
    if worded:  # names may run from right to left
        return f'<{tag} class="text"{attributes}>{_linked(text, text, links)}</{tag}>'
    return f"<{tag}{attributes}>{as_html(text)}</{tag}>"


def _linked(text: str, name: str, links: Mapping[str, str]) -> str:
    """Write a name, with the address that it leads to."""
    written = f"<bdi>{as_html(text)}</bdi>"
    if name not in links:
        return written
    return f'<a href="{as_html(links[name])}" target="_blank" rel="noopener noreferrer">{written}</a>'


def _turns(block: Turns) -> str:
    views = "\n".join(_turn(turn, place == block.shown) for place, turn in enumerate(block.turns))
    return f'<div class="turns" data-label="{as_html(block.label)}">{views}</div>'


def _turn(turn: Turn, shown: bool) -> str:
    hidden = "" if shown else " hidden"
    body = f"<p>{as_html(turn.text)}</p>{_table(turn.table)}"
    return f'<div class="turn" data-label="{as_html(turn.label)}"{hidden}>{body}</div>'


def _bars(block: Bars) -> str:
    largest = max(abs(bar.value) for bar in block.bars)
    low = -1.0 if any(bar.value < 0 for bar in block.bars) else 0.0
    marked = any(bar.mark for bar in block.bars)
    rows = "\n".join(_bar(bar, largest, low, block.links, marked=marked) for bar in block.bars)
    short = " short" if all(len(bar.name) <= SHORT_NAME for bar in block.bars) else ""
    return f'<table class="bars{short}"><caption>{as_html(block.caption)}</caption><tbody>\n{rows}\n</tbody></table>'


def _bar(bar: Bar, largest: float, low: float, links: Mapping[str, str], *, marked: bool) -> str:
    length = abs(bar.value) / largest
    start, sign = (0.0, "plus") if bar.value >= 0 else (-length, "minus")
    drawing = (
        f'<svg viewBox="{low:g} 0 {1 - low:g} 1" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="{sign}" x="{start:.4f}" y="0.1" width="{length:.4f}" height="0.8"/>'
        f'<path class="zero" d="M0 0V1"/></svg>'
    )
    name = shortened(bar.name, LONGEST_NAME)
    hint = f' title="{as_html(bar.name)}"'
    mark = ""
    if marked:
        sign = '<span title="in every optimal choice" aria-label="in every optimal choice">✓</span>' if bar.mark else ""
        mark = f'<td class="mark">{sign}</td>'
    return (
        f'<tr><th scope="row"{hint}>{_linked(name, bar.name, links)}</th><td>{drawing}</td>'
        f'<td class="value">{signed(bar.value)}</td>{mark}</tr>'
    )


def _chart(block: Chart) -> str:
    from certpca.plots import inline_svg

    told: dict[str, Any] = {"title": block.title, "words": block.words, "tips": block.tips}
    drawing, keys = inline_svg(block.plot, *block.values, **told, **block.settings)
    lines = "".join(f"<li>{key}<bdi>{as_html(text)}</bdi></li>" for key, text in keys)
    legend = f'<ul class="legend">{lines}</ul>' if lines else ""
    return f"<figure>{drawing}{legend}<figcaption>{as_html(block.words)}</figcaption></figure>"


def _command(block: Command) -> str:
    return f"<pre><code>{as_html(block.line)}</code></pre>"


_RENDERERS: dict[type[Block], Callable[[Any], str]] = {
    Paragraph: _paragraph,
    FactList: _fact_list,
    Table: _table,
    Bars: _bars,
    Chart: _chart,
    Command: _command,
    Turns: _turns,
}
