"""Exact arithmetic as the judge of checkers, and random data of every awkward kind for it."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from certpca.results.certificate import Source

Rationals = list[list[Fraction]]


# --- the judge --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Exact:
    """The matrix as N^-1/2 C N^-1/2 in rational numbers, and in floats after dividing by `unit`."""

    products: Rationals
    norms: list[Fraction]
    unit: Fraction
    values: dict[tuple[int, ...], float]
    matrix: np.ndarray

    def floats(self) -> np.ndarray:
        """Return the matrix in floats, divided by `unit`."""
        return self.matrix.copy()

    @property
    def optimum(self) -> float:
        return max(self.values.values())

    def within(self, support: tuple[int, ...], bound: Fraction) -> bool:
        """Decide λ_max ≤ bound on a support exactly, by elimination on bound·N − C, which a touch makes definite."""
        bound += abs(bound) / 10**40 + Fraction(1, 10**2000)
        rest = [[(bound * self.norms[i] if i == j else 0) - self.products[i][j] for j in support] for i in support]
        for pivot, row in enumerate(rest):
            if row[pivot] <= 0:
                return False
            for below in rest[pivot + 1 :]:
                factor = below[pivot] / row[pivot]
                for column in range(pivot, len(support)):
                    below[column] -= factor * row[column]
        return True


def exact(source: Source, sparsity: int) -> Exact | None:
    values = np.asarray(source.values)
    size = values.shape[1]
    norms = [Fraction(1)] * size
    if source.kind == "matrix":
        given_ = [[Fraction(float(entry)) for entry in row] for row in values]
        products = [[(given_[i][j] + given_[j][i]) / 2 for j in range(size)] for i in range(size)]
    else:
        columns, shares_of = [_standardised(column, source) for column in values.T], _weights(source)
        products = [
            [sum((w * x * y for w, x, y in zip(shares_of, a, b, strict=True)), Fraction(0)) for b in columns]
            for a in columns
        ]
        if source.scale:
            norms = [products[i][i] for i in range(size)]
            if source.scale == "2pq":
                shares = [_mean(column, source) / 2 for column in values.T]
                norms = [2 * share * (1 - share) * Fraction(source.divisor) for share in shares]
            if min(norms) <= 0:
                return None
        else:
            products = [[entry / Fraction(source.divisor) for entry in row] for row in products]
    if source.scale:
        unit = Fraction(1)
        squares = [[products[i][j] ** 2 / (norms[i] * norms[j]) for j in range(size)] for i in range(size)]
        matrix = np.sqrt(np.array(squares, dtype=np.float64)) * np.sign(np.array(products)).astype(np.float64)
    else:
        unit = max(abs(entry) for row in products for entry in row) or Fraction(1)
        matrix = np.array([[float(entry / unit) for entry in row] for row in products])
    supports = combinations(range(size), sparsity)
    optima = {s: float(np.linalg.eigvalsh(matrix[np.ix_(s, s)])[-1]) for s in supports}
    return Exact(products, norms, unit, optima, matrix)


def _standardised(column: Any, source: Source) -> list[Fraction]:
    mean = _mean(column, source) if source.center else Fraction(0)
    return [Fraction(0) if _hole(x, source) else Fraction(float(x)) - mean for x in column]


def _mean(column: Any, source: Source) -> Fraction:
    weighed = zip(_weights(source), column, strict=True)
    present = [(weight, Fraction(float(x))) for weight, x in weighed if not _hole(x, source)]
    total = sum((weight for weight, _ in present), Fraction(0))
    return sum((weight * x for weight, x in present), Fraction(0)) / (total or 1)


def _weights(source: Source) -> list[Fraction]:
    """Return the weights of samples, brought to a mean of one."""
    rows = source.values.shape[0]
    given_ = [Fraction(1)] * rows if source.weights is None else [Fraction(weight) for weight in source.weights]
    return [weight * rows / sum(given_) for weight in given_]


def _hole(x: Any, source: Source) -> bool:
    return bool(np.isnan(x)) if source.missing is None else bool(x == source.missing)


# --- cases ------------------------------------------------------------------------------------------------------------


def tables(rng: np.random.Generator, kind: str) -> np.ndarray:
    rows, size = int(rng.integers(1, 8)), int(rng.integers(1, 7))
    table: np.ndarray = rng.standard_normal((rows, size))
    match kind:
        case "whole":
            table = rng.integers(-2, 3, (rows, size)).astype(np.float64)
        case "bytes":
            return rng.integers(0, 3, (rows, size)).astype(np.int8)
        case "single":
            return table.astype(np.float32)
        case "rank one":
            table = np.outer(table[:, 0], rng.standard_normal(size))
        case "orthogonal":
            table = np.eye(max(rows, size))[:rows, :size] * rng.integers(1, 4, size)
        case "far from zero":
            table += 10.0 ** rng.integers(0, 17)
        case "mixed scales":
            table *= 10.0 ** rng.integers(-160, 150, size)
        case "nearly constant":
            table = np.ones((rows, 1)) * table[:1] + 1e-9 * (rng.random((rows, size)) < 0.3)
    first, second = rng.integers(size, size=2)
    match rng.integers(6):
        case 0:
            table[:, first] = table[:, second]
        case 1:
            table[:, first] = 0.0
        case 2:
            table[:, first] = 1.7
        case 3:
            table *= 10.0 ** rng.integers(-155, 1)
    return table


KINDS = [
    "gauss",
    "whole",
    "bytes",
    "single",
    "rank one",
    "orthogonal",
    "far from zero",
    "mixed scales",
    "nearly constant",
]


def sources(rng: np.random.Generator, kind: str, form: str) -> Source:
    table = tables(rng, kind)
    if form == "matrix":
        table = table / (float(np.abs(table).max()) or 1.0)
        matrix = table.T @ table
        if rng.random() < 0.5:  # neither quite symmetric nor quite semidefinite
            matrix = matrix + 10.0 ** rng.integers(-18, -5) * rng.standard_normal(matrix.shape)
        return Source("matrix", matrix * 10.0 ** rng.integers(-300, 300) if rng.random() < 0.3 else matrix)
    center = form != "uncentred"
    missing = None
    if form == "missing":
        holes = rng.random(table.shape) < 0.25
        missing = -9 if table.dtype == np.int8 else None
        table = np.where(holes, -9 if missing else np.nan, table).astype(table.dtype)
    divisor = float(rng.choice([1, table.shape[0], 1e-3, 1e13]))
    scale: bool | str = form == "correlation" or (form != "data" and rng.random() < 0.3)
    if kind == "bytes" and center and rng.random() < 0.5:
        scale = "2pq"
    return Source("data", table, center, scale, divisor, missing, form == "missing")


FORMS = ["matrix", "data", "uncentred", "correlation", "missing"]
