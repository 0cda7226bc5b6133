"""Optional imports that fail with the command that installs them."""

from importlib import import_module
from typing import Any

from certpca.runtime.errors import MissingDependencyError


def require(module: str, *, extra: str, purpose: str) -> Any:
    """Import a library that is not a core dependency, or say how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        msg = f"{purpose} needs {module}, which is not installed: pip install 'certpca[{extra}]'"
        raise MissingDependencyError(msg) from error
