"""What `solve` promises, whichever solver is behind it."""

from dataclasses import FrozenInstanceError
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import certpca
from certpca import Status
from certpca.datasets.examples import pitprops_matrix
from certpca.operators import Operator
from certpca.results.solution import Candidate
from certpca.runtime.errors import InvalidProblemError
from certpca.runtime.rounded import down

SOLVERS = sorted(certpca.available_solvers())


@pytest.fixture
def data(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((25, 9)) @ rng.standard_normal((9, 9))


class Fixed:
    """A solver that proposes what it was told to."""

    name: ClassVar[str] = "fixed"
    paper_name: ClassVar[str] = ""
    runs_on_device: ClassVar[bool] = False

    def __init__(self, support: list[int], loadings: list[float] | None = None, **more: Any) -> None:
        own = None if loadings is None else np.array(loadings)
        self._candidate = Candidate(np.array(support), Status.CONVERGED, own, **more)

    def propose(self, operator: Operator, sparsity: int, progress: Any, rng: np.random.Generator) -> Candidate:
        return self._candidate


# --- golden numbers --------------------------------------------------------------------------


def test_pitprops_best_seven() -> None:
    """3.996 and 30.74% of the variance: the pit props table of Chowdhury et al.; brute force below agrees."""
    solution = certpca.solve(certpca.pitprops(), 7)
    assert solution.objective == pytest.approx(3.9961896, abs=1e-7)
    assert solution.explained_variance_ratio == pytest.approx(0.3074, abs=5e-5)
    assert solution.names == ("topdiam", "length", "ringtop", "ringbut", "bowmax", "bowdist", "whorls")


@pytest.mark.parametrize("sparsity", [1, 2, 3, 5, 7])
def test_auto_finds_the_optimum_of_pitprops(sparsity: int) -> None:
    matrix = pitprops_matrix()
    best = max(
        np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-1] for support in combinations(range(13), sparsity)
    )
    assert certpca.solve(certpca.pitprops(), sparsity).objective == pytest.approx(best, rel=1e-10)


# --- definitions --------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_numbers_follow_their_definitions(data: np.ndarray, solver: str) -> None:
    covariance = np.cov(data, rowvar=False)
    solution = certpca.solve(data, 4, solver)
    component = solution.component
    assert component.shape == (9,)
    np.testing.assert_array_equal(np.flatnonzero(component), solution.support)
    np.testing.assert_array_equal(component[solution.support], solution.loadings)
    assert np.linalg.norm(component) == pytest.approx(1.0)
    assert solution.objective == pytest.approx(component @ covariance @ component)
    assert solution.explained_variance_ratio == pytest.approx(solution.objective / np.trace(covariance))
    largest = np.linalg.eigvalsh(covariance)[-1]
    assert solution.relative_objective == pytest.approx(solution.objective / largest, rel=1e-6)
    if solution.certificate is None:
        assert solution.upper_bound == np.inf
        assert np.isnan(solution.gap)
    assert (solution.size, solution.sparsity, solution.solver) == (9, 4, solver)
    assert solution.matrix == "covariance matrix (centred, divided by 24) of 25 x 9 data"
    assert solution.seconds > 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_largest_loading_is_positive(data: np.ndarray, solver: str) -> None:
    for sparsity in (1, 3, 9):
        loadings = certpca.solve(data, sparsity, solver).loadings
        assert loadings[np.abs(loadings).argmax()] > 0


def test_sign_tie_goes_to_the_lower_index() -> None:
    solution = certpca.solve(np.array([[1.0, -0.5], [-0.5, 1.0]]), 2, covariance=True)
    np.testing.assert_allclose(solution.loadings, [0.5**0.5, -(0.5**0.5)])


