"""From moments of columns to what is done to each before products: centre, weight, unit, and the type of products."""

import math
from typing import Any, Literal

import numpy as np

from certpca.intake.inputs import label_of
from certpca.operators.base import LARGEST_VARIANCE, ORDINARY_POWER, SMALLEST_VARIANCE
from certpca.operators.covariance import Standardisation
from certpca.readers.base import Reader
from certpca.readers.moments import Moments
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import Vector, is_host, namespace
from certpca.runtime.errors import InvalidDataError, InvalidProblemError

LARGEST_WEIGHT = 2.0**1020

Scale = bool | Literal["2pq"]


def standardisation(
    moments: Moments,
    divisor: int,
    code: int | None,
    names: tuple[str, ...] | None,
    *,
    center: bool,
    scale: Scale,
) -> Standardisation:
    """Return what is done to each column so that products are the covariance, or the correlation, that is asked for."""
    spread = moments.squares / divisor  # variances of columns that are divided by 2 to a power of their own
    if not spread.any():
        what = "constant" if center else "zero"
        msg = f"every column is {what}, so there is no variance to explain; check that features are columns"
        raise InvalidDataError(msg)
    unit = 1.0
    if scale is True:
        flat = np.flatnonzero(spread == 0.0)
        if flat.size:
            what = "constant" if center else "zero"
            msg = (
                f"{label_of(int(flat[0]), names)} is {what} ({flat.size} such columns), "
                "so its correlation is undefined; drop it, or use the covariance (scale=False), where it does no harm"
            )
            raise InvalidDataError(msg)
        with np.errstate(over="ignore"):
            weight = np.ldexp(1.0 / np.sqrt(spread), -np.asarray(moments.power))
        _refuse_small_columns(weight, names)
        variance = np.ones_like(spread)
    else:
        half = _common_half(spread, moments.power, names)
        weight, unit = np.full(spread.size, math.ldexp(1.0, -half)), math.ldexp(1.0, 2 * half)
        variance = np.ldexp(spread, 2 * (np.asarray(moments.power) - half))
        if scale == "2pq":
            expected = _expected_variance(moments, names)
            weight, variance = weight / np.sqrt(expected), variance / expected
    mean = moments.mean if center else np.zeros_like(moments.mean)
    holes = moments.any_missing
    if holes and not center:
        # The mean stands in for missing values even where it is not subtracted.
        msg = "missing='mean' needs center=True: without centring, fill missing values before"
        raise InvalidProblemError(msg)
    return Standardisation(
        mean, weight, variance, float(divisor), center, scale, code if holes else None, holes and code is None, unit
    )


def _common_half(spread: Vector, power: Any, names: tuple[str, ...] | None) -> int:
    """Return the power of two that all columns are divided by: 0 for ordinary data.

    Variances are reported in the units of the data, so they must be numbers there.
    """
    reach = np.where(spread > 0, np.frexp(spread)[1] + 2 * np.asarray(power), np.iinfo(np.int64).min)
    largest = int(reach.argmax())
    top = int(reach[largest])
    if SMALLEST_VARIANCE <= top <= LARGEST_VARIANCE:
        return 0 if abs(top) <= ORDINARY_POWER else top // 2
    small = top < 0
    msg = (
        f"{label_of(largest, names)} has the largest variance, about 1e{top * math.log10(2):.0f}: too "
        f"{'small' if small else 'large'} to square in double precision; {'multiply' if small else 'divide'} the data "
        f"by a constant, such as 2**{abs(top) // 2}, or use correlations (scale=True)"
    )
    raise InvalidDataError(msg)


def _refuse_small_columns(weight: Vector, names: tuple[str, ...] | None) -> None:
    """Refuse columns whose numbers have lost digits already, or soon will."""
    bad = np.flatnonzero(~((weight > 0) & (weight < LARGEST_WEIGHT)))
    if bad.size:
        msg = (
            f"{label_of(int(bad[0]), names)} holds values too small, or too large, for double precision "
            f"({bad.size} such columns); multiply or divide them by a constant"
        )
        raise InvalidDataError(msg)


def _expected_variance(moments: Moments, names: tuple[str, ...] | None) -> Vector:
    """Return 2p(1 − p), the variance of genotypes under Hardy-Weinberg equilibrium."""
    share = moments.mean / 2
    bad = np.flatnonzero(~((share > 0) & (share < 1)))
    if bad.size:
        msg = (
            f"{label_of(int(bad[0]), names)} has an allele frequency of {share[bad[0]]:g}, and {bad.size} columns have "
            'none between 0 and 1; scale="2pq" is for genotypes counted 0, 1, 2 that vary: drop the others '
            "(PLINK files: maf=)"
        )
        raise InvalidDataError(msg)
    return np.asarray(2 * share * (1 - share))


def working_type(values: Any, moments: Moments) -> Any:
    """Single precision where the data are no better and centring does not cancel digits."""
    on_host = is_sparse(values) or is_host(values) or isinstance(values, Reader)
    xp = np if on_host else namespace(values)
    if on_host:
        narrow = values.dtype.itemsize < 8 and (values.dtype.kind == "f" or values.dtype.itemsize <= 2)
    else:
        narrow = not xp.isdtype(values.dtype, (xp.float64, xp.int64, xp.int32))
    if not narrow:
        return np.dtype(np.float64) if on_host else xp.float64
    spread = math.sqrt(float(moments.squares.mean()) / moments.rows)
    level = float(np.abs(moments.mean).max())
    ordinary = 1e-6 < spread < 1e6  # squares of variances must fit single precision too
    if ordinary and level <= 100.0 * spread:
        return np.dtype(np.float32) if on_host else xp.float32
    return np.dtype(np.float64) if on_host else xp.float64
