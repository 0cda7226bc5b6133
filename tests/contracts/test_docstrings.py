"""Every public name says what it takes, returns and raises, what is like it, and shows itself at work."""

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from functools import cached_property

import pytest
from numpydoc.docscrape import FunctionDoc
from numpydoc.validate import validate

import certpca

# numpydoc's checks of what is there: names, types, order and layout of sections.
EVERYWHERE = {
    *("GL01", "GL02", "GL03", "GL05", "GL06", "GL07", "GL08", "GL10"),
    *("SS01", "SS02", "SS03", "SS04", "SS05", "SS06"),
    *("PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR07", "PR08", "PR09", "PR10"),
    *("RT01", "RT02", "RT03", "RT04", "RT05", "YD01", "SA02", "SA03"),
}
OF_PUBLIC_NAMES = EVERYWHERE | {"SA01", "EX01"}  # See Also, Examples
BY_SKLEARN = re.compile("set_[a-z]+_request")  # which scikit-learn adds, with texts of its own
NEVER_RAISE = {"available_solvers", "pitprops"}


def public_names() -> Iterator[tuple[str, set[str]]]:
    """Walk over public names, and over the public methods and properties of public classes."""
    yield "certpca.frontends.annotated.spca.spca", OF_PUBLIC_NAMES
    for name in certpca.__all__:
        thing = getattr(certpca, name)
        path = f"{thing.__module__}.{thing.__qualname__}"
        by_machine = inspect.isclass(thing) and (issubclass(thing, Enum) or getattr(thing, "_is_protocol", False))
        yield path, OF_PUBLIC_NAMES - ({"PR01"} if by_machine else set())  # parameters that nobody gives
        for member, value in vars(thing).items() if inspect.isclass(thing) else ():
            told = inspect.isroutine(value) or isinstance(value, (property, cached_property))
            if told and not member.startswith("_") and not BY_SKLEARN.fullmatch(member):
                yield f"{path}.{member}", EVERYWHERE


def complaints(path: str, checks: set[str]) -> dict[str, str]:
    return {code: text for code, text in validate(path)["errors"] if code in checks}


@pytest.mark.parametrize(("path", "checks"), list(public_names()))
def test_docstring_is_complete(path: str, checks: set[str]) -> None:
    assert not complaints(path, checks)


FUNCTIONS = [name for name in certpca.__all__ if inspect.isfunction(getattr(certpca, name))]


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in NEVER_RAISE])
def test_functions_say_what_they_raise(name: str) -> None:
    raised = [entry.type or entry.name for entry in FunctionDoc(getattr(certpca, name))["Raises"]]
    assert raised
    assert all(issubclass(getattr(certpca, error), certpca.CertpcaError) for error in raised)


def says_little(first: int) -> int:
    """Return it."""
    return first


def test_what_is_lacking_is_noticed() -> None:
    assert {"PR01", "RT01", "SA01", "EX01"} <= set(complaints(f"{__name__}.says_little", OF_PUBLIC_NAMES))
