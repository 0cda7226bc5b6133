"""Write docs/peers.md and its figure from benchmarks/results/peers.json.

What was measured with two threads, benchmarks/results/peers_two_threads.json, is a section of the page.

python -m benchmarks.peers.render [--results peers_quick]
"""

import argparse
from typing import Any

from benchmarks.peers import figure, two_threads
from benchmarks.peers.results import League, Row, earlier, label, leagues, module, ours, path_of, read, total

from experiments import pages

DEFAULT, FAST = "certpca_auto", "certpca_svd_threshold"
TWO_THREADS = "peers_two_threads"


def page(content: dict[str, Any], picture: str, several: dict[str, Any] | None = None) -> list[str]:
    """Return the lines of the page; `several` is what was measured with two threads."""
    found = leagues(content["rows"])
    lines = ["# certpca and its peers", "", *_how(content), "", f"![variance lost against time]({picture})", ""]
    lines += [*PICTURE.strip().splitlines(), ""]
    lines += ["## In short", "", *_summary(found), "", *SHORT.strip().splitlines(), ""]
    if several is not None:
        lines += ["## Two threads", "", *two_threads.section(content, several), ""]
    lines += ["## Where certpca loses", "", *_losses(found), ""]
    lines += ["## Every run", "", *LEGEND.strip().splitlines(), ""]
    for league in found:
        first = league.rows[0]
        shape = f"{first['rows']:,} rows, {first['features']:,} features{', sparse' if first['sparse'] else ''}"
        known = f"; known optimum f = {first['optimum']:.6f}" if first["optimum"] else ""
        lines += [f"### {league.case}, k = {first['sparsity']}", "", f"{shape}{known}.", "", *_runs(league), ""]
    return [*lines, "## The field", "", *_field(content)]


HOW = """
Written by `python -m benchmarks.peers.render`; no number here is typed. Every solver gets the same matrix with
centred columns (covariance matrices as data that have exactly that matrix), is asked for one component with k
nonzero loadings, and runs in a process of its own. Those that take a penalty are bisected to k; the time of the other
fits is tuning. The first penalty, and the dense component where a peer is started there, are given to it and not
charged. One judge recomputes every answer in float64 from the data: f is the captured share of the largest
eigenvalue, with the loadings as returned (raw) and with the best ones on the same support (refitted). Solvers that
penalise shrink their loadings, so only refitted values are compared. With one thread, seconds are those of the
processor, so that what else runs on a machine does not count; short solves are repeated and their mean counts; loading,
compiling and verifying are not counted. Limits on time are about the processor too.
"""
PICTURE = """
A marker for each peer and case: on the left of the blue line it was sooner than `auto`. Above, those that captured as
much, a row for each group of peers; below, what the others lost. Hollow markers are cases that `auto` solves in less
than 10 ms, where set-up counts most. Peers without an answer are not drawn.
"""
SHORT = """
The ratio is the time of `auto` in units of that of the quickest peer within 1 %: below 1, `auto` was sooner.
† Both took less than 10 ms, where set-up such as checking the data counts most: `svd-threshold`, which hardly
searches, takes about as long there.
"""
LEGEND = """
Bound is an upper bound on f: certpca's are proved and were verified by the independent checker. cvxpy's value of
the relaxation is only claimed: beside it stands by how much the matrix behind it breaks the constraints, and the
bound that follows from the solver's dual variables, in floating point. Gap is 1 - f / bound where the bound is proved.
"""


def _how(content: dict[str, Any]) -> list[str]:
    machine, limits = content["machine"], content["limits"]
    lines = [*HOW.strip().splitlines(), ""]
    lines.append(f"Machine: {machine['processor']}, {machine['cores']} cores, Python {machine['python']}.")
    threads = f"{limits['threads']} thread{'' if limits['threads'] == 1 else 's'}"
    lines.append(f"Limits for each run: {threads}, {limits['seconds']:.0f} s with tuning, or what a note says,")
    lines.append(f"{limits['bytes'] / 2**30:.0f} GiB of address space. The source of certpca is {_sources(content)}.")
    if any(earlier(row) for row in content["rows"]):
        lines.append("Rows with the note *earlier* are from an earlier run, in seconds on the wall of a quiet machine.")
    if content["quick"]:
        lines.append("This is the quick profile: small cases and tight limits.")
    return lines


def _sources(content: dict[str, Any]) -> str:
    """Name the state of the source that certpca's rows were measured with: one, unless somebody mixed runs."""
    return ", ".join(f"`{name}`" for name in sorted({row["source"] for row in content["rows"] if ours(row)}))


