"""Let trees grow in turns, with the time that their proof takes set aside."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from certpca.bounds.count_tree.cells import CountTree
from certpca.bounds.direction_tree.regions import Cover, Region
from certpca.bounds.proof_search import ProofSearch
from certpca.bounds.rival_trees.turns import Record, next_turn
from certpca.bounds.stalling import stalled
from certpca.results.certificate import share_lost
from certpca.runtime.arrays import Array, Vector
from certpca.runtime.lateness import OutOfTimeError
from certpca.runtime.resumable import resumable

Tree = CountTree | Cover


class Kind(Protocol):
    """What a kind of trees can do, for one search."""

    name: str

    def ready(self) -> bool:
        """Make what all trees of the kind need, unless it is there, and say whether it is."""

    def start(self) -> Any:
        """Return the first tree."""

    def step(self, tree: Any) -> Any:
        """Return a tree with more leaves, or with tighter ones."""

    def stuck(self, tree: Any) -> bool:
        """Whether no step lowers its bound any more."""

    def proof(self, tree: Any) -> float:
        """Return the seconds to prove it after one more step."""

    def note(self, tree: Any) -> str:
        """Return what there is to say of it."""

    def offer(self, tree: Any) -> None:
        """Let the checker say what it is worth."""


@dataclass(frozen=True, slots=True, eq=False)
class Rivals:
    """The trees so far, and what each kind made of its time."""

    counts: CountTree | None = None
    cover: Cover | None = None
    records: dict[str, Record] = field(default_factory=dict)
    latest: str = ""

    def tree(self, name: str) -> Tree | None:
        """Return the tree of a kind."""
        found: Tree | None = getattr(self, name)
        return found

    def record(self, name: str) -> Record:
        """Return what a kind made of its time; nothing where a process with less time left that kind out."""
        return self.records.get(name, Record())


def grow(search: ProofSearch, kinds: Sequence[Kind], name: str) -> None:
    """Let trees of some kinds grow while that helps, and prove the better one."""
    search.grown.update(kind.name for kind in kinds)
    _grow(search, _Growth(search, kinds), name)


def grow_for(seconds: float, search: ProofSearch, kinds: Sequence[Kind], name: str) -> None:
    """Let trees grow for a while, less where they do not promise to be done by then; others may go on with them."""
    _grow(search, _Growth(search, kinds, seconds), name)


def _grow(search: ProofSearch, growth: "_Growth", name: str) -> None:
    try:
        rivals = growth.grown(name)
    except OutOfTimeError:  # none has begun
        return
    search.rivals = rivals
    if growth.over(rivals):
        growth.offer(rivals)
        # Where time was over, what the proof left of it is too little for anything else.
        search.over = search.finished() or not growth.enough(rivals)


class _Growth:
    """Makes steps, each of the tree whose turn it is."""

    def __init__(self, search: ProofSearch, kinds: Sequence[Kind], seconds: float = math.inf) -> None:
        self._search, self._kinds, self._most = search, kinds, seconds
        self._unready = set[str]()  # kinds that have no time to begin; another process may have

    def grown(self, name: str) -> Rivals:
        """Return the trees in the end."""
        search = self._search
        found = resumable(
            self._step,
            lambda: self._step(Rivals()) if search.rivals is None else search.rivals,
            search.progress,
            name,
            Rivals,
            enough=self.enough,
            tell=self._told,
            late=lambda rivals: search.progress.late(self._proof(rivals)),
            kept=Region,
            adopt=self._adopted,
        )
        best = self._best(found)
        if best is not None and best[1].known.objective > search.incumbent.objective:  # another process found it
            search.incumbent.best = best[1].known
        return found

    def offer(self, rivals: Rivals) -> None:
        """Prove the best tree, if any has begun."""
        best = self._best(rivals)
        if best is not None:
            best[0].offer(best[1])

    def _adopted(self, array: Vector) -> Array:
        """Place an array of a stored tree; only regions have such, and the dual problem is posed for them then."""
        return self._search.shared.dual.adopt(array)

    def _best(self, rivals: Rivals) -> tuple[Kind, Tree] | None:
        trees = [(kind, tree) for kind in self._kinds if (tree := rivals.tree(kind.name)) is not None]
        return min(trees, key=lambda pair: pair[1].bound, default=None)

    def _proof(self, rivals: Rivals) -> float:
        """Return the seconds to prove the best, and what a step may add to it."""
        best = self._best(rivals)
        return 0.0 if best is None else best[0].proof(best[1])

    def _turn(self, rivals: Rivals) -> int | None:
        return next_turn(self._records(rivals), self._search.goal.target_gap)

    def _records(self, rivals: Rivals) -> list[Record]:
        names = [kind.name for kind in self._kinds]
        return [replace(rivals.record(name), over=rivals.record(name).over or name in self._unready) for name in names]

    def _step(self, rivals: Rivals) -> Rivals:
        turn = self._turn(rivals)
        assert turn is not None
        kind, progress = self._kinds[turn], self._search.progress
        record, tree, begin = rivals.record(kind.name), rivals.tree(kind.name), progress.seconds
        own = 0.0 if tree is None else kind.proof(tree)
        with progress.setting_aside(self._proof(rivals) - own):
            if not kind.ready():
                self._unready.add(kind.name)
                return rivals
            tree = kind.start() if tree is None else kind.step(self._informed(tree))
        record = self._after(kind, tree, record, progress.seconds - begin)
        changed: dict[str, Any] = {kind.name: tree, "records": {**rivals.records, kind.name: record}}
        return replace(rivals, **changed, latest=kind.name)

    def _informed(self, tree: Tree) -> Tree:
        """Let a tree know of better loadings that its rival has found."""
        best = self._search.incumbent.best
        return replace(tree, known=best) if best.objective > tree.known.objective else tree

    def _after(self, kind: Kind, tree: Tree, record: Record, seconds: float) -> Record:
        incumbent, progress = self._search.incumbent, self._search.progress
        if tree.known.objective > incumbent.objective:
            incumbent.best = tree.known
        record = record.then(seconds, share_lost(incumbent.objective, tree.bound))
        still = stalled(record.seen)
        progress.stalled = progress.stalled or still
        return replace(record, over=still or kind.stuck(tree))

    def enough(self, rivals: Rivals) -> bool:
        """Whether the trees need not grow any more, or others are to have their time first."""
        return self._done(rivals) or self._paused(rivals)

    def over(self, rivals: Rivals) -> bool:
        """Whether no other step will follow: the trees are done, or time is over."""
        return self._done(rivals) or not self._paused(rivals)

    def _done(self, rivals: Rivals) -> bool:
        best = self._best(rivals)
        reached = best is not None and self._search.goal.reached(self._search.incumbent.objective, best[1].bound)
        return reached or self._turn(rivals) is None

    def _paused(self, rivals: Rivals) -> bool:
        """Whether they have only a while, and that is over or will not do."""
        if not math.isfinite(self._most):
            return False
        records = self._records(rivals)
        left = self._most - sum(record.spent for record in records)
        return left <= min(record.seconds_until(self._search.goal.target_gap) for record in records if not record.over)

    def _told(self, rivals: Rivals) -> tuple[float, float, str]:
        best = self._best(rivals)
        if best is None:
            return self._search.incumbent.objective, math.inf, ""
        tree = rivals.tree(rivals.latest)
        notes = [kind.note(tree) for kind in self._kinds if kind.name == rivals.latest and tree is not None]
        return self._search.incumbent.objective, best[1].bound, "".join(notes)
