"""From facts to the sections of a report."""

import math
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module

import numpy as np

from certpca.frontends.report.blocks import Bar, Bars, Block, Command, Document, FactList, Paragraph, Section, Table
from certpca.frontends.report.charts import history_chart, path_chart, scores_chart
from certpca.frontends.report.escape import shortened
from certpca.frontends.report.facts import Facts, Scores
from certpca.frontends.report.words import (
    NBSP,
    badge,
    certificate_state,
    counted,
    duration,
    feature_names,
    headline,
    kind_in_words,
    number,
    percent,
    percent_down,
    percent_up,
    share_of_variance,
    standing,
)
from certpca.results.certificate import PROVED_OPTIMAL
from certpca.results.status import Status
from certpca.runtime import rounded

LARGEST = 30  # bars that fit a page
LISTED = 10_000  # loadings in the full table; a page with more is no longer read
NAMED = 40  # features listed by name in running text
LONGEST_NAME = 60


def compose(
    facts: Facts, *, title: str | None = None, largest: int = LARGEST, when: datetime | None = None
) -> Document:
    """Lay a report out."""
    solution = facts.solution
    sections = [
        Section("Loadings", _loadings(facts, largest)),
        Section("Certificate", _certificate(facts)),
        Section("Path", _path(facts)),
        Section("Scores", _scores(facts)),
        Section("Data", _data(facts)),
        Section("How it was computed", _computation(facts)),
        Section("Check it yourself", _commands(facts)),
    ]
    moment = (when or datetime.now(UTC)).strftime("%d %B %Y, %H:%M UTC").lstrip("0")
    return Document(
        title=title or f"Sparse principal component: {solution.support.size:,} of {solution.size:,} features",
        subtitle=_subtitle(solution.matrix),
        state=certificate_state(facts),
        badge=badge(facts),
        headline=headline(facts),
        standing=standing(facts),
        figures=_figures(facts),
        sections=[section for section in sections if section.blocks],
        footer=f"Written by certpca {_version()}, {moment}.",
    )


def by_magnitude(facts: Facts) -> list[int]:
    """Order the positions of the support by falling magnitude of the loadings."""
    return [int(j) for j in np.argsort(-np.abs(facts.solution.loadings), kind="stable")]


def _figures(facts: Facts) -> list[tuple[str, str]]:
    solution = facts.solution
    if facts.refused:  # numbers this large are believed
        return []
    figures = [
        (percent_down(solution.explained_variance_ratio), "of the variance explained"),
        (f"{solution.support.size:,} of {solution.size:,}", "features used"),
    ]
    if not math.isnan(solution.relative_objective):  # a limit may have left no time for it
        figures.append((percent(solution.relative_objective, 1), "of what a component with all features captures"))
    state = certificate_state(facts)
    if state == "optimal":
        figures.append((f"0{NBSP}%", "gap to the best possible (below one millionth)"))
    elif state == "gap":
        figures.append((percent_up(solution.gap), "gap to the best possible, at most"))
    return figures


def _loadings(facts: Facts, largest: int) -> list[Block]:
    solution, names, order = facts.solution, feature_names(facts), by_magnitude(facts)
    proof = None if facts.check is None else facts.check.proof
    inside = set() if proof is None else set(proof.inside.tolist())
    mark = "proved" if 0 < len(inside) < solution.support.size else ""  # where all or none are, the text says so
    shown = order[:largest]
    bars = [
        Bar(names[j], float(solution.loadings[j]), mark if int(solution.support[j]) in inside else "") for j in shown
    ]
    count = len(order)
    caption = f"All {count:,} loadings" if count > 1 else "The only loading"
    blocks: list[Block] = []
    if len(shown) < count:
        held = float((solution.loadings[shown] ** 2).sum())
        caption = f"The {len(shown)} largest of {count:,} loadings"
        smallest = abs(float(solution.loadings[order[-1]]))
        blocks.append(
            Paragraph(
                f"{caption}. They hold {percent(held, 1)} of the sum of squares, which is 1 for all together; "
                f"the smallest of all is {smallest:.2g} in magnitude."
            )
        )
    blocks.append(Bars(bars, caption + ", by magnitude"))
    if mark:
        blocks.append(Paragraph("✓: proved to be in every optimal choice of features.", note=True))
    if facts.other_names:
        text = "The result names its features otherwise than the data do; what is shown is taken from the data."
        blocks.append(Paragraph(text, note=True))
    if not solution.refitted:
        blocks.append(
            Paragraph("These are the algorithm's own loadings, not the best ones for the chosen features.", note=True)
        )
    if len(shown) < count or any(len(names[j]) > LONGEST_NAME for j in shown):
        listed = order[:LISTED]
        rows = [[names[j], str(solution.support[j]), f"{solution.loadings[j]:+.6f}".replace("-", "−")] for j in listed]
        title = f"All {count:,} loadings" if count <= LISTED else f"The {LISTED:,} largest of {count:,} loadings"
        blocks.append(Table(["feature", "index", "loading"], rows, folded=title, texts=1))
    return blocks


