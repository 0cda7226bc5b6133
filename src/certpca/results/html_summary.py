"""Results as notebooks show them: small tables without scripts or styles of their own, whatever names hold."""

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from certpca.runtime.rounded import down, percent_down, percent_up, up

if TYPE_CHECKING:
    from certpca.results.certificate import Certificate
    from certpca.results.component_set import ComponentSet
    from certpca.results.constraints import Constraints
    from certpca.results.solution import Solution

MOST = 20  # loadings that are listed
LONGEST = 60  # characters of a name
BAR = 80  # pixels of the largest loading


def safe(value: Any) -> str:
    """Return a text that HTML shows as it is."""
    text = "".join(letter if letter.isprintable() else " " for letter in str(value))
    return html.escape(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


def sentence(value: Any) -> str:
    """Return a longer text likewise."""
    return html.escape("".join(letter if letter.isprintable() else " " for letter in str(value)))


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Return a table of cells that are safe already."""
    top = f"<thead><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr></thead>" if head else ""
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{top}<tbody>{body}</tbody></table>"


def of_solution(solution: "Solution") -> str:
    """Return a component with its largest loadings."""
    facts = [
        *_asked(solution.constraints),
        ("objective", safe(down(solution.objective))),
        ("explained variance", f"{safe(percent_down(solution.explained_variance_ratio))} of the total"),
        *_proved(solution.upper_bound, solution.gap, solution.certificate is not None),
        ("status", sentence(solution.status.value)),
        ("solver", f"{safe(solution.solver)}, {solution.seconds:.2g} s"),
    ]
    title = f"<p><b>{solution.support.size} of {solution.size} features</b>, {sentence(solution.matrix)}</p>"
    return f"<div>{title}{table(facts)}{_loadings(solution)}</div>"


def of_certificate(certificate: "Certificate") -> str:
    """Return a bound, and how to have it checked."""
    facts = [
        ("sparsity", f"{certificate.sparsity} of {certificate.size} features"),
        *_asked(certificate.constraints),
        ("objective", safe(down(certificate.objective))),
        *_proved(certificate.upper_bound, certificate.gap, True),
        ("kind", safe(certificate.kind)),
        ("features in no optimum", f"{certificate.outside:,}"),
        ("features in every optimum", f"{certificate.inside:,}"),
        ("fingerprint of the data", safe(certificate.fingerprint)),
    ]
    title = f"<p><b>Certificate</b>, {sentence(certificate.matrix)}</p>"
    return f"<div>{title}{table(facts)}<p>A claim until <code>certpca.verify</code> has checked it.</p></div>"


def of_components(found: "ComponentSet") -> str:
    """Return components as a table, and what is proved of them."""
    head = ("", "features", "variance", "adjusted", "cumulative", "gap", "largest loadings")
    cumulative, rows = 0.0, []
    for j, part in enumerate(found.components):
        cumulative += float(found.adjusted_variance_ratio[j])
        named = ", ".join(f"{safe(name)} {loading:+.2f}" for name, loading in _largest(part)[:6])
        more = ", …" if part.support.size > 6 else ""
        numbers = (f"{found.explained_variance[j]:.5g}", f"{found.adjusted_variance[j]:.5g}", f"{cumulative:.2%}")
        rows.append((str(j + 1), str(part.support.size), *numbers, safe(percent_up(part.gap)), named + more))
    count = f"{len(found.components)} component{'s' if len(found.components) > 1 else ''}"
    title = f"<p><b>{count} of {found.size} features</b>, {sentence(found.description)}</p>"
    return f"<div>{title}{table(rows, head)}<p>{sentence(found.verdict())}</p></div>"


def _asked(constraints: "Constraints") -> list[tuple[str, str]]:
    return [("constraints", sentence(constraints))] if constraints else []


def _proved(bound: float, gap: float, proved: bool) -> list[tuple[str, str]]:
    return [("upper bound", f"{safe(up(bound))} (gap {safe(percent_up(gap))})")] if proved else []


def _largest(solution: "Solution") -> list[tuple[str, float]]:
    names = solution.names or tuple(f"feature {index}" for index in solution.support)
    pairs = zip(names, solution.loadings.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: -abs(pair[1]))


def _loadings(solution: "Solution") -> str:
    pairs = _largest(solution)
    longest = abs(pairs[0][1]) if pairs else 1.0
    rows = []
    for name, loading in pairs[:MOST]:
        colour = "#3b6ea5" if loading > 0 else "#c0562f"
        width = max(1, round(BAR * abs(loading) / longest))
        bar = f'<div style="background:{colour};height:0.7em;width:{width}px"></div>'
        rows.append((safe(name), f"{loading:+.4f}", bar))
    more = f"<p>and {len(pairs) - MOST} smaller loadings</p>" if len(pairs) > MOST else ""
    return table(rows, ("feature", "loading", "")) + more
