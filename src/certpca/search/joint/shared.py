"""One support for several components: the features whose submatrix has the largest sum of leading eigenvalues.

With X the eigenvectors on a support S as rows x_i, G = AX and N_i = (I − x_ix_iᵀ)^{-1/2}, the columns of X without
row i, made orthonormal again, span with e_j a space on which A is

    [ N_i (Λ − x_ig_iᵀ − g_ix_iᵀ + A_ii x_ix_iᵀ) N_i   N_i (g_j − A_ij x_i) ]
    [                      ·                                   A_jj        ]

and its trace less its smallest eigenvalue bounds the sum after exchanging i for j from below.
"""

from dataclasses import dataclass

import numpy as np

from certpca.runtime.arrays import Indices, Vector, top_k
from certpca.runtime.lateness import Late, never
from certpca.search.joint.component import GAIN, least_gain
from certpca.search.joint.leading import leading_pairs

PAIRS = 40_000  # exchanges that are looked at: all of them in small problems
ROUNDS = 200


@dataclass(frozen=True, slots=True, eq=False)
class SharedSet:
    """A support, the leading eigenvectors there as columns, and their eigenvalues."""

    support: Indices
    loadings: Vector
    values: Vector

    @property
    def value(self) -> float:
        """What all capture."""
        return float(self.values.sum())


