"""Search trees of valid shape whose fixings, splits, bounds and numbers are arbitrary."""

from collections.abc import Callable
from typing import Any

import numpy as np

LEAVES = ("list", "list", "eigenvalue", "trace", "squares", "pairs", "cheapest")
Completed = Callable[[list[int], list[int]], tuple[list[int], list[int]]]  # what constraints imply at a node
Tree = list[dict[str, Any]]  # written here with the children of a split in place, which is easier to change


def flat(tree: Any) -> Any:
    """Number the nodes as a certificate does; what has no such form stays as it is."""
    if not isinstance(tree, list):
        return tree
    nodes: list[Any] = []

    def add(record: list[Any]) -> int:
        number = len(nodes)
        nodes.append([])
        for operation in record:
            numbered = operation
            if isinstance(operation, dict) and "split" in operation:
                children = {name: operation[name] for name in ("in", "out") if name in operation}
                numbered = operation | {n: add(c) if isinstance(c, list) else c for n, c in children.items()}
            nodes[number].append(numbered)
        return number

    add(tree)
    return nodes


class RandomTree:
    """A tree of valid shape: its fixings, splits, bounds and numbers are arbitrary."""

    def __init__(
        self,
        rng: np.random.Generator,
        matrix: np.ndarray,
        sparsity: int,
        best: tuple[int, ...],
        *,
        inside: tuple[int, ...] = (),
        free: tuple[int, ...] | None = None,
        fewer: bool = False,
        completed: Completed | None = None,
        leaves: tuple[str, ...] = LEAVES,
    ) -> None:
        self.completed, self.leaves = completed, leaves
        self.rng, self.matrix, self.sparsity, self.best, self.fewer = rng, matrix, sparsity, best, fewer
        largest = float(np.abs(matrix).max()) or 1.0
        usual = 2.0 ** np.frexp(largest)[1]
        strange = [usual * 3.3, 1.0, 1e-300, 1e300, 5e-324]
        self.scale = float(usual if rng.random() < 0.7 else strange[rng.integers(5)])
        self.evidence: dict[str, Any] = {"scale": np.float64(self.scale)}
        block = matrix[np.ix_(best, best)]
        values = np.linalg.eigvalsh(block)
        rest = float(values[:-1].mean()) if len(best) > 1 else 0.0
        # With these the squares of a matrix of rank one, of a diagonal one and the like are tight.
        self.shifts = [0.0, rest, float(values[0]), float(np.diagonal(block).mean())]
        self.points = [self._add_point(number) for number in range(int(rng.integers(1, 4)))]
        everything = range(matrix.shape[0]) if free is None else free
        self.tree = self._node(list(inside), list(everything), 0)

    def _pick(self, options: list[Any]) -> Any:
        return options[self.rng.integers(len(options))]

    def _shift(self) -> float:
        wild = [-self.shifts[1], 1e3 * self.shifts[-1], 1e-320, -1e300, float(self.rng.standard_normal())]
        return float(self._pick(self.shifts if self.rng.random() < 0.8 else wild))

    def _add_point(self, number: int) -> int:
        rng, size = self.rng, self.matrix.shape[0]
        noise = rng.standard_normal((size, size))
        u = self.matrix - self._shift() * np.eye(size)
        block = u[np.ix_(self.best, self.best)]
        level = float(np.linalg.norm(block)) / 2 or 1.0
        if rng.random() < 0.4:
            wild = [self.matrix, 0 * u, u + level * (noise + noise.T), u * 1e-170, u * 10.0 ** rng.integers(-9, 160)]
            u = self._pick(wild)
        turn = np.triu(rng.standard_normal((size, size)), 1)
        k = self._pick([0.0, 0.0, 1e-9, 0.1, 1.0, 1e8, 1e30, 1e200]) * level * (turn - turn.T)
        alpha = np.full(size, level)
        if rng.random() < 0.4:
            wild = [alpha * rng.lognormal(0, 1, size), alpha * 10.0 ** rng.uniform(-8, 8, size), alpha * 1e-320]
            alpha = self._pick([*wild, alpha * 1e300, np.full(size, 5e-324)])
        with np.errstate(all="ignore"):
            packed = np.nan_to_num((np.triu(u) + np.tril(k, -1)) / self.scale)
            alpha = np.maximum(np.nan_to_num(alpha / self.scale), 5e-324)
            packed = packed.astype(np.float32) if np.abs(packed).max() < 1e38 and rng.random() < 0.4 else packed
        self.evidence[f"point{number}_features"] = np.arange(size)
        self.evidence[f"point{number}_pairs"] = packed
        self.evidence[f"point{number}_alpha"] = alpha
        return number

    def _bound(self, kind: str) -> dict[str, Any]:
        with np.errstate(all="ignore"):
            shift = float(np.nan_to_num(np.float64(self._shift()) / self.scale))
        numbers = {"shift": shift}
        if self.fewer or self.rng.random() < 0.2:
            level = float(np.abs(self.matrix).max()) / self.scale or 1.0
            numbers["alpha"] = float(self._pick([level * share for share in (0.5, 1.0, 0.25, 0.1, 2.0, 1e-9, 1e9)]))
        return {"squares": numbers, "pairs": {"point": self._pick(self.points)}}[kind]

    def _node(self, inside: list[int], free: list[int], depth: int) -> Tree:
        rng, record = self.rng, Tree()
        inside, free = self._complete(inside, free)
        while rng.random() < 0.5 and self._may_bound(inside, free):
            kind = self._pick(["squares", "pairs"])
            out, joined = self._fixed(free)
            record.append({"fix": kind, "out": out, "in": joined, **self._bound(kind)})
            inside = inside + joined
            free = [i for i in free if i not in out and i not in joined]
            inside, free = self._complete(inside, free)
        budget = self.sparsity - len(inside)
        if free and depth < 3 and rng.random() < 0.4:
            feature = self._pick(free)
            rest = [i for i in free if i != feature]
            below = [self._node([*inside, feature], rest, depth + 1), self._node(inside, rest, depth + 1)]
            return [*record, {"split": feature, "in": below[0], "out": below[1]}]
        leaf: dict[str, Any] = {"leaf": self._pick(list(self.leaves))}
        if leaf["leaf"] == "raised":
            leaf["raised"] = int(rng.integers(2))
        if leaf["leaf"] in ("squares", "cheapest") or rng.random() < 0.1:
            leaf |= self._bound("squares")
        if leaf["leaf"] in ("pairs", "cheapest") or rng.random() < 0.1:
            leaf |= self._bound("pairs")
        if budget < 0 or (len(free) < budget and not self.fewer and self.completed is None):
            leaf["leaf"] = "empty"
        return [*record, leaf]

    def _complete(self, inside: list[int], free: list[int]) -> tuple[list[int], list[int]]:
        return (inside, free) if self.completed is None else self.completed(inside, free)

    def _may_bound(self, inside: list[int], free: list[int]) -> bool:
        budget = self.sparsity - len(inside)
        return 1 <= budget < len(free) or (self.fewer and budget >= 1 and len(free) >= 1)

    def _fixed(self, free: list[int]) -> tuple[list[int], list[int]]:
        """Mostly wrong fixings: their own bounds have to make up for them."""
        wrongly_out = [i for i in free if i in self.best]
        wrongly_in = [i for i in free if i not in self.best]
        if self.rng.random() < 0.4 and wrongly_out:
            return [self._pick(wrongly_out)], []
        if self.rng.random() < 0.4 and wrongly_in:
            return [], [self._pick(wrongly_in)]
        places = self.rng.integers(0, 4, len(free))
        out = [i for i, place in zip(free, places, strict=True) if place == 0]
        joined = [i for i, place in zip(free, places, strict=True) if place == 1]
        return out[::-1], joined
