"""What the league's page says: ratios, where set-up decides, two threads beside one."""

from typing import Any

import pytest
from benchmarks.peers import render, two_threads
from benchmarks.peers.results import League, quick


def row(solver: str, refitted: float, seconds: float, case: str = "case") -> dict[str, Any]:
    common = {"case": case, "outcome": "answered", "sparsity": 5, "source": "abc", "fits": 1, "wall_seconds": seconds}
    return {**common, "solver": solver, "refitted": refitted, "seconds": seconds, "tuning_seconds": 0.0}


def content(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"rows": list(rows), "within": None, "limits": {"seconds": 60.0}, **more}


@pytest.mark.parametrize(
    ("auto", "peer", "said"),
    [(2.0, 1.0, "2"), (0.5, 60.0, "0.0083"), (300.0, 1.0, "300"), (0.004, 0.002, "2 †"), (0.02, 0.002, "10")],
)
def test_ratio_says_who_was_sooner_and_where_set_up_decides(auto: float, peer: float, said: str) -> None:
    assert two_threads.ratio(League("case", [row("certpca_auto", 0.9, auto), row("r_mspca", 0.9, peer)])) == said


def test_ratio_is_open_without_a_peer_nearby() -> None:
    assert two_threads.ratio(League("case", [row("certpca_auto", 0.9, 1.0), row("r_mspca", 0.8, 0.1)])) == "–"
    assert two_threads.ratio(League("case", [row("r_mspca", 0.8, 0.1)])) == "–"


def test_section_puts_one_thread_beside_two() -> None:
    one = content(row("certpca_auto", 0.9, 4.0), row("r_mspca", 0.9, 1.0), row("abess_splicing", 0.9, 2.0))
    two = content(row("certpca_auto", 0.9, 2.0), row("r_mspca", 0.7, 1.0), row("abess_splicing", 0.9, 4.0), within=30.0)
    lines = two_threads.section(one, two)
    assert "within 30 s" in " ".join(lines)
    assert lines[-1] == "| case | 4 | 1 R msPCA | 4 | 2 | 4 abess | 0.5 |"


def test_section_leaves_open_what_one_run_lacks() -> None:
    lines = two_threads.section(content(), content(row("certpca_auto", 0.9, 2.0)))
    assert lines[-1] == "| case | – | – | – | 2 | none | – |"


def test_losses_tell_where_set_up_decides() -> None:
    small = League("small", [row("certpca_auto", 0.9, 0.004), row("r_mspca", 0.9, 0.002)])
    large = League("large", [row("certpca_auto", 0.9, 4.0), row("r_mspca", 0.9, 2.0)])
    said = render._losses([small, large])
    assert said[0].startswith("- **small** †: captured as much as `auto` in less time")
    assert said[1].startswith("- **large**: captured as much")


def test_quick_ones_answered_soon_enough_with_tuning() -> None:
    tuned = {**row("a", 0.9, 20.0), "tuning_seconds": 20.0}
    late = {"case": "case", "solver": "b", "outcome": "over time"}
    assert quick([tuned, late, row("c", 0.9, 30.0), row("d", 0.9, 31.0)], 30.0) == {("case", "c")}
