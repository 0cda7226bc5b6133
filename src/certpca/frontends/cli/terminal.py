"""Tables and progress on a terminal."""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from certpca.frontends.plain_text import one_line, visible
from certpca.frontends.progress_line import progress_line
from certpca.results.certificate import PROVED_OPTIMAL, Certificate
from certpca.results.component_set import ComponentSet
from certpca.results.proof import Proof, SetProof
from certpca.results.set_certificate import PROBLEMS, SetCertificate
from certpca.results.solution import Solution
from certpca.runtime.budget import Listener, Step
from certpca.runtime.rounded import down, percent_down, percent_up, up
from certpca.solvers import available_solvers

MOST_LOADINGS = 20
FIRST_LINE, NEXT_LINES = 10.0, 30.0  # seconds until, and between, lines of progress that go to a file


def console_for(stream: TextIO) -> Any:
    """Return a rich console; a stream that is not a terminal gets plain text of fixed width.

    Whatever is printed may come from a file, so no character of it reaches the terminal as a command.
    """
    from rich.console import Console
    from rich.segment import Segment

    class Harmless(Console):
        def render_str(self, text: str, **settings: Any) -> Any:
            return super().render_str(visible(text), **settings)  # before it is measured

        def render(self, renderable: Any, options: Any = None) -> Any:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else visible(text), style, control)

    width = None if stream.isatty() else 110
    return Harmless(file=stream, markup=False, emoji=False, highlight=False, width=width)


@contextmanager
def live_progress(stream: TextIO | None = None) -> Iterator[Listener | None]:
    """Show objective, bound, gap and time while a run lasts (on stderr); now and then where that is no terminal."""
    stream = sys.stderr if stream is None else stream
    if stream is None:  # Python has no stderr where the shell closed it
        yield None
        return
    if not stream.isatty():
        yield _Log(stream)
        return
    from rich.live import Live
    from rich.text import Text

    with Live(Text("starting"), console=console_for(stream), transient=True, refresh_per_second=8) as live:

        def show(step: Step) -> None:
            live.update(Text(progress_line(step) + "   (Ctrl-C keeps the best so far)"))

        yield show


