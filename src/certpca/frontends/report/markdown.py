"""A report as Markdown: text and tables, with bars of block characters."""

from collections.abc import Callable, Sequence
from typing import Any

from certpca.frontends.report.blocks import Bars, Block, Chart, Command, Document, FactList, Paragraph, Table, Turns
from certpca.frontends.report.escape import as_markdown, plain
from certpca.frontends.report.words import signed

LONGEST_BAR = 20
EIGHTHS = " ▏▎▍▌▋▊▉█"


def to_markdown(document: Document) -> str:
    """Write a report as Markdown."""
    parts = [
        f"# {as_markdown(document.title)}",
        as_markdown(document.subtitle),
        f"**{as_markdown(document.badge)}.** {as_markdown(document.headline)}",
        as_markdown(document.standing),
        "\n".join(f"- {as_markdown(value)} {as_markdown(what)}" for value, what in document.figures),
    ]
    for section in document.sections:
        parts.append(f"## {as_markdown(section.title)}")
        parts += [_RENDERERS[type(block)](block) for block in section.blocks]
    return "\n\n".join([*parts, as_markdown(document.footer)]) + "\n"


def _table_text(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *([as_markdown(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _fact_list(block: FactList) -> str:
    return "\n".join(f"- {as_markdown(name)}: {as_markdown(value)}" for name, value in block.rows)


def _table(block: Table) -> str:
    table = _table_text([as_markdown(cell) for cell in block.header], block.rows)
    return f"{as_markdown(block.folded)}:\n\n{table}" if block.folded else table


def _bars(block: Bars) -> str:
    largest = max(abs(bar.value) for bar in block.bars)
    marked = any(bar.mark for bar in block.bars)
    header = ["feature", "loading", "", *([""] if marked else [])]
    lines = [header, ["---", "--:", "---", *(["---"] if marked else [])]]
    for bar in block.bars:
        eighths = round(8 * LONGEST_BAR * abs(bar.value) / largest)
        drawing = "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()
        lines.append(
            [as_markdown(bar.name), signed(bar.value), drawing, *([("✓" if bar.mark else "")] if marked else [])]
        )
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{as_markdown(block.caption)}:\n\n{table}"


def _chart(block: Chart) -> str:
    return f"{as_markdown(block.title)}: {as_markdown(block.words)}"


def _command(block: Command) -> str:
    fence = "```"
    while fence in block.line:
        fence += "`"
    return f"{fence}sh\n{plain(block.line)}\n{fence}"


_RENDERERS: dict[type[Block], Callable[[Any], str]] = {
    Paragraph: lambda block: as_markdown(block.text),
    FactList: _fact_list,
    Table: _table,
    Bars: _bars,
    Chart: _chart,
    Command: _command,
    Turns: lambda block: "\n".join(f"- {as_markdown(turn.text)}" for turn in block.turns),
}