def _certificate(facts: Facts) -> list[Block]:
    solution, certificate = facts.solution, facts.solution.certificate
    if certificate is None:
        text = "There is no certificate, so how far this choice is from the best possible is not known."
        if not math.isnan(solution.relative_objective):
            text += (
                f" A component with loadings on all features captures {number(_dense(facts))}, by computation and not "
                "by proof; a sparse one cannot capture more than that."
            )
        return [Paragraph(text)]
    blocks: list[Block] = []
    check = facts.check
    if check is not None and check.refusal:
        text = f"The certificate stored with the result was not accepted: {check.refusal}."
        return [Paragraph(text + " What it says is left out here.")]
    blocks.append(
        Paragraph(
            "The optimum lies between what this component captures and the upper bound. The bound holds for every unit "
            f"vector with at most {counted(certificate.sparsity, 'nonzero loading')}; it comes with evidence that "
            "anyone can check against the data without trusting the program that found it."
        )
    )
    gap = "below one millionth" if certificate_state(facts) == "optimal" else f"at most {percent_up(solution.gap)}"
    rows = [
        ("captured", f"{_digits(solution.objective)} ({share_of_variance(facts, solution.objective)} of the total)"),
        (
            "upper bound",
            f"{_digits(certificate.upper_bound, up=True)} "
            f"({share_of_variance(facts, certificate.upper_bound, up=True)} of the total, rounded up)",
        ),
    ]
    if certificate_state(facts) != "incomparable":
        rows.append(("gap", gap))
    proof = None if check is None else check.proof
    outside = certificate.outside if proof is None else int(proof.outside.size)
    inside = certificate.inside if proof is None else int(proof.inside.size)
    rows += [
        ("in no optimal choice", f"{outside:,} of {certificate.size:,} features"),
        ("in every optimal choice", f"{counted(inside, 'feature')}{_listed(facts.inside_names)}"),
        ("not decided", _undecided(facts, max(certificate.size - outside - inside, 0))),
        ("kind", f"{certificate.kind}: {kind_in_words(certificate.kind)}"),
        ("fingerprint of the data", certificate.fingerprint),
    ]
    return [*blocks, FactList(rows)]


def _undecided(facts: Facts, count: int) -> str:
    """Say what it means that features are neither in every optimal choice nor in none."""
    text = counted(count, "feature")
    if count and certificate_state(facts) == "optimal":
        return f"{text}: whether other choices that explain as much use them is not proved"
    return text


def _path(facts: Facts) -> list[Block]:
    path = facts.path
    if facts.path_refusal:
        return [Paragraph(f"The path given was not accepted and is left out: {facts.path_refusal}.")]
    if path is None:
        return []
    bounds, gaps = path.upper_bounds, path.gaps
    proved = bool(np.isfinite(bounds).any())
    blocks: list[Block] = []
    chart = path_chart(facts, path)
    if chart is not None:
        blocks.append(chart)
    if proved and facts.path_made_now:
        origin = "The path was computed for this report, and its bounds were proved on these data."
    elif proved and facts.path_checked:
        origin = "Every bound of the path was verified now on these data, and every number recomputed."
    elif proved:
        origin = "The bounds are those stored with the path; they were not checked again for this report."
    else:
        origin = "Nothing is proved along this path."
    if path.solutions[0].matrix != facts.solution.matrix:
        origin += f" Note that the path is about another matrix: {path.solutions[0].matrix}."
    blocks.append(Paragraph(f"{origin} Finding it took {duration(path.seconds)}.", note=True))
    header = ["loadings", "explained"] + (["upper bound", "gap, at most"] if proved else []) + ["enter", "leave"]
    rows = []
    for j, solution in enumerate(path.solutions):
        bound = ["–", "–"]
        if gaps[j] <= PROVED_OPTIMAL:
            bound = [share_of_variance(facts, bounds[j], up=True), "0 (optimal)"]
        elif math.isfinite(bounds[j]):
            bound = [share_of_variance(facts, bounds[j], up=True), percent_up(gaps[j])]
        row = [f"{solution.sparsity:,}", percent_down(solution.explained_variance_ratio), *(bound if proved else [])]
        rows.append([*row, f"{path.entering(j).size:,}", f"{path.leaving(j).size:,}"])
    return [*blocks, Table(header, rows)]


def _scores(facts: Facts) -> list[Block]:
    scores = facts.scores
    if scores is None:
        return [Paragraph(facts.no_scores)] if facts.no_scores else []
    return [scores_chart(facts, scores), Paragraph(_second_component(scores), note=True)]