class _Log:
    """Prints a line for the first step after some seconds, and then for one in a while."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._next = stream, FIRST_LINE

    def __call__(self, step: Step) -> None:
        if step.seconds < self._next:
            return
        self._next = step.seconds + NEXT_LINES
        with suppress(OSError, ValueError):  # a log that is full or closed is no reason to end
            print(f"certpca: {progress_line(step).strip()}", file=self._stream, flush=True)


def print_solution(solution: Solution, stream: TextIO) -> None:
    """Print a solution as a short report with its largest loadings."""
    from rich.table import Table
    from rich.text import Text

    console = console_for(stream)
    console.print(
        Text(f"{solution.support.size} of {solution.size} features", style="bold") + f", {visible(solution.matrix)}"
    )
    facts = _facts()
    if solution.constraints:
        facts.add_row("constraints", solution.constraints.in_words())
    facts.add_row("objective", down(solution.objective))
    facts.add_row("explained variance", f"{percent_down(solution.explained_variance_ratio)} of the total")
    if math.isfinite(solution.relative_objective):
        facts.add_row("f", f"{solution.relative_objective:.4f} of what a dense component captures")
    if math.isfinite(solution.upper_bound):
        facts.add_row("upper bound", f"{up(solution.upper_bound)} (gap {gap_in_words(solution.gap)})")
    facts.add_row("solver", f"{solution.solver}, {solution.seconds:.2f} s")
    facts.add_row("status", solution.status.value)
    for name, value in solution.details.items():
        facts.add_row(name.replace("_", " "), f"{value:.6g}")
    console.print(facts)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("feature")
    table.add_column("loading", justify="right")
    order = sorted(range(solution.support.size), key=lambda i: -abs(solution.loadings[i]))
    for position in order[:MOST_LOADINGS]:
        name = solution.names[position] if solution.names else str(solution.support[position])
        table.add_row(Text(one_line(name)), f"{solution.loadings[position]:+.4f}")  # brackets in names are not markup
    console.print(table)
    if len(order) > MOST_LOADINGS:
        console.print(f"... and {len(order) - MOST_LOADINGS} smaller loadings (--json lists all)")


def print_components(components: ComponentSet, stream: TextIO) -> None:
    """Print several components: what they explain together, what is proved of the set, and their largest loadings."""
    from rich.text import Text

    console = console_for(stream)
    heading, *lines = str(components).splitlines()
    console.print(Text(heading, style="bold") + f", {visible(components.components[0].matrix)}")
    for line in lines:
        console.print(Text(line))
    console.print(Text(f"{components.status.value}; {components.seconds:.2f} s"))
    for number, component in enumerate(components.components, start=1):
        names = component.names or tuple(map(str, component.support))
        order = abs(component.loadings).argsort()[::-1]
        text = ", ".join(f"{one_line(names[i])} {component.loadings[i]:+.2f}" for i in order[:MOST_LOADINGS])
        more = f" and {len(order) - MOST_LOADINGS} smaller loadings" if len(order) > MOST_LOADINGS else ""
        console.print(Text(f"{number}: {text}{more}"))


def _add_walks(facts: Any, details: Mapping[str, float]) -> None:
    """Say how often a file was read."""
    if "walks" in details:
        phases = (f"{name.removeprefix('walks_')} {count:.4g}" for name, count in details.items() if name != "walks")
        apart = ", ".join(phases)
        facts.add_row("walks over the file", f"{details['walks']:.4g}" + (f" ({apart})" if apart else ""))


def print_certificate(certificate: Certificate, stream: TextIO) -> None:
    """Print what a certificate that was just made says, in words and numbers."""
    facts = _facts()
    _add_fact(facts, "matrix", certificate.matrix)
    facts.add_row("upper bound", up(certificate.upper_bound, 8))
    facts.add_row("best known", down(certificate.objective, 8))
    facts.add_row("gap", gap_in_words(certificate.gap))
    facts.add_row("kind", certificate.kind)
    _add_probability(facts, certificate)
    if certificate.outside or certificate.inside:
        facts.add_row("in no optimum", f"{certificate.outside} of {certificate.size} features, proved")
        facts.add_row("in every optimum", f"{certificate.inside} features, proved")
    facts.add_row("time", f"{certificate.seconds:.1f} s, checked by the independent checker")
    _add_walks(facts, certificate.details)
    if certificate.status is not None:
        facts.add_row("search", certificate.status.value)
    _print_claim("", certificate, facts, stream)


def print_proof(proof: Proof, certificate: Certificate, read_as: str, stream: TextIO) -> None:
    """Print what the checker established. What only the certificate says is called claimed."""
    facts = _facts()
    _add_fact(facts, "matrix", proof.matrix)
    if read_as:
        _add_fact(facts, "file read with", read_as)
    facts.add_row("proved upper bound", f"{proof.upper_bound!r}")
    facts.add_row("claimed", f"{certificate.upper_bound!r}")
    facts.add_row("captured by its loadings", f"{proof.objective!r}")
    facts.add_row("gap", gap_in_words(proof.gap))
    facts.add_row("in no optimum", f"{proof.outside.size} of {proof.size} features")
    facts.add_row("in every optimum", f"{proof.inside.size} features")
    facts.add_row("computed with", proof.arithmetic)
    _add_walks(facts, proof.details)
    _add_probability(facts, proof)
    _print_claim("The certificate holds. ", proof, facts, stream)


def print_set_proof(proof: SetProof, certificate: SetCertificate, read_as: str, stream: TextIO) -> None:
    """Print what the checker established about several components together."""
    facts = _facts()
    _add_fact(facts, "matrix", proof.matrix)
    if read_as:
        _add_fact(facts, "file read with", read_as)
    facts.add_row("proved upper bound", f"{proof.upper_bound!r}")
    facts.add_row("claimed", f"{certificate.upper_bound!r}")
    facts.add_row("captured by its loadings", f"{proof.objective!r}, all components together")
    facts.add_row("gap", gap_in_words(proof.gap))
    facts.add_row("computed with", proof.arithmetic)
    _add_probability(facts, proof)
    _print_claim("The certificate holds. ", proof, facts, stream)


def _print_claim(before: str, proved: Certificate | Proof | SetProof, facts: Any, stream: TextIO) -> None:
    from rich.text import Text

    sentence = set_sentence(proved) if isinstance(proved, SetProof) else proved_sentence(proved)
    console = console_for(stream)
    console.print(Text(f"{before}{sentence}", style="bold"))
    console.print(facts)


def _add_fact(facts: Any, name: str, text: str) -> None:
    """Add a text that may come from a file: brackets in it are not markup."""
    from rich.text import Text

    facts.add_row(name, Text(visible(text)))


def _add_probability(facts: Any, proved: Certificate | Proof | SetProof) -> None:
    probability = proved.failure_probability
    if probability > 0:
        facts.add_row("holds", f"unless the checker's random numbers mislead: probability {probability:g}")


def proved_sentence(proved: Certificate | Proof) -> str:
    """Say in one sentence what is proved."""
    under = f" under constraints ({proved.constraints})" if proved.constraints else ""
    choice = f"No choice of {proved.sparsity} of the {proved.size} features{under} captures more"
    choice += f" than {up(proved.upper_bound)}"
    if proved.gap <= PROVED_OPTIMAL:
        return f"{choice}: the best known is proved optimal (gap {gap_in_words(proved.gap)})."
    return f"{choice}; the best known is within {percent_up(proved.gap)} of the optimum."


def set_sentence(proved: SetCertificate | SetProof) -> str:
    """Say in one sentence what is proved about several components together."""
    counts = ", ".join(map(str, proved.sparsities))
    choice = (
        f"No {proved.n_components} components of at most {counts} of the {proved.size} features, "
        f"{PROBLEMS[proved.problem]}, together capture more than {up(proved.upper_bound)}"
    )
    if proved.gap <= PROVED_OPTIMAL:
        return f"{choice}: the best known are proved optimal (gap {gap_in_words(proved.gap)})."
    return f"{choice}; the best known are within {percent_up(proved.gap)} of the optimum."


def gap_in_words(gap: float) -> str:
    """Write a gap so that it stays true."""
    return f"at most {up(gap, 1) if gap <= PROVED_OPTIMAL else percent_up(gap)}"


def _facts() -> Any:
    from rich.table import Table

    return Table(show_header=False, box=None, padding=(0, 2, 0, 0))


def print_comparison(solutions: Sequence[Solution], stream: TextIO) -> None:
    """Print several solutions of one problem side by side."""
    from rich.table import Table
    from rich.text import Text

    first = solutions[0]
    console = console_for(stream)
    console.print(Text(visible(first.matrix), style="bold") + f", {first.size} features, sparsity {first.sparsity}")
    table = Table(header_style="bold")
    table.add_column("solver")
    table.add_column("in the paper")
    for column in ("objective", "own loadings", "explained", "time"):
        table.add_column(column, justify="right")
    table.add_column("support", overflow="fold")
    solvers = available_solvers()
    shown: set[tuple[str, ...]] = set()
    for solution in solutions:
        members = solution.names or tuple(str(index) for index in solution.support)
        repeated = members in shown
        shown.add(members)
        table.add_row(
            solution.solver,
            getattr(solvers[solution.solver], "paper_name", ""),
            f"{solution.objective:.4f}",
            f"{solution.details['own_objective']:.4f}",
            f"{solution.explained_variance_ratio:.2%}",
            f"{solution.seconds * 1000:.1f} ms",
            "as above" if repeated else " ".join(members),
        )
    console.print(table)
    console.print('"objective": loadings refitted on the support; "own loadings": as the algorithm returns them')


def print_solvers(stream: TextIO) -> None:
    """Print every solver with the first line of its documentation."""
    from rich.table import Table

    table = Table(header_style="bold", box=None, padding=(0, 2, 0, 0))
    for column in ("solver", "in the paper", "what it does"):
        table.add_column(column)
    for name, solver in available_solvers().items():
        summary = (solver.__doc__ or "").strip().splitlines()[0]
        table.add_row(name, getattr(solver, "paper_name", ""), summary)
    console_for(stream).print(table)
