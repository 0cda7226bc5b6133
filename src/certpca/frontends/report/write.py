"""From a solution to a file."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, overload

from certpca.frontends.report.blocks import Document
from certpca.frontends.report.compose import compose
from certpca.frontends.report.facts import EXTRA_SECONDS, LARGEST, Facts, Files, gather
from certpca.frontends.report.markdown import to_markdown
from certpca.frontends.report.page import to_html
from certpca.frontends.report.picture import save_picture
from certpca.frontends.report.set_facts import SetFacts, gather_set
from certpca.intake import DataOptions
from certpca.results.component_set import ComponentSet
from certpca.results.path import Path as SparsityPath
from certpca.results.solution import Solution
from certpca.runtime.atomic_write import require_writable, write_text_whole
from certpca.runtime.budget import Budget, Listener, Progress
from certpca.runtime.errors import InvalidProblemError
from certpca.verbs.validation import (
    checked_flag,
    checked_halves,
    checked_limits,
    checked_whole,
    named_arguments,
    refuse_without_effect,
)

FORMATS = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown", ".png": "png", ".svg": "svg"}


@overload
def write_report(
    solution: Solution,
    target: str | Path,
    *,
    data: Any = None,
    path: SparsityPath | None = None,
    sparsities: Iterable[int] | None = None,
    labels: Any = None,
    sample_names: Any = None,
    metadata: Any = None,
    subsamples: int | None = None,
    genes: bool = False,
    form: str | None = None,
    title: str | None = None,
    largest: int = LARGEST,
    files: Files | None = None,
    time_limit: float | None = None,
    budget: Budget | Progress | None = None,
    listener: Listener | None = None,
    **options: Unpack[DataOptions],
) -> Facts: ...
@overload
def write_report(
    solution: ComponentSet,
    target: str | Path,
    *,
    data: Any = None,
    labels: Any = None,
    sample_names: Any = None,
    metadata: Any = None,
    genes: bool = False,
    form: str | None = None,
    title: str | None = None,
    largest: int = LARGEST,
    files: Files | None = None,
    time_limit: float | None = None,
    budget: Budget | Progress | None = None,
    listener: Listener | None = None,
    **options: Unpack[DataOptions],
) -> SetFacts: ...
@named_arguments
def write_report(
    solution: Solution | ComponentSet,
    target: str | Path,
    *,
    data: Any = None,
    path: SparsityPath | None = None,
    sparsities: Iterable[int] | None = None,
    labels: Any = None,
    sample_names: Any = None,
    metadata: Any = None,
    subsamples: int | None = None,
    genes: bool = False,
    form: str | None = None,
    title: str | None = None,
    largest: int = LARGEST,
    files: Files | None = None,
    time_limit: float | None = None,
    budget: Budget | Progress | None = None,
    listener: Listener | None = None,
    **options: Unpack[DataOptions],
) -> Facts | SetFacts:
    """Write a report on a solution, or on several components; the file appears whole or not at all.

    Parameters
    ----------
    solution : Solution or ComponentSet
        From `solve` or `load_solution`; from `decompose` or `load_components`.
    target : path_like
        The file. Its ending says what it becomes: one self-contained HTML page, Markdown, or a picture (png, svg).
    data : array_like, DataFrame, reader or Operator, optional
        As in `solve`. With them the report summarises the data, verifies the certificate with the independent checker
        and shows the scores on this component and a second one.
    path : Path, optional
        From `path` or `load_path`: what other sparsities capture, and the band in which the optimum lies.
    sparsities : iterable of int, optional
        Compute and certify such a path now; needs the data.
    labels : sequence, optional
        One for each sample: colours of the scores.
    sample_names : sequence, optional
        One for each sample: what the pointer brings up.
    metadata : mapping or DataFrame, optional
        Columns with one value for each sample: how strongly components go with them, see `associations`.
    subsamples : int, optional
        Also search in so many half-samples, an even number, and say which features these find again, see `stability`.
        For one component.
    genes : bool
        Whether features are genes: their names then lead to a database of genes, as those of variants (rs…) and of
        Ensembl's identifiers always do.
    form : {"html", "markdown", "png", "svg"}, optional
        What it becomes, whatever the ending.
    title : str, optional
        A heading of your own.
    largest : int
        How many loadings are drawn; of several components, how many features.
    files : Files, optional
        Names of the files behind all this, for the commands that the report prints.
    time_limit : float, optional
        Seconds for all of it, the second component and the path above all; by default half a minute. The certificate is
        verified whatever that takes.
    budget : Budget, optional
        Limits steps too, in place of `time_limit`.
    listener : callable, optional
        Called with a `Step` after each step; returning False ends what takes long.
    **options : DataOptions
        How data become a matrix, as in `solve`.

    Returns
    -------
    Facts or SetFacts
        What the report tells. `refused` says whether the data contradict the result.

    Raises
    ------
    InvalidProblemError
        Where an argument has no meaning, or the data are not those of the solution.
    DataFileError
        Where the file cannot be written.

    See Also
    --------
    save_solution : For programs.

    Examples
    --------
    >>> import certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "report.md"
    >>> solution = certpca.solve(certpca.pitprops(), 7, certify=True, target_gap=1e-6)
    >>> certpca.write_report(solution, file, data=certpca.pitprops()).refused
    False
    >>> file.read_text(encoding="utf-8").splitlines()[0]
    '# Sparse principal component: 7 of 13 features'
    """
    form = report_format(target, form)
    checked_whole(largest, "largest", 1)
    checked_flag(genes, "genes")
    if subsamples is not None:
        checked_halves(subsamples)
    require_writable(target)
    by_default = EXTRA_SECONDS if time_limit is None and budget is None else time_limit
    progress = checked_limits(by_default, budget, listener)
    if isinstance(solution, ComponentSet):
        reason = "a report on several components has no such part"
        refuse_without_effect(reason, path=path, sparsities=sparsities, subsamples=subsamples)
        together = gather_set(
            solution, data, files, labels=labels, sample_names=sample_names, metadata=metadata, **options
        )
        together = replace(together, largest=largest, genes=genes)
        _write(compose(together, title=title), target, form)
        return together
    facts = gather(
        solution,
        data=data,
        path=path,
        sparsities=sparsities,
        labels=labels,
        sample_names=sample_names,
        metadata=metadata,
        subsamples=subsamples,
        files=files,
        budget=progress,
        **options,
    )
    facts = replace(facts, largest=largest, genes=genes)
    _write(compose(facts, title=title), target, form)
    return facts


def _write(document: Document, target: str | Path, form: str) -> None:
    if form in ("png", "svg"):
        save_picture(document, target, form)
    else:
        write_text_whole(target, to_html(document) if form == "html" else to_markdown(document))


def report_format(target: str | Path, form: str | None = None) -> str:
    """Return the format asked for, or the one the file's ending stands for."""
    known = sorted(set(FORMATS.values()))
    if form is not None:
        if form not in known:
            msg = f"a report can be {', '.join(known)}, got {form!r}"
            raise InvalidProblemError(msg)
        return form
    ending = Path(target).suffix.lower()
    if ending not in FORMATS:
        msg = f"the ending of {str(target)!r} says no format of a report; use {', '.join(FORMATS)}, or name one"
        raise InvalidProblemError(msg)
    return FORMATS[ending]
