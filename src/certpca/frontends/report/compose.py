"""From facts to a whole report."""

from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from certpca.frontends.report import set_words, words
from certpca.frontends.report.blocks import Document, Section
from certpca.frontends.report.facts import Facts
from certpca.frontends.report.sections import sections
from certpca.frontends.report.set_facts import SetFacts

HEADS = {"one": words, "several": set_words}


def compose(facts: Facts | SetFacts, *, title: str | None = None, when: datetime | None = None) -> Document:
    """Lay a report out, on one component or on several."""
    head: Any = HEADS[facts.about]
    moment = (when or datetime.now(UTC)).strftime("%d %B %Y, %H:%M UTC").lstrip("0")
    return Document(
        title=title or head.title(facts),
        subtitle=subtitle(facts.matrix),
        state=head.certificate_state(facts),
        badge=head.badge(facts),
        headline=head.headline(facts),
        standing=head.standing(facts),
        figures=head.figures(facts),
        sections=[
            Section(section.TITLE, section.blocks(facts))
            for section in sections(facts.about)
            if not hasattr(section, "applies") or section.applies(facts)
        ],
        footer=f"Written by certpca {version()}, {moment}.",
    )


def version() -> str:
    """Return the version of this package."""
    # The package knows every front end by name, so a plain import of it would point up the flow.
    return str(import_module("certpca").__version__)


def subtitle(matrix: str) -> str:
    """Say of which matrix a report tells."""
    return "Of a covariance or correlation matrix given as such" if matrix.endswith("matrix") else f"Of the {matrix}"
