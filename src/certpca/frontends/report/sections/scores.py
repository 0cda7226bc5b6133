"""The samples along components."""

import numpy as np

from certpca.frontends.report.blocks import Block, Chart, Paragraph
from certpca.frontends.report.escape import LONGEST_NAME, plain, shortened
from certpca.frontends.report.facts import Facts
from certpca.frontends.report.sample_scores import Scores
from certpca.frontends.report.set_facts import SetFacts
from certpca.frontends.report.words import counted, number, percent
from certpca.results.solution import Solution

ORDER = 40
TITLE = "Scores"
ABOUT = "both"


def applies(facts: Facts | SetFacts) -> bool:
    """Say whether there are scores, or a reason why there are none."""
    return facts.scores is not None or bool(facts.no_scores)


def blocks(facts: Facts | SetFacts) -> list[Block]:
    """Draw the scores and say what the second component is."""
    scores = facts.scores
    if scores is None:
        return [Paragraph(facts.no_scores)]
    parts: list[Block] = [] if scores.table.shape[1] < 2 else [_chart(scores)]
    if scores.table.shape[1] > 2:
        parts.append(_pairs(scores))
    if scores.second_component is not None:
        parts.append(Paragraph(_second_component(scores.second_component), note=True))
    return parts or [Paragraph("A drawing of scores needs two components.")]


def _second_component(second: Solution) -> str:
    order = np.argsort(-np.abs(second.loadings), kind="stable")[:5]
    names = [second.names[j] if second.names else f"feature {second.support[j]}" for j in order]
    return (
        f"Component 1 is the component of this report. Component 2 was found for this picture in what component 1 "
        f"leaves of the variance ({counted(second.support.size, 'loading')}, largest on "
        f"{', '.join(shortened(name, LONGEST_NAME) for name in names)}); it has no certificate."
    )


def _chart(scores: Scores) -> Chart:
    from certpca.plots.groups import group_id, grouped, members, shown

    first, second = scores.first, scores.second
    words, drawn = f"{counted(first.size, 'sample')}", shown(first.size).size
    if drawn < first.size:
        words = f"{drawn:,} of {words}, evenly picked"
    words += f"; scores range from {_rough(first.min())} to {_rough(first.max())} on component 1"
    words += f" and from {_rough(second.min())} to {_rough(second.max())} on component 2."
    groups, names = grouped(None if scores.labels is None else [plain(label) for label in scores.labels], first.size)
    tips = {group_id(kind): [plain(scores.named(int(j))) for j in chosen] for kind, chosen in members(groups)}
    values = [first, second, groups, names, tuple(_axes(scores)[:2])]
    return Chart("Scores of the samples on two components", words, "scores", values, tips=tips)


def _pairs(scores: Scores) -> Chart:
    from certpca.plots.groups import grouped

    labels = None if scores.labels is None else [plain(label) for label in scores.labels]
    short = [f"{j} ({percent(ratio, 1)})" for j, ratio in enumerate(scores.ratios, 1)]
    values = [scores.table, *grouped(labels, len(scores.table)), short]
    words = "The samples on every two components; on the diagonal, how their scores on each are spread."
    return Chart("Scores on every two components", words, "pairs", values)


def _axes(scores: Scores) -> list[str]:
    return [f"component {j} ({percent(ratio, 1)} of the variance)" for j, ratio in enumerate(scores.ratios, 1)]


def _rough(value: float) -> str:
    return number(float(f"{value:.3g}"))
