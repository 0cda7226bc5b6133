"""What is proved of several components."""

from certpca.checker.set_rules import rules
from certpca.frontends.report.blocks import Block, FactList, Paragraph
from certpca.frontends.report.set_facts import SetFacts
from certpca.frontends.report.words import percent_up
from certpca.results.certificate import PROVED_OPTIMAL
from certpca.results.component_set import GREEDY
from certpca.results.set_certificate import PROBLEMS
from certpca.runtime import rounded

ORDER = 20
TITLE = "Certificate"
ABOUT = "several"


def blocks(facts: SetFacts) -> list[Block]:
    """State the bound for the set, or what is proved of its steps."""
    found, certificate = facts.components, facts.components.certificate
    if facts.refusal:
        return [Paragraph(f"The result was not accepted: {facts.refusal}. What it says is left out here.")]
    if certificate is None:
        if found.together == GREEDY and any(part is not None for part in found.certificates):
            text = "Each gap above is that of one step: of a component against all others for what the earlier left."
            return [Paragraph(f"{text} Of the set as a whole nothing is proved.")]
        return [Paragraph("There is no certificate, so how far this set is from the best possible is not known.")]
    rule = rules().get(certificate.kind)
    gap = "below one millionth" if found.gap <= PROVED_OPTIMAL else f"at most {percent_up(found.gap)}"
    rows = [
        ("sum of the variances", rounded.down(found.objective, 8)),
        ("upper bound", f"{rounded.up(certificate.upper_bound, 8)} (rounded up)"),
        ("gap of the set", gap),
        ("about", f"{certificate.n_components} components, {PROBLEMS[certificate.problem]}"),
        ("loadings allowed", ", ".join(f"{count:,}" for count in certificate.sparsities)),
        ("kind", certificate.kind + (f": {rule.SENTENCE}" if rule is not None else "")),
        ("fingerprint of the data", certificate.fingerprint),
    ]
    meaning = (
        "The best sum of any such set lies between the sum of these components and the upper bound. The bound is about "
        "the set; it comes with evidence that anyone can check against the data without trusting the program that "
        "found it."
    )
    return [Paragraph(meaning), FactList(rows)]
