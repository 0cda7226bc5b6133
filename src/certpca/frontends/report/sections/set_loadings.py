"""The loadings of several components."""

import numpy as np

from certpca.frontends.report.blocks import Block, Table
from certpca.frontends.report.links import links_of
from certpca.frontends.report.sections.loadings import LISTED
from certpca.frontends.report.set_facts import SetFacts
from certpca.frontends.report.words import feature_names

ORDER = 30
TITLE = "Loadings"
ABOUT = "several"


def blocks(facts: SetFacts) -> list[Block]:
    """List the loadings of each component, and all in one table."""
    tables: list[Block] = []
    for j, part in enumerate(facts.components.components):
        order = np.argsort(-np.abs(part.loadings), kind="stable")[:LISTED]
        names = feature_names(part)
        rows = [[names[i], str(part.support[i]), f"{part.loadings[i]:+.6f}".replace("-", "−")] for i in order]
        title = f"Component {j + 1}: {len(rows):,} of {part.support.size:,} loadings"
        links = links_of(names, genes=facts.genes)
        name = f"loadings-{j + 1}"
        tables.append(Table(["feature", "index", "loading"], rows, folded=title, texts=1, links=links, name=name))
    return [*tables, _tidy(facts)]


def _tidy(facts: SetFacts) -> Table:
    """List the loadings of all components in one table, a line for each."""
    rows = [
        [name, str(index), str(j + 1), f"{loading:+.6f}".replace("-", "−"), "positive" if loading > 0 else "negative"]
        for j, part in enumerate(facts.components.components)
        for name, index, loading in zip(feature_names(part), part.support, part.loadings, strict=True)
    ]
    links = links_of([row[0] for row in rows], genes=facts.genes)
    header = ["feature", "index", "component", "loading", "sign"]
    return Table(header, rows[:LISTED], folded="All components in one table", texts=1, links=links, name="all-loadings")