def _second_component(scores: Scores) -> str:
    second = scores.second_component
    order = np.argsort(-np.abs(second.loadings), kind="stable")[:5]
    names = [second.names[j] if second.names else f"feature {second.support[j]}" for j in order]
    return (
        f"Component 1 is the component of this report. Component 2 was found for this picture in what component 1 "
        f"leaves of the variance ({counted(second.support.size, 'loading')}, largest on "
        f"{', '.join(shortened(name, LONGEST_NAME) for name in names)}); it has no certificate."
    )


def _data(facts: Facts) -> list[Block]:
    data = facts.data
    if data is None:
        rows = [("matrix", facts.solution.matrix), ("features", f"{facts.solution.size:,}")]
        if facts.trace > 0:
            rows.append(("total variance", number(facts.trace)))
        return [FactList(rows)]
    rows = [("source", data.name), ("matrix", data.matrix)]
    if data.samples is not None:
        cells = data.samples * data.features
        rows.append(("samples", f"{data.samples:,}"))
        missing = (
            f"{data.missing:,} ({percent(data.missing / cells, 3)}), taken as column means" if data.missing else "none"
        )
        rows += [("features", f"{data.features:,}"), ("missing values", missing)]
        rows.append(("constant columns", f"{data.constant:,}" if data.constant else "none"))
    else:
        rows.append(("features", f"{data.features:,}"))
        rows.append(("features without variance", f"{data.constant:,}" if data.constant else "none"))
    rows.append(("total variance", number(data.total_variance)))
    return [FactList(rows)]


def _computation(facts: Facts) -> list[Block]:
    solution = facts.solution
    rows = [
        ("solver", solution.solver),
        ("asked for", f"at most {counted(solution.sparsity, 'nonzero loading')}"),
        ("time", duration(solution.seconds)),
        ("status", _status(facts)),
        ("loadings", "the best ones for the chosen features" if solution.refitted else "the algorithm's own"),
    ]
    if solution.certificate is not None:
        rows.append(("the proof was made in", duration(solution.certificate.seconds)))
    rows += [(name.replace("_", " "), number(value)) for name, value in solution.details.items()]
    chart = history_chart(facts)
    note = Paragraph("This section repeats what the result says of its making; data cannot confirm it.", note=True)
    return [FactList(rows), *([] if chart is None else [chart]), note]


def _status(facts: Facts) -> str:
    solution = facts.solution
    if solution.status is Status.OPTIMAL and (facts.refused or solution.certificate is None):
        return "The result calls itself optimal, but nothing here proves it"
    return _capital(solution.status.value)


def _commands(facts: Facts) -> list[Block]:
    files, solution = facts.files, facts.solution
    like = ["--like", files.result] if files.result and solution.reading else []
    data = [files.data or "DATA", *files.data_options, *like]
    placeholder = "" if files.data else " Put the file with the data in place of DATA."
    if solution.certificate is None:
        line = shlex.join(["certpca", "certify", *data, "-k", str(solution.sparsity), "--output", "certificate.json"])
        return [Paragraph(f"To prove an upper bound for this number of features:{placeholder}"), Command(line)]
    if not files.certificate:
        text = "With the solution and the data in Python; an error is raised unless the claim holds:"
        return [Paragraph(text), Command("certpca.verify(solution.certificate, data)")]
    # How the file is read and becomes the matrix, the certificate says; those of older versions only the latter.
    line = shlex.join(["certpca", "verify", files.certificate, files.data or "DATA", *files.reading_options])
    text = (
        "The certificate and its evidence lie beside the result. The checker prepares the data by itself and "
        f"recomputes every number; its exit status is 0 only if the claim holds.{placeholder}"
    )
    return [Paragraph(text), Command(line)]


def _listed(names: Sequence[str]) -> str:
    if not names:
        return ""
    shown = ", ".join(shortened(name, LONGEST_NAME) for name in names[:NAMED])
    return f": {shown}" + (f" and {len(names) - NAMED:,} more" if len(names) > NAMED else "")


def _dense(facts: Facts) -> float:
    relative = facts.solution.relative_objective
    return facts.solution.objective / relative if relative > 0 else 0.0


def _digits(value: float, *, up: bool = False) -> str:
    """Write eight digits, rounded up where a smaller number would not be proved, and down where a larger one is not."""
    return f"{float((rounded.up if up else rounded.down)(value, 8)):,.8g}"


def _version() -> str:
    # The package knows every front end by name, so a plain import of it would point up the flow.
    return str(import_module("certpca").__version__)


def _subtitle(matrix: str) -> str:
    return "Of a covariance or correlation matrix given as such" if matrix.endswith("matrix") else f"Of the {matrix}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
