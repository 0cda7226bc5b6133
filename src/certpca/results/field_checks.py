"""Checks of the fields of a file: each refuses what it does not allow, and says the same as JSON Schema."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from certpca.runtime.errors import InvalidDataError

LONGEST_TEXT = 2_000  # characters, unless a field says otherwise
SMALL_WHOLE = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Check:
    """What a value may be.

    Parameters
    ----------
    test
        Takes a value and where it stands; raises `InvalidDataError` where it is something else.
    schema
        The same in the words of JSON Schema, as far as these go.
    """

    test: Callable[[Any, str], None]
    schema: Mapping[str, Any]

    def __call__(self, value: Any, where: str) -> None:
        """Refuse what is not allowed."""
        self.test(value, where)


def _range(low: float, high: float) -> dict[str, float]:
    return {name: end for name, end in (("minimum", low), ("maximum", high)) if math.isfinite(end)}


def _anchored(pattern: str) -> str:
    """Return a pattern for the whole of a text, without what only Python knows."""
    return f"^(?:{pattern})$".replace(r"\Z", "$")


def refuse(where: str, wanted: str, value: Any) -> None:
    """Say what was wanted and what was got."""
    msg = f"{where} must be {wanted}, got {shown(value)}"
    raise InvalidDataError(msg)


def shown(value: Any, most: int = 80) -> str:
    """Describe a value in a few characters, whatever it is."""
    if isinstance(value, (list, dict)):
        return f"a {'list' if isinstance(value, list) else 'mapping'} of {len(value)}"
    if isinstance(value, int) and abs(value) > SMALL_WHOLE:
        return f"a whole number of {value.bit_length()} bits"
    text = ascii(value[:most] if isinstance(value, str) else value)
    return text if len(text) <= most else f"{text[:most]}…"


def number(low: float = -math.inf, high: float = math.inf, *, finite: bool = True) -> Check:
    """Allow a real number in a range; truth values are none."""
    wanted = "a finite number" if finite else "a number"
    wanted += f" from {low:g}" * math.isfinite(low) + f" up to {high:g}" * math.isfinite(high)

    def check(value: Any, where: str) -> None:
        real = isinstance(value, float) or (isinstance(value, int) and type(value) is not bool)
        if not real or (isinstance(value, int) and abs(value) > SMALL_WHOLE):
            refuse(where, wanted, value)
        if not low <= value <= high if math.isfinite(value) else finite:
            refuse(where, wanted, value)

    return Check(check, {"type": "number", **_range(low, high)})


def whole(low: int, high: int) -> Check:
    """Allow a whole number in a range; truth values and floating point are none."""

    def check(value: Any, where: str) -> None:
        if type(value) is not int or not low <= value <= high:
            refuse(where, f"a whole number in {low}..{high}", value)

    return Check(check, {"type": "integer", "minimum": low, "maximum": high})


def _truth(value: Any, where: str) -> None:
    """Allow true and false."""
    if type(value) is not bool:
        refuse(where, "true or false", value)


def _null(value: Any, where: str) -> None:
    """Allow null."""
    if value is not None:
        refuse(where, "null", value)


truth = Check(_truth, {"type": "boolean"})
null = Check(_null, {"type": "null"})


def text(most: int = LONGEST_TEXT, pattern: str = "", wanted: str = "") -> Check:
    """Allow a text of limited length. What shows it makes it safe to show."""
    form = re.compile(pattern)

    def check(value: Any, where: str) -> None:
        if not isinstance(value, str) or len(value) > most:
            refuse(where, f"a text of at most {most:,} characters", value)
        if pattern and not form.fullmatch(value):
            refuse(where, wanted, value)

    return Check(check, {"type": "string", "maxLength": most, **({"pattern": _anchored(pattern)} if pattern else {})})


def one_of(*values: str) -> Check:
    """Allow one of a few texts."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, str) or value not in values:
            refuse(where, f"one of {', '.join(map(repr, values))}", value)

    return Check(check, {"enum": list(values)})


def either(*checks: Check, wanted: str = "") -> Check:
    """Allow what any of some checks allows; the last one says what was wrong, unless what was `wanted` is said here."""

    def check(value: Any, where: str) -> None:
        for allowed in checks if wanted else checks[:-1]:
            try:
                allowed(value, where)
            except InvalidDataError:
                continue
            return
        if wanted:
            refuse(where, wanted, value)
        checks[-1](value, where)

    return Check(check, {"anyOf": [part.schema for part in checks]})


def list_of(item: Check, most: int, least: int = 0) -> Check:
    """Allow a list."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, list) or not least <= len(value) <= most:
            refuse(where, f"a list of {least}..{most:,} entries", value)
        for place, entry in enumerate(value):
            item(entry, f"{where}[{place}]")

    return Check(check, {"type": "array", "items": item.schema, "minItems": least, "maxItems": most})


def row_of(*items: Check) -> Check:
    """Allow a list of fixed length."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, list) or len(value) != len(items):
            refuse(where, f"a list of {len(items)}", value)
        for place, (item, entry) in enumerate(zip(items, value, strict=True)):
            item(entry, f"{where}[{place}]")

    return Check(
        check, {"type": "array", "prefixItems": [item.schema for item in items], "items": False, "minItems": len(items)}
    )


def table_of(item: Check, most: int) -> Check:
    """Allow a mapping from any names to one kind of value."""
    name = text()

    def check(value: Any, where: str) -> None:
        if not isinstance(value, dict) or len(value) > most:
            refuse(where, f"a mapping of at most {most:,} entries", value)
        for key, entry in value.items():
            name(key, f"a name in {where}")
            item(entry, f"{where}[{shown(key)}]")

    return Check(check, {"type": "object", "additionalProperties": item.schema, "maxProperties": most})


def fields(known: Mapping[str, Check], optional: Mapping[str, Check] | None = None, *, others: bool = True) -> Check:
    """Allow a mapping with these fields."""
    optional = optional or {}

    def check(value: Any, where: str) -> None:
        if not isinstance(value, dict):
            refuse(where or "a result", "a mapping", value)
        begin = f"{where}." if where else ""
        for name, part in (*known.items(), *optional.items()):
            if name in value:
                part(value[name], begin + name)
            elif name in known:
                msg = f"{begin}{name} is missing"
                raise InvalidDataError(msg)
        strangers = [] if others else [name for name in value if name not in known and name not in optional]
        if strangers:
            msg = f"{where} has a field {shown(strangers[0])}, which is unknown"
            raise InvalidDataError(msg)

    return Check(
        check,
        {
            "type": "object",
            "properties": {name: part.schema for name, part in {**known, **optional}.items()},
            "required": list(known),
            "additionalProperties": others,
        },
    )


def plain(most: int, deepest: int | None = None, *, texts: int = LONGEST_TEXT) -> Check:
    """Allow any plain value of limited size: mappings, lists, texts, finite numbers, truth values and null."""
    leaf = either(null, truth, text(texts), number(), wanted="null, a truth value, a short text or a finite number")
    name = text(texts)

    def check(value: Any, where: str) -> None:
        stack, seen = [(value, 0)], 0
        while stack:
            part, depth = stack.pop()
            seen += 1
            if seen > most:
                refuse(where, f"at most {most:,} values", value)
            if not isinstance(part, (dict, list)):
                leaf(part, f"a value in {where}")
                continue
            if deepest is not None and depth >= deepest:
                refuse(where, f"nested at most {deepest} deep", value)
            if isinstance(part, dict):
                for key in part:
                    name(key, f"a name in {where}")
            stack.extend((entry, depth + 1) for entry in (part.values() if isinstance(part, dict) else part))

    return Check(check, {})
