"""The same answers on the workers of a cluster, whatever happens to these.

Clusters listen on the loopback device only. Blocks are made narrow here, so that small data have several.
"""

import os
import signal
import sys
import time
import warnings
from itertools import islice
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

import certpca
from certpca.bounds.l0_dual.central_path import improve
from certpca.bounds.l0_dual.problem import DualProblem
from certpca.bounds.l0_level.features import WalkedFeatures
from certpca.bounds.l0_level.leading import leading_of
from certpca.bounds.l0_level.search import LevelSearch
from certpca.distributed.dask_covariance import DaskCovariance
from certpca.distributed.to_workers import dask_array_reader
from certpca.operators.streamed import StreamedCovariance
from certpca.runtime.errors import (
    CertpcaError,
    ClusterError,
    DataFileError,
    InvalidDataError,
    InvalidProblemError,
    MissingDependencyError,
)
from certpca.runtime.limits import with_limits

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

ROWS, SIZE, SPARSITY = 40, 300, 40
QUICK = certpca.solver_named("auto", rounds=3, finalists=1)
FEW = certpca.Budget(steps=6)


def started(workers):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the cluster's own, about ports and the like
        return distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        )


@pytest.fixture(scope="module")
def client():
    with started(2) as cluster, distributed.Client(cluster) as connected:
        yield connected


@pytest.fixture(autouse=True)
def narrow():
    with with_limits(block_bytes=8 * ROWS * 70):
        yield


@pytest.fixture(scope="module")
def genotypes():
    return np.asarray(certpca.balding_nichols(ROWS, SIZE, populations=3, rng=1).data)


@pytest.fixture(scope="module")
def numbers(genotypes):
    return genotypes + 0.1 * np.random.default_rng(2).standard_normal(genotypes.shape)


def with_holes(values):
    holed = values.astype(float)
    holed[np.random.default_rng(3).random(values.shape) < 0.02] = np.nan
    return holed


def same_certificate(first, second):
    assert (first.kind, first.fingerprint) == (second.kind, second.fingerprint)
    assert np.array_equal(first.support, second.support)
    assert second.upper_bound == pytest.approx(first.upper_bound, rel=1e-9)
    assert second.objective == pytest.approx(first.objective, rel=1e-9)


def same_solution(first, second):
    assert np.array_equal(first.support, second.support)
    assert second.objective == pytest.approx(first.objective, rel=1e-9)
    assert second.loadings == pytest.approx(first.loadings, abs=1e-9)


def in_every_form(genotypes, folder):
    """Return the same genotypes in every form that workers take."""
    np.save(folder / "table.npy", genotypes)
    certpca.write_plink(folder / "packed", genotypes)
    return {
        "numpy": genotypes,
        "columns first": np.asfortranarray(genotypes),
        "sparse": sparse.csr_array(genotypes.astype(float)),
        "mapped": np.load(folder / "table.npy", mmap_mode="r"),
        "opened": certpca.open_npy(folder / "table.npy"),
        "plink": certpca.read_plink(folder / "packed"),
        "dask": da.from_array(genotypes, chunks=(ROWS, 64)),
        "dask by rows": da.from_array(genotypes, chunks=(7, SIZE)),
    }


@pytest.mark.parametrize(
    "form", ["numpy", "columns first", "sparse", "mapped", "opened", "plink", "dask", "dask by rows"]
)
def test_operators_agree_in_every_form(form, genotypes, client, tmp_path, rng):
    here = certpca.from_data(genotypes)
    there = certpca.from_data(in_every_form(genotypes, tmp_path)[form], client=client)
    assert isinstance(there, DaskCovariance)
    assert there.size == SIZE
    panel = rng.standard_normal((SIZE, 3))
    assert there.matmat(panel) == pytest.approx(here.matmat(panel), rel=1e-12, abs=1e-12)
    some = np.array([250, 3, 71, 70])
    assert there.columns(some) == pytest.approx(here.columns(some), rel=1e-6, abs=1e-6)
    assert there.submatrix(some) == pytest.approx(here.submatrix(some), rel=1e-13)
    assert there.diagonal() == pytest.approx(here.diagonal())
    scores, factor = rng.standard_normal((ROWS, 2)), here.factor()
    assert there.factor().times(panel) == pytest.approx(factor.times(panel), rel=1e-11, abs=1e-11)
    assert there.factor().transposed_times(scores) == pytest.approx(factor.transposed_times(scores), abs=1e-11)
    assert there.factor().sample_product(scores) == pytest.approx(factor.sample_product(scores), abs=1e-10)


