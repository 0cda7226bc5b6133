"""What a report is about, asked of the library: nothing here computes what a public verb does not."""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np

from certpca.api import solve, verify
from certpca.arrays import Indices, Vector, to_vector
from certpca.budget import Budget, Listener
from certpca.certificates.checker import Proof
from certpca.components import NOTHING_LEFT, remaining_problem
from certpca.errors import CertificateError, InvalidDataError, InvalidProblemError
from certpca.operators import DataOptions, Operator, as_operator
from certpca.operators.covariance import Covariance
from certpca.operators.inputs import is_sparse
from certpca.operators.moments import Moments, dense_moments, sparse_moments
from certpca.result import Solution, Source
from certpca.sparsity_path import Path
from certpca.sparsity_path import path as find_path

SAME_OBJECTIVE = 1e-6  # relative; what roundings of another machine or a text file may change
EXTRA_SECONDS = 30.0  # for what only the report needs: a second component, and a path where one is asked for
SCORE_COLUMNS = 256


@dataclass(frozen=True, slots=True)
class Files:
    """Where things lie, as far as that is known, for the commands a report prints."""

    result: str = ""
    certificate: str = ""
    data: str = ""
    path: str = ""
    data_options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DataFacts:
    """The data in numbers; a matrix that was given as such has no samples."""

    name: str
    matrix: str
    samples: int | None
    features: int
    missing: int
    constant: int
    total_variance: float


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """What came of holding the result against the data: a refusal, or none and a proof where there is a certificate."""

    refusal: str = ""
    proof: Proof | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The samples seen along the solution and along a second component, and their labels."""

    first: Vector
    second: Vector
    second_component: Solution
    second_ratio: float
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Everything a report tells; parts that are not known are None."""

    solution: Solution
    files: Files = field(default_factory=Files)
    data: DataFacts | None = None
    check: Check | None = None
    scores: Scores | None = None
    no_scores: str = ""
    path: Path | None = None
    path_made_now: bool = False
    inside_names: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether the data contradict the result."""
        return self.check is not None and bool(self.check.refusal)

    @property
    def trace(self) -> float:
        """The total variance, or NaN where the result does not tell."""
        ratio = self.solution.explained_variance_ratio
        return self.solution.objective / ratio if ratio > 0 else math.nan


def gather(
    solution: Solution,
    *,
    data: Any = None,
    path: Path | None = None,
    sparsities: Iterable[int] | None = None,
    labels: Any = None,
    files: Files | None = None,
    budget: Budget | None = None,
    listener: Listener | None = None,
    **options: Unpack[DataOptions],
) -> Facts:
    """Collect what a report tells; see `write_report`."""
    files = files or Files()
    _require_meaningful(solution)
    if path is not None and path.solutions[0].size != solution.size:
        msg = f"the path is about {path.solutions[0].size} features, the result about {solution.size}"
        raise InvalidProblemError(msg)
    if data is None:
        if labels is not None or sparsities is not None:
            what = "labels" if labels is not None else "sparsities"
            msg = f"{what} need the data as well (data=, --data)"
            raise InvalidProblemError(msg)
        conflict = _contradiction(solution)
        return Facts(solution, files, check=Check(conflict) if conflict else None, path=path)
    operator = as_operator(data, **options)
    if operator.size != solution.size:
        msg = f"the result is about {solution.size} features, {files.data or 'the data'} have {operator.size}"
        raise InvalidDataError(msg)
    summary = _summary(operator, files.data or "the data given")
    marks = _checked_labels(labels, summary.samples)
    check = _check(solution, operator)
    if check.refusal:
        return Facts(solution, files, summary, check, path=path)
    limits = budget or Budget(seconds=EXTRA_SECONDS)
    scores, reason = _scores(solution, operator, marks, limits, listener)
    made_now = path is None and sparsities is not None
    if made_now and sparsities is not None:
        path = find_path(operator, sparsities, certify=True, budget=limits, listener=listener)
    inside = np.empty(0, dtype=np.intp) if check.proof is None else check.proof.inside
    return Facts(
        solution, files, summary, check, scores, reason, path, made_now, operator.names_of(inside) or _numbered(inside)
    )


def _require_meaningful(solution: Solution) -> None:
    numbers = [solution.objective, solution.explained_variance_ratio, solution.relative_objective, solution.seconds]
    if solution.support.size == 0 or not np.isfinite([*numbers, *solution.loadings]).all():
        msg = "the result holds no loadings, or numbers that are not finite: there is nothing to report"
        raise InvalidProblemError(msg)


def _numbered(indices: Indices) -> tuple[str, ...]:
    return tuple(f"feature {index}" for index in indices)


def _summary(operator: Operator, name: str) -> DataFacts:
    samples, missing = None, 0
    if isinstance(operator, Covariance):
        samples, source = operator.rows, operator.source()
        if source.fill_missing:  # else there are none: they would have been refused
            moments = _moments(source)
            missing = int((moments.rows - moments.count).sum())
    constant = int((to_vector(operator.diagonal()) == 0.0).sum())
    return DataFacts(name, operator.description, samples, operator.size, missing, constant, operator.trace())


def _moments(source: Source) -> Moments:
    values = source.values
    if hasattr(values, "moments"):  # a reader of a file, which counts while it walks
        return values.moments(center=True)  # type: ignore[no-any-return]
    return (
        sparse_moments(values, center=True) if is_sparse(values) else dense_moments(values, source.missing, center=True)
    )


def _checked_labels(labels: Any, samples: int | None) -> tuple[str, ...] | None:
    if labels is None:
        return None
    if samples is None:
        msg = "labels are for samples, but the data are a matrix without samples"
        raise InvalidProblemError(msg)
    if len(labels) != samples:
        msg = f"there must be one label for each of the {samples} samples, got {len(labels)}"
        raise InvalidDataError(msg)
    return tuple(str(label) for label in labels)


def _check(solution: Solution, operator: Operator) -> Check:
    """Hold the stored numbers against the data, and the certificate with the independent checker."""
    conflict = _contradiction(solution)
    if conflict:
        return Check(conflict)
    begin = time.perf_counter()
    captured = operator.quadratic_form(solution.support, solution.loadings)
    if not math.isclose(captured, solution.objective, rel_tol=SAME_OBJECTIVE):
        reason = f"the loadings capture {captured:.6g} there, not {solution.objective:.6g}"
        if operator.description != solution.matrix:
            reason += f"; the result is about the {solution.matrix}, the data as read give the {operator.description}"
        return Check(f"the data are not what the result was made from: {reason}")
    if solution.certificate is None:
        return Check(seconds=time.perf_counter() - begin)
    try:
        proof = verify(solution.certificate, operator)
    except CertificateError as error:
        return Check(str(error))
    return Check(proof=proof, seconds=time.perf_counter() - begin)


def _contradiction(solution: Solution) -> str:
    """Say where a result and its own certificate cannot both be right: files can be mixed up."""
    certificate = solution.certificate
    if certificate is None:
        return ""
    for what in ("size", "sparsity"):
        own, other = getattr(solution, what), getattr(certificate, what)
        if own != other:
            return f"the {what} is {own:,} in the result but {other:,} in its certificate"
    comparable = solution.support.size <= certificate.sparsity
    if comparable and solution.objective > certificate.upper_bound * (1 + SAME_OBJECTIVE):
        return f"the loadings capture {solution.objective:.6g}, more than the upper bound {certificate.upper_bound:.6g}"
    return ""


def _scores(
    solution: Solution,
    operator: Operator,
    labels: tuple[str, ...] | None,
    budget: Budget,
    listener: Listener | None,
) -> tuple[Scores | None, str]:
    """Return the scores of two components, or None and why there are none."""
    if not isinstance(operator, Covariance):
        return None, "Scores need samples; the data given are a matrix."
    rest = remaining_problem(operator, [solution], "schur", disjoint=False)
    if not rest.trace() > NOTHING_LEFT * operator.trace():
        return None, "The component explains all the variance there is: nothing is left for a second one to score."
    with np.errstate(over="ignore"):  # as in decompose: features without variance left
        second = solve(rest, solution.sparsity, budget=budget, listener=listener)
    return (
        Scores(
            _projected(operator, solution),
            _projected(operator, second),
            second,
            second.objective / operator.trace(),
            labels,
        ),
        "",
    )


def _projected(operator: Covariance, component: Solution) -> Vector:
    """Multiply the standardised columns of the support by the loadings."""
    factor = operator.restrict(component.support).factor()
    total = np.zeros(operator.rows)
    for columns, block in factor.blocks(SCORE_COLUMNS, operator.xp.float64):
        total += to_vector(block) @ component.loadings[columns]
    return total * math.sqrt(operator.source().divisor)
