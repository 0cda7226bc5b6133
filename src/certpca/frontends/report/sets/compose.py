"""From what is known of several components to a whole report."""

import math
import shlex
from datetime import UTC, datetime

import numpy as np

from certpca.checker.set_rules import rules
from certpca.frontends.report.blocks import Block, Chart, Command, Document, FactList, Paragraph, Section, Table
from certpca.frontends.report.compose import subtitle, version
from certpca.frontends.report.links import links_of
from certpca.frontends.report.sections import data, metadata, scores
from certpca.frontends.report.sets.facts import SetFacts
from certpca.frontends.report.words import NBSP, duration, feature_names, number, percent_down, percent_up
from certpca.results.certificate import PROVED_OPTIMAL
from certpca.results.component_set import GREEDY, ComponentSet
from certpca.results.set_certificate import PROBLEMS
from certpca.runtime import rounded

LISTED = 10_000  # loadings in a table; a page with more is no longer read


def compose_set(facts: SetFacts, *, title: str | None = None, when: datetime | None = None) -> Document:
    """Lay a report out."""
    found = facts.components
    moment = (when or datetime.now(UTC)).strftime("%d %B %Y, %H:%M UTC").lstrip("0")
    used = int(found.loadings.any(axis=1).sum())
    return Document(
        title=title or f"{len(found.components)} sparse components: {used:,} of {found.size:,} features",
        subtitle=subtitle(found.components[0].matrix),
        state=_state(facts),
        badge=_badge(facts),
        headline=_headline(facts),
        standing=_standing(facts),
        figures=_figures(facts, used),
        sections=[
            Section("Components", _components(facts)),
            Section("Certificate", _certificate(facts)),
            Section("Loadings", _loadings(facts)),
            *(Section(part.TITLE, part.blocks(facts)) for part in (scores, metadata) if part.applies(facts)),
            Section(data.TITLE, data.blocks(facts)),
            Section("How it was computed", _computation(found)),
            Section("Check it yourself", _commands(facts)),
        ],
        footer=f"Written by certpca {version()}, {moment}.",
    )


def _state(facts: SetFacts) -> str:
    if facts.refusal:
        return "refused"
    if facts.components.certificate is None:
        return "none"
    return "optimal" if facts.components.gap <= PROVED_OPTIMAL else "gap"


def _badge(facts: SetFacts) -> str:
    names = {"refused": "Refused", "none": "No certificate of the set", "optimal": "Set proved optimal"}
    what = names.get(_state(facts), "Proved bound for the set")
    if _state(facts) in ("refused", "none"):
        return what
    certificate = facts.components.certificate
    if certificate is not None and certificate.failure_probability > 0:
        what = f"Bound for the set with failure probability {certificate.failure_probability:g}"
    return f"{what}, verified" if facts.checked else f"{what}, not re-checked here"


def _sum(found: ComponentSet) -> str:
    return percent_down(float(found.explained_variance_ratio.sum()))


def _headline(facts: SetFacts) -> str:
    found, state = facts.components, _state(facts)
    if state == "refused":
        about = "does not hold for these data" if facts.checked else "contradicts its certificate"
        return f"The result {about}. Nothing below is proved."
    sums = f"The variances along these {len(found.components)} components add up to {_sum(found)} of the total"
    if state == "none":
        if found.together == GREEDY:
            return f"{sums}. Each was the best found for what the earlier ones left; another set may have a larger sum."
        return f"{sums}. Nothing is proved about other sets: another one may have a larger sum."
    if state == "optimal":
        return f"{sums}: no such set has a larger sum, proved optimal (to one part in a million)."
    bound = percent_up(min(found.upper_bound / found.trace, 1.0)) if found.trace > 0 else rounded.up(found.upper_bound)
    return f"{sums}. No such set can exceed {bound}: this one is within {percent_up(found.gap)} of the best possible."