def test_wide_panels_one_after_another(numbers, client, rng):
    """Large arguments must not be taken for those of an earlier product, still under way or not."""
    here, there = certpca.from_data(numbers), certpca.from_data(numbers, client=client)
    for _ in range(3):
        scores = rng.standard_normal((ROWS, 500))
        there.factor().transposed_times(scores[:, :400])
        assert there.factor().transposed_times(scores) == pytest.approx(
            here.factor().transposed_times(scores), abs=1e-11
        )


@pytest.mark.parametrize("form", ["numpy", "sparse", "plink", "dask by rows"])
def test_certificates_agree_in_every_form(form, genotypes, client, tmp_path):
    data = in_every_form(genotypes, tmp_path)[form]
    solution = certpca.solve(genotypes, SPARSITY, "svd-threshold")
    settings: dict[str, Any] = {"solution": solution, "branching": False, "budget": FEW, "target_gap": 1e-3}
    here = certpca.certify(sparse.csc_array(data) if form == "sparse" else genotypes, SPARSITY, **settings)
    there = certpca.certify(data, SPARSITY, client=client, **settings)
    assert here.kind == "l0-dual"
    same_certificate(here, there)
    assert certpca.verify(there, genotypes if form != "sparse" else data).upper_bound <= there.upper_bound


def test_dual_steps_are_the_same_numbers(genotypes, client):
    """Single precision shows every difference in the order of sums; BLAS may add up otherwise in more threads."""
    seen = []
    with threadpool_limits(1):
        for place in (None, client):
            problem = DualProblem(certpca.from_data(genotypes, client=place), SPARSITY, single_from=100)
            seen.append([(point.bound, point.value) for point in islice(improve(problem, problem.start()), 6)])
    assert seen[0] == seen[1]


def test_certificate_of_smaller_depth(numbers, client):
    settings: dict[str, Any] = {
        "depth": 10,
        "solution": certpca.solve(numbers, SPARSITY, "svd-threshold"),
        "budget": FEW,
    }
    here = certpca.certify(numbers, SPARSITY, target_gap=1e-3, **settings)
    there = certpca.certify(numbers, SPARSITY, target_gap=1e-3, client=client, **settings)
    assert here.kind == "l0-reduced"
    same_certificate(here, there)


def test_levels_are_searched_for_by_walks_of_the_workers(numbers, client, rng):
    """As with many samples, where nothing but a few directions is held."""
    solution = certpca.solve(numbers, SPARSITY, "svd-threshold")
    directions, panel = rng.standard_normal((ROWS, 3)), np.zeros((SIZE, 1))
    panel[solution.support, 0] = solution.loadings
    seen = []
    for place in (None, client):
        operator = certpca.from_data(numbers, client=place)
        features = WalkedFeatures(operator)
        search = LevelSearch(features, SPARSITY, solution.objective, full_up_to=0)
        at = search.step(search.start(features.combined(operator.adopt(panel))))
        leading = leading_of(at.best, search.space, SPARSITY, 2)
        seen.append((features.spread(directions), at.best.bound))
    np.testing.assert_allclose(seen[1][0], seen[0][0], rtol=1e-4, atol=1e-4 * np.abs(seen[0][0]).max())
    assert seen[1][1] == pytest.approx(seen[0][1], rel=1e-2)  # they begin with other directions
    np.testing.assert_allclose(np.linalg.norm(leading, axis=0), 1.0, rtol=1e-5)


@pytest.mark.parametrize("solver", ["svd-threshold", "truncated-power", QUICK])
def test_solvers_agree(solver, numbers, client):
    same_solution(certpca.solve(numbers, SPARSITY, solver), certpca.solve(numbers, SPARSITY, solver, client=client))


def test_path_agrees(numbers, client):
    here = certpca.path(numbers, [3, 8], budget=FEW)
    there = certpca.path(numbers, [3, 8], budget=FEW, client=client)
    for first, second in zip(here.solutions, there.solutions, strict=True):
        same_solution(first, second)


