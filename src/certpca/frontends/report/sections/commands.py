"""The command that checks all this."""

import shlex

from certpca.frontends.report.blocks import Block, Command, Paragraph
from certpca.frontends.report.facts import Facts

ORDER = 70
TITLE = "Check it yourself"


def blocks(facts: Facts) -> list[Block]:
    """Say what to type."""
    files, solution = facts.files, facts.solution
    like = ["--like", files.result] if files.result and solution.reading else []
    data = [files.data or "DATA", *files.data_options, *like]
    placeholder = "" if files.data else " Put the file with the data in place of DATA."
    if solution.certificate is None:
        line = shlex.join(["certpca", "certify", *data, "-k", str(solution.sparsity), "--output", "certificate.json"])
        return [Paragraph(f"To prove an upper bound for this number of features:{placeholder}"), Command(line)]
    if not files.certificate:
        text = "With the solution and the data in Python; an error is raised unless the claim holds:"
        return [Paragraph(text), Command("certpca.verify(solution.certificate, data)")]
    # How the file is read and becomes the matrix, the certificate says; those of older versions only the latter.
    line = shlex.join(["certpca", "verify", files.certificate, files.data or "DATA", *files.reading_options])
    text = (
        "The certificate and its evidence lie beside the result. The checker prepares the data by itself and "
        f"recomputes every number; its exit status is 0 only if the claim holds.{placeholder}"
    )
    return [Paragraph(text), Command(line)]
