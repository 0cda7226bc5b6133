"""The command that checks several components."""

import shlex

from certpca.frontends.report.blocks import Block, Command, Paragraph
from certpca.frontends.report.set_facts import SetFacts
from certpca.results.component_set import GREEDY

ORDER = 70
TITLE = "Check it yourself"
ABOUT = "several"


def blocks(facts: SetFacts) -> list[Block]:
    """Say what to type."""
    files, found = facts.files, facts.components
    where = files.data or "DATA"
    placeholder = "" if files.data else " Put the file with the data in place of DATA."
    if found.certificate is not None and files.certificate:
        line = shlex.join(["certpca", "verify", files.certificate, where, *files.reading_options])
        text = (
            "The certificate and its evidence lie beside the result. The checker prepares the data by itself and "
            f"recomputes every number; its exit status is 0 only if the claim holds.{placeholder}"
        )
        return [Paragraph(text), Command(line)]
    if found.certificate is not None:
        text = "With the components and the data in Python; an error is raised unless the claim holds:"
        return [Paragraph(text), Command("certpca.verify(components.certificate, data)")]
    together = "disjoint" if found.together == GREEDY else found.together
    counts = ",".join(map(str, found.sparsities if together != "shared" else found.sparsities[:1]))
    asked = ["certpca", "decompose", where, *files.data_options, "-r", str(len(found.components)), "-k", counts]
    line = shlex.join([*asked, "--together", together, "--certify", "--output", "components.json"])
    return [Paragraph(f"To prove an upper bound for a set:{placeholder}"), Command(line)]
