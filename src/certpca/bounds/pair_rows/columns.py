"""Columns of F in single precision: a copy that is held, or made of the data each time they are asked for."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certpca.operators.factor import Factor
from certpca.runtime.arrays import Indices, to_numpy

WIDTH = 1024  # columns at a time

Single = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """So many columns of so many numbers; `take` returns some of them."""

    depth: int
    size: int
    take: Callable[[slice | Indices], Single]

    @classmethod
    def held(cls, columns: Single) -> "Columns":
        """Take them out of a copy."""
        depth, size = columns.shape
        return cls(depth, size, lambda wanted: columns[:, wanted])

    @classmethod
    def made(cls, factor: Factor) -> "Columns":
        """Make them of the data anew."""
        return cls(factor.depth, factor.size, lambda wanted: to_numpy(factor.block(wanted, np.float32)))  # type: ignore[arg-type]  # what is in memory takes lists

    def on(self, features: Indices) -> "Columns":
        """Restrict to some features, which are then called by their places in that list."""
        return Columns(self.depth, features.size, lambda wanted: self.take(features[wanted]))

    def parts(self) -> list[slice]:
        """Cut them into runs."""
        return [slice(start, min(start + WIDTH, self.size)) for start in range(0, self.size, WIDTH)]

    def blocks(self) -> Iterator[tuple[slice, Single]]:
        """Walk over them."""
        return ((part, self.take(part)) for part in self.parts())


def columns_of(factor: Factor, *, held: bool) -> Columns:
    """Hold a copy of all columns, or make them when they are needed."""
    made = Columns.made(factor)
    if not held:
        return made
    columns = np.empty((factor.depth, factor.size), dtype=np.float32)
    for part, block in made.blocks():
        columns[:, part] = block
    return Columns.held(columns)
