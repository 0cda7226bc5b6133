"""The makers of certificates, a file each, found by themselves and tried in the order of what they cost.

Each file declares

    ORDER       where it comes: cheap ones first;
    KINDS       the kinds of certificates it makes, each of which has a rule in `checker/rules`;
    applies     whether it can help here;
    seconds     what must be left on the clock to begin, the proof included;
    make        find evidence, let the checker say what it is worth (`search.proved`), and offer that (`search.offer`).

A maker is free to find anything: only the rule decides what that proves.
"""

import pkgutil
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from certpca.bounds.proof_search import ProofSearch


class Maker(Protocol):
    """What a file here declares."""

    ORDER: int
    KINDS: tuple[str, ...]

    def applies(self, search: ProofSearch) -> bool:
        """Whether it can help."""

    def seconds(self, search: ProofSearch) -> float:
        """Return what it takes to begin and to prove the result; zero where it fits itself to the time there is."""

    def make(self, search: ProofSearch) -> None:
        """Offer certificates, or end the search."""


@cache
def makers() -> tuple[Maker, ...]:
    """Return all makers, cheap ones first."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    found = [cast(Maker, import_module(f"{__name__}.{name}")) for name in names]
    return tuple(sorted(found, key=lambda maker: maker.ORDER))
