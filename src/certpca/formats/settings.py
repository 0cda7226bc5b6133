"""What may be set about reading: for every table, and for those of some formats, as these say."""

from collections.abc import Mapping
from typing import Any

from certpca.formats.base import Format, endings_where, formats
from certpca.readers.reading import Setting, flag, short, texts
from certpca.runtime.did_you_mean import did_you_mean
from certpca.runtime.errors import InvalidProblemError, UnknownArgumentError

COMMON = (
    Setting(
        "columns",
        texts,
        "only these: names, or positions from 1",
        commas=True,
        option={"metavar": "A,B,3:10"},
    ),
    Setting("drop", texts, "not these", commas=True, option={"metavar": "A,B,3:10"}),
    Setting("transpose", flag, "the columns of the file are samples", default=False, option={"action": "store_true"}),
    Setting("names", texts, "names of the features, one on each line", option={"metavar": "FILE"}),
)


def all_settings() -> dict[str, Setting]:
    """Return everything that may be set, by name."""
    found = {setting.name: setting for setting in COMMON}
    for setting in (setting for known in formats() for setting in known.settings):
        if found.setdefault(setting.name, setting) != setting:
            msg = f"two formats have a setting {setting.name!r}, and mean different things by it"
            raise ValueError(msg)
    return found


def whose(setting: Setting) -> str:
    """Say which files a setting is for, endings included."""
    return f"{setting.files} ({endings_where(lambda known: setting in known.settings)})"


def settings_of(known: Format, given: Mapping[str, Any], file: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of a format's settings, and those of them that differ from the defaults.

    Parameters
    ----------
    known
        The format.
    given
        What callers say; what is for other formats must say nothing.
    file
        For the error where it does.
    """
    everything = all_settings()
    for name, value in given.items():
        if name not in everything:
            meant = did_you_mean(name, everything)
            msg = f"{name!r} is no setting for reading a table; there are {', '.join(everything)}{meant}"
            raise UnknownArgumentError(msg)
        setting = everything[name]
        if setting not in known.settings and not setting.is_default(value):
            msg = f"{name}: only for {whose(setting)}, got {file!r}"
            raise InvalidProblemError(msg)
    values = {setting.name: given.get(setting.name, setting.default) for setting in known.settings}
    return values, {name: value for name, value in values.items() if not everything[name].is_default(value)}


def as_recorded(known: Format, found: object) -> dict[str, Any]:
    """Return keyword arguments of `load_table` that read a file as it was read for a stored result."""
    unsaid = {item.name: item.unrecorded for item in known.settings if item.unrecorded is not None}
    return {**unsaid, **reading_from_json(found)}


def reading_from_json(found: object) -> dict[str, Any]:
    """Check a mapping from a file that nobody vouches for, and return keyword arguments of `load_table`.

    Only what `Table.reading` can hold passes: known names, plain values of the right type, no files to be opened.

    Parameters
    ----------
    found
        What JSON made of the file.

    Examples
    --------
    >>> from certpca.formats.settings import reading_from_json
    >>> reading_from_json({"maf": 0.05, "keep": ["a", ["family", "b"]]})
    {'maf': 0.05, 'keep': ['a', ['family', 'b']]}
    """
    if not isinstance(found, Mapping):
        msg = f"how a table is read must be a mapping of settings, got {type(found).__name__}"
        raise InvalidProblemError(msg)
    known = all_settings()
    for name in found:
        if name not in known:
            msg = f"{short(name)} is no setting for reading a table; there are {', '.join(known)}"
            raise InvalidProblemError(msg)
    return {name: known[name].check(name, value) for name, value in found.items()}