@pytest.mark.parametrize("chunks", [(ROWS, 1), (9, 50), (1, SIZE)])
def test_chunks_do_not_matter(chunks, numbers, client):
    """Without client= the active one is used."""
    operator = certpca.from_data(da.from_array(numbers, chunks=chunks), scale=True)
    assert isinstance(operator, DaskCovariance)
    same_solution(
        certpca.solve(numbers, SPARSITY, "svd-threshold", scale=True),
        certpca.solve(operator, SPARSITY, "svd-threshold"),
    )


def test_dask_array_without_a_cluster(numbers, monkeypatch):
    """Too large for what may be in memory, so that it is computed by blocks."""
    monkeypatch.setattr("certpca.distributed.to_workers.active_client", lambda: None)
    array = da.from_array(numbers, chunks=(13, 77))
    assert not isinstance(certpca.from_data(array), StreamedCovariance)  # it fits
    operator = certpca.from_data(dask_array_reader(array, memory=1e-5))
    assert isinstance(operator, StreamedCovariance)
    same_solution(certpca.solve(numbers, SPARSITY, "svd-threshold"), certpca.solve(operator, SPARSITY, "svd-threshold"))


def test_missing_values(genotypes, numbers, client):
    marked = genotypes.copy()
    marked[::7, 5] = -9
    for data in (marked, with_holes(numbers), sparse.csc_array(with_holes(genotypes))):
        here = certpca.from_data(data, missing="mean")
        there = certpca.from_data(data, missing="mean", client=client)
        panel = np.random.default_rng(0).standard_normal((SIZE, 2))
        assert there.matmat(panel) == pytest.approx(here.matmat(panel), rel=1e-11, abs=1e-11)
        with pytest.raises(InvalidDataError, match="missing values"):
            certpca.from_data(data, client=client)


def test_negative_numbers_elsewhere_make_minus_nine_a_number(genotypes, client):
    """The two are in different blocks."""
    data = genotypes.copy()
    data[0, 0], data[0, -1] = -9, -3
    there = certpca.from_data(data, client=client)
    assert there.diagonal() == pytest.approx(certpca.from_data(data).diagonal())


def test_verification_reads_from_the_workers(genotypes, client):
    certificate = certpca.certify(genotypes, SPARSITY, branching=False, budget=certpca.Budget(steps=3))
    proof = certpca.verify(certificate, da.from_array(genotypes, chunks=(11, 90)))
    assert proof.upper_bound <= certificate.upper_bound
    other = genotypes.copy()
    other[0, 0] += 1
    with pytest.raises(certpca.CertificateError):
        certpca.verify(certificate, da.from_array(other, chunks=(11, 90)))


@pytest.mark.parametrize("what", ["solve", "certify"])
def test_a_killed_worker_costs_a_retry(what, genotypes):
    settings: dict[str, Any] = (
        {"solver": QUICK} if what == "solve" else {"branching": False, "budget": FEW, "target_gap": 1e-3}
    )
    if what == "certify":
        settings["solution"] = certpca.solve(genotypes, SPARSITY, "svd-threshold")
    run = getattr(certpca, what)
    here = run(genotypes, SPARSITY, **settings)
    killed: list[int] = []
    heard: list[Any] = []

    with started(2) as cluster, distributed.Client(cluster) as connected:

        def listener(step):
            if not killed and len(heard) == 2:
                held = connected.has_what()
                killed.append(connected.run(os.getpid)[max(held, key=lambda worker: len(held[worker]))])
                os.kill(killed[0], signal.SIGKILL)
            heard.append(step)

        there = run(genotypes, SPARSITY, listener=listener, client=connected, **settings)
        assert killed
        assert len(heard) > 3
    (same_solution if what == "solve" else same_certificate)(here, there)


def test_no_workers_is_an_error_and_not_a_wait(genotypes):
    import dask

    with started(1) as cluster, distributed.Client(cluster) as connected:
        operator = certpca.from_data(genotypes, client=connected)
        cluster.scale(0)
        begin = time.monotonic()
        with dask.config.set({"certpca.patience": "1s"}), pytest.raises(ClusterError, match="no workers"):
            certpca.solve(operator, SPARSITY, "svd-threshold")
        assert time.monotonic() - begin < 20


