"""Branch and bound over assignments: features are given to components, or to none, until prices prove enough.

Two things keep prices from proving a part: the linear program may take fractions of supports, or its prices are hard to
prove. The program is solved in a fraction of a second, and search trees take many times as long. So where fractions are
left the part is split at once, and what its prices prove is looked at later, if time may run out before its parts are
closed; trees are grown for parts that the program says they can close. Components that differ much have one price above
all that a component is worth: there giving away that feature tells them apart, and what is left is easy.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certpca.bounds.sets.prices.assignments import Assignment, Priced, Slot
from certpca.bounds.sets.prices.generation import Generated, Generation
from certpca.bounds.sets.prices.master import Pool, eligible, most_divided, most_varied
from certpca.bounds.support_tree.nodes import Operation, Tree
from certpca.bounds.support_tree.search import TreeSearch
from certpca.bounds.support_tree.visit import Effort as Steps
from certpca.results.evidence_forms import within
from certpca.runtime.arrays import Indices, Vector

SPARE = 0.5  # share of what the bound may exceed the objective by that prices use up; the rest is for the trees
ROUNDINGS = 1e-8  # share of the objective that a tree need not prove
ACCURACY = 0.02  # of prices, as a share of the gap that is asked for
LOOK, FALLING = 40, 0.7  # nodes, after which a tree must have brought down what it exceeds its aim by, to that share
STEPS_OF_A_GLANCE = Steps(root=Steps().root[:3])
Split = tuple[tuple[int, ...], int | None]  # a feature; or twins, and the component that may get one of these
AGAIN = 3  # times that prices are found anew because a tree met a better support


@dataclass(frozen=True, slots=True)
class Effort:
    """Nodes of a search tree, those of a glance, and parts in all."""

    nodes: int = 400
    glance: int = 1
    parts: int = 5000


@dataclass(slots=True, eq=False)
class Proof:
    """Prices with search trees, and the bound they prove."""

    priced: Priced
    trees: list[tuple[list[list[Operation]], dict[str, Any]]]
    bound: float


@dataclass(slots=True, eq=False)
class Part:
    """A part of the problem: where it stands, what proves its bound, and how it was split."""

    assignment: Assignment
    bound: float
    above: "Part | None" = None  # what it is a part of
    priced: Priced | None = None  # not proved yet
    proof: Proof | None = None
    split: Split | None = None
    none: "Part | None" = None
    into: list[tuple[int, "Part"]] = field(default_factory=list)

    def parts(self) -> list["Part"]:
        """Return what it was split into."""
        return [] if self.none is None else [self.none, *(part for _, part in self.into)]

    def proved(self) -> float:
        """Return the best bound: its own, or the worst of its parts."""
        own = math.inf if self.proof is None else self.proof.bound
        parts = self.parts()
        return min(own, max(part.proved() for part in parts)) if parts else own


class AssignmentSearch:
    """The search for prices, and parts, that prove a bound close to the best disjoint supports known."""

    def __init__(
        self,
        matrix: Vector,
        sparsities: tuple[int, ...],
        supports: list[Indices],
        target_gap: float,
        late: Callable[[], bool],
        effort: Effort | None = None,
        hurried: Callable[[], bool] = lambda: False,
    ) -> None:
        self.matrix, self.sparsities, self.target_gap, self.late = matrix, sparsities, target_gap, late
        self.hurried = hurried  # whether parts may not be closed in time, so that what is proved of each counts
        self.effort = effort or Effort()
        self.pool = Pool(matrix)
        self.generation = Generation(self.pool, late, ACCURACY * target_gap)
        for support in supports:
            self.pool.add(support)
        self.best = list(supports)
        self.value = sum(self._captured(support) for support in supports)
        self.root = Part(Assignment.of(sparsities), math.inf)
        self._open: list[tuple[float, int, Part]] = [(-math.inf, 0, self.root)]
        self.visited = 0
        self._settled = False  # whether parts are proved as they are visited

    def _captured(self, support: Indices) -> float:
        return float(np.linalg.eigvalsh(self.matrix[np.ix_(support, support)])[-1])

    @property
    def target(self) -> float:
        """The bound that is good enough."""
        return self.value * (1 + self.target_gap)

    @property
    def bound(self) -> float:
        """What is proved."""
        return self.root.proved()

    def step(self) -> bool:
        """Visit the part with the largest bound; say whether there is another."""
        while self._open:
            part = heapq.heappop(self._open)[2]
            if part.bound > self.target:
                self._visit(part)
                break
        return bool(self._open) and self.visited < self.effort.parts

    def _visit(self, part: Part) -> None:
        self.visited += 1
        generated = self.generation.run(part.assignment)
        if generated.value > self.value * (1 + ROUNDINGS):
            self._combine(generated)
        split = self._to_be_split(part.assignment, generated)
        hurried = split is not None and self.hurried()
        if hurried and not self._settled:
            self._settle()
        if generated.value > self.target and part is not self.root and not hurried:
            part.priced = generated.priced  # which prove too little, whatever the trees
        else:
            self._prove(part, generated.priced, self.effort.nodes if hurried else self.effort.glance)
        if split is None and part.bound > self.target:
            split = self._closed(part)
        if split is None or self.late():
            return
        block, number = split
        if number is None:
            none, into = part.assignment.split(block[0])
        else:
            none, into = part.assignment.split_twins(block, number)
        part.split, part.none = split, Part(none, part.bound, part)
        part.into = [(component, Part(inner, part.bound, part)) for component, inner in into]
        expected = min(part.bound, max(generated.value, self.target))  # after better trees than those of a glance
        for number, inner in enumerate(part.parts()):
            heapq.heappush(self._open, (-expected, (self.visited << 8) + number, inner))

    def _settle(self) -> None:
        """Glance at what was left unproved above parts that are open: these may not be closed in time."""
        self._settled = True
        for _, _, part in self._open:
            above = part.above
            if above is not None and above.priced is not None and not self.late():
                self._prove(above, above.priced, self.effort.glance)
                above.priced = None

    def _to_be_split(self, assignment: Assignment, generated: Generated) -> Split | None:
        """Return what must be given away before prices can prove enough, or None where they may."""
        if generated.value > self.target:
            varied = most_varied(generated.master, generated.taken)
            if varied is not None:
                return varied[0], assignment.component(generated.master.slots[varied[1]])
            free = assignment.free(self.matrix.shape[0])
            divided = most_divided(generated.master.use, generated.taken, free.tolist())
            return None if divided is None else ((divided,), None)
        dearest = self._dearest(assignment, generated)
        if dearest is None or generated.priced.prices[dearest[0][0]] <= generated.priced.worth.max():
            return None
        return dearest

    def _closed(self, part: Part) -> Split | None:
        """Grow trees until they prove enough; where they do not, return what to give away."""
        for _ in range(AGAIN):
            generated = self._centred(part)
            met = self._prove(part, generated.priced, self.effort.nodes)
            if part.proved() <= self.target or not met or self.late():
                break
        if part.proved() <= self.target:
            return None
        divided = self._to_be_split(part.assignment, generated)
        return self._dearest(part.assignment, generated) if divided is None else divided

    def _centred(self, part: Part) -> Generated:
        """Return prices that keep other supports as far below as what is spare allows."""
        value = self.generation.run(part.assignment).value
        return self.generation.run(part.assignment, max(SPARE * (self.target - value), 0.0))

    def _prove(self, part: Part, priced: Priced, nodes: int) -> bool:
        """Keep what search trees prove, if it is better; say whether one of them met a better support."""
        proof, met = self._proof(part.assignment, priced, nodes)
        if part.proof is None or proof.bound < part.proof.bound:
            part.proof = proof
        part.bound = min(part.bound, proof.bound)
        return met

    def _combine(self, generated: Generated) -> None:
        """Take the best disjoint supports among all that were met."""
        chosen = generated.master.best_combination()
        value = sum(self._captured(support) for _, support in chosen)
        if len(chosen) == len(self.sparsities) and value > self.value * (1 + ROUNDINGS):
            slots = [generated.master.slots[slot].sparsity for slot, _ in chosen]
            ordered: list[Indices] = []
            for sparsity in self.sparsities:
                place = slots.index(sparsity)
                slots[place] = -1
                ordered.append(chosen[place][1])
            self.best, self.value = ordered, value

    def _proof(self, assignment: Assignment, priced: Priced, nodes: int) -> tuple[Proof, bool]:
        """Bound what components are worth by search trees; say whether one of them met a better support."""
        spare = max(self.target - priced.bound, ROUNDINGS * self.value)
        tolerance = max(spare, self.target_gap * self.value * SPARE) / len(self.sparsities)
        bound, trees, met = float(priced.prices.sum()), [], False
        for slot, worth in zip(assignment.slots(), priced.worth, strict=True):
            search, tree = self._searched(assignment, slot, priced.prices, tolerance, worth, nodes)
            trees.append(search.certificate(tree))
            bound += slot.copies * tree.upper_bound
            if tree.value > worth + ROUNDINGS * self.value:
                met |= self.pool.add(tree.best.support)
        return Proof(priced, trees, bound), met

    def _searched(
        self, assignment: Assignment, slot: Slot, prices: Vector, tolerance: float, worth: float, nodes: int
    ) -> tuple[TreeSearch, Tree]:
        size = self.matrix.shape[0]
        free, masks = assignment.free(size), self.pool.masks()
        steps = STEPS_OF_A_GLANCE if nodes <= self.effort.glance else None
        search = TreeSearch(self.matrix, slot.sparsity, 0.0, steps, prices=prices, tolerance=tolerance)
        known = np.flatnonzero(eligible(masks, slot, free))
        values = np.array(self.pool.values)[known] - masks[known] @ prices
        inside = np.array(slot.inside, dtype=np.intp)
        begin = self.pool.supports[int(known[values.argmax()])] if known.size else inside
        tree = search.start(begin, inside, slot.open(free))
        before = math.inf
        while tree.open and tree.nodes < nodes and tree.upper_bound > tree.value + tolerance and not self.late():
            tree = search.step(tree, self.late)
            if tree.value > worth + tolerance:
                break  # prices that take no account of that support are not worth a proof
            if tree.nodes % LOOK == 0:
                excess = tree.upper_bound - tree.value - tolerance
                if excess > FALLING * before:
                    break  # giving features away does more
                before = excess
        return search, tree

    def _dearest(self, assignment: Assignment, generated: Generated) -> Split | None:
        """Return the free features with the highest price, or None where no component can take one."""
        blocks, prices = assignment.blocks(self.pool.twins), generated.priced.prices
        for block in sorted(blocks, key=lambda members: -prices[members[0]]):
            for slot in assignment.slots():
                if not slot.full and block[0] not in slot.barred:
                    return block, assignment.component(slot) if len(block) > 1 else None
        return None

    def certificate(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return the tree in plain lists and numbers, and its evidence."""
        records: list[dict[str, Any]] = []
        evidence: dict[str, Any] = {}
        order = [self.root]  # which grows while it is walked over
        leaves = 0
        for part in order:
            parts = part.parts()
            if parts and max(inner.proved() for inner in parts) < (
                math.inf if part.proof is None else part.proof.bound
            ):
                first = len(order)
                order += parts
                into = [[component, first + 1 + place] for place, (component, _) in enumerate(part.into)]
                assert part.split is not None
                block, number = part.split
                record = {"split": block[0], "none": first, "into": into}
                records.append(record if number is None else {**record, "twins": list(block[1:])})
                continue
            assert part.proof is not None
            own: dict[str, Any] = {"prices": part.proof.priced.prices}
            for slot, (_, arrays) in enumerate(part.proof.trees):
                own |= within(f"slot{slot}", arrays)
            evidence |= within(f"leaf{leaves}", own)
            records.append({"leaf": leaves, "slots": [tree for tree, _ in part.proof.trees]})
            leaves += 1
        return records, evidence
