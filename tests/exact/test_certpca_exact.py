"""The parts that conclusions rest on: what they prove is true in exact arithmetic, and what is read is there."""

import ast
import itertools
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
from certpca.exact import certpca_exact as exact
from certpca.exact.certpca_exact import Refused
from tests.golden.make import FOLDER

FILE = Path(exact.__file__)
ENTRIES = st.integers(-(2**70), 2**70)


def determinant(matrix: list[list[int]]) -> Fraction:
    """Return it by elimination in fractions, with pivots where needed."""
    rows, value = [[Fraction(x) for x in row] for row in matrix], Fraction(1)
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != k:
            rows[k], rows[pivot], value = rows[pivot], rows[k], -value
        value *= rows[k][k]
        for i in range(k + 1, len(rows)):
            share = rows[i][k] / rows[k][k]
            rows[i] = [x - share * y for x, y in zip(rows[i], rows[k], strict=True)]
    return value


def is_semidefinite(matrix: list[list[int]]) -> bool:
    """Say so by all principal minors."""
    places = range(len(matrix))
    chosen = itertools.chain.from_iterable(itertools.combinations(places, c) for c in range(1, len(matrix) + 1))
    return all(determinant([[matrix[i][j] for j in s] for i in s]) >= 0 for s in chosen)


@st.composite
def symmetric(draw: Any) -> list[list[int]]:
    size = draw(st.integers(1, 4))
    half = [[draw(ENTRIES) for _ in range(size)] for _ in range(size)]
    return [[half[max(i, j)][min(i, j)] for j in range(size)] for i in range(size)]


@given(symmetric(), ENTRIES)
@settings(max_examples=150, deadline=None)
def test_what_is_said_to_be_below_is_below(matrix: list[list[int]], top: int) -> None:
    rest = [[top * (i == j) - x for j, x in enumerate(row)] for i, row in enumerate(matrix)]
    if exact.below(matrix, top):
        assert is_semidefinite(rest)


@given(symmetric())
@settings(max_examples=80, deadline=None)
def test_the_largest_eigenvalue_is_bounded_and_closely(matrix: list[list[int]]) -> None:
    found = exact.largest(matrix)
    assert is_semidefinite([[found * (i == j) - x for j, x in enumerate(row)] for i, row in enumerate(matrix)])
    size = max(abs(x) for row in matrix for x in row)
    assert float(found) <= np.linalg.eigvalsh(np.array(matrix, dtype=float))[-1] + 1e-9 * size + 200


def test_small_differences_are_seen_in_exact_arithmetic() -> None:
    """One part in 2^90 of an eigenvalue, which floating point cannot see."""
    one = 1 << 90
    matrix = [[one, one], [one, one]]  # its largest eigenvalue is 2^91
    assert exact.below(matrix, 2 * one + 8)
    assert not exact.below(matrix, 2 * one - 1)


