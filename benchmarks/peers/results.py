"""The results of the peers read back, and what follows from them."""

import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "results"
SAME = 1e-6  # objectives closer than this, relative to each other, are a draw
CLOSE = 0.01  # an objective within this share of another is near it
SET_UP = 0.01  # seconds below which what is done before solving decides who is sooner

Row = dict[str, Any]


@dataclass(frozen=True)
class League:
    """All runs of one case."""

    case: str
    rows: list[Row]

    @property
    def answered(self) -> list[Row]:
        """The runs with an answer that keeps to the sparsity."""
        return [row for row in self.rows if row["outcome"] == "answered"]

    @property
    def peers(self) -> list[Row]:
        """Those of them that are not certpca's."""
        return [row for row in self.answered if not ours(row)]

    @property
    def bound(self) -> float | None:
        """The lowest upper bound that certpca proved, as a share of λ₁; none where it says no more than f ≤ 1."""
        return min((row["bound"] for row in self.answered if row.get("proved") and row["bound"] < 1.01), default=None)

    def of(self, solver: str) -> Row | None:
        """Return the run of one solver, if it has an answer."""
        return next((row for row in self.answered if row["solver"] == solver), None)

    @property
    def silent(self) -> list[Row]:
        """The peers that are here but gave no answer, or were not tried at this size."""
        return [row for row in self.rows if row["outcome"] not in ("answered", "missing") and not ours(row)]

    def better(self, row: Row) -> list[Row]:
        """Return the peers that capture more."""
        return [peer for peer in self.peers if peer["refitted"] > row["refitted"] * (1 + SAME)]

    def faster(self, row: Row) -> list[Row]:
        """Return the peers that capture as much in less time, tuning included."""
        enough = row["refitted"] * (1 - SAME)
        return [peer for peer in self.peers if peer["refitted"] >= enough and total(peer) < total(row)]

    def quickest_near(self, row: Row) -> Row | None:
        """Return the quickest peer, tuning included, that comes within 1 % of an answer."""
        near = [peer for peer in self.peers if peer["refitted"] >= (1 - CLOSE) * row["refitted"]]
        return min(near, key=total, default=None)

    def lead(self, row: Row) -> float | None:
        """Return the seconds of an answer as a multiple of those of the quickest peer within 1 %."""
        near = self.quickest_near(row)
        return None if near is None else total(row) / total(near)

    def decided_by_set_up(self, row: Row) -> bool:
        """Whether an answer and the quickest peer within 1 % both take so little that set-up decides."""
        near = self.quickest_near(row)
        return near is not None and max(total(row), total(near)) < SET_UP


def read(name: str) -> dict[str, Any]:
    """Return the file written by `benchmarks.peers.run`."""
    content: dict[str, Any] = json.loads(path_of(name).read_text())
    content["rows"] = [row for row in content["rows"] if "outcome" in row]
    return content


def path_of(name: str) -> Path:
    return RESULTS / f"{name}.json"


def leagues(rows: list[Row]) -> list[League]:
    """Group the rows by case, in their order."""
    names = list(dict.fromkeys(row["case"] for row in rows))
    return [League(name, [row for row in rows if row["case"] == name]) for name in names]


def quick(rows: list[Row], seconds: float) -> set[tuple[str, str]]:
    """Return the cases and solvers with an answer within so many seconds, tuning included."""
    return {(row["case"], row["solver"]) for row in rows if row["outcome"] == "answered" and total(row) <= seconds}


def ours(row: Row) -> bool:
    return str(row["solver"]).startswith("certpca")


def total(row: Row) -> float:
    """Return the seconds with those of tuning."""
    return float(row["seconds"] + row["tuning_seconds"])


def earlier(row: Row) -> bool:
    """Whether a row is from before processor time was counted: its seconds are those on the wall of a quiet machine."""
    return row["outcome"] == "answered" and "wall_seconds" not in row


def module(solver: str) -> Any:
    return import_module(f"benchmarks.peers.solvers.{solver}")


def label(row: Row) -> str:
    """Return the name that readers see."""
    return str(module(row["solver"]).LABEL)
