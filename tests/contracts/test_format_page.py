"""The page about the format, from which others write checkers, knows every kind, array, field and problem."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from certpca.checker.rules import rules
from certpca.checker.set_rules import rules as set_rules
from certpca.results.certificate import Source
from certpca.results.constraints import Constraints
from certpca.results.schema import (
    CERTIFICATE_FIELDS,
    CERTIFICATE_FORMAT,
    CERTIFICATE_OPTIONS,
    CONSTRAINED_CERTIFICATE_FORMAT,
    CONSTRAINED_SOLUTION_FORMAT,
)
from certpca.results.set_certificate import PROBLEMS
from certpca.results.set_codec import SET_FORMAT

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "format.md").read_text()
PROOFS = (DOCS / "mathematics.md").read_text()
KINDS: dict[str, Any] = {**rules(), **set_rules()}
OF_PARTS = {"sum-of-singles", "sum-of-singles-random"}  # their arrays are those of single certificates


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_and_its_arrays_are_described(kind: str) -> None:
    section = re.search(rf"^## .*\b{kind}(?![-\w])", PAGE, re.MULTILINE) or f"| `{kind}` |" in PAGE
    assert section, f"no section or row about {kind}"
    assert f"`{kind}`" in PROOFS
    for pattern in () if kind in OF_PARTS else KINDS[kind].EVIDENCE:
        name = pattern.rsplit("_", 1)[-1]  # its own, without those of the parts it belongs to
        assert re.search(rf"[`_>]{name}`", PAGE), f"{name} of {kind} is not described"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_rule_names_its_proof(kind: str) -> None:
    """The sections that a rule names are there."""
    text = KINDS[kind].__doc__ or ""
    named = re.search(r"docs/mathematics\.md, ([\d.,; a-z]+)\.", text)
    assert named, f"{kind} does not say where its proof is"
    for number in re.findall(r"\d+(?:\.\d+)?", named.group(1)):
        assert f"**{number}" in PROOFS or f"## {number}. " in PROOFS


def test_every_field_is_described() -> None:
    for name in (*CERTIFICATE_FIELDS, *CERTIFICATE_OPTIONS, "problem", "sparsities", "supports"):
        assert f"`{name}`" in PAGE
    for name in (field.name for field in fields(Source) if field.name != "values"):
        assert f"`{name}`" in PAGE
    for name in (field.name for field in fields(Constraints)):
        assert f"| `{name}` |" in PAGE
    for text in (
        *PROBLEMS,
        CERTIFICATE_FORMAT,
        CONSTRAINED_CERTIFICATE_FORMAT,
        CONSTRAINED_SOLUTION_FORMAT,
        SET_FORMAT,
    ):
        assert text in PAGE
