"""The sections of a report, a file each, found by themselves.

A section has an `ORDER` among the others, a `TITLE` and `blocks`, which lays out the facts; one that is not always
there says with `applies` when it is. Reports on one component have those without an `ABOUT`; it is "several" for those
of reports on several, and "both".
"""

import pkgutil
from importlib import import_module
from typing import Any


def sections(about: str) -> list[Any]:
    """Return the modules of all sections of reports on one component, or on several, in the order of the report."""
    found = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    wanted = [section for section in found if getattr(section, "ABOUT", "one") in (about, "both")]
    return sorted(wanted, key=lambda section: section.ORDER)