def test_a_closed_client_is_named(genotypes):
    with started(1) as cluster:
        connected = distributed.Client(cluster)
        operator = certpca.from_data(genotypes, client=connected)
        connected.close()
        for attempt in (lambda: certpca.from_data(genotypes, client=connected), lambda: operator.columns(np.arange(2))):
            with pytest.raises(ClusterError, match="closed"):
                attempt()


def test_a_scheduler_that_is_gone_is_named(genotypes):
    cluster = started(1)
    with distributed.Client(cluster) as connected:
        operator = certpca.from_data(genotypes, client=connected)
        cluster.close()
        with pytest.raises(ClusterError):
            operator.columns(np.arange(2))


def test_what_is_no_client_is_refused(genotypes):
    with pytest.raises(InvalidProblemError, match="Client, got str"):
        certpca.from_data(genotypes, client="127.0.0.1:8786")


def test_the_extra_is_named_where_it_is_missing(genotypes, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'certpca\[dask\]'"):
        certpca.from_data(genotypes, client=object())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: da.from_array(np.ones((4, 3)))[da.from_array(np.ones(4)) > 0], "compute_chunk_sizes"),
        (lambda: da.from_array(np.array([["a", "b"], ["c", "d"]], dtype=object), chunks=(1, 2)), "numbers"),
        (lambda: da.ones((4, 3), dtype=complex), "complex"),
        (lambda: da.ones((0, 3)), "empty"),
        (lambda: da.ones(4), "two axes"),
        (lambda: da.full((4, 3), np.inf), "infinite"),
        (lambda: da.full((4, 3), np.nan), "missing"),
    ],
)
def test_bad_dask_arrays(make, message, client):
    with pytest.raises(CertpcaError, match=message):
        certpca.from_data(make(), client=client)


def test_device_and_client_exclude_each_other(genotypes, client):
    with pytest.raises(InvalidProblemError, match="workers"):
        certpca.from_data(genotypes, client=client, device="cuda")


def test_a_file_that_workers_cannot_see(genotypes, client, tmp_path):
    np.save(tmp_path / "table.npy", genotypes)
    mapped = np.load(tmp_path / "table.npy", mmap_mode="r")
    (tmp_path / "table.npy").unlink()
    with pytest.raises(DataFileError, match="same files"):
        certpca.from_data(mapped, client=client)


def test_going_on_with_fewer_features(genotypes, client):
    """The rows kept are drawn from several blocks, and so are their sums."""
    kept = np.sort(np.random.default_rng(5).choice(SIZE, 150, replace=False))
    direction = np.random.default_rng(6).standard_normal((ROWS, 1))
    seen = []
    for place in (None, client):
        problem = DualProblem(certpca.from_data(genotypes, client=place), SPARSITY).on(kept)
        seen.append((problem.image(direction), problem.rows.gram(), problem.directions(np.array([3, 140]), np.ones(2))))
    assert len(problem.rows.parts) > 2
    for here, there in zip(*seen, strict=True):
        assert np.array_equal(here, there)
    whole = DualProblem(certpca.from_data(genotypes), SPARSITY).image(direction)
    assert seen[1][0] == pytest.approx(whole[kept])


def test_a_private_map_is_sent(genotypes, client, tmp_path):
    """What was changed in it is not in the file."""
    np.save(tmp_path / "table.npy", genotypes)
    private = np.load(tmp_path / "table.npy", mmap_mode="c")
    private[0, :10] = 2
    there = certpca.from_data(private, client=client)
    assert there.diagonal() == pytest.approx(certpca.from_data(np.array(private)).diagonal())


def test_several_components(numbers, client):
    here = certpca.decompose(numbers, 2, 10, "svd-threshold")
    there = certpca.decompose(numbers, 2, 10, "svd-threshold", client=client)
    for first, second in zip(here.components, there.components, strict=True):
        same_solution(first, second)


def test_tasks_have_names_that_speak(genotypes, client):
    operator = certpca.from_data(genotypes, client=client)
    operator.matmat(np.ones((SIZE, 1)))
    names = {str(key).rsplit("-", 1)[0] for key in client.run_on_scheduler(_keys)}
    assert "certpca-load" in names
    assert all(name.startswith("certpca-") for name in names)


def _keys(dask_scheduler):
    return [key for key in dask_scheduler.tasks if "certpca" in str(key)]
