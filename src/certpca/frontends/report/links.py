"""Where names of features lead: variants and genes that public databases know by that name."""

import re
from collections.abc import Iterable
from urllib.parse import quote

RULES = (
    (re.compile(r"(rs\d{1,12})(?![\d.])(?:[_:-][ACGT01]+)?", re.ASCII), "https://www.ncbi.nlm.nih.gov/snp/"),
    (re.compile(r"(ENS[A-Z]{0,4}[GTPE]\d{11})(?:\.\d+)?", re.ASCII), "https://www.ensembl.org/id/"),
)
# Symbols look like any other word, so they are linked only where features are said to be genes.
SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-.][A-Za-z0-9]+)*", re.ASCII)
GENES = "https://www.ncbi.nlm.nih.gov/gene/?term="


def link_of(name: str, *, genes: bool = False) -> str:
    """Return the address of a name, or "" where it has none.

    Examples
    --------
    >>> link_of("rs4988235_A"), link_of("ENSG00000141510.18")
    ('https://www.ncbi.nlm.nih.gov/snp/rs4988235', 'https://www.ensembl.org/id/ENSG00000141510')
    >>> link_of("TP53"), link_of("TP53", genes=True)
    ('', 'https://www.ncbi.nlm.nih.gov/gene/?term=TP53%5Bsym%5D')
    """
    for pattern, address in RULES:
        found = pattern.fullmatch(name)
        if found is not None:
            return address + found[1]
    return GENES + quote(f"{name}[sym]") if genes and SYMBOL.fullmatch(name) else ""


def links_of(names: Iterable[str], *, genes: bool = False) -> dict[str, str]:
    """Return the addresses of those names that have one."""
    return {name: link for name in names if (link := link_of(name, genes=genes))}
