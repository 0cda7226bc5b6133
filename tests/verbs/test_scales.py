"""Data in other units: the same features, the variance in those units, no bound below its objective, no warnings.

A power of two rounds nothing, so data times one are the same problem. Warnings are errors in all tests.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
from certpca.runtime.arrays import to_vector
from certpca.runtime.errors import InvalidDataError
from tests.contracts.catalogue import OPERATORS, planted_counts

SOLVERS = sorted(certpca.available_solvers())
EXTREME = [-515, -300, -31, 60, 497]  # powers of two; variances reach from 2^-1030 to 2^996


def planted(rows: int = 40, size: int = 12, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((rows, size))
    data[:, :4] += 1.5 * rng.standard_normal((rows, 1))
    return data


def same(found: certpca.Solution, plain: certpca.Solution, power: int) -> None:
    assert found.support.tolist() == plain.support.tolist()
    np.testing.assert_allclose(found.loadings, plain.loadings, rtol=1e-6, atol=1e-9)
    assert np.ldexp(found.objective, -power) == pytest.approx(plain.objective, rel=1e-9)
    assert found.explained_variance_ratio == pytest.approx(plain.explained_variance_ratio, rel=1e-9)
    assert found.relative_objective == pytest.approx(plain.relative_objective, rel=1e-6)
    assert found.objective <= found.upper_bound


@pytest.mark.parametrize("power", EXTREME)
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_finds_the_same(solver: str, power: int) -> None:
    data = planted()
    same(certpca.solve(np.ldexp(data, power), 4, solver), certpca.solve(data, 4, solver), 2 * power)


@given(
    seed=st.integers(0, 2**32 - 1),
    power=st.integers(-515, 495),
    solver=st.sampled_from(SOLVERS),
    sparsity=st.integers(1, 7),
    scale=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_any_power_of_two(seed: int, power: int, solver: str, sparsity: int, scale: bool) -> None:
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((12, 7)) * 2.0 ** rng.integers(-3, 3, 7)
    plain = certpca.solve(data, sparsity, solver, scale=scale)
    found = certpca.solve(np.ldexp(data, power), sparsity, solver, scale=scale)
    same(found, plain, 0 if scale else 2 * power)


@given(seed=st.integers(0, 2**32 - 1), power=st.integers(-515, 495), scale=st.booleans(), sparsity=st.integers(1, 7))
@settings(max_examples=30, deadline=None)
def test_certificates_of_any_power_of_two(seed: int, power: int, scale: bool, sparsity: int) -> None:
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((rng.integers(4, 20), 7))
    moved = np.ldexp(data, power)
    steps = certpca.Budget(steps=int(rng.integers(1, 30)))
    plain = certpca.certify(data, sparsity, scale=scale, target_gap=0.0, budget=steps)
    found = certpca.certify(moved, sparsity, scale=scale, target_gap=0.0, budget=steps)
    units = 0 if scale else 2 * power
    assert found.objective <= found.upper_bound
    assert np.ldexp(found.upper_bound, -units) == pytest.approx(plain.upper_bound, rel=1e-9)
    assert np.ldexp(found.objective, -units) == pytest.approx(plain.objective, rel=1e-9)
    proof = certpca.verify(found, moved)
    assert found.objective <= proof.upper_bound <= found.upper_bound
    assert proof.objective == pytest.approx(found.objective, rel=1e-9)


@given(powers=st.lists(st.integers(-980, 960), min_size=7, max_size=7), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_correlations_of_columns_in_units_of_their_own(powers: list[int], seed: int) -> None:
    data = np.random.default_rng(seed).standard_normal((20, 7)) + 3.0
    moved = np.ldexp(data, powers)
    budget = certpca.Budget(steps=20)
    plain, found = (certpca.certify(values, 3, scale=True, budget=budget) for values in (data, moved))
    assert found.upper_bound == pytest.approx(plain.upper_bound, rel=1e-9)
    assert found.objective <= found.upper_bound
    certpca.verify(found, moved)


FACTORS = [1e-300, 1e-161, 1e-155, 1e153, 1e300]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("factor", FACTORS)
def test_correlations_know_no_units(solver: str, factor: float) -> None:
    data = planted()
    same(certpca.solve(data * factor, 4, solver, scale=True), certpca.solve(data, 4, solver, scale=True), 0)


@pytest.mark.parametrize("factor", FACTORS)
def test_certificates_of_correlations_know_no_units(factor: float) -> None:
    data = planted()
    certificate = certpca.certify(data * factor, 4, scale=True, target_gap=1e-6)
    assert certificate.objective <= certificate.upper_bound
    certpca.verify(certificate, data * factor)


@given(powers=st.lists(st.integers(-300, 300), min_size=7, max_size=7), solver=st.sampled_from(SOLVERS))
@settings(max_examples=30, deadline=None)
def test_columns_that_matter_little_do_no_harm(powers: list[int], solver: str) -> None:
    data = np.ldexp(np.random.default_rng(5).standard_normal((12, 7)), powers)
    found = certpca.solve(data, 2, solver, certify=True, budget=certpca.Budget(steps=20))
    largest = np.var(np.ldexp(data, -max(powers)), axis=0, ddof=1).max()
    assert np.ldexp(found.upper_bound, -2 * max(powers)) >= largest * (1 - 1e-12)
    assert 0 < found.objective <= found.upper_bound


# --- every kind of data ---------------------------------------------------------------------------------------------


def _streamed(folder, data, order):
    np.save(folder / f"{order}.npy", np.asarray(data, order=order))
    return certpca.open_npy(folder / f"{order}.npy", memory=1e-6)


def _h5ad(folder, data, form):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / f"{form}.h5ad", "w") as root:
        if form == "dense":
            root.create_dataset("X", data=data, chunks=(5, 5))
        else:
            matrix = getattr(sp, f"{form}_array")(data)
            group = root.create_group("X")
            group.attrs["encoding-type"], group.attrs["shape"] = f"{form}_matrix", list(data.shape)
            for part in ("data", "indices", "indptr"):
                group.create_dataset(part, data=getattr(matrix, part))
        root.create_group("var")
    return certpca.read_h5ad(folder / f"{form}.h5ad", memory=1e-6)


def _parquet(folder, data):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({f"f{index}": column for index, column in enumerate(data.T)})
    pyarrow.parquet.write_table(table, folder / "data.parquet", row_group_size=7)
    return certpca.read_parquet(folder / "data.parquet", memory=1e-6)


def _strict(data):
    import array_api_strict

    return array_api_strict.asarray(data)


def _dask(data):
    return pytest.importorskip("dask.array").from_array(data, chunks=(7, 5))


KINDS = {
    "dense": lambda data, _: data,
    "fortran": lambda data, _: np.asfortranarray(data),
    "csr": lambda data, _: sp.csr_array(data),
    "csc": lambda data, _: sp.csc_array(data),
    "another-library": lambda data, _: _strict(data),
    "npy-by-rows": lambda data, folder: _streamed(folder, data, "C"),
    "npy-by-columns": lambda data, folder: _streamed(folder, data, "F"),
    "h5ad": lambda data, folder: _h5ad(folder, data, "dense"),
    "h5ad-csr": lambda data, folder: _h5ad(folder, data, "csr"),
    "h5ad-csc": lambda data, folder: _h5ad(folder, data, "csc"),
    "parquet": lambda data, folder: _parquet(folder, data),
    "dask": lambda data, _: _dask(data),
}


@pytest.mark.parametrize(  # every pair of the three
    ("shape", "scale", "power"),
    [((40, 12), False, -515), ((40, 12), True, 497), ((12, 30), False, 497), ((12, 30), True, -515)],
)
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_data(kind: str, scale: bool, power: int, shape: tuple[int, int], tmp_path) -> None:
    data = planted(*shape)
    data[data < -1.5] = 0.0  # something for sparse ones to leave out
    moved = np.ldexp(data, power)
    operator = certpca.from_data(KINDS[kind](moved, tmp_path), scale=scale)
    plain = certpca.from_data(data, scale=scale)
    units = 0 if scale else 2 * power
    np.testing.assert_allclose(np.ldexp(to_vector(operator.diagonal()), -units), plain.diagonal(), rtol=1e-9)
    near = operator.near_one()
    panel = np.random.default_rng(1).standard_normal((operator.size, 3))
    there = operator.xp.asarray(panel, dtype=operator.xp.float64, device=operator.device)
    product = np.ldexp(to_vector(near.matmat(there)), near.power - units)
    np.testing.assert_allclose(product, plain.matmat(panel), rtol=1e-9, atol=1e-9)
    narrow = operator.xp.asarray(panel, dtype=operator.xp.float32, device=operator.device)
    product = np.ldexp(to_vector(near.matmat(narrow)), near.power - units)
    np.testing.assert_allclose(product, plain.matmat(panel), rtol=1e-4, atol=1e-4)
    assert abs(near.power - units) < 8
    certpca.verify_operator(near)
    same(certpca.solve(operator, 4), certpca.solve(plain, 4), units)
    certificate = certpca.certify(operator, 4, budget=certpca.Budget(steps=30))
    assert certificate.objective <= certificate.upper_bound
    for held in (operator, moved):
        assert certificate.objective <= certpca.verify(certificate, held).upper_bound <= certificate.upper_bound


@pytest.mark.parametrize("power", [-1000, 990])
@pytest.mark.parametrize("form", ["dense", "csr", "strict"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_matrices(solver: str, form: str, power: int) -> None:
    matrix = np.cov(planted().T)
    make = {"dense": np.asarray, "csr": sp.csr_array, "strict": _strict}[form]
    plain = certpca.solve(matrix, 4, solver, covariance=True)
    same(certpca.solve(make(np.ldexp(matrix, power)), 4, solver, covariance=True), plain, power)


@pytest.mark.parametrize("power", [-500, 480])
def test_kernels(power: int) -> None:
    data = planted()
    plain = certpca.from_kernel(data, "linear")
    moved = certpca.from_kernel(np.ldexp(data, power), "linear")
    same(certpca.solve(moved, 4), certpca.solve(plain, 4), 2 * power)
    certificate = certpca.certify(moved, 4)
    certpca.verify(certificate, moved)
    fitted = certpca.SparseKernelPCA(sparsity=4, kernel="linear").fit(np.ldexp(data, power))
    again = certpca.SparseKernelPCA(sparsity=4, kernel="linear").fit(data)
    np.testing.assert_allclose(fitted.explained_variance_ratio_, again.explained_variance_ratio_, rtol=1e-9)
    scores = np.ldexp(fitted.transform(np.ldexp(data, power)), -power)
    np.testing.assert_allclose(scores, again.transform(data), rtol=1e-6)


@pytest.mark.parametrize("kind", sorted(OPERATORS))
def test_ordinary_data_are_left_alone(kind: str, tmp_path) -> None:
    operator = OPERATORS[kind](planted_counts()[0], tmp_path)
    assert operator.near_one() is operator
    assert operator.power == 0


# --- every verb -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [-515, 497])
def test_every_verb(power: int) -> None:
    data = planted(60, 20)
    moved, units = np.ldexp(data, power), 2 * power
    heard: list[certpca.Step] = []
    found = certpca.solve(moved, 4, certify=True, listener=heard.append)
    assert heard[-1].objective == pytest.approx(found.objective, rel=1e-9)
    assert all(step.objective <= step.upper_bound for step in found.history)
    assert found.history[-1].objective == pytest.approx(found.objective, rel=1e-9)
    path, plain = certpca.path(moved, [2, 4, 8], certify=True), certpca.path(data, [2, 4, 8], certify=True)
    np.testing.assert_allclose(np.ldexp(path.objectives, -units), plain.objectives, rtol=1e-9)
    np.testing.assert_allclose(path.gaps, plain.gaps, atol=1e-9)
    for solution in path.solutions:
        assert solution.certificate is not None
        certpca.verify(solution.certificate, moved)
    parts, others = certpca.decompose(moved, 3, 4, certify=True), certpca.decompose(data, 3, 4, certify=True)
    np.testing.assert_allclose(parts.adjusted_variance_ratio, others.adjusted_variance_ratio, rtol=1e-8)
    np.testing.assert_allclose(parts.explained_variance_ratio, others.explained_variance_ratio, rtol=1e-8)
    assert parts.total_variance_ratio == pytest.approx(others.total_variance_ratio, rel=1e-8)
    for number, certificate in enumerate(parts.certificates):
        assert certificate is not None
        certpca.verify(certificate, parts.problem(number))
    for method in ("elbow", "cross-validation", "stability"):
        choice = certpca.choose_sparsity(moved, [2, 4, 8], method=method)
        assert choice.sparsity == certpca.choose_sparsity(data, [2, 4, 8], method=method).sparsity
    relaxed, other = certpca.solve_sdp(moved, 4), certpca.solve_sdp(data, 4)
    assert np.ldexp(relaxed.upper, -units) == pytest.approx(other.upper, rel=1e-9)
    assert np.ldexp(relaxed.lower, -units) == pytest.approx(other.lower, rel=1e-9)
    warm = certpca.solve_sdp(moved, 5, warm=relaxed)
    assert np.ldexp(warm.upper, -units) == pytest.approx(certpca.solve_sdp(data, 5).upper, rel=1e-3)
    fitted, again = (
        certpca.SparsePCA(n_components=2, sparsity=4).fit(moved),
        certpca.SparsePCA(n_components=2, sparsity=4).fit(data),
    )
    assert fitted.score(moved) == pytest.approx(again.score(data), rel=1e-9)
    np.testing.assert_allclose(np.ldexp(fitted.transform(moved), -power), again.transform(data), rtol=1e-6)


@pytest.mark.parametrize("power", [-515, 495])
@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("l0-dual", {"branching": False}),
        ("search-tree", {"target_gap": 0.0}),
        ("l0-tree", {"branching": "directions"}),
        ("l0-reduced", {"depth": 4}),
    ],
)
def test_every_kind_of_certificate(kind: str, settings: dict, power: int) -> None:
    rng = np.random.default_rng(2)
    data = rng.standard_normal((10, 24))
    if kind == "l0-reduced":
        scores = rng.standard_normal((40, 3)) * [6.0, 4.0, 3.0]
        data = scores @ rng.standard_normal((3, 200)) + rng.standard_normal((40, 200))
    moved = np.ldexp(data, power)
    budget = certpca.Budget(steps=60)
    options = {"target_gap": 0.0, **settings}
    sparsity = 20 if kind == "l0-reduced" else 3
    plain = certpca.certify(data, sparsity, budget=budget, **options)
    found = certpca.certify(moved, sparsity, budget=budget, **options)
    assert plain.kind == found.kind == kind
    assert np.ldexp(found.upper_bound, -2 * power) == pytest.approx(plain.upper_bound, rel=1e-6)
    certpca.verify(found, moved)
    again = certpca.certify(moved, sparsity, warm=found, budget=budget, **options)
    certpca.verify(again, moved)


def test_the_semidefinite_certificate() -> None:
    for power in (-515, 495):
        data = np.ldexp(np.random.default_rng(2).standard_normal((10, 24)), power)
        solution = certpca.solve(data, 3, "sdp-threshold")
        assert solution.certificate is not None
        assert solution.certificate.kind == "sdp-dual"
        assert solution.objective <= certpca.verify(solution.certificate, data).upper_bound <= solution.upper_bound


def test_checkpoints(tmp_path) -> None:
    data = np.ldexp(planted(60, 30), -515)
    whole = certpca.certify(data, 4, target_gap=0.0)
    certpca.certify(data, 4, target_gap=0.0, budget=certpca.Budget(steps=4), checkpoint=tmp_path / "states")
    again = certpca.certify(data, 4, target_gap=0.0, checkpoint=tmp_path / "states")
    assert again.upper_bound == pytest.approx(whole.upper_bound, rel=1e-9)
    certpca.verify(again, data)


def test_workers(tmp_path) -> None:
    distributed = pytest.importorskip("distributed")
    data = planted(12, 30)
    moved = np.ldexp(data, -515)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        operator = certpca.from_data(moved, client=client)
        same(certpca.solve(operator, 4), certpca.solve(data, 4), -1030)
        certificate = certpca.certify(operator, 4, budget=certpca.Budget(steps=30))
    certpca.verify(certificate, moved)


# --- limits, and what is constant -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("factor", "what"), [(1e-300, "small"), (1e-161, "small"), (1e153, "large"), (1e300, "large")])
def test_variances_that_are_no_numbers_are_refused(factor: float, what: str, make) -> None:
    with pytest.raises(InvalidDataError, match=rf"too {what} to square .* by a constant, .*scale=True"):
        certpca.solve(make(planted() * factor), 4)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("factor", "what"), [(1e-320, "small"), (1e305, "large")])
def test_matrices_that_leave_no_room_are_refused(factor: float, what: str, make) -> None:
    with pytest.raises(InvalidDataError, match=rf"too {what} for double precision; .* by a constant"):
        certpca.solve(make(np.cov(planted().T) * factor), 4, covariance=True)


def test_values_near_the_ends_of_double_precision() -> None:
    with pytest.raises(InvalidDataError, match="too small"):
        certpca.solve(planted() * 1e-310, 4, scale=True)
    with pytest.raises(InvalidDataError, match="too large"):
        certpca.solve(np.where(planted() > 0, 1.7e308, -1.7e308), 4)
    with pytest.raises(InvalidDataError, match="infinite"):
        certpca.solve(np.where(planted() > 1, np.inf, 1e-300), 4, scale=True)


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sp.csr_array])
@pytest.mark.parametrize("level", [0.0, 1.0, 0.1, 1e-200, 1e-300, 1e200])
def test_constant_columns_are_constant_at_any_scale(level: float, make) -> None:
    data = planted() * (level or 1.0)
    data[:, 5] = level
    with pytest.raises(InvalidDataError, match=r"column 5 is constant \(1 such"):
        certpca.from_data(make(data), scale=True)
    data[3, 5] += 1e-3 * (level or 1.0)
    assert certpca.from_data(make(data), scale=True).size == 12
    with pytest.raises(InvalidDataError, match="every column is constant"):
        certpca.from_data(make(np.full((20, 3), level)))


def test_columns_of_zeros_and_tiny_ones_in_blocks_of_rows(tmp_path) -> None:
    """Blocks of a file with zeros only must not hide what is tiny in others."""
    data = np.zeros((64, 3))
    data[40:44, 0], data[:, 1], data[50, 2] = [1e-200, -1e-200, 2e-200, 3e-200], np.arange(64.0), 1e-250
    np.save(tmp_path / "data.npy", data)
    there = certpca.from_data(certpca.open_npy(tmp_path / "data.npy", memory=1e-7), scale=True)
    here = certpca.from_data(data, scale=True)
    everything = np.arange(3)
    np.testing.assert_allclose(there.submatrix(everything), here.submatrix(everything), rtol=1e-9)
    np.testing.assert_allclose(here.submatrix(everything), np.corrcoef(np.ldexp(data, [660, 0, 830]).T), rtol=1e-9)
