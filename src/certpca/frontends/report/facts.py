"""What a report is about, asked of the library: nothing here computes what a public verb does not."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np

from certpca.checker import Examiner
from certpca.frontends.report.data_facts import DataFacts, data_facts
from certpca.frontends.report.recomputed import Check, contradiction, held_against
from certpca.frontends.report.sample_scores import Scores, checked_about_samples, of_one, with_metadata
from certpca.intake import DataOptions, as_operator
from certpca.operators import Operator
from certpca.results.path import Path
from certpca.results.solution import Solution
from certpca.runtime.arrays import Indices
from certpca.runtime.budget import Budget, Listener, Progress, begun
from certpca.runtime.errors import InvalidDataError, InvalidProblemError
from certpca.verbs.path import path as find_path
from certpca.verbs.sample_rows import SampleRows
from certpca.verbs.stability import stability
from certpca.verbs.stable_features import Stability

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
        On this component and a second one, with labels and names of samples and what metadata say.
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
    stability : Stability, optional
        What half-samples find again.
    genes : bool
        Whether names of features are those of genes, and lead to them.

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
    stability: Stability | None = None
    genes: bool = False

    @property
    def about(self) -> str:
        """Whether the report is on one component or on several."""
        return "one"

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
    def size(self) -> int:
        """Number of features."""
        return self.solution.size

    @property
    def matrix(self) -> str:
        """Which matrix it is, in words."""
        return self.solution.matrix

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
    sample_names: Any = None,
    metadata: Any = None,
    subsamples: int | None = None,
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
        refuse_without_data(
            labels=labels, sparsities=sparsities, sample_names=sample_names, metadata=metadata, subsamples=subsamples
        )
        conflict = contradiction(solution)
        return Facts(solution, files, check=Check(solution, conflict) if conflict else None, path=path)
    operator = as_operator(data, **options)
    if operator.size != solution.size:
        msg = f"the result is about {solution.size} features, {files.data or 'the data'} have {operator.size}"
        raise InvalidDataError(msg)
    summary = data_facts(operator, files.data or "the data given")
    about = checked_about_samples(summary.samples, labels=labels, sample_names=sample_names)
    if subsamples is not None:
        SampleRows(operator, "stability", 2)  # refused before the work, not after it
    examiner = Examiner(operator.source())
    check = held_against(operator, solution, examiner)
    if check.refusal:
        return Facts(solution, files, summary, check)
    later = 1 + (path is None and sparsities is not None) + (subsamples is not None)
    scores, reason = of_one(check.solution, operator, progress.part(1 / later))
    scores = None if scores is None else with_metadata(replace(scores, **about), metadata)
    made_now, path_refusal = path is None and sparsities is not None, ""
    if made_now and sparsities is not None:
        path = find_path(operator, sparsities, certify=True, budget=progress.part(1 / (later - 1)))
    elif path is not None:
        path, path_refusal = _checked_path(path, operator, examiner)
    again = None
    if subsamples is not None:
        known, whole = check.solution, progress.part()
        again = stability(operator, known.sparsity, solution=known, subsamples=subsamples, budget=whole)
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
        stability=again,
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


def refuse_without_data(**given: Any) -> None:
    """Refuse what needs the data and was given without them."""
    for what, value in given.items():
        if value is not None:
            msg = f"{what} need the data as well (data=, --data)"
            raise InvalidProblemError(msg)
