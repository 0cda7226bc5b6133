"""From facts to a whole report."""

import math
from datetime import UTC, datetime
from importlib import import_module

from certpca.frontends.report.blocks import Document, Section
from certpca.frontends.report.facts import Facts
from certpca.frontends.report.sections import sections
from certpca.frontends.report.words import (
    NBSP,
    badge,
    certificate_state,
    headline,
    percent,
    percent_down,
    percent_up,
    standing,
)


def compose(facts: Facts, *, title: str | None = None, when: datetime | None = None) -> Document:
    """Lay a report out."""
    solution = facts.solution
    moment = (when or datetime.now(UTC)).strftime("%d %B %Y, %H:%M UTC").lstrip("0")
    return Document(
        title=title or f"Sparse principal component: {solution.support.size:,} of {solution.size:,} features",
        subtitle=subtitle(solution.matrix),
        state=certificate_state(facts),
        badge=badge(facts),
        headline=headline(facts),
        standing=standing(facts),
        figures=_figures(facts),
        sections=[
            Section(section.TITLE, section.blocks(facts))
            for section in sections()
            if not hasattr(section, "applies") or section.applies(facts)
        ],
        footer=f"Written by certpca {version()}, {moment}.",
    )


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


def version() -> str:
    """Return the version of this package."""
    # The package knows every front end by name, so a plain import of it would point up the flow.
    return str(import_module("certpca").__version__)


def subtitle(matrix: str) -> str:
    """Say of which matrix a report tells."""
    return "Of a covariance or correlation matrix given as such" if matrix.endswith("matrix") else f"Of the {matrix}"
