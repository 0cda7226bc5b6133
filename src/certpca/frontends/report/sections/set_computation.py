"""How several components were computed, by their own account."""

from certpca.frontends.report.blocks import Block, FactList, Paragraph
from certpca.frontends.report.set_facts import SetFacts
from certpca.frontends.report.words import duration

ORDER = 60
TITLE = "How it was computed"
ABOUT = "several"


def blocks(facts: SetFacts) -> list[Block]:
    """Repeat what the result says of its making."""
    found = facts.components
    rows = [
        ("asked for", ", ".join(f"{count:,}" for count in found.sparsities) + " loadings at most"),
        ("together", found.together + (f", {found.deflation} deflation" if found.deflation else "")),
        ("time", duration(found.seconds)),
        ("status", found.status.value[:1].upper() + found.status.value[1:]),
    ]
    if found.certificate is not None:
        rows.append(("the proof was made in", duration(found.certificate.seconds)))
    note = Paragraph("This section repeats what the result says of its making; data cannot confirm it.", note=True)
    return [FactList(rows), note]
