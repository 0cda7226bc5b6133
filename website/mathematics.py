"""Indices and exponents of the plain mathematics in docs/ (a_i, Σ_{i∈S}, R^{−½}), set as such; no script is needed."""

import re

PAGES = {
    "mathematics.md",
    "certificates.md",
    "branching.md",
    "semidefinite.md",
    "format.md",
    "constraints.md",
    "geometry.md",
}
# Indices of more than one letter; all others are one letter: a_ia_i is a product.
LONG = "max|min|SS|TT|MM|NN|MJ|ii|ij|ji|jj|jl|if|in"
INDEX = re.compile(rf"(?<=[\w)\]‖|'\u0303])_(\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}}|(?:{LONG})|[^\W_])")
EXPONENT = re.compile(r"(?<=[\w)\]‖|'])\^(\{[^{}]*\}|[^\W_]|½)")
IDENTIFIER = re.compile(r"[A-Za-z]{4,}(?:_[A-Za-z]{3,})+")  # a name in a program
STRAY = re.compile(r"((?<![\w*])Z(?=\*(?!\*))|\u0303(?=_))([*_])")
CODE = re.compile(r"(<pre.*?</pre>|<code.*?</code>|<[^>]*>)", re.DOTALL)
BLOCK = re.compile(r'<div class="highlight"><pre>(?:<span></span>)?<code>(.*?)</code></pre></div>', re.DOTALL)
FORMULA = re.compile("[≤≥=Σ⪯⪰]")


def escaped(markdown: str) -> str:
    """Keep Python-Markdown from taking the asterisks of Z* and indices of F̃ for emphasis, as other dialects do."""
    parts = re.split(r"(```.*?```|`[^`\n]*`|^ {4}[^\n]*)", markdown, flags=re.DOTALL | re.MULTILINE)
    parts[::2] = [STRAY.sub(r"\g<1>\\\g<2>", part) for part in parts[::2]]
    return "".join(parts)


def typeset(html: str) -> str:
    """Return a page with its formulas set."""
    html = BLOCK.sub(_formula, html)
    parts = CODE.split(html)
    parts[::2] = [_indexed(part) for part in parts[::2]]
    return "".join(parts)


def _formula(block: re.Match[str]) -> str:
    text = block[1].rstrip("\n")
    if not FORMULA.search(text) or "certpca" in text or "[(" in text:
        return block[0]
    return f'<div class="formula">{text}</div>'


def _indexed(text: str) -> str:
    names = IDENTIFIER.findall(text)
    pieces = IDENTIFIER.split(text)
    done = [EXPONENT.sub(_raised, INDEX.sub(_lowered, piece)) for piece in pieces]
    return "".join(piece + name for piece, name in zip(done, [*names, ""], strict=True))


def _lowered(match: re.Match[str]) -> str:
    return f"<sub>{_indexed(_bare(match[1]))}</sub>"


def _raised(match: re.Match[str]) -> str:
    return f"<sup>{_bare(match[1])}</sup>"


def _bare(index: str) -> str:
    return index[1:-1] if index.startswith("{") else index