@pytest.mark.parametrize("solver", SOLVERS)
def test_all_features_give_the_largest_eigenvalue(data: np.ndarray, solver: str) -> None:
    solution = certpca.solve(data, 9, solver)
    assert solution.objective == pytest.approx(np.linalg.eigvalsh(np.cov(data, rowvar=False))[-1], rel=1e-9)
    assert solution.relative_objective == pytest.approx(1.0)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("sparsity", [1, 2, 5])
def test_zero_matrix_has_objective_zero(solver: str, sparsity: int) -> None:
    solution = certpca.solve(np.zeros((5, 5)), sparsity, solver, covariance=True)
    assert solution.objective == 0.0
    assert solution.explained_variance_ratio == 0.0
    assert solution.relative_objective == 0.0
    assert np.linalg.norm(solution.loadings) == pytest.approx(1.0)


def test_result_never_changes() -> None:
    solution = certpca.solve(certpca.pitprops(), 2)
    with pytest.raises(FrozenInstanceError):
        solution.objective = 9.0  # type: ignore[misc]


def test_one_line_summary() -> None:
    solution = certpca.solve(certpca.pitprops(), 2)
    line = str(solution)  # 1.954 is captured, or one rounding less
    captured = down(solution.objective)
    assert captured in ("1.954", "1.95399")
    assert line.startswith(f"auto: 2 of 13 features capture {captured} (15.03% of the variance), finished")
    assert "\n" not in line


# --- refitting ----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_refit_is_never_worse_than_the_algorithms_own(data: np.ndarray, solver: str) -> None:
    own, refitted = (certpca.solve(data, 4, solver, refit=refit) for refit in (False, True))
    assert refitted.refitted
    np.testing.assert_array_equal(own.support, refitted.support)
    assert refitted.objective >= own.objective * (1 - 1e-12)


def test_refit_gives_the_best_loadings_on_the_support(data: np.ndarray) -> None:
    matrix = np.cov(data, rowvar=False)[np.ix_([0, 3, 5], [0, 3, 5])]
    solution = certpca.solve(data, 3, Fixed([0, 3, 5], [1.0, 0.0, 0.0]))
    assert solution.objective == pytest.approx(np.linalg.eigvalsh(matrix)[-1])


def test_without_refit_own_loadings_are_normalised_and_judged(data: np.ndarray) -> None:
    covariance = np.cov(data, rowvar=False)
    solution = certpca.solve(data, 3, Fixed([1, 4, 6], [-4.0, 3.0, 0.0]), refit=False)
    assert not solution.refitted
    assert solution.support.tolist() == [1, 4]
    np.testing.assert_allclose(solution.loadings, [0.8, -0.6])
    assert solution.objective == pytest.approx(solution.loadings @ covariance[np.ix_([1, 4], [1, 4])] @ [0.8, -0.6])


def test_solver_without_own_loadings_is_refitted_anyway(data: np.ndarray) -> None:
    assert certpca.solve(data, 2, Fixed([1, 4]), refit=False).refitted


def test_eigenvalue_of_a_solver_is_corrected_upwards(data: np.ndarray) -> None:
    solution = certpca.solve(data, 2, Fixed([1, 4], largest_eigenvalue=1e-9))
    assert solution.relative_objective == 1.0


# --- names, seeds, options ----------------------------------------------------------------------


def test_names_follow_the_support(data: np.ndarray) -> None:
    frame = pd.DataFrame(data, columns=list("abcdefghi"))
    solution = certpca.solve(frame, 3)
    assert solution.names == tuple("abcdefghi"[index] for index in solution.support)
    assert certpca.solve(data, 3).names is None


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_seed_same_answer(rng: np.random.Generator, solver: str) -> None:
    noise = rng.standard_normal((20, 60))
    first, again = (certpca.solve(noise, 5, solver, rng=7) for _ in range(2))
    generator = certpca.solve(noise, 5, solver, rng=np.random.default_rng(7))
    for other in (again, generator):
        np.testing.assert_array_equal(other.support, first.support)
        np.testing.assert_array_equal(other.loadings, first.loadings)
        assert other.objective == first.objective


