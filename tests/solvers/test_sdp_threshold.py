"""The paper's spca-sdp: published values, the numbers of its theorem, rounding and the proof that comes with it."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certpca
from certpca import Status, solver_named
from certpca.frontends.cli.main import main
from certpca.runtime.errors import InvalidProblemError
from tests.brute_force import brute_force


@pytest.fixture
def published(shared):
    return json.loads((shared / "reference" / "published_values.json").read_text())


def threshold(data, sparsity, *, refit=True, rng=0, **settings_):
    solver = solver_named("sdp-threshold", **settings_)
    return certpca.solve(data, sparsity, solver, refit=refit, rng=rng)


def noise(seed, rows=40, size=12):
    return np.random.default_rng(seed).standard_normal((rows, size))


# --- published values -------------------------------------------------------------------------------------------------


def test_pit_props_optima_are_found_and_bounded(published):
    optima = {case["k"]: case for case in published["instances"] if case["dataset"] == "pitprops"}
    for sparsity in range(2, 11):
        solution = threshold(certpca.pitprops(), sparsity)
        assert solution.objective == pytest.approx(optima[sparsity]["objective"], rel=1e-9), sparsity
        assert solution.support.tolist() == optima[sparsity]["support0"], sparsity
        assert solution.objective <= solution.upper_bound
        value = published["pitprops_sdp_eq2"][str(sparsity)]
        assert value * (1 - 1e-6) <= solution.upper_bound <= value * (1 + 2e-4)


def test_pit_props_row_of_the_paper(shared):
    """Chowdhury et al., "Approximation Algorithms for Sparse Principal Component Analysis", table of pit props.

    The loadings printed there are the leading eigenvector on the support, not the entries of Z's: hence the refit.
    """
    tables = json.loads((shared / "reference" / "paper_tables.json").read_text())
    row = tables["pitprops_k7"]["spca-sdp"]
    solution = threshold(certpca.pitprops(), 7)
    assert solution.component == pytest.approx(row["loadings"], abs=1e-3)
    assert round(solution.objective, 3) == row["objective"]
    assert round(100 * solution.explained_variance_ratio, 2) == row["pve"]


def test_the_thresholded_vector_captures_less_than_the_refitted_one():
    for sparsity in range(1, 14):
        raw = threshold(certpca.pitprops(), sparsity, refit=False)
        assert raw.objective <= threshold(certpca.pitprops(), sparsity).objective * (1 + 1e-12)
        assert not raw.refitted


# --- the theorem ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sparsity", [1, 3, 6, 12])
def test_alpha_and_beta_are_those_of_the_theorem(seed, sparsity):
    operator = certpca.from_data(noise(seed))
    matrix = operator.submatrix(np.arange(12))
    solution = threshold(operator, sparsity)
    relaxation = certpca.solve_sdp(operator, sparsity)
    leader = int(np.argmax(relaxation.weights))
    first = relaxation.weights[leader] * np.outer(relaxation.vectors[:, leader], relaxation.vectors[:, leader])
    whole = (relaxation.vectors * relaxation.weights) @ relaxation.vectors.T
    details = solution.details
    assert relaxation.lone is not None
    lone = np.outer(relaxation.lone, relaxation.lone)
    assert np.trace(lone) <= 1 + 1e-9
    assert np.abs(lone).sum() <= sparsity * (1 + 1e-9)
    assert relaxation.lone_value == pytest.approx((matrix * lone).sum(), rel=1e-9)
    better = max((matrix * first).sum(), relaxation.lone_value)
    assert details["alpha"] == pytest.approx(max(1.0, solution.upper_bound / better), rel=1e-9)
    if relaxation.lone_value > (matrix * first).sum():
        assert details["beta"] == 1.0
    if relaxation.status is Status.CONVERGED:
        alpha = max(1.0, solution.upper_bound / (matrix * first).sum())
        assert details["alpha_z1"] == pytest.approx(alpha, rel=1e-9)
        assert details["beta_z1"] == pytest.approx(np.abs(first).sum() / np.abs(whole).sum(), rel=1e-9)
    assert details["rank"] == relaxation.weights.size
    assert details["sdp_upper"] == solution.upper_bound
    assert details["sdp_lower"] <= details["sdp_upper"]
    assert details["duality_gap"] <= 1.1e-4 or solution.status is Status.STALLED


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), sparsity=st.integers(1, 8), epsilon=st.one_of(st.none(), st.floats(0.3, 1)))
def test_the_theorem_holds(seed, sparsity, epsilon):
    matrix = np.cov(noise(seed, rows=9, size=8).T)
    solver = solver_named("sdp-threshold", epsilon=epsilon)
    solution = certpca.solve(matrix, sparsity, solver, covariance=True, refit=False)
    optimum = brute_force(matrix, sparsity)[0]
    promised = optimum / solution.details["alpha"] - solution.details["theorem_loss"]
    assert solution.objective >= promised - 1e-9 * optimum


@pytest.mark.parametrize(("sparsity", "epsilon"), [(1, 1.0), (1, 0.7), (1, 0.5), (2, 1.0), (2, 0.9), (3, 0.1)])
def test_accuracy_mode_keeps_as_many_entries_as_the_theorem_asks_for(sparsity, epsilon):
    """Equal correlations make every entry of the leading eigenvector count."""
    size = 50
    matrix = 0.5 * np.eye(size) + 0.5 + np.diag(np.linspace(0, 1e-6, size))
    solver = solver_named("sdp-threshold", epsilon=epsilon)
    solution = certpca.solve(matrix, sparsity, solver, covariance=True, refit=False)
    relaxation = certpca.solve_sdp(matrix, sparsity, covariance=True)
    beta = solution.details["beta"]
    width = min(size, math.ceil(9 * sparsity**2 * beta**2 / epsilon**2))
    loss = 3 * sparsity * beta / math.sqrt(width) * np.linalg.norm(matrix, axis=0).max() if width < size else 0.0
    assert solution.details["theorem_loss"] == pytest.approx(loss)
    leading = relaxation.vectors[:, int(np.argmax(relaxation.weights))]
    assert solution.support.size == min(width, np.count_nonzero(leading))
    if solution.support.size > sparsity:
        assert solution.status is Status.WIDER_SUPPORT
        assert solution.certificate is not None
        assert solution.certificate.sparsity == solution.support.size
        certpca.verify(solution.certificate, matrix, covariance=True)
    else:
        assert solution.status is Status.CONVERGED


def test_accuracy_mode_widens_the_support_of_pit_props():
    solution = threshold(certpca.pitprops(), 7, epsilon=0.5)
    assert solution.status is Status.WIDER_SUPPORT
    assert 7 < solution.support.size <= 13
    proved = certpca.solve(certpca.pitprops(), 7, solver_named("sdp-threshold", epsilon=0.5), certify=True)
    assert proved.certificate is not None
    assert proved.certificate.sparsity == proved.support.size
    assert proved.gap <= 0.01


# --- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accuracy", [0.3, 0.1, 0.03, 0.01])
@pytest.mark.parametrize("seed", range(4))
def test_accuracy_stops_early_with_a_proof_of_it(accuracy, seed):
    data = noise(seed, size=20)
    solution = threshold(data, 4, accuracy=accuracy, target_gap=1e-6)
    exact = threshold(data, 4, target_gap=1e-6)
    assert certpca.verify(solution.certificate, data).upper_bound <= solution.upper_bound
    assert solution.upper_bound >= brute_force(np.cov(data.T), 4)[0]
    assert solution.details["iterations"] <= exact.details["iterations"]
    if exact.gap <= accuracy - 1e-3:
        assert solution.gap <= accuracy
        assert solution.status is Status.CONVERGED


def test_accuracy_saves_steps():
    data = noise(1, size=20)
    assert threshold(data, 4, accuracy=0.5).details["iterations"] == 0
    assert threshold(data, 4, target_gap=1e-6).details["iterations"] > 0


@pytest.mark.parametrize("seed", range(5))
def test_draws_do_no_harm_and_repeat(seed):
    matrix = 0.9 ** np.abs(np.subtract.outer(np.arange(14), np.arange(14))) + np.diag(noise(seed, 1, 14)[0] ** 2) / 50
    operator = certpca.from_matrix(matrix)
    plain = threshold(operator, 3)
    few, many = threshold(operator, 3, draws=5, rng=seed), threshold(operator, 3, draws=60, rng=seed)
    again = threshold(operator, 3, draws=60, rng=seed)
    optimum = brute_force(matrix, 3)[0]
    for drawn in (few, many):
        assert plain.objective * (1 - 1e-12) <= drawn.objective <= optimum * (1 + 1e-12)
        assert drawn.upper_bound >= optimum
        assert drawn.certificate.objective == pytest.approx(drawn.objective, rel=1e-9)
    np.testing.assert_array_equal(many.support, again.support)
    np.testing.assert_array_equal(many.loadings, again.loadings)


@pytest.mark.parametrize(
    "wrong",
    [
        {"target_gap": 0.0},
        {"target_gap": 1.0},
        {"target_gap": math.nan},
        {"accuracy": 0.0},
        {"accuracy": 1.5},
        {"epsilon": 2.0},
        {"epsilon": 0.0},
        {"epsilon": math.nan},
        {"draws": -1},
        {"memory": 0.0},
        {"memory": math.nan},
    ],
)
def test_bad_settings_are_refused(wrong):
    with pytest.raises(InvalidProblemError, match=next(iter(wrong))):
        solver_named("sdp-threshold", **wrong)


# --- the proof --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparsity", [1, 3, 7, 13])
def test_the_certificate_is_accepted_before_and_after_storage(sparsity, tmp_path):
    solution = threshold(certpca.pitprops(), sparsity)
    certificate = solution.certificate
    assert certificate.kind == "sdp-dual"
    assert certificate.objective == pytest.approx(solution.objective, rel=1e-9)
    proof = certpca.verify(certificate, certpca.pitprops())
    assert solution.objective * (1 - 1e-9) <= proof.upper_bound <= certificate.upper_bound
    certpca.save_certificate(certificate, tmp_path / "a.json")
    stored = certpca.load_certificate(tmp_path / "a.json")
    assert stored.upper_bound == certificate.upper_bound
    assert certpca.verify(stored, certpca.pitprops()).upper_bound == proof.upper_bound


@pytest.mark.parametrize("sparsity", [2, 6])
def test_more_features_than_samples(sparsity):
    data = noise(5, rows=7, size=30)
    solution = threshold(data, sparsity)
    assert solution.certificate.kind == "sdp-dual"
    assert certpca.verify(solution.certificate, data).upper_bound <= solution.upper_bound
    assert solution.gap == pytest.approx(1 - solution.objective / solution.upper_bound)


def test_a_matrix_of_zeros_is_bounded_by_zero():
    solution = certpca.solve(np.zeros((4, 4)), 2, "sdp-threshold", covariance=True)
    assert solution.status is Status.OPTIMAL
    assert 0 <= solution.upper_bound < 1e-300
    assert solution.certificate is not None
    certpca.verify(solution.certificate, np.zeros((4, 4)))


def test_history_brackets_the_optimum():
    data = noise(2)
    solution = threshold(data, 3, target_gap=1e-6)
    optimum = brute_force(np.cov(data.T), 3)[0]
    uppers = [step.upper_bound for step in solution.history]
    assert uppers == sorted(uppers, reverse=True)
    assert uppers[-1] >= optimum * (1 - 1e-6)
    assert solution.history[-1].objective <= optimum * (1 + 1e-9)


@pytest.mark.parametrize("extra", [[], ["--set", "draws=4"], ["--set", "accuracy=0.2"], ["--correlation"]])
def test_solve_and_verify_on_the_command_line(extra, tmp_path, capsys):
    table, result = tmp_path / "data.csv", tmp_path / "result.json"
    np.savetxt(table, noise(0, rows=30, size=8), delimiter=",")
    command = ["solve", str(table), "-k", "3", "--solver", "sdp-threshold", "--output", str(result), *extra]
    assert main(command) == 0
    assert "upper bound" in capsys.readouterr().out
    certificate = tmp_path / "result.certificate.json"
    assert json.loads(certificate.read_text())["kind"] == "sdp-dual"
    assert main(["verify", str(certificate), str(table)]) == 0
    assert "The certificate holds" in capsys.readouterr().out
    fields = json.loads(certificate.read_text())
    certificate.write_text(json.dumps({**fields, "upper_bound": 0.999 * fields["upper_bound"]}))
    assert main(["verify", str(certificate), str(table)]) == 1
