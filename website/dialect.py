"""Lists as CommonMark has them, which a forge renders, for Python-Markdown, which wants four spaces a level."""

import re

MARKER = re.compile(r"(- |\* |\d+\. )")
FENCE = re.compile(r"\s*```")


def with_wide_lists(markdown: str) -> str:
    """Return a page whose lists are indented by four spaces for each level."""
    lines: list[str] = []
    marker = 0  # how wide that of the list at hand is; 0 outside lists
    fenced = loose = False  # loose: an item has a blank line
    for line in markdown.split("\n"):
        fenced ^= bool(FENCE.match(line))
        begin = None if fenced else MARKER.match(line)
        if begin:
            if loose and marker and lines[-1].strip():
                lines.append("")
            marker, loose = len(begin[0]), False
        elif line and not line.startswith(" ") and (fenced or not lines[-1:] or not lines[-1].strip()):
            marker = 0  # a paragraph after a blank line
        loose |= not line.strip()
        indented = marker and line.startswith(" " * marker)
        lines.append(" " * (4 - marker) + line if indented else line)
    return "\n".join(lines)
