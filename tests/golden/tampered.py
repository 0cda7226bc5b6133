"""Certificates that must be refused, each for one reason: what was done to a valid one, and what a checker should say.

`reason` is a word that other checkers can use; `says` is a part of what this one answers.
"""

import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import numpy as np

from certpca.checker import fingerprint
from certpca.results.certificate import Source

Arrays = dict[str, np.ndarray]


@dataclass
class Draft:
    """A certificate that is about to be altered: its JSON, its arrays, and how they are written."""

    fields: dict[str, Any]
    arrays: Arrays
    data: str
    values: dict[str, np.ndarray]
    kept: bool = True  # whether the evidence file of the valid one still serves
    archive: Callable[[Arrays], bytes] = field(default=lambda arrays: stored(arrays, zipfile.ZIP_STORED))
    honest: bool = True  # whether the digest is that of the file
    text: Callable[[str], str] = field(default=lambda text: text)

    def alter(self, name: str, change: Callable[[np.ndarray], Any]) -> None:
        """Change an array."""
        self.arrays[name] = np.asarray(change(self.arrays[name].copy()))
        self.kept = False

    def rehash(self) -> None:
        """Let the fingerprint fit the data and the normalisation again."""
        self.fields["fingerprint"] = fingerprint(Source(values=self.values[self.data], **self.fields["normalisation"]))


@dataclass(frozen=True)
class Tampered:
    """What is done to which certificate, why that must be refused, and what the checker says then."""

    name: str
    origin: str
    change: str
    reason: str
    says: str
    edit: Callable[[Draft], None]


def stored(arrays: Arrays, compression: int) -> bytes:
    """Return an archive of arrays."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, values in arrays.items():
            part = BytesIO()
            np.lib.format.write_array(part, np.asarray(values), version=(1, 0))
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), part.getvalue(), compression)
    return stream.getvalue()


# --- edits ------------------------------------------------------------------------------------------------------------


def put(*path: Any) -> Callable[[Draft], None]:
    """Put a value somewhere in the JSON: the last argument, at the place that the others name."""

    def edit(draft: Draft) -> None:
        *way, last, value = path
        at: Any = draft.fields
        for step in way:
            at = at[step]
        at[last] = value

    return edit


def lowered(share: float) -> Callable[[Draft], None]:
    return lambda draft: put("upper_bound", draft.fields["upper_bound"] * (1 - share))(draft)


def array(name: str, change: Callable[[np.ndarray], Any]) -> Callable[[Draft], None]:
    return lambda draft: draft.alter(name, change)


def without(name: str) -> Callable[[Draft], None]:
    def edit(draft: Draft) -> None:
        del draft.arrays[name]
        draft.kept = False

    return edit


def normalised(**changes: Any) -> Callable[[Draft], None]:
    """Change the normalisation, and the fingerprint with it."""

    def edit(draft: Draft) -> None:
        draft.fields["normalisation"] |= changes
        draft.rehash()

    return edit


def other_data(name: str) -> Callable[[Draft], None]:
    return lambda draft: setattr(draft, "data", name)


def other_text(old: str, new: str) -> Callable[[Draft], None]:
    def edit(draft: Draft) -> None:
        assert old in json.dumps(draft.fields, indent=1)
        draft.text = lambda text: text.replace(old, new, 1)

    return edit


def compressed(draft: Draft) -> None:
    draft.archive, draft.kept = lambda arrays: stored(arrays, zipfile.ZIP_DEFLATED), False


def other_evidence(draft: Draft) -> None:
    draft.alter("density", lambda values: values * 2)
    draft.honest = False


def stranger(draft: Draft) -> None:
    draft.arrays["stranger"], draft.kept = np.zeros(3), False


def first(values: np.ndarray, value: float) -> np.ndarray:
    values.flat[0] = value
    return values


def negative_values(draft: Draft) -> None:
    draft.data = "negative.npy"
    draft.rehash()


def wider(draft: Draft) -> None:
    draft.fields["sparsity"] = len(draft.fields["support"]) - 1


def overlapping(draft: Draft) -> None:
    draft.fields["supports"][1][0] = draft.fields["supports"][0][0]
    draft.fields["supports"][1].sort()


def wrong_fixing(draft: Draft) -> None:
    feature = draft.fields["support"][0]
    draft.fields["tree"] = [[{"fix": "squares", "shift": 0.5, "out": [feature], "in": []}, {"leaf": "eigenvalue"}]]


def smaller_part(draft: Draft) -> None:
    draft.fields["tree"]["serves"] = [0 for _ in draft.fields["sparsities"]]


def unconstrained(draft: Draft) -> None:
    del draft.fields["constraints"]
    draft.fields["format"] = "certpca certificate 1"


def unweighted(draft: Draft) -> None:
    del draft.fields["normalisation"]["weights"]
    draft.rehash()
