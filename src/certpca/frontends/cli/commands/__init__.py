"""The commands, a file each, found by themselves: `HELP`, whether it `READS_FILES`, `add_options` and `run`."""

import pkgutil
from importlib import import_module
from typing import Any


def commands() -> dict[str, Any]:
    """Return the modules of all commands by name."""
    return {module.name: import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)}
