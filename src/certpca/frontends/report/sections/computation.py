"""How the result was computed, by its own account."""

import math

from certpca.frontends.report.blocks import Block, Chart, FactList, Paragraph
from certpca.frontends.report.facts import Facts
from certpca.frontends.report.words import counted, duration, number, share_of_variance
from certpca.results.status import Status

ORDER = 60
TITLE = "How it was computed"


def blocks(facts: Facts) -> list[Block]:
    """Repeat what the result says of its making, and draw its history."""
    solution = facts.solution
    rows = [
        ("solver", solution.solver),
        ("asked for", f"at most {counted(solution.sparsity, 'nonzero loading')}"),
        ("time", duration(solution.seconds)),
        ("status", _status(facts)),
        ("loadings", "the best ones for the chosen features" if solution.refitted else "the algorithm's own"),
    ]
    if solution.certificate is not None:
        rows.append(("the proof was made in", duration(solution.certificate.seconds)))
    rows += [(name.replace("_", " "), number(value)) for name, value in solution.details.items()]
    note = Paragraph("This section repeats what the result says of its making; data cannot confirm it.", note=True)
    return [FactList(rows), *_chart(facts), note]


def _status(facts: Facts) -> str:
    solution = facts.solution
    if solution.status is Status.OPTIMAL and (facts.refused or solution.certificate is None):
        return "The result calls itself optimal, but nothing here proves it"
    return solution.status.value[:1].upper() + solution.status.value[1:]


def _chart(facts: Facts) -> list[Block]:
    from certpca.plots.kinds.history import drawn_steps

    steps = drawn_steps(facts.solution)
    if not steps:
        return []
    end, last = max(facts.solution.seconds, steps[-1].seconds), steps[-1]
    words = f"After {duration(end)} the best found captures {share_of_variance(facts, last.objective)}"
    if math.isfinite(last.upper_bound):
        words += f" and the upper bound is {share_of_variance(facts, last.upper_bound, up=True)}."
    else:
        words += "; no upper bound was computed."
    title = "Variance captured and upper bound over time"
    return [Chart(title, words, "history", [facts.solution], {"total": facts.total})]
