"""The sections of a report, a file each, found by themselves.

A section has an `ORDER` among the others, a `TITLE` and `blocks`, which lays out the facts; one that is not always
there says with `applies` when it is.
"""

import pkgutil
from importlib import import_module
from typing import Any


def sections() -> list[Any]:
    """Return the modules of all sections in the order of the report."""
    found = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return sorted(found, key=lambda section: section.ORDER)
