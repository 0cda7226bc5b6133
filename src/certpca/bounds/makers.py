"""Makers of evidence that `certify` finds by itself: the files of this room that declare `KIND` and `find`.

The dual, its trees and the relaxation lead from one to the next, so the pipeline calls them by name. A bound that
stands alone is one file here, and its rule one in `checker/rules`.
"""

import pkgutil
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from certpca.operators import Operator
from certpca.runtime.budget import Progress


class Found(NamedTuple):
    """Evidence, the bound that the checker is expected to derive from it, and the seconds that may take."""

    bound: float
    evidence: dict[str, Any]
    tree: Any = None
    seconds: float = 0.0


class Maker(Protocol):
    """What such a file declares."""

    KIND: str

    def find(self, operator: Operator, sparsity: int, progress: Progress) -> Found | None:
        """Return evidence, or None where there can be none or no time for it."""


def makers() -> list[Maker]:
    """Return the makers, by the names of their files."""
    room = import_module("certpca.bounds")
    modules = [import_module(f"{room.__name__}.{module.name}") for module in pkgutil.iter_modules(room.__path__)]
    return [module for module in modules if hasattr(module, "KIND")]
