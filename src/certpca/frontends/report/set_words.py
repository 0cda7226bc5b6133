"""What is proved of several components, in words. What is proved is rounded so that it stays true."""

from certpca.frontends.report.set_facts import SetFacts
from certpca.frontends.report.words import NBSP, duration, percent_down, percent_up
from certpca.results.certificate import PROVED_OPTIMAL
from certpca.results.component_set import GREEDY, ComponentSet
from certpca.runtime import rounded


def title(facts: SetFacts) -> str:
    """Say how many components there are, and of how many features."""
    found = facts.components
    return f"{len(found.components)} sparse components: {_used(found):,} of {found.size:,} features"


def certificate_state(facts: SetFacts) -> str:
    """Say which of four cases a result is: refused, none, optimal or gap."""
    if facts.refusal:
        return "refused"
    if facts.components.certificate is None:
        return "none"
    return "optimal" if facts.components.gap <= PROVED_OPTIMAL else "gap"


def badge(facts: SetFacts) -> str:
    """Say in a few words where the proof stands."""
    names = {"refused": "Refused", "none": "No certificate of the set", "optimal": "Set proved optimal"}
    what = names.get(certificate_state(facts), "Proved bound for the set")
    if certificate_state(facts) in ("refused", "none"):
        return what
    certificate = facts.components.certificate
    if certificate is not None and certificate.failure_probability > 0:
        what = f"Bound for the set with failure probability {certificate.failure_probability:g}"
    return f"{what}, verified" if facts.checked else f"{what}, not re-checked here"


def headline(facts: SetFacts) -> str:
    """Say in one or two sentences what is proved, or that nothing is."""
    found, state = facts.components, certificate_state(facts)
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
    within = f"this one is within {percent_up(found.gap)} of the best possible"
    return f"{sums}. No such set, with as many features in each component, can exceed {bound}: {within}."


def standing(facts: SetFacts) -> str:
    """Say what was checked when this report was written."""
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


def figures(facts: SetFacts) -> list[tuple[str, str]]:
    """Return the numbers that stand at the top."""
    if facts.refusal:
        return []
    found = facts.components
    figures = [
        (_sum(found), "of the total variance: the sum along the components"),
        (percent_down(float(found.adjusted_variance_ratio.sum())), "counting nothing twice (adjusted)"),
        (f"{_used(found):,} of {found.size:,}", "features used"),
    ]
    if certificate_state(facts) == "optimal":
        figures.append((f"0{NBSP}%", "gap of the set (below one millionth)"))
    elif certificate_state(facts) == "gap":
        figures.append((percent_up(found.gap), "gap of the set, at most"))
    return figures


def _sum(found: ComponentSet) -> str:
    return percent_down(float(found.explained_variance_ratio.sum()))


def _used(found: ComponentSet) -> int:
    return int(found.loadings.any(axis=1).sum())
