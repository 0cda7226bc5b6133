"""Branch and bound: brute force and published optima are the judges, and every certificate is checked again."""

import json
import math
from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import block_diag

import certpca
from certpca.bounds.proving import Prover
from certpca.bounds.support_tree.search import TreeSearch
from certpca.bounds.support_tree.visit import Effort
from certpca.frontends.cli.main import main
from certpca.results.status import Status
from certpca.runtime.errors import InvalidProblemError
from certpca.solvers import solver_named
from certpca.solvers.branch_and_bound import BranchAndBound
from tests.brute_force import brute_force

KINDS = [
    "gauss",
    "ties",
    "identity",
    "zero",
    "zero rows",
    "duplicated",
    "repeated eigenvalues",
    "rank deficient",
    "tiny",
    "huge",
    "mixed scales",
    "one feature",
    "nearly the identity",
    "all equal",
    "opposite signs",
]


def matrix_of(kind, rng, largest=9):  # noqa: PLR0911, PLR0912
    """Draw a positive semidefinite matrix of a kind."""
    size = int(rng.integers(2, largest + 1))
    data = rng.standard_normal((int(rng.integers(size, 3 * size)), size))
    match kind:
        case "ties":
            data = rng.integers(-1, 2, data.shape) * 1.0
        case "identity":
            return np.eye(size)
        case "zero":
            return np.zeros((size, size))
        case "zero rows":
            data[:, rng.random(size) < 0.5] = 0.0
        case "duplicated":
            data = data[:, rng.integers(0, size, size)]
        case "repeated eigenvalues":
            q = np.linalg.qr(rng.standard_normal((size, size)))[0]
            return (q * rng.choice([1.0, 1.0, 2.0], size)) @ q.T
        case "rank deficient":
            data = data[: max(1, size // 3)]
        case "tiny":
            return data.T @ data * 1e-150
        case "huge":
            return data.T @ data * 1e150
        case "mixed scales":
            data *= 10.0 ** rng.uniform(-8, 8, size)
        case "one feature":
            data = data[:, :1]
        case "nearly the identity":
            noise = rng.standard_normal((size, size)) * 10.0 ** rng.integers(-12, -3)
            return np.eye(size) + noise + noise.T
        case "all equal":
            return np.ones((size, size))
        case "opposite signs":
            data = np.concatenate([data, -data], axis=1)[:, :size]
    return data.T @ data


def solved(data, sparsity, solver="branch-and-bound", **options):
    """Solve, with a certificate."""
    solution = certpca.solve(data, sparsity, solver, **options)
    assert solution.certificate is not None
    return solution


def best_value(matrix, sparsity):
    """Try every support at once."""
    supports = np.array(list(combinations(range(matrix.shape[0]), sparsity)))
    return float(np.linalg.eigvalsh(matrix[supports[:, :, None], supports[:, None, :]])[:, -1].max())


def assert_proved(matrix, sparsity, objective, certificate, gap=1e-6):
    """Compare with brute force, and check the certificate again."""
    optimum, scale = best_value(matrix, sparsity), float(np.abs(matrix).max())
    rounding = 1e-13 * scale
    assert optimum * (1 - gap) - rounding <= objective <= optimum + rounding
    proof = certpca.verify(certificate, matrix)
    assert optimum - rounding <= proof.upper_bound <= certificate.upper_bound
    # The checker's bound of a zero matrix is the smallest number it can prove, not zero.
    assert certificate.upper_bound <= objective * (1 + 1.1 * gap + 2e-8) + 1e-300


def searched_through(matrix, sparsity, start, gap, **effort):
    """Visit nodes until none is open."""
    search = TreeSearch(matrix, sparsity, gap, Effort(**effort))
    found = search.start(start)
    while found.open:
        found = search.step(found, lambda: False)
        assert found.upper_bound >= found.value
    return search, found


def searched(matrix, sparsity, rng, gap=1e-6, **effort):
    """Search from a bad start, and prove what was found."""
    start = np.sort(rng.choice(matrix.shape[0], int(rng.integers(0, sparsity + 1)), replace=False))
    search, found = searched_through(matrix, sparsity, start, gap, **effort)
    support, operator = found.best.support, certpca.from_matrix(matrix)
    assert support.size == sparsity
    tree, evidence = search.certificate(found)
    loadings = np.linalg.eigh(matrix[np.ix_(support, support)])[1][:, -1]
    certificate = Prover(operator, sparsity).prove("search-tree", evidence, support, loadings, tree=tree)
    assert_proved(matrix, sparsity, found.value, certificate, gap)
    return found


# --- brute force ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_brute_force(kind, rng):
    for _ in range(44):
        matrix = matrix_of(kind, rng)
        for sparsity in {1, matrix.shape[0], int(rng.integers(1, matrix.shape[0] + 1))}:
            searched(matrix, sparsity, rng)


@pytest.mark.parametrize("listed", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_brute_force_without_listing_supports(kind, listed, rng):
    for _ in range(20):
        matrix = matrix_of(kind, rng, largest=8)
        searched(matrix, int(rng.integers(1, matrix.shape[0] + 1)), rng, listed=listed)


@pytest.mark.parametrize("seed", range(6))
def test_splits_agree_with_brute_force(seed):
    """Without lists and with hardly any descent, splitting does the work."""
    little = {"listed": 0, "root": ((0.03, 1),), "child": ((0.03, 1),)}
    rng = np.random.default_rng(seed)
    matrix = np.cov(rng.standard_normal((12, 9)).T)
    assert sum(searched(matrix, sparsity, rng, **little).nodes for sparsity in (3, 5, 7)) > 9


def test_no_slack_at_all_still_ends(rng):
    for kind in ("gauss", "ties", "duplicated", "identity"):
        searched(matrix_of(kind, rng, largest=6), 2, rng, gap=0.0, listed=0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_solver_agrees_with_brute_force(kind, rng):
    for _ in range(6):
        matrix = matrix_of(kind, rng)
        sparsity = int(rng.integers(1, matrix.shape[0] + 1))
        solution = solved(matrix, sparsity, covariance=True)
        assert solution.status is Status.OPTIMAL
        assert_proved(matrix, sparsity, solution.objective, solution.certificate)


@pytest.mark.parametrize("gap", [1e-6, 1e-3, 0.2])
def test_wider_gaps_are_kept(gap, rng):
    matrix = np.cov(rng.standard_normal((20, 18)).T)
    solution = solved(matrix, 6, BranchAndBound(target_gap=gap), covariance=True)
    optimum = best_value(matrix, 6)
    assert solution.status is (Status.OPTIMAL if solution.gap <= 1e-6 else Status.WITHIN_GAP)
    assert solution.gap <= gap
    assert optimum * (1 - gap) <= solution.objective <= optimum * (1 + 1e-12) <= solution.upper_bound


def test_decided_features_are_decided(rng):
    """A planted component, so that features are fixed at the root."""
    data = rng.standard_normal((50, 14))
    data[:, [1, 4, 8]] += 3 * rng.standard_normal((50, 1))
    matrix = np.cov(data.T)
    for sparsity in range(1, 7):
        solution = solved(matrix, sparsity, covariance=True)
        proof = certpca.verify(solution.certificate, matrix)
        support = set(brute_force(matrix, sparsity)[1].tolist())
        assert not support & set(proof.outside.tolist())
        assert set(proof.inside.tolist()) <= support


# --- published optima -------------------------------------------------------------------------------------------------


def test_published_optima_are_proved(shared):
    """Berk and Bertsimas (2019) and later papers, as collected in published_values.json."""
    published = json.loads((shared / "reference" / "published_values.json").read_text())
    folder, seen = shared / "data" / "covariances", 0
    for instance in published["instances"]:
        name, sparsity = instance["dataset"], instance["k"]
        files = [file for file in (folder / f"{name}.npz", folder / f"INFORMS_{name}.npz") if file.exists()]
        if name == "pitprops":
            operator = certpca.pitprops()
        elif files:
            operator = certpca.from_matrix(np.load(files[0])["A"])
        else:
            continue
        solution = solved(operator, sparsity)
        assert solution.status is Status.OPTIMAL, (name, sparsity)
        assert solution.objective == pytest.approx(instance["objective"], rel=1e-7), (name, sparsity)
        assert solution.gap <= 1e-6, (name, sparsity)
        certpca.verify(solution.certificate, operator)
        seen += 1
    assert seen >= 40


@pytest.mark.parametrize("between", [0.0, 1e-3])
def test_blocks_are_proved_together_as_alone(between, rng):
    """Nothing between blocks, or hardly anything, costs nothing: such entries count by their squares."""
    blocks = [np.cov(rng.standard_normal((60, 12)).T) for _ in range(6)]
    matrix = block_diag(*blocks)
    matrix[matrix == 0.0] = between
    alone = max(brute_force(block, 4)[0] for block in blocks)
    solution = certpca.solve(matrix, 4, "branch-and-bound", covariance=True)
    assert solution.status is Status.OPTIMAL
    assert alone - 1e-9 <= solution.objective <= alone + 4 * between + 1e-9
    assert solution.certificate is not None
    proof = certpca.verify(solution.certificate, matrix)
    assert solution.objective <= proof.upper_bound <= solution.objective * (1 + 1e-5)


@pytest.mark.parametrize(
    ("name", "sparsity", "objective"), [("communities", 5, 0.27708), ("normCommunities", 10, 8.82362)]
)
def test_optima_of_the_literature(name, sparsity, objective, shared):
    """Tables of Berk and Bertsimas, "Certifiably optimal sparse principal component analysis" (2019)."""
    matrix = np.load(shared / "data" / "covariances" / f"{name}.npz")["A"]
    solution = solved(matrix, sparsity, covariance=True)
    assert round(solution.objective, 5) == objective


@pytest.mark.parametrize("sparsity", range(1, 14))
def test_pit_props_at_every_sparsity(sparsity):
    operator = certpca.pitprops()
    solution = solved(operator, sparsity)
    assert solution.status is Status.OPTIMAL
    assert_proved(operator.submatrix(np.arange(13)), sparsity, solution.objective, solution.certificate)


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def noise():
    """A matrix that the root does not close at sparsity 14, and what some component captures."""
    matrix = np.cov(np.random.default_rng(5).standard_normal((40, 40)).T)
    return matrix, certpca.solve(matrix, 14, covariance=True).objective


@pytest.mark.parametrize(
    ("settings", "budget"),
    [
        ({"nodes": 1}, None),
        ({"nodes": 3}, None),
        ({"nodes": 4, "workers": 2}, None),
        ({"memory": 1e-9}, None),
        ({}, certpca.Budget(steps=1)),
        ({}, certpca.Budget(steps=30)),
        ({}, certpca.Budget(seconds=1e-9)),
        ({}, certpca.Budget(seconds=0.1)),
        ({"workers": 2}, certpca.Budget(seconds=0.5)),
    ],
)
def test_limits_end_the_search_with_a_bound_that_holds(settings, budget, noise):
    matrix, known = noise
    solution = solved(matrix, 14, BranchAndBound(**settings), budget=budget, covariance=True)
    assert solution.status is Status.OUT_OF_BUDGET
    assert solution.upper_bound >= known
    assert solution.gap > 1e-6
    proof = certpca.verify(solution.certificate, matrix)
    assert known * (1 - 1e-12) <= proof.upper_bound <= solution.upper_bound
    assert proof.upper_bound <= np.linalg.eigvalsh(matrix)[-1] * (1 + 1e-6)


def test_a_listener_ends_the_search(noise):
    matrix, known = noise
    solution = solved(matrix, 14, listener=lambda step: math.isinf(step.upper_bound), covariance=True)
    assert solution.status is Status.INTERRUPTED
    assert solution.upper_bound >= known


def test_bounds_in_the_history_only_fall_and_always_hold(noise):
    matrix, known = noise
    solution = solved(matrix, 14, BranchAndBound(nodes=5), covariance=True)
    bounds = [step.upper_bound for step in solution.history]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] >= known * (1 - 1e-9)


def test_runs_can_be_repeated(noise):
    matrix, _ = noise
    for workers in (1, 2):
        runs = [solved(matrix, 14, BranchAndBound(nodes=3, workers=workers), covariance=True) for _ in range(2)]
        assert runs[0].certificate.tree == runs[1].certificate.tree
        assert runs[0].upper_bound == runs[1].upper_bound
        assert runs[0].details == runs[1].details
        np.testing.assert_array_equal(runs[0].loadings, runs[1].loadings)
        for name, value in runs[0].certificate.evidence.items():
            np.testing.assert_array_equal(value, runs[1].certificate.evidence[name])


@pytest.mark.parametrize("workers", [2, 3])
def test_several_workers_prove_the_same(workers):
    matrix = np.cov(np.random.default_rng(2).standard_normal((25, 30)).T)
    alone = solved(matrix, 10, covariance=True)
    assert alone.details["nodes"] > workers
    together = solved(matrix, 10, BranchAndBound(workers=workers), covariance=True)
    assert alone.status is together.status is Status.OPTIMAL
    assert together.objective == pytest.approx(alone.objective, rel=1e-12)
    certpca.verify(together.certificate, matrix)


# --- the search itself ------------------------------------------------------------------------------------------------


def test_an_empty_start_is_improved_by_splits(rng):
    for _ in range(10):
        matrix = np.cov(rng.standard_normal((9, 8)).T)
        _, found = searched_through(matrix, 4, np.zeros(0, dtype=np.intp), 1e-6, listed=0)
        assert found.value == pytest.approx(best_value(matrix, 4), rel=1e-6)


# --- settings and files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"target_gap": -1e-9},
        {"target_gap": 1.0},
        {"target_gap": float("nan")},
        {"nodes": -1},
        {"workers": 0},
        {"memory": 0.0},
        {"memory": -1.0},
        {"memory": float("nan")},
        {"nodes": 1.5},
        {"workers": 1.5},
        {"workers": True},
        {"depth": 3},
    ],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(InvalidProblemError, match=next(iter(settings))):
        solver_named("branch-and-bound", **settings)


def test_too_many_features_are_refused_with_advice(rng):
    with pytest.raises(InvalidProblemError, match=r"4097 x 4097, allowed up to 4096 features; use solver='auto'"):
        solved(rng.standard_normal((3, 4097)), 2)


def test_files_keep_the_proof(noise, tmp_path):
    matrix, _ = noise
    solution = solved(matrix, 14, BranchAndBound(nodes=3), covariance=True)
    assert any(name.startswith("point") for name in solution.certificate.evidence)
    certpca.save_certificate(solution.certificate, tmp_path / "c.json")
    loaded = certpca.load_certificate(tmp_path / "c.json")
    assert loaded.tree == solution.certificate.tree
    assert certpca.verify(loaded, matrix).upper_bound <= solution.upper_bound


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"center": False}])
@pytest.mark.parametrize("rows", [5, 40])
def test_tables_are_proved_too(rows, options, rng):
    data = rng.standard_normal((rows, 9))
    solution = solved(data, 3, **options)
    matrix = certpca.from_data(data, **options).submatrix(np.arange(9))
    assert solution.objective == pytest.approx(best_value(matrix, 3), rel=1e-6)
    assert solution.status is Status.OPTIMAL
    assert certpca.verify(solution.certificate, data).gap <= 1e-6


def test_command_line_round_trip(tmp_path, rng, capsys):
    table, result = tmp_path / "data.csv", tmp_path / "result.json"
    np.savetxt(table, rng.standard_normal((30, 8)) * np.arange(1, 9), delimiter=",")
    arguments = ["solve", str(table), "-k", "3", "--solver", "branch-and-bound", "--output", str(result)]
    assert main(arguments) == 0
    assert "proved optimal" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "result.certificate.json"), str(table)]) == 0
    assert "The certificate holds" in capsys.readouterr().out
    assert main([*arguments, "--set", "target-gap=2"]) == 2
    assert "gap must lie in" in capsys.readouterr().err
