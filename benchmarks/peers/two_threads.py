"""The section on two threads: `auto` and the quickest peer within 1 %, with one thread and with two."""

from typing import Any

from benchmarks.peers.results import League, Row, label, leagues, ours, total

from experiments import pages

DEFAULT = "certpca_auto"
WORDS = """
Seconds with one thread are those of the processor, as above; with two they are those of the clock on the wall of an
idle machine, the least of several. Of the peers, {peers}
took part, where they had answered within {within:.0f} s with one thread. The quickest need not be the same peer, and
none means none of these. Ratio and † as above. The source of certpca is {sources} here.
"""


def section(one: dict[str, Any], two: dict[str, Any]) -> list[str]:
    """Return the lines of the section."""
    before = {league.case: league for league in leagues(one["rows"])}
    head = ["case", "`auto` s, 1 thread", "quickest peer within 1 %, 1 thread", "ratio"]
    head += ["`auto` s, 2 threads", "quickest peer within 1 %, 2 threads", "ratio"]
    rows = [
        [league.case, *_three(before.get(league.case)), *_three(league)]
        for league in leagues(two["rows"])
        if league.of(DEFAULT) is not None
    ]
    sources = ", ".join(f"`{name}`" for name in sorted({row["source"] for row in two["rows"] if ours(row)}))
    names = ", ".join(sorted({label(row) for row in two["rows"] if not ours(row)}))
    words = WORDS.format(peers=names, within=two["within"] or two["limits"]["seconds"], sources=sources)
    return [*words.strip().splitlines(), "", *pages.table(head, rows)]


def ratio(league: League) -> str:
    """Return `auto`'s time in units of the quickest near peer's, with a mark where set-up decides."""
    auto = league.of(DEFAULT)
    found = None if auto is None else league.lead(auto)
    if auto is None or found is None:
        return "–"
    digits = f"{found:.2g}" if found < 100 else f"{found:.0f}"
    return f"{digits}{' †' if league.decided_by_set_up(auto) else ''}"


def _three(league: League | None) -> list[str]:
    auto = None if league is None else league.of(DEFAULT)
    if league is None or auto is None:
        return ["–", "–", "–"]
    near = league.quickest_near(auto)
    return [_seconds(auto), "none" if near is None else f"{_seconds(near)} {label(near)}", ratio(league)]


def _seconds(row: Row) -> str:
    return f"{total(row):.3g}"
