"""The samples along this component and a second one."""

import numpy as np

from certpca.frontends.report.blocks import Block, Chart, Paragraph
from certpca.frontends.report.escape import LONGEST_NAME, shortened
from certpca.frontends.report.facts import Facts, Scores
from certpca.frontends.report.words import counted, number, percent

ORDER = 40
TITLE = "Scores"


def applies(facts: Facts) -> bool:
    """Say whether there are scores, or a reason why there are none."""
    return facts.scores is not None or bool(facts.no_scores)


def blocks(facts: Facts) -> list[Block]:
    """Draw the scores and say what the second component is."""
    scores = facts.scores
    if scores is None:
        return [Paragraph(facts.no_scores)]
    return [_chart(facts, scores), Paragraph(_second_component(scores), note=True)]


def _second_component(scores: Scores) -> str:
    second = scores.second_component
    order = np.argsort(-np.abs(second.loadings), kind="stable")[:5]
    names = [second.names[j] if second.names else f"feature {second.support[j]}" for j in order]
    return (
        f"Component 1 is the component of this report. Component 2 was found for this picture in what component 1 "
        f"leaves of the variance ({counted(second.support.size, 'loading')}, largest on "
        f"{', '.join(shortened(name, LONGEST_NAME) for name in names)}); it has no certificate."
    )


def _chart(facts: Facts, scores: Scores) -> Chart:
    from certpca.plots.groups import grouped, shown

    first, second = scores.first, scores.second
    words, drawn = f"{counted(first.size, 'sample')}", shown(first.size).size
    if drawn < first.size:
        words = f"{drawn:,} of {words}, evenly picked"
    words += f"; scores range from {_rough(first.min())} to {_rough(first.max())} on component 1"
    words += f" and from {_rough(second.min())} to {_rough(second.max())} on component 2."
    ratios = (facts.solution.explained_variance_ratio, scores.second_ratio)
    axes = tuple(f"component {j} ({percent(ratio, 1)} of the variance)" for j, ratio in enumerate(ratios, 1))
    groups, names = grouped(scores.labels, first.size)
    return Chart("Scores of the samples on two components", words, "scores", [first, second, groups, names, axes])


def _rough(value: float) -> str:
    return number(float(f"{value:.3g}"))
