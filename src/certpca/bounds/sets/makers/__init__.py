"""The makers of certificates for several components, a file each, found by themselves and tried by what they cost.

Each file declares

    ORDER       where it comes: cheap ones first;
    KINDS       the kinds of certificates it makes, each of which has a rule in `checker/set_rules`;
    applies     whether it can help here;
    make        find evidence, let the checker say what it is worth (`search.proved`), and offer that (`search.offer`).

A maker keeps to the time there is (`search.progress`), of which it leaves what its proof takes.
"""

import pkgutil
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from certpca.bounds.sets.search import SetSearch


class SetMaker(Protocol):
    """What a file here declares."""

    ORDER: int
    KINDS: tuple[str, ...]

    def applies(self, search: SetSearch) -> bool:
        """Whether it can help."""

    def make(self, search: SetSearch) -> None:
        """Offer certificates."""


@cache
def makers() -> tuple[SetMaker, ...]:
    """Return all makers, cheap ones first."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    found = [cast(SetMaker, import_module(f"{__name__}.{name}")) for name in names]
    return tuple(sorted(found, key=lambda maker: maker.ORDER))
