"""What a report is about, asked of the library: nothing here computes what a public verb does not."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np

from certpca.checker import Examiner
from certpca.frontends.report.recomputed import Check, contradiction, held_against
from certpca.intake import DataOptions, as_operator
from certpca.operators import Operator
from certpca.readers.moments import Moments, dense_moments, sparse_moments
from certpca.results.certificate import Source
from certpca.results.path import Path
from certpca.results.solution import Solution
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import Indices, Vector, to_vector
from certpca.runtime.budget import Budget, Listener, Progress, begun
from certpca.runtime.errors import InvalidDataError, InvalidProblemError
from certpca.verbs.components import remaining_problem
from certpca.verbs.decompose import NOTHING_LEFT
from certpca.verbs.path import path as find_path
from certpca.verbs.solve import solve

EXTRA_SECONDS = 30.0  # for what only the report needs: a second component, and a path where one is asked for
LARGEST = 30  # bars that fit a page


@dataclass(frozen=True, slots=True)
class Files:
    """Where things lie, as far as that is known, for the commands a report prints.

    Parameters
    ----------
    result : str
        The file of the solution.
    certificate : str
        That of its certificate.
    data : str
        That of the data.
    path : str
        That of a path.
    data_options : tuple of str
        What was typed to read and prepare the data.
    reading_options : tuple of str
        Those of them that a stored certificate does not record.

    See Also
    --------
    write_report : Takes it.

    Examples
    --------
    >>> import certpca
    >>> certpca.Files(data="data.csv").data
    'data.csv'
    """

    result: str = ""
    certificate: str = ""
    data: str = ""
    path: str = ""
    data_options: tuple[str, ...] = ()
    reading_options: tuple[str, ...] = ()


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
class Scores:
    """The samples seen along the solution and along a second component, and their labels."""

    first: Vector
    second: Vector
    second_component: Solution
    second_ratio: float
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Everything a report tells; parts that are not known are None.

    Parameters
    ----------
    solution : Solution
        What the report is on; with data, recomputed from them.
    files : Files
        Where things lie.
    data : DataFacts, optional
        The data in numbers.
    check : Check, optional
        What the checker said.
    scores : Scores, optional
        On this component and a second one.
    no_scores : str
        Why there are none.
    path : Path, optional
        Other sparsities; with data, recomputed from them.
    path_made_now : bool
        Whether it was computed for the report.
    path_checked : bool
        Whether it was recomputed.
    path_refusal : str
        Why it was left out, where the data contradict it.
    inside_names : tuple of str
        Names of the features proved to be in every optimum.
    other_names : bool
        Whether the result names features otherwise than the data do.
    largest : int
        How many loadings are drawn.

    See Also
    --------
    write_report : What returns it.

    Examples
    --------
    >>> import certpca
    >>> certpca.Facts(certpca.solve(certpca.pitprops(), 3)).refused
    False
    """

    solution: Solution
    files: Files = field(default_factory=Files)
    data: DataFacts | None = None
    check: Check | None = None
    scores: Scores | None = None
    no_scores: str = ""
    path: Path | None = None
    path_made_now: bool = False
    path_checked: bool = False
    path_refusal: str = ""
    inside_names: tuple[str, ...] = ()
    other_names: bool = False
    largest: int = LARGEST

    @property
    def refused(self) -> bool:
        """Whether the data contradict the result."""
        return self.check is not None and bool(self.check.refusal)

    @property
    def refusal(self) -> str:
        """Why the result, or the path beside it, is refused; empty where neither is."""
        own = "" if self.check is None else self.check.refusal
        return own or (f"the path is not what the data give: {self.path_refusal}" if self.path_refusal else "")

    @property
    def trace(self) -> float:
        """The total variance, or NaN where the result does not tell."""
        ratio = self.solution.explained_variance_ratio
        return self.solution.objective / ratio if ratio > 0 else math.nan

    @property
    def total(self) -> float | None:
        """The total variance where shares of it can be drawn."""
        return self.trace if self.trace > 0 and math.isfinite(100 / self.trace) else None

    @property
    def by_magnitude(self) -> list[int]:
        """The positions of the support by falling magnitude of the loadings."""
        return [int(j) for j in np.argsort(-np.abs(self.solution.loadings), kind="stable")]


