"""Nothing in a report that is called verified is repeated from the result."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.frontends.report import gather, write_report
from certpca.results.solution import Solution
from certpca.results.status import Status

NAMES = tuple("abcdef")


@pytest.fixture
def data(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((30, 6)) @ np.diag([3.0, 2.0, 2.0, 1.0, 1.0, 1.0])


@pytest.fixture
def solution(data: np.ndarray) -> Solution:
    return certpca.solve(data, 3, certify=True, names=NAMES)


FORGERIES: list[tuple[str, Any, str]] = [
    ("loadings that are too long", lambda s: {"loadings": s.loadings * 1.001}, "unit vector"),
    (
        "longer loadings with a fitting objective",
        lambda s: {"loadings": s.loadings * 1.2, "objective": s.objective * 1.44},
        "unit vector",
    ),
    ("a feature twice", lambda s: {"support": s.support[[0, 0, 2]]}, "twice"),
    ("a support in another order", lambda s: {"support": s.support[::-1]}, "not sorted"),
    ("another objective", lambda s: {"objective": s.objective * 0.99}, "capture"),
    ("more variance explained", lambda s: {"explained_variance_ratio": 0.9955}, "of the variance, not 99.55"),
    ("a better ratio to dense", lambda s: {"relative_objective": 0.999999}, "dense component does, not 1.0000"),
    ("a smaller sparsity", lambda s: {"sparsity": 2}, "more than the 2"),
    ("another size", lambda s: {"sparsity": 4}, "the sparsity is 4 in the result but 3"),
]


@pytest.mark.parametrize(("forged", "why"), [case[1:] for case in FORGERIES], ids=[case[0] for case in FORGERIES])
def test_forged_numbers_are_refused(data: np.ndarray, solution: Solution, forged: Any, why: str, tmp_path: Any) -> None:
    facts = write_report(replace(solution, **forged(solution)), tmp_path / "report.md", data=data, names=NAMES)
    assert facts.refused
    assert why in facts.refusal
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "verified" not in text.lower()
    assert "Refused" in text


def test_names_and_words_come_from_the_data(data: np.ndarray, solution: Solution, tmp_path: Any) -> None:
    forged = replace(solution, names=("x", "y", "z"), matrix="correlation matrix of everything")
    facts = write_report(forged, tmp_path / "report.md", data=data, names=NAMES)
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert not facts.refused
    assert facts.solution.names == solution.names
    assert "everything" not in text
    assert "names its features otherwise" in text


def test_claims_of_the_certificate_are_replaced_by_what_is_proved(data: np.ndarray, solution: Solution) -> None:
    assert solution.certificate is not None
    loose = replace(solution.certificate, upper_bound=1e6, outside=0, inside=0, matrix="anything")
    facts = gather(replace(solution, certificate=loose, status=Status.CONVERGED), data=data, names=NAMES)
    assert facts.check is not None
    assert facts.check.proof is not None
    assert facts.solution.upper_bound == facts.check.proof.upper_bound < 1e6
    assert facts.solution.certificate is not None
    assert facts.solution.certificate.matrix == facts.check.proof.matrix


def test_paths_are_recomputed_too(data: np.ndarray, solution: Solution, tmp_path: Any) -> None:
    path = certpca.path(data, [2, 3], certify=True, names=NAMES)
    facts = write_report(solution, tmp_path / "good.md", data=data, names=NAMES, path=path)
    assert facts.path_checked
    assert "Every bound of the path was verified now" in (tmp_path / "good.md").read_text(encoding="utf-8")
    first = path.solutions[0]
    assert first.certificate is not None
    forged = replace(first, certificate=replace(first.certificate, upper_bound=first.objective * 0.9999))
    facts = write_report(
        solution, tmp_path / "bad.md", data=data, names=NAMES, path=replace(path, solutions=(forged, path.solutions[1]))
    )
    assert "the path is not what the data give: at 2 loadings" in facts.refusal
    assert "was not accepted and is left out" in (tmp_path / "bad.md").read_text(encoding="utf-8")


def test_undecided_features_do_not_contradict_optimality(tmp_path: Any) -> None:
    # Equal variances: every choice is optimal, so no feature is in all of them or in none.
    matrix = np.eye(5)
    solution = certpca.solve(matrix, 2, certify=True, target_gap=1e-6, covariance=True)
    write_report(solution, tmp_path / "report.md", data=matrix, covariance=True)
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "Proved optimal, verified" in text
    assert "whether other choices that explain as much use them is not proved" in text
    assert "left open" not in text


def test_what_a_limit_left_unknown_is_filled_in(data: np.ndarray, solution: Solution, tmp_path: Any) -> None:
    unknown = replace(solution, relative_objective=float("nan"), status=Status.OUT_OF_BUDGET)
    facts = write_report(unknown, tmp_path / "report.md", data=data, names=NAMES)
    assert not facts.refused
    assert facts.solution.relative_objective == pytest.approx(solution.relative_objective, rel=1e-3)
    for told in (unknown, replace(unknown, certificate=None)):
        assert not write_report(told, tmp_path / "without.md").refused
        text = (tmp_path / "without.md").read_text(encoding="utf-8")
        assert "nan" not in text.lower()
        assert "all features capture" not in text
