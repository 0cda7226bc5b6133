"""What is proved."""

import math
from collections.abc import Sequence

from certpca.frontends.report.blocks import Block, FactList, Paragraph
from certpca.frontends.report.escape import LONGEST_NAME, shortened
from certpca.frontends.report.facts import Facts
from certpca.frontends.report.words import (
    certificate_state,
    counted,
    kind_in_words,
    number,
    percent_up,
    share_of_variance,
    under_constraints,
)
from certpca.runtime import rounded

ORDER = 20
TITLE = "Certificate"
NAMED = 40  # features listed by name in running text


def blocks(facts: Facts) -> list[Block]:
    """State bound, gap and decided features, or that nothing is proved."""
    solution, certificate = facts.solution, facts.solution.certificate
    if certificate is None:
        text = "There is no certificate, so how far this choice is from the best possible is not known."
        if not math.isnan(solution.relative_objective):
            text += (
                f" A component with loadings on all features captures {number(_dense(facts))}, by computation and not "
                "by proof; a sparse one cannot capture more than that."
            )
        return [Paragraph(text)]
    check = facts.check
    if check is not None and check.refusal:
        text = f"The certificate stored with the result was not accepted: {check.refusal}."
        return [Paragraph(text + " What it says is left out here.")]
    meaning = Paragraph(
        "The optimum lies between what this component captures and the upper bound. The bound holds for every unit "
        f"vector with at most {counted(certificate.sparsity, 'nonzero loading')}{under_constraints(facts)}; it comes "
        "with evidence that "
        "anyone can check against the data without trusting the program that found it."
    )
    gap = "below one millionth" if certificate_state(facts) == "optimal" else f"at most {percent_up(solution.gap)}"
    rows = [
        ("captured", f"{_digits(solution.objective)} ({share_of_variance(facts, solution.objective)} of the total)"),
        (
            "upper bound",
            f"{_digits(certificate.upper_bound, up=True)} "
            f"({share_of_variance(facts, certificate.upper_bound, up=True)} of the total, rounded up)",
        ),
    ]
    if certificate_state(facts) != "incomparable":
        rows.append(("gap", gap))
    proof = None if check is None else check.proof
    outside = certificate.outside if proof is None else int(proof.outside.size)
    inside = certificate.inside if proof is None else int(proof.inside.size)
    rows += [
        ("in no optimal choice", f"{outside:,} of {certificate.size:,} features"),
        ("in every optimal choice", f"{counted(inside, 'feature')}{_listed(facts.inside_names)}"),
        ("not decided", _undecided(facts, max(certificate.size - outside - inside, 0))),
        ("kind", f"{certificate.kind}: {kind_in_words(certificate.kind)}"),
        ("fingerprint of the data", certificate.fingerprint),
    ]
    return [meaning, FactList(rows)]


def _undecided(facts: Facts, count: int) -> str:
    """Say what it means that features are neither in every optimal choice nor in none."""
    text = counted(count, "feature")
    if count and certificate_state(facts) == "optimal":
        return f"{text}: whether other choices that explain as much use them is not proved"
    return text


def _listed(names: Sequence[str]) -> str:
    if not names:
        return ""
    shown = ", ".join(shortened(name, LONGEST_NAME) for name in names[:NAMED])
    return f": {shown}" + (f" and {len(names) - NAMED:,} more" if len(names) > NAMED else "")


def _dense(facts: Facts) -> float:
    relative = facts.solution.relative_objective
    return facts.solution.objective / relative if relative > 0 else 0.0


def _digits(value: float, *, up: bool = False) -> str:
    """Write eight digits, rounded up where a smaller number would not be proved, and down where a larger one is not."""
    return f"{float((rounded.up if up else rounded.down)(value, 8)):,.8g}"
