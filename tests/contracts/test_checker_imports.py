"""The checker is helped by the standard library, NumPy and what says what a certificate is, and by nothing else."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import certpca.checker

FOLDER = Path(certpca.checker.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))
ALLOWED = {"certpca.checker", "certpca.results", "numpy", *sys.stdlib_module_names}
MOST_LINES = 400
WAYS_ROUND = {"__import__", "eval", "exec", "compile"}  # none of which an import statement would show


def imports_of(tree: ast.AST) -> Iterator[str]:
    """Name what a file imports, at its top or later, and what it might import unseen."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module if node.module and not node.level else f"{'.' * node.level}{node.module or ''}"
        elif isinstance(node, ast.Name) and node.id in WAYS_ROUND:
            yield node.id


def strangers(source: str) -> list[str]:
    names = imports_of(ast.parse(source))
    return [name for name in names if not any(name == known or name.startswith(f"{known}.") for known in ALLOWED)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FOLDER)))
def test_every_file_imports_what_is_allowed_alone(file: Path) -> None:
    assert strangers(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "import scipy",
        "import numpy, scipy.linalg",
        "from certpca.runtime.errors import CertpcaError",
        "from certpca import solve",
        "import certpca",
        "from . import bounds",
        "def late():\n    from threadpoolctl import threadpool_info",
        "try:\n    import numba\nexcept ImportError:\n    pass",
        "__import__('scipy')",
        "from certpca.checkers import x",
    ],
)
def test_what_is_not_allowed_is_seen(source: str) -> None:
    assert strangers(source)


def test_modules_are_looked_up_by_name_in_one_place_alone() -> None:
    """`rules` finds its own files so; nothing else may."""
    assert [file.relative_to(FOLDER).as_posix() for file in FILES if "import_module" in file.read_text()] == [
        "rules/__init__.py"
    ]


def test_it_runs_where_there_is_nothing_else() -> None:
    """In a process of its own, where every other package is out of reach."""
    script = """
import sys

class Wall:
    def find_spec(self, name, path=None, target=None):
        first = name.partition(".")[0]
        if first not in {"certpca", "numpy"} and first not in sys.stdlib_module_names:
            raise ImportError(f"{name} is out of reach")

sys.meta_path.insert(0, Wall())
import numpy as np
from certpca.checker import check, fingerprint
from certpca.results.certificate import Certificate, Source

source = Source("data", np.random.default_rng(0).standard_normal((9, 6)), center=True, divisor=8.0)
for kind in ("trace", "row-sums", "largest-eigenvalue"):
    certificate = Certificate(
        kind, 6, 2, 100.0, "", source.normalisation(), fingerprint(source), np.arange(1), np.ones(1)
    )
    assert check(certificate, source).upper_bound <= 100
rooms = {name.split(".")[1] for name in sys.modules if name.startswith("certpca.")}
assert rooms == {"checker", "results", "runtime"}, rooms
assert {name for name in sys.modules if name.startswith("certpca.runtime.")} <= {
    "certpca.runtime.arrays", "certpca.runtime.errors"
}
"""
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FOLDER)))
def test_no_file_is_too_long_to_be_read_in_one_sitting(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
