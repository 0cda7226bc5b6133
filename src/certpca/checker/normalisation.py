"""How data become a matrix, as far as a certificate may say: every field of the right type, and none besides."""

import math
from collections.abc import Mapping
from typing import Any

from certpca.checker.numbers import require
from certpca.results.certificate import SMALLEST_WEIGHT, Source

ALLELES = "2pq"  # columns divided by √(2p(1 − p)), p half their mean
LARGEST_CODE = 2**63
AS_IT_IS = {"center": False, "scale": False, "divisor": 1.0, "missing": None, "fill_missing": False}
FIELDS = ("kind", *AS_IT_IS)
WEIGHTS = "weights"  # which most data do not have


def require_normalisation(given: Any) -> None:
    """Refuse a normalisation that would be named one thing and treated as another.

    What only equals a truth value is none, and `missing` is one whole number: numbers that are compared with the data
    entry by entry would be data themselves.
    """
    require(
        isinstance(given, Mapping) and set(given) | {WEIGHTS} == {*FIELDS, WEIGHTS}, "its normalisation is malformed"
    )
    _require_weights(given)
    kind, scale, divisor, missing = (given[name] for name in ("kind", "scale", "divisor", "missing"))
    require(type(kind) is str and kind in ("matrix", "data"), "its normalisation names an unknown kind of data")
    for name in ("center", "fill_missing"):
        require(type(given[name]) is bool, f"{name!r} in its normalisation is neither true nor false")
    require(
        type(scale) is bool or (type(scale) is str and scale == ALLELES), "its normalisation has an unknown scaling"
    )
    require(
        type(divisor) is float and math.isfinite(divisor) and divisor > 0,
        "the divisor of the covariance is not a positive number",
    )
    require(
        missing is None or (type(missing) is int and -LARGEST_CODE <= missing < LARGEST_CODE),
        "its normalisation has a code of missing values that is no whole number",
    )
    require(
        kind == "data" or all(given[name] == value for name, value in AS_IT_IS.items()),
        "a matrix is used as it is, but its normalisation says otherwise",
    )
    require(scale != ALLELES or given["center"], "scaling by allele frequencies needs centring")


def _require_weights(given: Mapping[str, Any]) -> None:
    """Refuse weights of samples that are no list of numbers, or of what has no samples."""
    weights = given.get(WEIGHTS)
    if weights is None:
        require(WEIGHTS not in given, "its normalisation is malformed")
        return
    require(given["kind"] == "data", "a matrix has no samples that could have weights")
    require(given["scale"] != ALLELES, "allele frequencies cannot have weights")
    require(isinstance(weights, (list, tuple)) and all(type(weight) is float for weight in weights), _MALFORMED)
    require(all(weight >= 0 and math.isfinite(weight) for weight in weights) and any(weights), _MALFORMED)
    least = min(weight for weight in weights if weight > 0)
    require(least >= SMALLEST_WEIGHT * max(weights), "the weights of its samples are too far apart")


_MALFORMED = "the weights of its samples are not numbers of which none is negative and some are positive"


def require_source(source: Source) -> None:
    """Refuse numbers whose way to a matrix is not a normalisation."""
    given = {name: getattr(source, name) for name in FIELDS}
    given |= {} if source.weights is None else {WEIGHTS: source.weights}
    require_normalisation(given)
