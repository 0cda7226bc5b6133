"""Algorithms ask an operator what it costs, never what class it, or the data behind it, is of."""

import ast
from pathlib import Path

import pytest

import certpca

SOURCE = Path(certpca.__file__).parent
MADE_IN = ("operators", "readers", "distributed", "formats", "genotypes")
ASKED_IN = ("search", "solvers", "bounds", "verbs", "frontends")
ROOTS = {"Operator", "Reader"}
# Whether data are prepared already is a question for callers that take both.
ALLOWED = {"Operator"}


def _trees(rooms: tuple[str, ...]) -> dict[Path, ast.Module]:
    return {file: ast.parse(file.read_text()) for room in rooms for file in sorted((SOURCE / room).rglob("*.py"))}


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return _last_name(node.value)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _bases() -> dict[str, set[str]]:
    """Return what every class is derived from."""
    return {
        node.name: {_last_name(base) for base in node.bases}
        for tree in _trees(MADE_IN).values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def _kinds() -> set[str]:
    """Return the names of all classes that are operators or readers, however far down."""
    bases, found = _bases(), set(ROOTS)
    while more := {name for name, parents in bases.items() if parents & found} - found:
        found |= more
    return found - ALLOWED


def _questions(tree: ast.Module, kinds: set[str]) -> list[int]:
    """Return the lines that ask for a class: by isinstance, issubclass, type() or a match."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _last_name(node.func) in ("isinstance", "issubclass"):
            asked: ast.AST = node.args[1]
        elif isinstance(node, ast.Compare) and any(
            isinstance(part, ast.Call) and _last_name(part.func) == "type" for part in [node.left, *node.comparators]
        ):
            asked = node
        elif isinstance(node, ast.MatchClass):
            asked = node.cls
        else:
            continue
        names = {_last_name(part) for part in ast.walk(asked) if isinstance(part, ast.expr)}
        if names & kinds:
            lines.append(node.lineno)
    return lines


def test_the_kinds_are_found() -> None:
    assert {"Reader", "StreamedCovariance", "DaskCovariance", "PlinkFile", "KernelOperator", "Downdated"} <= _kinds()


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(operator, StreamedCovariance)",
        "isinstance(data, (str, base.Reader))",
        "isinstance(data, str | PlinkFile)",
        "type(operator) is DaskCovariance",
        "match operator:\n    case SparseCovariance():\n        pass",
    ],
)
def test_a_question_about_a_class_is_noticed(code: str) -> None:
    assert _questions(ast.parse(code), _kinds())


def test_readers_have_parts_and_no_ancestors() -> None:
    bases = _bases()
    readers = {name for name, parents in bases.items() if "Reader" in parents}
    assert {"ArrayReader", "DenseReader", "SparseReader", "ParquetReader", "PlinkFile", "DaskReader"} <= readers
    deeper = {name: parents & readers for name, parents in bases.items() if parents & readers}
    assert not deeper, f"give a reader something instead of deriving from it: {deeper}"


def test_nobody_asks_for_the_class_of_an_operator_or_a_reader() -> None:
    kinds = _kinds()
    found = [
        f"{file.relative_to(SOURCE)}:{line}"
        for file, tree in _trees(ASKED_IN).items()
        for line in _questions(tree, kinds)
    ]
    assert not found, f"ask operator.cost instead: {', '.join(found)}"
