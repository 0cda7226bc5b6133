"""Numbers and proofs in words. What is proved is rounded so that it stays true."""

import math

from certpca.checker.rules import rules
from certpca.frontends.report.facts import Facts
from certpca.results.certificate import PROVED_OPTIMAL
from certpca.results.solution import Solution
from certpca.runtime import rounded

NBSP = "\u00a0"


def kind_in_words(kind: str) -> str:
    """Say what the evidence of a kind is, as its rule does."""
    known = rules()
    return known[kind].SENTENCE if kind in known else "see the documentation"


def percent(share: float, digits: int = 2) -> str:
    """Write a share as a percentage."""
    return f"{100 * share:.{digits}f}{NBSP}%"


def percent_up(share: float) -> str:
    """Write a share as a percentage that is not smaller than it."""
    return rounded.percent_up(share).replace("%", f"{NBSP}%")


def percent_down(share: float) -> str:
    """Write a share as a percentage that is not larger than it."""
    return rounded.percent_down(share).replace("%", f"{NBSP}%")


def number(value: float) -> str:
    """Write a number with up to six digits, in plain notation where that is short."""
    if not math.isfinite(value):
        return str(value)
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        mantissa, exponent = f"{value:.4e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}{NBSP}×{NBSP}10{_superscript(int(exponent))}".replace("-", "−")
    digits = max(0, 5 - (math.floor(math.log10(abs(value))) if value else 0))
    text = f"{value:,.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def signed(value: float) -> str:
    """Write a loading with its sign."""
    return f"{value:+.4f}".replace("-", "−")


def duration(seconds: float) -> str:
    """Write a time as people say it."""
    if seconds < 1:
        return f"{1000 * seconds:.0f}{NBSP}ms" if seconds >= 0.001 else f"less than 1{NBSP}ms"
    if seconds < 100:
        return f"{seconds:.3g}{NBSP}s"
    if seconds < 6000:
        return f"{int(seconds // 60)}{NBSP}min {int(seconds % 60)}{NBSP}s"
    return f"{int(seconds // 3600)}{NBSP}h {int(seconds % 3600 // 60)}{NBSP}min"


def counted(count: int, what: str) -> str:
    """Write a count with its noun."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def feature_names(solution: Solution) -> list[str]:
    """Name the features of the support; a feature without a name goes by its index."""
    if solution.names is None:
        return [f"feature {index}" for index in solution.support]
    return [name or f"feature {index}" for name, index in zip(solution.names, solution.support, strict=True)]


def certificate_state(facts: Facts) -> str:
    """Say which of five cases a result is: refused, none, incomparable, optimal or gap."""
    solution = facts.solution
    if facts.refused:
        return "refused"
    if solution.certificate is None:
        return "none"
    if solution.support.size > solution.certificate.sparsity:
        return "incomparable"
    return "optimal" if solution.gap <= PROVED_OPTIMAL else "gap"


def title(facts: Facts) -> str:
    """Say of how many features the component is."""
    return f"Sparse principal component: {facts.solution.support.size:,} of {facts.solution.size:,} features"


def figures(facts: Facts) -> list[tuple[str, str]]:
    """Return the numbers that stand at the top."""
    solution = facts.solution
    if facts.refused:  # numbers this large are believed
        return []
    numbers = [
        (percent_down(solution.explained_variance_ratio), "of the variance explained"),
        (f"{solution.support.size:,} of {solution.size:,}", "features used"),
    ]
    if not math.isnan(solution.relative_objective):  # a limit may have left no time for it
        numbers.append((percent(solution.relative_objective, 1), "of what a component with all features captures"))
    state = certificate_state(facts)
    if state == "optimal":
        numbers.append((f"0{NBSP}%", "gap to the best possible (below one millionth)"))
    elif state == "gap":
        numbers.append((percent_up(solution.gap), "gap to the best possible, at most"))
    return numbers


def share_of_variance(facts: Facts, value: float, *, up: bool = False) -> str:
    """Write a variance as a share of the total, or as a number where the total is not known; bounds are rounded up."""
    if not facts.trace > 0:
        return (rounded.up if up else rounded.down)(value)
    return (percent_up if up else percent_down)(min(value / facts.trace, 1.0))


def headline(facts: Facts) -> str:
    """Say in one or two sentences what is proved, or that nothing is."""
    solution, state = facts.solution, certificate_state(facts)
    found = share_of_variance(facts, solution.objective)
    unit = " of the variance" if facts.trace > 0 else ""
    if state == "refused":
        if facts.data is None:
            return "The result contradicts its certificate. Nothing below is proved."
        return "The result does not hold for these data. Nothing below is proved about them."
    if state == "none":
        these = (
            "This feature explains"
            if solution.support.size == 1
            else f"These {solution.support.size:,} features explain"
        )
        return (
            f"{these} {found}{unit}. Nothing is proved about other choices: "
            f"another choice of {counted(solution.sparsity, 'feature')}{under_constraints(facts)} may explain more."
        )
    choice = f"choice of {solution.sparsity:,} of the {solution.size:,} features{under_constraints(facts)}"
    if state == "optimal":
        return (
            f"No {choice} explains more{unit} than this one does: {found}, proved optimal (to one part in a million)."
        )
    bound = share_of_variance(facts, solution.upper_bound, up=True)
    proved = f"No {choice} can explain more than {bound}{unit}."
    if state == "incomparable":
        return f"{proved} This component has {solution.support.size:,} loadings, so the bound is not about it."
    return f"{proved} This one explains {found}: within {percent_up(solution.gap)} of the best possible."


def under_constraints(facts: Facts) -> str:
    """Say what else was asked of the component, or nothing."""
    asked = facts.solution.constraints
    return f" that keeps to the constraints ({asked})" if asked else ""


def badge(facts: Facts) -> str:
    """Say in a few words where the proof stands."""
    state = certificate_state(facts)
    if state == "refused":
        return "Refused"
    if state == "none":
        return "No certificate"
    what = {"optimal": "Proved optimal", "gap": "Proved bound", "incomparable": "Proved bound"}[state]
    certificate = facts.solution.certificate
    if certificate is not None and certificate.failure_probability > 0:
        what = f"Bound with failure probability {certificate.failure_probability:g}"
    return f"{what}, verified" if facts.check is not None else f"{what}, not re-checked here"


def standing(facts: Facts) -> str:
    """Say what was checked when this report was written."""
    solution, check = facts.solution, facts.check
    if check is None:
        if solution.certificate is None:
            return "The result came without a certificate, and no data were given to compare it with."
        return (
            "The certificate is stored with the result. This report was made without the data, so it repeats what the "
            "certificate says and did not check it."
        )
    if facts.data is None:
        return f"The result and its certificate do not fit: {check.refusal}."
    name = facts.data.name
    if check.refusal:
        return f"Held against {name}: {check.refusal}."
    if solution.certificate is None:
        return f"The variance captured was recomputed from {name} and agrees. There is no certificate to verify."
    return f"Verified now against {name} by the independent checker, in {duration(check.seconds)}."


def _superscript(exponent: int) -> str:
    return str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