def test_global_random_state_is_neither_used_nor_changed(data: np.ndarray) -> None:
    np.random.seed(3)  # noqa: NPY002
    certpca.solve(data, 3)
    drawn = np.random.random(4)  # noqa: NPY002
    np.testing.assert_array_equal(drawn, np.random.RandomState(3).random(4))


@pytest.mark.parametrize("options", [{"scale": True}, {"center": False}, {"ddof": 0}, {"center": False, "scale": True}])
def test_options_are_those_of_from_data(data: np.ndarray, options: Any) -> None:
    through = certpca.solve(data, 3, **options)
    before = certpca.solve(certpca.from_data(data, **options), 3)
    assert through.objective == before.objective
    assert through.matrix == before.matrix


def test_matrix_and_data_give_the_same_answer(data: np.ndarray) -> None:
    from_data, from_matrix = certpca.solve(data, 3), certpca.solve(np.cov(data, rowvar=False), 3, covariance=True)
    np.testing.assert_array_equal(from_data.support, from_matrix.support)
    assert from_data.objective == pytest.approx(from_matrix.objective)


def test_solver_objects_carry_settings(data: np.ndarray) -> None:
    solver = certpca.solver_named("svd-threshold", components=3)
    assert certpca.solve(data, 3, solver).details["components"] == 3


# --- bad requests -------------------------------------------------------------------------------


def test_unknown_solver_lists_the_known_ones(data: np.ndarray) -> None:
    with pytest.raises(InvalidProblemError, match=f"solver must be one of {', '.join(SOLVERS)}, got 'magic'"):
        certpca.solve(data, 2, "magic")


@pytest.mark.parametrize("solver", [3, None, object()])
def test_object_that_is_not_a_solver(data: np.ndarray, solver: Any) -> None:
    with pytest.raises(InvalidProblemError, match=r"solver must be a name .see available_solvers. or a solver object"):
        certpca.solve(data, 2, solver)


@pytest.mark.parametrize("seed", [-1, "zero", 1.5])
def test_bad_seed(data: np.ndarray, seed: Any) -> None:
    with pytest.raises(InvalidProblemError, match=r"rng \(random_state, --seed\) must be a whole number from 0"):
        certpca.solve(data, 2, rng=seed)


@pytest.mark.parametrize(
    ("solver", "settings", "message"),
    [
        ("svd-threshold", {"components": 0}, "components must be at least 1, got 0"),
        ("svd-threshold", {"components": 2.5}, "components must be a whole number, got 2.5"),
        ("svd-threshold", {"epsilon": 0.0}, r"epsilon must lie in \(0, 1\], got 0.0"),
        ("svd-threshold", {"epsilon": "half"}, "'svd-threshold' does not take these settings"),
        ("svd-threshold", {"method": "magic"}, "method must be one of krylov, lanczos, exact, got 'magic'"),
        ("svd-threshold", {"speed": 9}, "'svd-threshold' does not take these settings: .*'speed'"),
        ("spannogram", {"rank": 0}, "must be positive, got 0"),
        ("spannogram", {"rank": True}, "rank must be a whole number, got True"),
        ("decomposition", {"random_part": 12}, r"2 to 16 coordinates, got 12 \+ 6"),
        ("decomposition", {"subproblem": "magic"}, "got 'magic'"),
        ("truncated-power", {"schedule": (4, 2)}, r"end with 1, got \(4, 2\)"),
        ("auto", {"starts": 0}, "must be positive"),
        ("auto", {"starts": "many"}, "starts must be a whole number, got 'many'"),
    ],
)
def test_bad_settings_are_named(solver: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        certpca.solver_named(solver, **settings)


def test_errors_are_the_built_in_ones_too() -> None:
    with pytest.raises(ValueError, match="whole number"):
        certpca.solve(certpca.pitprops(), 0)
    with pytest.raises(certpca.CertpcaError, match="whole number"):
        certpca.solve(certpca.pitprops(), 0)
