"""What a file of results may hold: the type, range and size of every field, in one place, checked on loading.

Fields that are not listed are ignored, so that a later version may add some; inside `normalisation` and `evidence`,
where each one changes what is checked, they are refused. What a file means, and whether it is true, is the checker's
business.
"""

import math
from itertools import pairwise
from typing import Any

from certpca.results.field_checks import (
    SMALL_WHOLE,
    Check,
    either,
    fields,
    list_of,
    null,
    number,
    one_of,
    plain,
    refuse,
    row_of,
    shown,
    table_of,
    text,
    truth,
    whole,
)
from certpca.runtime.errors import InvalidDataError

SOLUTION_FORMAT = "certpca solution 1"
CERTIFICATE_FORMAT = "certpca certificate 1"
# Results under constraints: versions that do not know these refuse them, as their claims are about fewer components.
CONSTRAINED_SOLUTION_FORMAT = "certpca solution 2"
CONSTRAINED_CERTIFICATE_FORMAT = "certpca certificate 2"
SOLUTION_FORMATS = (SOLUTION_FORMAT, CONSTRAINED_SOLUTION_FORMAT)
PATH_FORMAT = "certpca path 1"
COMPONENTS_FORMAT = "certpca components 1"

MOST_JSON_BYTES = 512 << 20  # of one file; parsed it takes about ten times as much memory
MOST_FEATURES = 10**9
MOST_SPARSITIES = 10_000  # of one path
MOST_DETAILS = 64  # numbers for the reader alone
MOST_STEPS = 10**8  # of a history, and entries of anything else that is listed for the reader
LONGEST_NAME = 10_000  # characters of a feature's name
LONGEST_FILE_NAME = 255
LONGEST_WHOLE = 100  # digits of a whole number; which of them are too large, its field says
MOST_READING_VALUES = 10**6  # in the record of how a file was read, such as samples kept
DEEPEST_READING = 6
UNIT_LENGTH = 1e-6  # how far from one the length of loadings may be
LARGEST_VARIANCE = 1e300  # multiples of it are still numbers

_COUNT = whole(0, MOST_FEATURES)
_DIGEST = text(40, "[0-9a-f]{40}", "40 hexadecimal digits")
# A plain name: no folders, nothing hidden in it, not the names of this folder and the one above.
_FILE_NAME = text(LONGEST_FILE_NAME, r"(?!\.{1,2}\Z)[^/\\\x00-\x1f\x7f:]+", "the plain name of a file beside this one")
_SECONDS = number(0.0, 1e12)
_ANY_NUMBER = either(null, number(-LARGEST_VARIANCE, LARGEST_VARIANCE, finite=False))
_SHARE = number(0.0, 1.001)  # single precision may add up to a little more than the whole

READING = table_of(plain(MOST_READING_VALUES, DEEPEST_READING, texts=LONGEST_NAME), 1_000)
NORMALISATION = fields(
    {
        "kind": one_of("matrix", "data"),
        "center": truth,
        "scale": either(one_of("2pq"), truth, wanted='true, false or "2pq"'),
        "divisor": number(2.0**-1022),
        "missing": either(null, whole(-SMALL_WHOLE, SMALL_WHOLE)),
        "fill_missing": truth,
    },
    {"weights": list_of(number(0.0), MOST_FEATURES, 1)},
    others=False,
)

_FEATURES = list_of(_COUNT, MOST_FEATURES)
CONSTRAINTS = fields(
    {
        "include": _FEATURES,
        "exclude": _FEATURES,
        "groups": list_of(list_of(_COUNT, MOST_FEATURES, 1), MOST_FEATURES),
        "nonnegative": truth,
    },
    others=False,
)

CERTIFICATE_FIELDS: dict[str, Check] = {
    "format": one_of(CERTIFICATE_FORMAT, CONSTRAINED_CERTIFICATE_FORMAT),
    "kind": text(64, "[a-z0-9-]+", "the name of a kind of certificate"),
    "sparsity": whole(1, MOST_FEATURES),
    "upper_bound": number(0.0, LARGEST_VARIANCE),
    "objective": number(-LARGEST_VARIANCE, LARGEST_VARIANCE),
    "features_in_no_optimum": _COUNT,
    "features_in_every_optimum": _COUNT,
    "matrix": text(),
    "size": whole(1, MOST_FEATURES),
    "normalisation": NORMALISATION,
    "fingerprint": _DIGEST,
    "support": list_of(_COUNT, MOST_FEATURES),
    "loadings": list_of(number(), MOST_FEATURES),
    "tree": either(null, plain(MOST_JSON_BYTES, texts=64)),  # its shape is the checker's business
    "seconds": _SECONDS,
}
CERTIFICATE_OPTIONS: dict[str, Check] = {
    "gap": either(null, number()),
    "evidence": fields({"file": _FILE_NAME, "digest": _DIGEST}, others=False),
    "reading": READING,
    "constraints": CONSTRAINTS,
    "details": table_of(number(), MOST_DETAILS),
}
CERTIFICATE = fields(CERTIFICATE_FIELDS, CERTIFICATE_OPTIONS)


def _held_or_named(value: Any, where: str) -> None:
    """Allow the certificate of a solution; earlier versions only named its file."""
    (_FILE_NAME if isinstance(value, str) else either(null, CERTIFICATE))(value, where)