def _standing(facts: SetFacts) -> str:
    name = facts.files.data or "the data given"
    if facts.refusal:
        return f"Held against {name}: {facts.refusal}." if facts.checked else f"{facts.refusal}."
    proved = facts.components.certificate is not None or any(facts.components.certificates)
    if not facts.checked:
        return (
            "This report was made without the data, so it repeats what the result says and did not check it."
            if proved
            else "The result came without a certificate, and no data were given to compare it with."
        )
    if not proved:
        return f"The variances were recomputed from {name} and agree. There is no certificate to verify."
    return f"Verified now against {name} by the independent checker, in {duration(facts.seconds)}."


def _figures(facts: SetFacts, used: int) -> list[tuple[str, str]]:
    if facts.refusal:
        return []
    found = facts.components
    figures = [
        (_sum(found), "of the total variance: the sum along the components"),
        (percent_down(float(found.adjusted_variance_ratio.sum())), "counting nothing twice (adjusted)"),
        (f"{used:,} of {found.size:,}", "features used"),
    ]
    if _state(facts) == "optimal":
        figures.append((f"0{NBSP}%", "gap of the set (below one millionth)"))
    elif _state(facts) == "gap":
        figures.append((percent_up(found.gap), "gap of the set, at most"))
    return figures


def _components(facts: SetFacts) -> list[Block]:
    found = facts.components
    greedy = found.together == GREEDY
    header = ["component", "loadings", "variance", "share", "adjusted", "cumulative adjusted"]
    rows = []
    for j, part in enumerate(found.components):
        row = [
            str(j + 1),
            f"{part.support.size:,}",
            number(float(found.explained_variance[j])),
            percent_down(float(found.explained_variance_ratio[j])),
            percent_down(float(found.adjusted_variance_ratio[j])),
            percent_down(float(np.cumsum(found.adjusted_variance_ratio)[j])),
        ]
        rows.append([*row, percent_up(part.gap) if math.isfinite(part.gap) else "–"] if greedy else row)
    words = "Rows are features, columns components; a bar is as long as the loading."
    meaning = (
        "Variance is that along each component by itself; where scores are correlated its sum counts some of it twice. "
        "Adjusted is what each adds to the ones before it. Regression of every feature on all scores explains "
        f"{percent_down(found.total_variance_ratio)} of the total."
    )
    return [
        Paragraph(f"The components are {found.description}."),
        Chart("Components and features", words, "components", [found], {"most": facts.largest}),
        Table(header + (["gap of the step, at most"] if greedy else []), rows),
        Paragraph(meaning, note=True),
    ]


def _certificate(facts: SetFacts) -> list[Block]:
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


def _loadings(facts: SetFacts) -> list[Block]:
    tables: list[Block] = []
    for j, part in enumerate(facts.components.components):
        order = np.argsort(-np.abs(part.loadings), kind="stable")[:LISTED]
        names = feature_names(part)
        rows = [[names[i], str(part.support[i]), f"{part.loadings[i]:+.6f}".replace("-", "−")] for i in order]
        title = f"Component {j + 1}: {len(rows):,} of {part.support.size:,} loadings"
        links = links_of(names, genes=facts.genes)
        name = f"loadings-{j + 1}"
        tables.append(Table(["feature", "index", "loading"], rows, folded=title, texts=1, links=links, name=name))
    return [*tables, _tidy(facts)]


def _tidy(facts: SetFacts) -> Table:
    """List the loadings of all components in one table, a line for each."""
    rows = [
        [name, str(index), str(j + 1), f"{loading:+.6f}".replace("-", "−"), "positive" if loading > 0 else "negative"]
        for j, part in enumerate(facts.components.components)
        for name, index, loading in zip(feature_names(part), part.support, part.loadings, strict=True)
    ]
    links = links_of([row[0] for row in rows], genes=facts.genes)
    header = ["feature", "index", "component", "loading", "sign"]
    return Table(header, rows[:LISTED], folded="All components in one table", texts=1, links=links, name="all-loadings")


def _computation(found: ComponentSet) -> list[Block]:
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


def _commands(facts: SetFacts) -> list[Block]:
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
