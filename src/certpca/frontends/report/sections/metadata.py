"""Components against what else is known of the samples."""

from certpca.frontends.report.blocks import Block, Chart, Paragraph, Table
from certpca.frontends.report.facts import Facts
from certpca.frontends.report.set_facts import SetFacts
from certpca.frontends.report.words import number

ORDER = 45
TITLE = "Metadata"
ABOUT = "both"


def applies(facts: Facts | SetFacts) -> bool:
    """Say whether metadata were given with samples to compare them with."""
    return facts.scores is not None and (facts.scores.associations is not None or bool(facts.scores.left_out))


def blocks(facts: Facts | SetFacts) -> list[Block]:
    """Draw and list how strongly scores go with each column."""
    assert facts.scores is not None
    found, left_out = facts.scores.associations, facts.scores.left_out
    parts: list[Block] = []
    if found is not None:
        words = (
            "Correlations of scores with numbers, and correlation ratios with groups. A star is beyond chance at "
            f"{found.level:.0%}, allowing for all that were looked at."
        )
        header = ["column", "kind", "component", "strength", "p-value", "beyond chance"]
        rows = [
            [
                name,
                kind,
                str(j + 1),
                f"{strength:+.3f}".replace("-", "−"),
                number(float(f"{chance:.2g}")),
                "yes" if star else "no",
            ]
            for name, kind, *line in zip(
                found.names, found.kinds, found.strengths, found.p_values, found.clear, strict=True
            )
            for j, (strength, chance, star) in enumerate(zip(*line, strict=True))
        ]
        parts.append(
            Chart(
                "Components against metadata", words, "metadata", [found.strengths, found.names], {"clear": found.clear}
            )
        )
        parts.append(Table(header, rows, folded="All numbers", texts=2, name="metadata"))
    if left_out:
        text = f"Left out, as they make no groups or are the same for all samples: {', '.join(left_out)}."
        parts.append(Paragraph(text, note=True))
    return parts
