"""Several components: which features, and which variance is which."""

import math

import numpy as np

from certpca.frontends.report.blocks import Block, Chart, Paragraph, Table
from certpca.frontends.report.set_facts import SetFacts
from certpca.frontends.report.words import number, percent_down, percent_up
from certpca.results.component_set import GREEDY

ORDER = 10
TITLE = "Components"
ABOUT = "several"


def blocks(facts: SetFacts) -> list[Block]:
    """Draw components x features, and list what each explains."""
    found = facts.components
    greedy = found.together == GREEDY
    header = ["component", "loadings", "variance", "share", "adjusted", "cumulative adjusted"]
    rows = []
    for j, part in enumerate(found.components):
        row = [
            str(j + 1),
            f"{part.support.size:,}",
            number(float(found.explained_variance[j])),
            percent_down(float(found.explained_variance_ratio[j])),
            percent_down(float(found.adjusted_variance_ratio[j])),
            percent_down(float(np.cumsum(found.adjusted_variance_ratio)[j])),
        ]
        rows.append([*row, percent_up(part.gap) if math.isfinite(part.gap) else "–"] if greedy else row)
    words = "Rows are features, columns components; a bar is as long as the loading."
    meaning = (
        "Variance is that along each component by itself; where scores are correlated its sum counts some of it twice. "
        "Adjusted is what each adds to the ones before it. Regression of every feature on all scores explains "
        f"{percent_down(found.total_variance_ratio)} of the total."
    )
    return [
        Paragraph(f"The components are {found.description}."),
        Chart("Components and features", words, "components", [found], {"most": facts.largest}),
        Table(header + (["gap of the step, at most"] if greedy else []), rows),
        Paragraph(meaning, note=True),
    ]