@dataclass(frozen=True, slots=True, eq=False)
class SharedSearch:
    """The search on a matrix in memory for so many components."""

    matrix: Vector
    count: int
    late: Late = never

    def fitted(self, support: Indices) -> SharedSet:
        """Return the leading eigenvectors on a support."""
        support = np.sort(support)
        values, vectors = leading_pairs(self.matrix[np.ix_(support, support)], self.count)
        return SharedSet(support, vectors, values)

    def climbed(self, state: SharedSet, sparsity: int) -> SharedSet:
        """Fill up, threshold and exchange features while that raises the sum; several at a time while that works."""
        state = self._filled(state, sparsity)
        together, gain = max(1, sparsity // 8), least_gain(self.matrix.shape[0], sparsity)
        for _ in range(ROUNDS):
            if self.late():
                break
            other = self._thresholded(state)
            if other is not None:
                state = other
                continue
            better = None
            leaving, entering = self._exchanges(state)
            while leaving.size and better is None:
                pairs = _apart(leaving, entering, together)
                support = state.support.copy()
                support[[slot for slot, _ in pairs]] = [feature for _, feature in pairs]
                found = self.fitted(support)
                if found.value > state.value * (1 + gain):
                    better, together = found, 2 * len(pairs)
                elif together == 1:
                    break
                else:
                    together = max(1, len(pairs) // 3)
            if better is None:
                break
            state = better
        return state

    def _thresholded(self, state: SharedSet) -> SharedSet | None:
        support = thresholded_rows(self.matrix[:, state.support] @ state.loadings, state.support, state.support.size)
        if np.array_equal(support, state.support):
            return None
        found = self.fitted(support)
        return found if found.value > state.value * (1 + GAIN) else None

    def _filled(self, state: SharedSet, sparsity: int) -> SharedSet:
        while state.support.size < min(sparsity, self.matrix.shape[0]):
            room = sparsity - state.support.size
            gains = self._additions(state)
            state = self.fitted(np.union1d(state.support, top_k(gains, min(max(1, room // 2), gains.size))))
        return state

    def _additions(self, state: SharedSet) -> Vector:
        """Estimate what each feature adds: two by two with every component."""
        images = self.matrix[:, state.support] @ state.loadings
        half = (state.values[None, :] - np.diagonal(self.matrix)[:, None]) / 2
        gains = (np.sqrt(half**2 + images**2) - half).max(axis=1) + 1e-6 * (images**2).sum(axis=1)
        gains[state.support] = -np.inf
        return np.asarray(gains)

    def _exchanges(self, state: SharedSet) -> tuple[Indices, Indices]:
        """Return slots to leave and features to enter, the best exchange first."""
        matrix, support, rows = self.matrix, state.support, state.loadings
        size, width = matrix.shape[0], rows.shape[1]
        outside = np.setdiff1d(np.arange(size), support)
        squared = (rows**2).sum(axis=1)
        slots = np.flatnonzero(squared < 1 - 1e-9)
        if not outside.size or not slots.size or support.size <= self.count:
            return np.empty(0, np.intp), np.empty(0, np.intp)
        images = matrix[:, support] @ rows
        if slots.size * outside.size > PAIRS:
            side = int(PAIRS**0.5)
            outside = outside[top_k(self._additions(state)[outside], min(side, outside.size))]
            captured = (images[support[slots]] * rows[slots]).sum(axis=1) / (1 - squared[slots])
            slots = slots[np.argsort(captured, kind="stable")[: max(1, PAIRS // outside.size)]]
        x, g, own = rows[slots], images[support[slots]], np.diagonal(matrix)[support[slots]]
        s = squared[slots]
        stretch = np.where(s > 1e-12, (1 / np.sqrt(1 - s) - 1) / np.maximum(s, 1e-300), 0.5)
        turn = np.eye(width)[None] + stretch[:, None, None] * x[:, :, None] * x[:, None, :]
        cross = x[:, :, None] * g[:, None, :]
        rest = np.diag(state.values)[None] - cross - cross.transpose(0, 2, 1)
        rest = turn @ (rest + own[:, None, None] * x[:, :, None] * x[:, None, :]) @ turn
        block = np.empty((slots.size, outside.size, width + 1, width + 1))
        block[:, :, :width, :width] = rest[:, None]
        pull = images[outside][None] - matrix[np.ix_(support[slots], outside)][:, :, None] * x[:, None, :]
        block[:, :, :width, width] = block[:, :, width, :width] = pull @ turn
        block[:, :, width, width] = np.diagonal(matrix)[outside][None]
        values = np.trace(rest, axis1=1, axis2=2)[:, None] + np.diagonal(matrix)[outside][None]
        values = values - np.linalg.eigvalsh(block)[:, :, 0]
        best = values.argmax(axis=1)
        gains = values[np.arange(slots.size), best]
        order = np.argsort(-gains, kind="stable")
        order = order[gains[order] > state.value * (1 + GAIN)]
        return slots[order], outside[best[order]]

    def kicked(self, state: SharedSet, rng: np.random.Generator) -> SharedSet:
        """Replace some features at random, more likely by ones that go well with the others."""
        weight = ((self.matrix[:, state.support] @ state.loadings) ** 2).sum(axis=1)
        weight += 1e-3 * weight.max() + np.finfo(float).tiny
        weight[state.support] = 0.0
        room = int((weight > 0).sum())
        count = min(int(rng.integers(1, max(2, state.support.size // 2 + 1))), room)
        if count == 0:
            return state
        entering = rng.choice(weight.size, size=count, replace=False, p=weight / weight.sum())
        return self.fitted(np.union1d(rng.permutation(state.support)[count:], entering))


def thresholded_rows(images: Vector, support: Indices, count: int) -> Indices:
    """Return the features that add most to the nuclear norm of images, near what it is on a support."""
    values, vectors = np.linalg.eigh(images[support].T @ images[support])
    values = np.maximum(values, 1e-12 * max(float(values[-1]), np.finfo(float).tiny))
    return top_k(((images @ vectors) ** 2 / np.sqrt(values)).sum(axis=1), count)


def _apart(leaving: Indices, entering: Indices, count: int) -> list[tuple[int, int]]:
    """Return the first exchanges that do not bring in the same feature."""
    chosen: dict[int, int] = {}
    for slot, feature in zip(leaving.tolist(), entering.tolist(), strict=True):
        chosen.setdefault(feature, slot)
        if len(chosen) == count:
            break
    return [(slot, feature) for feature, slot in chosen.items()]
