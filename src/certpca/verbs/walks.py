"""How often a file was read, in all and in each phase of a call."""

from collections.abc import Sequence

from certpca.operators.base import Operator

PHASES = ("search", "judge", "proof")


class Walks:
    """Counts the walks over the file that an operator reads, phase by phase; those before the call count as well."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._read = [operator.walks]
        self._phases: list[str] = []

    def done(self, phase: str, judged: float = 0.0) -> None:
        """End a phase, whose last so many walks were those of the judge."""
        now = self._operator.walks
        self._read += [now - judged, now]
        self._phases += [phase, "judge"]

    def told(self) -> dict[str, float]:
        """Return the walks of all phases, and in all; nothing where all was in memory."""
        return walks_told(self._read, self._phases)


def walks_told(read: Sequence[float], phases: Sequence[str]) -> dict[str, float]:
    """Return what counts between phases add up to."""
    if read[-1] == 0.0:
        return {}
    found = {"walks": round(read[-1], 3)}
    for phase in PHASES:
        pairs = zip(read, read[1:], phases, strict=False)
        count = sum(after - before for before, after, name in pairs if name == phase)
        if count > 0:
            found[f"walks_{phase}"] = round(float(count), 3)
    return found
