"""Clumping: of variants that are correlated, the one whose rarer allele is most frequent stays.

Variants are taken by falling frequency of the rarer allele, the first in the file first where these are equal. Each
that is still there stays, and those within a window around it whose squared correlation r² with it exceeds a limit go:
Privé et al., Bioinformatics 34 (2018) 2781-2787, describe this, and why it is better than pruning from left to
right. As in PLINK, r² of two variants is over the samples in which both are known; it is compared in whole numbers.

The file is walked over once, in the order of positions. In memory are the variants of a window, and pairs above the
limit of which neither's fate is known; a window that does not fit the memory budget is read again by blocks.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from certpca.genotypes.bit_planes import PLANES, Words, mask_of, planes_of
from certpca.genotypes.chromosomes import plain_names
from certpca.genotypes.packed import Packed
from certpca.runtime.arrays import Indices
from certpca.runtime.errors import InvalidDataError, InvalidProblemError
from certpca.runtime.threads import in_threads

UNDECIDED, STAYS, GOES = 0, 1, 2
ROWS_TOGETHER = 256  # of a block, fewer if the budget has no room for four of these
KB_TIMES_R2 = 100.0  # the window where none is asked for: the weaker the limit, the farther linkage reaches


@dataclass(frozen=True, slots=True)
class Clumping:
    """How variants are clumped: the limit of r², and a window in thousands of positions, or in variants."""

    r2: float
    kb: float | None = None
    variants: int | None = None

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        if not _is_number(self.r2) or not 0 < self.r2 < 1:
            msg = f"clump_r2 is the largest squared correlation that stays and lies between 0 and 1, got {self.r2!r}"
            raise InvalidProblemError(msg)
        if self.kb is not None and self.variants is not None:
            msg = "the window of clumping is in positions (clump_kb) or in variants (clump_variants), not both"
            raise InvalidProblemError(msg)
        if self.kb is not None and (not _is_number(self.kb) or not 0 < self.kb < 1e9):
            msg = f"clump_kb is a window in thousands of positions and must be positive, got {self.kb!r}"
            raise InvalidProblemError(msg)
        whole = isinstance(self.variants, (int, np.integer)) and not isinstance(self.variants, bool)
        if self.variants is not None and not (whole and self.variants >= 1):
            msg = f"clump_variants is a window in variants and a whole number from 1, got {self.variants!r}"
            raise InvalidProblemError(msg)

    @property
    def window_kb(self) -> float | None:
        """The window in thousands of positions, None where it is in variants."""
        return None if self.variants is not None else self.kb if self.kb is not None else KB_TIMES_R2 / float(self.r2)

    def places(self, positions: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
        """Return where variants of a chromosome lie, in increasing order, and how far a window reaches."""
        if self.window_kb is None:
            return np.arange(positions.size), int(self.variants or 0)
        return positions, int(self.window_kb * 1000)


def clumped(
    clumping: Clumping,
    take: Callable[[Indices], Packed],
    chromosomes: NDArray[np.object_],
    positions: NDArray[np.int64],
    frequency: NDArray[np.float64],
    kept: Indices,
    samples: int,
    memory: int,
) -> Indices:
    """Return the variants that stay, increasing.

    Parameters
    ----------
    clumping
        What is asked for.
    take
        Reads packed variants, by their place among those given here.
    chromosomes, positions, frequency
        Of each variant; the frequency of its rarer allele.
    kept
        The samples that count.
    samples
        Of the file.
    memory
        In bytes.
    """
    if clumping.window_kb is not None and (positions <= 0).any():
        msg = (
            f"{int((positions <= 0).sum())} variants have no position (0 in the .bim or .pvar file), so that they "
            "are in no window of so many kb; clump by a window in variants (clump_variants, --clump-variants), or add "
            "positions"
        )
        raise InvalidDataError(msg)
    plain, mask = plain_names(chromosomes), mask_of(kept, samples)
    rank = np.empty(positions.size, dtype=np.int64)
    rank[np.argsort(-frequency, kind="stable")] = np.arange(positions.size)
    stay = []
    for chromosome in dict.fromkeys(plain):
        here = np.flatnonzero(plain == chromosome)
        here = here[np.argsort(positions[here], kind="stable")]
        walk = _Walk(clumping, partial(_taken, take, here), positions[here], rank[here], mask, memory)
        stay.append(here[walk.run()])
    return np.sort(np.concatenate(stay))


def _taken(take: Callable[[Indices], Packed], here: Indices, rows: Indices) -> Packed:
    return take(here[rows])


class _Walk:
    """A walk along one chromosome."""

    def __init__(
        self,
        clumping: Clumping,
        take: Callable[[Indices], Packed],
        positions: NDArray[np.int64],
        rank: NDArray[np.int64],
        mask: Words,
        memory: int,
    ) -> None:
        self._limit, self._take, self._rank, self._mask = float(clumping.r2), take, rank, mask
        self._places, self._reach = clumping.places(positions)
        self._samples = int(np.bitwise_count(mask).sum())
        room = max(4, memory // (2 * PLANES * mask.nbytes))  # as much again is in use while planes are made
        self._height = max(1, min(ROWS_TOGETHER, room // 4))
        self._blocks: OrderedDict[int, tuple[Words, Words, Words, NDArray[np.int64], NDArray[np.int64]]] = OrderedDict()
        self._most_blocks = max(2, room // self._height)
        self._fate = np.full(rank.size, UNDECIDED, dtype=np.int8)
        self._settled = 0  # before this place everything is decided
        self._before, self._after = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)

    def run(self) -> Indices:
        """Return the places of the variants that stay."""
        size = self._rank.size
        for begin in range(0, size, self._height):
            reached = int(np.searchsorted(self._places, self._places[begin] - self._reach))
            for earlier in range(reached // self._height, begin // self._height + 1):
                self._note(earlier, begin // self._height)
            end = min(begin + self._height, size)
            # What lies so far behind that nothing after this block is in its window has met everyone.
            behind = size if end == size else int(np.searchsorted(self._places, self._places[end] - self._reach))
            self._decide(behind)
        return np.flatnonzero(self._fate == STAYS)

    def _block(self, number: int) -> tuple[Words, Words, Words, NDArray[np.int64], NDArray[np.int64]]:
        """Return planes, counts and places of a block; the one that was not wanted for longest makes room."""
        if number not in self._blocks:
            begin = number * self._height
            rows = np.arange(begin, min(begin + self._height, self._rank.size))
            planes = planes_of(self._take(rows), self._mask)
            parts = planes.known, planes.double, planes.absent
            counts = np.stack([np.bitwise_count(part).sum(axis=1, dtype=np.int64) for part in parts], axis=1)
            while len(self._blocks) >= self._most_blocks:
                self._blocks.popitem(last=False)
            self._blocks[number] = (*parts, counts, np.ascontiguousarray(self._places[rows]))
        self._blocks.move_to_end(number)
        return self._blocks[number]

    def _note(self, earlier: int, later: int) -> None:
        """Find the linked pairs of two blocks, or of one with itself; of each, the more frequent comes before."""
        from certpca.genotypes.clumping_loops import linked

        other = self._block(later)
        one = self._block(earlier)
        found = np.zeros((one[3].shape[0], other[3].shape[0]), dtype=np.bool_)
        ahead = (later - earlier) * self._height
        settings = one, other, self._samples, ahead, self._limit, self._reach, found
        in_threads(lambda first, last: linked(first, last, *settings), found.shape[0])
        left, right = np.nonzero(found)
        left, right = left + earlier * self._height, right + later * self._height
        gone = (self._fate[left] == GOES) | (self._fate[right] == GOES)
        left, right = left[~gone], right[~gone]
        swapped = self._rank[left] > self._rank[right]
        self._before = np.concatenate([self._before, np.where(swapped, right, left)])
        self._after = np.concatenate([self._after, np.where(swapped, left, right)])

    def _decide(self, behind: int) -> None:
        """Settle what can be: a variant stays once all that come before it are gone, and those after it then go."""
        while True:
            self._fate[self._after[self._fate[self._before] == STAYS]] = GOES
            waiting = (self._fate[self._after] == UNDECIDED) & (self._fate[self._before] == UNDECIDED)
            self._before, self._after = self._before[waiting], self._after[waiting]
            open_fates = self._fate[self._settled : behind]
            free = open_fates == UNDECIDED
            blocked = self._after[self._after < behind]
            free[blocked - self._settled] = False
            if not free.any():
                break
            open_fates[free] = STAYS
        undecided = np.flatnonzero(open_fates == UNDECIDED)
        self._settled = self._settled + int(undecided[0]) if undecided.size else behind


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
