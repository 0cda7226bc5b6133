"""What `import certpca` costs and what it offers."""

import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import pytest

import certpca
import certpca.results.errors
import certpca.runtime.errors

LIST_NEW_MODULES = """
import json, sys
before = set(sys.modules)
import certpca
print(json.dumps(sorted({name.split(".")[0] for name in set(sys.modules) - before})))
"""


def test_import_loads_only_certpca_and_the_standard_library() -> None:
    answer = subprocess.run([sys.executable, "-c", LIST_NEW_MODULES], capture_output=True, text=True, check=True)
    loaded = set(json.loads(answer.stdout))
    assert loaded - set(sys.stdlib_module_names) == {"certpca"}


def test_pandas_is_loaded_for_text_tables_alone() -> None:
    loaded = "print(sorted({'pandas', 'pyarrow'} & set(sys.modules)))"
    script = f"import sys, certpca.formats.tables, certpca.frontends.cli.main; {loaded}"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


@pytest.mark.parametrize("name", certpca.__all__)
def test_public_name_resolves_and_is_listed(name: str) -> None:
    assert getattr(certpca, name) is not None
    assert name in dir(certpca)


def test_type_checkers_see_the_same_names_as_users() -> None:
    with open(certpca.__file__, encoding="utf-8") as source:  # noqa: PTH123
        declared = {line.split(" as ")[-1].strip() for line in source if line.startswith("    from certpca")}
    assert declared == {*certpca.__all__, "tl"}


# What readers and `from_data` return has a public base or is only handed on.
HANDED_ON = {"ArrayReader", "Covariance", "DosageFile", "ParquetReader", "PlinkFile", "Reader"}


def classes_in(hint: Any) -> Iterator[type]:
    """Walk over the classes of certpca in an annotation."""
    if isinstance(hint, type) and hint.__module__.startswith("certpca."):
        yield hint
    for part in get_args(hint):
        yield from classes_in(part)


@pytest.mark.parametrize("name", [name for name in certpca.__all__ if inspect.isfunction(getattr(certpca, name))])
def test_what_users_give_and_receive_is_public(name: str) -> None:
    hints = get_type_hints(inspect.unwrap(getattr(certpca, name)))
    met = {found.__name__ for hint in hints.values() for found in classes_in(hint)}
    assert met - HANDED_ON <= set(certpca.__all__)


def test_every_error_is_public() -> None:
    for module in (certpca.runtime.errors, certpca.results.errors):
        errors = {
            name
            for name, value in vars(module).items()
            if isinstance(value, type) and value.__module__ == module.__name__
        }
        assert errors <= set(certpca.__all__)


def test_unknown_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'sparse_pca'"):
        _ = certpca.sparse_pca
    assert not hasattr(certpca, "__wrapped__")
