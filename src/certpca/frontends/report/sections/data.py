"""The data in numbers."""

from certpca.frontends.report.blocks import Block, FactList
from certpca.frontends.report.facts import Facts
from certpca.frontends.report.set_facts import SetFacts
from certpca.frontends.report.words import number, percent

ORDER = 50
TITLE = "Data"
ABOUT = "both"


def blocks(facts: Facts | SetFacts) -> list[Block]:
    """List samples, features, missing values and variance, as far as they are known."""
    data = facts.data
    if data is None:
        rows = [("matrix", facts.matrix), ("features", f"{facts.size:,}")]
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
