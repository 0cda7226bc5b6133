"""Bytes that are multiplied as they are stored, and measured while they are hashed: rational numbers are the judge."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import certpca
from certpca.checker.columns import Columns, fingerprint
from certpca.checker.data import Prepared, prepare
from certpca.checker.level_factors import factors_of
from certpca.checker.levels import level_of
from certpca.checker.whole_numbers import ColumnSums
from certpca.results.certificate import Source
from tests.attacks.test_l0_level import rational

ROWS, SIZE = 40, 60


def genotypes(seed: int, *, order: str = "F") -> np.ndarray:
    """Return counts with missing ones, rare and frequent variants, and columns that hardly vary."""
    rng = np.random.default_rng(seed)
    table = rng.binomial(2, rng.uniform(0.02, 0.98, SIZE), (ROWS, SIZE)).astype(np.int8)
    table[rng.random(table.shape) < 0.05] = -9
    table[:2] = [[0], [1]]  # so that none is constant
    table[:, 3] = 2
    table[0, 3] = 1  # all but one the same
    table[:, 4] = -9
    table[:2, 4] = [0, 2]  # nearly all missing
    return np.asarray(table, order=order)  # type: ignore[call-overload, no-any-return]


def source_of(table: np.ndarray, **options: object) -> Source:
    return certpca.from_data(table, missing="mean", **options).source()  # type: ignore[arg-type]


def exact_columns(source: Source) -> list[list[Fraction]]:
    """Return centred columns, zero where a number is missing, before they are divided by anything."""
    columns = []
    for column in np.asarray(source.values).T.tolist():
        there = [Fraction(value) for value in column if value != -9]
        mean = sum(there, Fraction(0)) / len(there)
        columns.append([Fraction(0) if value == -9 else Fraction(value) - mean for value in column])
    return columns


@pytest.mark.parametrize("order", ["F", "C"])
@pytest.mark.parametrize("scale", [False, True, "2pq"])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_not_centred_is_as_near_to_the_data_as_is_allowed_for(seed: int, scale: object, order: str) -> None:
    source = source_of(genotypes(seed, order=order), scale=scale)
    prepared = prepare(source)
    stored = prepared.uncentred
    assert stored is not None
    numbers = rational(stored.block(slice(0, SIZE)))
    off = 0.0
    for i, column in enumerate(exact_columns(source)):
        squares = sum(entry**2 for entry in column)
        share = Fraction(float(stored.weight[i]))
        ours = [(row[i] - Fraction(float(stored.mean[i]))) * share for row in numbers]
        if scale is True:
            length = float(squares) ** 0.5
        elif scale == "2pq":
            there = [value for value in np.asarray(source.values)[:, i].tolist() if value != -9]
            frequency = Fraction(sum(there), 2 * len(there))
            length = float(2 * frequency * (1 - frequency)) ** 0.5 * float(source.divisor * prepared.unit) ** 0.5
        else:
            length = float(source.divisor * prepared.unit) ** 0.5
        off += sum(float(mine - entry / Fraction(length)) ** 2 for mine, entry in zip(ours, column, strict=True))
        assert stored.reach[i] ** 2 >= float(sum(entry**2 for entry in ours))
    # The divisor above is a root that was rounded, by far less than what is allowed for.
    assert off**0.5 <= prepared.error


@pytest.mark.parametrize("seed", range(8))
def test_products_without_centring_round_no_more_than_is_allowed_for(seed: int) -> None:
    prepared = prepare(source_of(genotypes(seed)))
    rng, width = np.random.default_rng(seed), 2
    evidence = {
        "directions": np.linalg.qr(rng.standard_normal((ROWS, width)))[0],
        "matrix": np.array([1.0, 0.2, 0.5]) * prepared.unit,
        "level": np.float64(rng.uniform(0.01, 2.0) * prepared.unit),
        "frame": np.eye(width),
        "weights": np.ones(width + 1),
    }
    panel = rng.standard_normal((ROWS, 1))
    factors, product, _ = factors_of(prepared, level_of(prepared, evidence), panel)
    assert factors.beside.shape[1] == width + 1
    assert prepared.uncentred is not None
    columns, beside = rational(prepared.uncentred.block(slice(0, SIZE))), rational(factors.beside)
    turned, x = rational(factors.turned), rational(panel)
    z = [
        [
            Fraction(float(factors.scale[i])) * columns[at][i]
            - sum((beside[at][j] * turned[i][j] for j in range(width + 1)), Fraction(0))
            for i in range(SIZE)
        ]
        for at in range(ROWS)
    ]
    inner = [sum((z[at][i] * x[at][0] for at in range(ROWS)), Fraction(0)) for i in range(SIZE)]
    image = [sum((z[at][i] * inner[i] for i in range(SIZE)), Fraction(0)) for at in range(ROWS)]
    off = np.linalg.norm([float(image[at] - Fraction(float(product[at, 0]))) for at in range(ROWS)])
    long = float(sum(entry**2 for entry in inner)) ** 0.5
    allowed = factors.terms * 2.0**-53 * (2 * factors.norm**2 * np.linalg.norm(panel) + factors.norm * long)
    assert off <= allowed
    assert factors.norm**2 >= float(sum(entry**2 for row in z for entry in row))
    plain = _centred(prepared)
    wanted, expected, _ = factors_of(plain, level_of(plain, evidence), panel)
    np.testing.assert_allclose(product, expected, atol=1e-9 * float(np.abs(expected).max()))
    assert wanted.beside.shape[1] == width


def _centred(prepared: Prepared) -> Prepared:
    return prepared.keep(np.ones(prepared.size, dtype=bool))


@pytest.mark.parametrize("order", ["F", "C"])
@pytest.mark.parametrize("scale", [False, True])
def test_sums_give_what_two_more_walks_would(scale: bool, order: str) -> None:
    table = np.repeat(genotypes(0, order=order), 40, axis=0)  # rows enough for a mean near 2
    table = np.asarray(table, order=order)  # type: ignore[call-overload]
    source = source_of(table, scale=scale)
    sums = ColumnSums(table.shape[0], table.shape[1], source.missing)
    assert fingerprint(source, sums=sums) == fingerprint(source)
    assert sums.complete
    quick, slow = Columns(source, sums), Columns(source)
    np.testing.assert_allclose(quick._mean, slow._mean, rtol=1e-14)
    np.testing.assert_allclose(quick.squares, slow.squares, rtol=1e-12)
    np.testing.assert_allclose(quick.doubt, slow.doubt, rtol=1e-9)
    assert quick.unit == slow.unit


@pytest.mark.parametrize(
    "table", [np.full((30, 40), -3, dtype=np.int8), np.ones((30, 40), dtype=np.float32), np.ones((30, 40), dtype=bool)]
)
def test_what_a_code_may_not_stand_for_is_left_to_the_walks_that_refuse_it(table: np.ndarray) -> None:
    sums = ColumnSums(table.shape[0], table.shape[1], -9)
    sums.add(slice(0, 40), table)
    assert not sums.complete


def test_files_are_hashed_and_measured_in_one_walk(tmp_path: Path) -> None:
    table = np.repeat(genotypes(1), 40, axis=0)
    certpca.write_plink(tmp_path / "few", table)
    reader = certpca.read_plink(tmp_path / "few")
    certificate = certpca.certify(reader, 5, solution=certpca.solve(table, 5, missing="mean"), missing="mean")
    assert certificate.details["walks"] == pytest.approx(reader.passes, abs=1e-3)
    assert certificate.details["walks_proof"] > 0
    before = reader.passes
    proof = certpca.verify(certificate, reader)
    assert proof.details["walks"] == pytest.approx(reader.passes - before, abs=1e-3)
    assert certpca.verify(certificate, table).details == {}
    certpca.save_certificate(certificate, tmp_path / "made.json")
    loaded = certpca.load_certificate(tmp_path / "made.json")
    assert isinstance(loaded, certpca.Certificate)
    assert loaded.details == certificate.details
    along = certpca.path(certpca.read_plink(tmp_path / "few"), [3, 5], certify=True, target_gap=0.2, missing="mean")
    assert {"walks", "walks_search", "walks_proof"} <= set(along.solutions[0].details)