@given(st.lists(st.integers(0, 2**64), min_size=2, max_size=4), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_covers_cover(column: list[int], seed: int) -> None:
    """Z zᵀ + slack·I ⪰ aaᵀ − R, for any direction."""
    rng, d = np.random.default_rng(seed), len(column)
    half = [[int(x) for x in row] for row in rng.integers(-(2**31), 2**31, (d, d))]
    level = exact.gram(half)
    z = exact.cover(column, lambda v: [exact.dot(row, v) for row in level], rng.standard_normal(d).tolist())
    if z is not None:
        slack = exact.slack_of([z])
        rest = [
            [z[i] * z[j] - column[i] * column[j] + level[i][j] + slack * (i == j) for j in range(d)] for i in range(d)
        ]
        assert is_semidefinite(rest)


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=60, deadline=None)
def test_rows_bound_every_support(seed: int, free: bool) -> None:
    """T, and T with or without a feature, against all supports."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    costs = [[int(x) for x in row] for row in rng.integers(-20 if free else 0, 40, (n, n))]
    inside = list(range(int(rng.integers(0, 2))))
    rest = list(range(len(inside), n))
    b = int(rng.integers(1, len(rest)))
    rows = exact.Rows(costs, inside, rest, b, free)

    def best(fits: Any) -> int:
        sizes = range(b + 1) if free else (b,)
        chosen = (s for c in sizes for s in itertools.combinations(rest, c) if fits(s))
        return max(sum(costs[i][j] for i in (*inside, *s) for j in (*inside, *s)) for s in chosen)

    assert rows.bound() >= best(lambda _: True)
    for f in rest:
        assert rows.within(f) >= best(lambda s, f=f: f in s)
        assert rows.without(f) >= best(lambda s, f=f: f not in s)


@given(st.integers(1, 6), st.integers(0, 5), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=3))
@settings(max_examples=100, deadline=None)
def test_corners_reach_as_far_as_all_counts(k: int, others: int, ranges: list[tuple[int, int]]) -> None:
    every = [c for c in itertools.product(*(range(a, b + 1) for a, b in ranges)) if 0 <= k - sum(c) <= others]
    found = list(exact.corners(k, others, ranges))
    assert {c[1:] for c in found} <= set(every)
    assert bool(found) == bool(every)
    for signs in itertools.product((-1, 1, 2), repeat=len(ranges)):
        value = [sum(s * x for s, x in zip(signs, c, strict=True)) for c in every]
        assert max(value, default=0) == max((exact.dot(signs, c[1:]) for c in found), default=0)


@pytest.mark.parametrize("how", ["C", "F", ">", "f4", "int", "csv", "csr", "csc", "npz"])
def test_tables_are_read_from_every_file(how: str, tmp_path: Path) -> None:
    from scipy.sparse import csc_array, csr_array, save_npz

    values = np.array([[1.0, 0.0, -2.5], [0.0, 3.0, 4.0]])
    kinds = {"F": np.asfortranarray(values), ">": values.astype(">f8"), "f4": values.astype("<f4")}
    kinds["int"] = values.astype(np.int16)
    if how == "csv":
        file = tmp_path / "table.csv"
        file.write_text("name,a,b,c\nx,1,0,-2.5\ny,0,3,4\n")
    elif how in ("csr", "csc", "npz"):
        file = tmp_path / "table.npz"
        if how == "npz":
            np.savez_compressed(file, values)
        else:
            save_npz(file, (csr_array if how == "csr" else csc_array)(values))
    else:
        file = tmp_path / "table.npy"
        np.save(file, kinds.get(how, values))
    assert exact.read_table(file) == kinds.get(how, values).astype(np.float64).tolist()


@pytest.mark.parametrize(
    ("text", "why"),
    [("a,b\n1,x\n", "not numbers"), ("1,2\n1\n", "different lengths"), ("\n", "empty")],
)
def test_tables_that_are_none_are_refused(text: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text(text)
    with pytest.raises(Refused, match=why):
        exact.read_table(file)


def test_fortran_order_of_evidence_is_undone() -> None:
    from io import BytesIO

    stream, values = BytesIO(), np.arange(24.0).reshape(2, 3, 4)
    np.save(stream, np.asfortranarray(values))
    _, array = exact.npy(stream.getvalue())
    assert list(array.flat) == values.ravel().tolist()
    assert array.shape == (2, 3, 4)


def test_certificates_of_results_paths_and_components_are_found(tmp_path: Path) -> None:
    values = np.round(np.random.default_rng(8).standard_normal((9, 5)), 2)
    solution = certpca.solve(values, 2, certify=True)
    certpca.save_solution(solution, tmp_path / "solution.json")
    certpca.save_path(certpca.path(values, [1, 2], certify=True), tmp_path / "path.json")
    together = certpca.decompose(values, 2, 2, together="disjoint", certify=True)
    certpca.save_components(together, tmp_path / "components.json")
    table = values.tolist()
    assert len(exact.check_file(tmp_path / "solution.json", table)) == 1
    assert len(exact.check_file(tmp_path / "path.json", table)) == 2
    assert len(exact.check_file(tmp_path / "components.json", table)) == 1


def test_it_imports_the_standard_library_alone() -> None:
    names = set()
    for node in ast.walk(ast.parse(FILE.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(str(node.module))
    assert {name.partition(".")[0] for name in names} <= set(sys.stdlib_module_names)


def test_it_runs_alone_out_of_the_package(tmp_path: Path) -> None:
    """A copy of the one file, isolated: no packages, no environment."""
    copy = tmp_path / FILE.name
    copy.write_bytes(FILE.read_bytes())
    for name, status in (("l0-level.json", 0), ("refused-lower-bound.json", 1)):
        command = [sys.executable, "-I", "-S", str(copy), str(FOLDER / name), str(FOLDER / "wide.npy")]
        assert subprocess.run(command, capture_output=True, check=False, cwd=tmp_path).returncode == status
