"""The search: the worst part is descended further, and then divided where components compete most."""

import heapq
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from certpca.bounds.sets.counts.parts import Blocks, Kind, Part
from certpca.bounds.sets.paired.descent import Descent
from certpca.bounds.sets.paired.search import PairedSearch, leaf_of
from certpca.results.evidence_forms import within
from certpca.runtime.arrays import Indices

STAGES = ((0.003, 30), (0.001, 40))  # smoothing and steps, for a new part and for one that is the worst
MOST_PARTS = 64
LATER = 0.3  # what a kind counts that cannot have most of a block, where parts are divided


class CountSearch:
    """Divides a problem whose prices are known by how many features of some blocks components have."""

    def __init__(
        self,
        whole: PairedSearch,
        sparsities: tuple[int, ...],
        blocks: list[Indices],
        target: float,
        late: Callable[[int], bool],
    ) -> None:
        matrix = whole.descent.matrix
        self.unit, self.largest, self.target = whole.unit, whole.largest, target / whole.unit
        self.blocks = Blocks.of(matrix.shape[0], blocks)
        self.descent = Descent(matrix, lambda: late(self.trees))
        self.tree: list[dict[str, Any]] = [{}]
        components = tuple((sparsity, ((0, sparsity),) * len(blocks)) for sparsity in sparsities)
        first = Part(0, components, whole.at, whole.at.bound, len(STAGES))
        self.trees = 0  # that a checker will have to walk
        self.parts: list[tuple[float, int, Part]] = []
        self._keep(first)

    @property
    def bound(self) -> float:
        """What the parts prove, but for roundings."""
        return -self.parts[0][0] * self.unit

    def run(self, told: Callable[[float], object]) -> None:
        """Go on until the bound is good enough, or nothing is left to divide."""
        while self.bound > self.target * self.unit and len(self.parts) < MOST_PARTS and not self.descent.late():
            part = self.parts[0][2]
            division = None if part.stage < len(STAGES) else self._best_division(part)
            if part.stage == len(STAGES) and division is None:
                return
            heapq.heappop(self.parts)
            self.trees -= len(part.kinds)
            if division is None:
                self._keep(self._descended(part.unpacked()))
            else:
                self._divide(part, *division)
            told(self.bound)

    def _keep(self, part: Part) -> None:
        heapq.heappush(self.parts, (-part.bound, part.number, part.packed()))
        self.trees += len(part.kinds)

    def _descended(self, part: Part) -> Part:
        """Return a part after its next stage, or what is known where there is no time for it."""
        at = self.descent.run(part.at, STAGES[part.stage : part.stage + 1], self.target)
        return replace(part, at=at, bound=min(part.bound, at.bound), stage=part.stage + 1)

    def _best_division(self, part: Part) -> tuple[Kind, int, int] | None:
        """Return the kind, block and number to divide at: where much is paid for a block of which it may have much."""
        assert part.at.prices is not None
        best, found = 0.0, None
        for kind in part.kinds:
            for block, (least, most) in enumerate(kind[1]):
                paid = float(part.at.prices[self.blocks.features(block)].sum())
                worth = (most - least) * paid * (1.0 if 2 * most > kind[0] else LATER)
                if worth > best:
                    best, found = worth, (kind, block, (least + most) // 2)
        return found

    def _divide(self, part: Part, kind: Kind, block: int, above: int) -> None:
        into = []
        for child in part.unpacked().divided(kind, block, above, self.blocks):
            into.append(len(self.tree))
            self.tree.append({})
            self._keep(self._descended(replace(child, number=into[-1])))
        of = part.components.index(kind)
        self.tree[part.number] = {"block": block, "of": of, "above": above, "into": into}

    def certificate(self) -> tuple[list[Any], dict[str, Any]]:
        """Return the tree and the evidence."""
        evidence: dict[str, Any] = {}
        for block in range(len(self.blocks.sizes)):
            evidence |= within(f"block{block}", {"features": self.blocks.features(block)})
        for leaf, (_, number, part) in enumerate(self.parts):
            slots, own = leaf_of(part.at, self.unit, self.largest)
            self.tree[number] = {"leaf": leaf, "slots": slots}
            evidence |= within(f"leaf{leaf}", own)
        return self.tree, evidence