def _summary(found: list[League]) -> list[str]:
    head = ["case", "k", "`auto` f", "`auto` s", "proved bound", "proved gap", "proved in s"]
    head += ["most of a peer", "quickest peer within 1 %", "ratio", "peers without an answer"]
    rows = []
    for league in found:
        auto, sparsity = league.of(DEFAULT), league.rows[0]["sparsity"]
        proofs = [row for row in league.answered if row.get("proved")]
        proof = min(proofs, key=lambda row: (row["bound"], total(row)), default=None)
        peer = max(league.peers, key=lambda row: (row["refitted"], -total(row)), default=None)
        near = league.quickest_near(auto) if auto else None
        rows.append([
            league.case, sparsity, _f(auto), _s(auto),
            f"{proof['bound']:.5f}" if proof else "–",
            f"{_gap(proof):.2%}" if proof else "–", _s(proof),
            f"{peer['refitted']:.5f} {label(peer)}" if peer else "–",
            f"{_s(near)} {label(near)}" if near else "none", two_threads.ratio(league), len(league.silent),
        ])  # fmt: skip
    return pages.table(head, rows)


def _losses(found: list[League]) -> list[str]:
    lines = []
    for league in found:
        auto, fast = league.of(DEFAULT), league.of(FAST)
        said = []
        if auto is None:
            said.append("`auto` gave no answer")
        else:
            said += _named("captured more than `auto`", league.better(auto), auto, "refitted")
            said += _named("captured as much as `auto` in less time", league.faster(auto), auto, "time")
        if fast is not None:
            said += _named("captured more than `svd-threshold`", league.better(fast), fast, "refitted")
            said += _named("captured as much as `svd-threshold` in less time", league.faster(fast), fast, "time")
        mark = " †" if auto is not None and league.decided_by_set_up(auto) else ""
        lines.append(f"- **{league.case}**{mark}: {'; '.join(said) if said else 'no peer was better or faster'}.")
    return lines


def _named(what: str, peers: list[Row], own: Row, by: str) -> list[str]:
    if not peers:
        return []
    if by == "refitted":
        peers = sorted(peers, key=lambda row: -row["refitted"])
        each = [f"{label(row)} (+{row['refitted'] / own['refitted'] - 1:.2%})" for row in peers]
    else:
        peers = sorted(peers, key=total)
        each = [f"{label(row)} ({_s(row)} s against {_s(own)} s)" for row in peers]
    return [f"{what}: {', '.join(each)}"]


def _runs(league: League) -> list[str]:
    head = ["solver", "seconds", "tuning s", "nonzeros", "f raw", "f refitted", "bound", "gap", "peak MB", "note"]
    rows = []
    for row in sorted(league.rows, key=lambda row: (not ours(row), -row.get("refitted", 0.0), row["solver"])):
        if row["outcome"] != "answered":
            rows.append([label(row), *["–"] * 8, _text(row["note"])])
            continue
        gap = f"{_gap(row):.2%}" if row.get("proved") else "–"
        rows.append([
            label(row), f"{row['seconds']:.3g}", f"{row['tuning_seconds']:.3g}" if row["fits"] > 1 else "0",
            row["nonzeros"], f"{row['raw']:.5f}", f"{row['refitted']:.5f}", _bound(row), gap,
            f"{row['peak_bytes'] / 1e6:.0f}", _text(_note(row)),
        ])  # fmt: skip
    return pages.table(head, rows)


def _bound(row: Row) -> str:
    if "bound" not in row:
        return "–"
    return f"{row['bound']:.5f}" if row["proved"] else f"{row['bound']:.5f} claimed"


def _note(row: Row) -> str:
    notes = [row["note"]] if row["note"] else []
    if earlier(row):
        notes.append("*earlier*")
    if "violation" in row:
        notes.append(f"called {row['status']}; constraints broken by {row['violation']:.0e}")
    if "dual_bound" in row:
        notes.append(f"its dual gives {row['dual_bound']:.5f}")
    if row.get("bound", row["refitted"]) < row["refitted"] * (1 - 1e-9):
        notes.append("the claimed bound lies below what was captured")
    if row["optimum"] and row["refitted"] >= row["optimum"] * (1 - 1e-6):
        notes.append("reaches the optimum")
    return "; ".join(notes)


def _field(content: dict[str, Any]) -> list[str]:
    versions = content["peers"]
    rows = []
    for solver in dict.fromkeys(row["solver"] for row in content["rows"]):
        about = module(solver)
        found = versions.get(about.PACKAGE)
        state = found if found is not None else "not installed: skipped"
        rows.append([about.LABEL, about.PACKAGE, state, about.ASKS, _text(" ".join(str(about.__doc__).split()))])
    return pages.table(["solver", "package", "version", "asks for", "what it is, and what to know"], rows, left=5)


def _gap(row: Row) -> float:
    return max(0.0, 1 - float(row["refitted"]) / float(row["bound"]))


def _f(row: Row | None) -> str:
    return "–" if row is None else f"{row['refitted']:.5f}"


def _s(row: Row | None) -> str:
    return "–" if row is None else f"{total(row):.3g}"


def _text(note: str) -> str:
    """Keep a note from breaking the table."""
    return note.replace("|", "\\|")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", default="peers", help="file under benchmarks/results, without its ending")
    content = read(parser.parse_args().results)
    if not content["rows"]:
        parser.error("no results yet: run python -m benchmarks.peers.run first")
    several = read(TWO_THREADS) if path_of(TWO_THREADS).exists() else None
    pages.write("peers", page(content, figure.draw(leagues(content["rows"])), several))


if __name__ == "__main__":
    main()
