"""Optional imports that fail with the command that installs them."""

import sys
from importlib import import_module
from typing import Any

from certpca.runtime.errors import MissingDependencyError


def require(module: str, *, extra: str = "", purpose: str) -> Any:
    """Import a library that is not a core dependency, or say how to get it: by an extra, or by its own name."""
    try:
        return import_module(module)
    except ImportError as error:
        package = f"'certpca[{extra}]'" if extra else module.partition(".")[0]
        msg = f"{purpose} needs {module}, which is not installed: pip install {package}"
        raise MissingDependencyError(msg) from error


def zstd() -> Any:
    """Return the standard library's module for .zst files, or its twin for versions that lack it."""
    module = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return require(module, extra="zst", purpose="reading .zst files")
