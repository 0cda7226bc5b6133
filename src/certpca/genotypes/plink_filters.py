"""Which variants of a PLINK file are wanted."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.genotypes.plink_text import Variants
from certpca.runtime.arrays import Indices
from certpca.runtime.errors import InvalidDataError, InvalidProblemError


@dataclass(frozen=True, slots=True)
class Filters:
    """What `read_plink` may be asked for; by default everything passes."""

    maf: float = 0.0
    max_missing: float = 1.0
    chromosomes: tuple[str, ...] | None = None
    every: int = 1

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        for name in ("maf", "max_missing"):
            if not isinstance(getattr(self, name), (int, float, np.number)):
                msg = f"{name} must be a number, got {getattr(self, name)!r}"
                raise InvalidProblemError(msg)
        if not 0 <= self.maf <= 0.5:
            msg = f"maf is a frequency of the rarer allele and lies in [0, 0.5], got {self.maf}"
            raise InvalidProblemError(msg)
        if not 0 <= self.max_missing <= 1:
            msg = f"max_missing is a share and lies in [0, 1], got {self.max_missing}"
            raise InvalidProblemError(msg)
        if not isinstance(self.every, (int, np.integer)) or self.every < 1:
            msg = f"every must be a whole number from 1, got {self.every!r}"
            raise InvalidProblemError(msg)

    def said(self) -> dict[str, Any]:
        """Return the filters by name, None for those that everything passes."""
        return {
            "chromosomes": self.chromosomes,
            "maf": float(self.maf) or None,
            "max_missing": None if self.max_missing == 1 else float(self.max_missing),
            "every": None if self.every == 1 else int(self.every),
        }

    @property
    def needs_counts(self) -> bool:
        """Whether genotypes must be counted to tell what passes."""
        return self.maf > 0 or self.max_missing < 1

    def on_chromosomes(self, variants: Variants) -> Indices:
        """Return the variants on the chromosomes wanted."""
        if self.chromosomes is None:
            return np.arange(variants.names.size)
        present = list(dict.fromkeys(variants.chromosomes))
        for name in self.chromosomes:
            if name not in present:
                msg = f"no variant is on chromosome {name!r}; the .bim file has {', '.join(present[:30])}"
                raise InvalidDataError(msg)
        return np.flatnonzero(np.isin(variants.chromosomes.astype(str), self.chromosomes))

    def passing(self, counts: NDArray[np.int64], samples: int) -> NDArray[np.bool_]:
        """Mark the variants that are frequent and known enough, from how many genotypes are missing, single, absent."""
        known = samples - counts[:, 0]
        frequency = (counts[:, 1] + 2 * counts[:, 2]) / np.maximum(2 * known, 1)
        passing = np.minimum(frequency, 1 - frequency) >= self.maf
        return np.asarray(passing & (counts[:, 0] <= self.max_missing * samples) & (known > 0))
