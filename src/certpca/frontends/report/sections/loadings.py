"""Which features, and how much of each."""

from certpca.frontends.report.blocks import Bar, Bars, Block, Paragraph, Table
from certpca.frontends.report.facts import Facts
from certpca.frontends.report.links import links_of
from certpca.frontends.report.words import feature_names, percent

ORDER = 10
TITLE = "Loadings"
LISTED = 10_000  # loadings in the full table; a page with more is no longer read


def blocks(facts: Facts) -> list[Block]:
    """Draw the largest loadings and list all."""
    solution, order = facts.solution, facts.by_magnitude
    names = feature_names(solution)
    proof = None if facts.check is None else facts.check.proof
    inside = set() if proof is None else set(proof.inside.tolist())
    mark = "proved" if 0 < len(inside) < solution.support.size else ""  # where all or none are, the text says so
    shown = order[: facts.largest]
    bars = [
        Bar(names[j], float(solution.loadings[j]), mark if int(solution.support[j]) in inside else "") for j in shown
    ]
    count = len(order)
    caption = f"All {count:,} loadings" if count > 1 else "The only loading"
    parts: list[Block] = []
    if len(shown) < count:
        held = float((solution.loadings[shown] ** 2).sum())
        caption = f"The {len(shown)} largest of {count:,} loadings"
        smallest = abs(float(solution.loadings[order[-1]]))
        parts.append(
            Paragraph(
                f"{caption}. They hold {percent(held, 1)} of the sum of squares, which is 1 for all together; "
                f"the smallest of all is {smallest:.2g} in magnitude."
            )
        )
    links = links_of(names, genes=facts.genes)
    parts.append(Bars(bars, caption + ", by magnitude", links))
    if mark:
        parts.append(Paragraph("✓: proved to be in every optimal choice of features.", note=True))
    if facts.other_names:
        text = "The result names its features otherwise than the data do; what is shown is taken from the data."
        parts.append(Paragraph(text, note=True))
    if not solution.refitted:
        parts.append(
            Paragraph("These are the algorithm's own loadings, not the best ones for the chosen features.", note=True)
        )
    listed = order[:LISTED]
    rows = [[names[j], str(solution.support[j]), f"{solution.loadings[j]:+.6f}".replace("-", "−")] for j in listed]
    title = f"All {count:,} loadings" if count <= LISTED else f"The {LISTED:,} largest of {count:,} loadings"
    header = ["feature", "index", "loading"]
    parts.append(Table(header, rows, folded=f"{title} as a table", texts=1, links=links, name="loadings"))
    return parts
