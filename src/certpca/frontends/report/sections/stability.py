"""What half-samples find again: another question than what is best in this sample."""

import numpy as np

from certpca.frontends.report.blocks import Block, Chart, Paragraph, Table
from certpca.frontends.report.facts import Facts
from certpca.frontends.report.links import links_of
from certpca.frontends.report.words import percent

ORDER = 25
TITLE = "Found again"


def applies(facts: Facts) -> bool:
    """Say whether half-samples were looked at."""
    return facts.stability is not None


def blocks(facts: Facts) -> list[Block]:
    """Say both sentences, draw how often features are selected, and list it."""
    found = facts.stability
    assert found is not None
    shown = found.drawn()
    names = [f"feature {j}" if found.names is None else found.names[j] for j in shown]
    inside = np.isin(shown, found.solution.support)
    words = "In which share of half-samples each feature is selected, those of the component and the next ones."
    rows = [
        [name, str(j), percent(float(found.frequencies[j]), 0), "yes" if there else "no"]
        for name, j, there in zip(names, shown, inside, strict=True)
    ]
    values = [names, found.frequencies[shown], inside]
    header = ["feature", "index", "half-samples", "in the component"]
    return [
        Paragraph(found.in_sample),
        Paragraph(found.in_others),
        Chart("How often half-samples select features", words, "stability", values, {"stable": found.stable}),
        Table(header, rows, folded="All numbers", texts=1, links=links_of(names, genes=facts.genes), name="stability"),
    ]