def gather(
    solution: Solution,
    *,
    data: Any = None,
    path: Path | None = None,
    sparsities: Iterable[int] | None = None,
    labels: Any = None,
    files: Files | None = None,
    budget: Budget | Progress | None = None,
    listener: Listener | None = None,
    **options: Unpack[DataOptions],
) -> Facts:
    """Collect what a report tells; see `write_report`."""
    progress = begun(budget or Budget(seconds=EXTRA_SECONDS), listener)
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
        conflict = contradiction(solution)
        return Facts(solution, files, check=Check(solution, conflict) if conflict else None, path=path)
    operator = as_operator(data, **options)
    if operator.size != solution.size:
        msg = f"the result is about {solution.size} features, {files.data or 'the data'} have {operator.size}"
        raise InvalidDataError(msg)
    summary = _summary(operator, files.data or "the data given")
    marks = _checked_labels(labels, summary.samples)
    examiner = Examiner(operator.source())
    check = held_against(operator, solution, examiner)
    if check.refusal:
        return Facts(solution, files, summary, check)
    later = 2 if path is None and sparsities is not None else 1
    scores, reason = _scores(check.solution, operator, marks, progress.part(1 / later))
    made_now, path_refusal = path is None and sparsities is not None, ""
    if made_now and sparsities is not None:
        path = find_path(operator, sparsities, certify=True, budget=progress.part())
    elif path is not None:
        path, path_refusal = _checked_path(path, operator, examiner)
    inside = np.empty(0, dtype=np.intp) if check.proof is None else check.proof.inside
    return Facts(
        solution=check.solution,
        files=files,
        data=summary,
        check=check,
        scores=scores,
        no_scores=reason,
        path=path,
        path_made_now=made_now,
        path_checked=path is not None,
        path_refusal=path_refusal,
        inside_names=operator.names_of(inside) or _numbered(inside),
        other_names=solution.names is not None and solution.names != check.solution.names,
    )


def _checked_path(path: Path, operator: Operator, examiner: Examiner) -> tuple[Path | None, str]:
    """Recompute every solution of a path, or return none and why."""
    checks = [held_against(operator, solution, examiner) for solution in path.solutions]
    for check in checks:
        if check.refusal:
            return None, f"at {check.solution.sparsity:,} loadings {check.refusal}"
    return Path(tuple(check.solution for check in checks), path.seconds), ""


def _require_meaningful(solution: Solution) -> None:
    numbers = [solution.objective, solution.explained_variance_ratio, solution.seconds]
    if solution.support.size == 0 or not np.isfinite([*numbers, *solution.loadings]).all():
        msg = "the result holds no loadings, or numbers that are not finite: there is nothing to report"
        raise InvalidProblemError(msg)


def _numbered(indices: Indices) -> tuple[str, ...]:
    return tuple(f"feature {index}" for index in indices)


def _summary(operator: Operator, name: str) -> DataFacts:
    missing = 0
    if operator.rows is not None:
        source = operator.source()
        if source.fill_missing:  # else there are none: they would have been refused
            moments = _moments(source)
            missing = int((moments.rows - moments.count).sum())
    constant = int((to_vector(operator.diagonal()) == 0.0).sum())
    return DataFacts(name, operator.description, operator.rows, operator.size, missing, constant, operator.trace())


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


def _scores(
    solution: Solution,
    operator: Operator,
    labels: tuple[str, ...] | None,
    progress: Progress,
) -> tuple[Scores | None, str]:
    """Return the scores of two components, or None and why there are none."""
    if operator.rows is None:
        return None, "Scores need samples; the data given are a matrix."
    rest = remaining_problem(operator, [solution], "schur")
    if not rest.trace() > NOTHING_LEFT * operator.trace():
        return None, "The component explains all the variance there is: nothing is left for a second one to score."
    with np.errstate(over="ignore"):  # as in decompose: features without variance left
        second = solve(rest, solution.sparsity, budget=progress)
    return (
        Scores(
            operator.scores(solution.support, solution.loadings),
            operator.scores(second.support, second.loadings),
            second,
            second.objective / operator.trace(),
            labels,
        ),
        "",
    )