_HELD = Check(_held_or_named, either(null, _FILE_NAME, CERTIFICATE).schema)


SOLUTION = fields(
    {
        "format": one_of(*SOLUTION_FORMATS),
        "support": list_of(_COUNT, MOST_FEATURES),
        "names": either(null, list_of(text(LONGEST_NAME), MOST_FEATURES)),
        "loadings": list_of(number(-1.0 - UNIT_LENGTH, 1.0 + UNIT_LENGTH), MOST_FEATURES),
        "objective": number(0.0, LARGEST_VARIANCE),
        "explained_variance_ratio": _SHARE,
        "relative_objective": either(null, _SHARE),  # where there was no time for it
        "size": whole(1, MOST_FEATURES),
        "sparsity": whole(1, MOST_FEATURES),
        "matrix": text(),
        "solver": text(),
        "status": text(64, "[A-Z_]+", "the name of a status"),
        "seconds": _SECONDS,
        "refitted": truth,
        # Steps and details are for the reader alone; earlier versions wrote what is not finite as it is.
        "history": list_of(row_of(_SECONDS, _ANY_NUMBER, _ANY_NUMBER), MOST_STEPS),
        "details": table_of(_ANY_NUMBER, MOST_STEPS),
    },
    {
        "upper_bound": either(null, number()),
        "gap": either(null, number()),
        "message": text(),
        "reading": READING,
        "constraints": CONSTRAINTS,
        "certificate": _HELD,
        "mean": either(null, list_of(number(), MOST_FEATURES)),
        "scale": either(null, list_of(number(2.0**-1022), MOST_FEATURES)),
    },
)

SPARSITY_PATH = fields(
    {"format": one_of(PATH_FORMAT), "seconds": _SECONDS, "solutions": list_of(SOLUTION, MOST_SPARSITIES, 1)}
)


def check_solution(values: Any, where: str = "") -> None:
    """Refuse fields of a solution that no solution has.

    Raises
    ------
    InvalidDataError
        Where a field is missing, or of another type, range or size, or contradicts another one.
    """
    SOLUTION(values, where)
    _check_loadings(values, unit=True)
    _check_constraints(values, CONSTRAINED_SOLUTION_FORMAT)
    if values["names"] is not None and len(values["names"]) != len(values["support"]):
        refuse("names", f"one for each of {len(values['support'])} loadings", values["names"])
    means, scales = values.get("mean"), values.get("scale")
    if (means is None) != (scales is None):
        refuse("scale", "there where mean is", scales)
    for name, listed in (("mean", means), ("scale", scales)):
        if listed is not None and len(listed) != len(values["support"]):
            refuse(name, f"one for each of {len(values['support'])} loadings", listed)


def check_certificate(values: Any) -> None:
    """Refuse fields of a certificate that no certificate has; see `check_solution`."""
    CERTIFICATE(values, "")
    _check_loadings(values, unit=False)
    _check_constraints(values, CONSTRAINED_CERTIFICATE_FORMAT)
    for name in ("features_in_no_optimum", "features_in_every_optimum"):
        whole(0, values["size"])(values[name], name)


def _check_constraints(values: dict[str, Any], form: str) -> None:
    """Refuse constraints in a format of results without them, and the other way round; and features out of range."""
    if ("constraints" in values) != (values["format"] == form):
        refuse("constraints", f"there exactly where the format is {form!r}", values.get("constraints"))
    for name, listed in values.get("constraints", {}).items():
        if name == "nonnegative":
            continue
        for features in listed if name == "groups" else [listed]:
            if any(left >= right for left, right in pairwise(features)) or (
                features and features[-1] >= values["size"]
            ):
                refuse(f"constraints.{name}", f"increasing indices in 0..{values['size'] - 1}", features)


def check_reading(values: Any) -> None:
    """Refuse a record of how a file was read that is no mapping of plain values; see `check_solution`."""
    READING(values, "reading")


def check_path(values: Any) -> None:
    """Refuse fields of a path that no path has; see `check_solution`."""
    SPARSITY_PATH(values, "")
    for solution in values["solutions"]:
        check_solution(solution)
    sparsities = [solution["sparsity"] for solution in values["solutions"]]
    if sparsities != sorted(set(sparsities)):
        msg = f"the sparsities of a path must increase, got {shown(str(sparsities))}"
        raise InvalidDataError(msg)
    if len({solution["size"] for solution in values["solutions"]}) > 1:
        msg = "the solutions of a path must be about the same number of features"
        raise InvalidDataError(msg)


def _check_loadings(values: dict[str, Any], *, unit: bool) -> None:
    support, loadings, size = values["support"], values["loadings"], values["size"]
    whole(1, size)(values["sparsity"], "sparsity")
    if len(support) != len(loadings):
        refuse("loadings", f"as many as there are indices in support, {len(support)}", loadings)
    if any(left >= right for left, right in pairwise(support)) or (support and support[-1] >= size):
        refuse("support", f"increasing indices in 0..{size - 1}", support)
    if unit and support and not abs(math.hypot(*loadings) - 1.0) <= UNIT_LENGTH:
        msg = f"loadings must have length one, got {math.hypot(*loadings):g}"
        raise InvalidDataError(msg)
