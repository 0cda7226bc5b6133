"""Which variants of a PLINK file are wanted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.genotypes.chromosomes import AUTOSOMES, on_autosomes, on_chromosomes
from certpca.genotypes.clumping import Clumping
from certpca.genotypes.plink_text import Variants
from certpca.genotypes.regions import outside_regions, regions_named
from certpca.runtime.arrays import Indices
from certpca.runtime.errors import InvalidProblemError

SHOWN = 6  # chromosomes in a line
Some = str | int | Iterable[str | int]


@dataclass(frozen=True, slots=True)
class Filters:
    """What `read_plink` may be asked for; by default everything passes."""

    maf: float = 0.0
    max_missing: float = 1.0
    chromosomes: tuple[str, ...] | None = None
    every: int = 1
    exclude_regions: tuple[str, ...] | None = None
    clumping: Clumping | None = None

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
        regions_named(self.exclude_regions or ())

    def said(self) -> dict[str, Any]:
        """Return the filters by name, None for those that everything passes."""
        clumping = self.clumping
        return {
            "chromosomes": self.chromosomes,
            "exclude_regions": self.exclude_regions,
            "maf": float(self.maf) or None,
            "max_missing": None if self.max_missing == 1 else float(self.max_missing),
            "clump_r2": None if clumping is None else float(clumping.r2),
            # Also where it was not asked for, so that results can be read again whatever the default is then.
            "clump_kb": None if clumping is None else clumping.window_kb,
            "clump_variants": None if clumping is None or clumping.variants is None else int(clumping.variants),
            "every": None if self.every == 1 else int(self.every),
        }

    @property
    def needs_counts(self) -> bool:
        """Whether genotypes must be counted to tell what passes."""
        return self.maf > 0 or self.max_missing < 1 or self.clumping is not None

    def in_places(self, variants: Variants) -> Indices:
        """Return the variants on the chromosomes wanted, and outside the regions that are not."""
        passing = np.ones(variants.names.size, dtype=bool)
        if self.chromosomes is not None:
            passing &= on_chromosomes(variants.chromosomes, self.chromosomes)
        if self.exclude_regions is not None:
            regions = regions_named(self.exclude_regions)
            passing &= outside_regions(variants.chromosomes, variants.positions, regions)
        return np.flatnonzero(passing)

    def passing(self, counts: NDArray[np.int64], samples: int) -> NDArray[np.bool_]:
        """Mark the variants that are frequent and known enough, from how many genotypes are missing, single, absent."""
        known = samples - counts[:, 0]
        frequency = (counts[:, 1] + 2 * counts[:, 2]) / np.maximum(2 * known, 1)
        passing = np.minimum(frequency, 1 - frequency) >= self.maf
        return np.asarray(passing & (counts[:, 0] <= self.max_missing * samples) & (known > 0))

    def told(self, variants: Variants, stages: Mapping[str, int]) -> str:
        """Say how many variants were left out and why, from how many passed each stage."""
        before, said = variants.names.size, []
        elsewhere = np.zeros(before, dtype=bool)
        if self.chromosomes is not None:
            elsewhere = ~on_chromosomes(variants.chromosomes, self.chromosomes)
        if elsewhere.any():
            names = list(dict.fromkeys(variants.chromosomes[elsewhere]))
            kept = " (--chromosomes all keeps them)" if self.chromosomes == (AUTOSOMES,) else ""
            listed = ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")
            said.append(f"{int(elsewhere.sum()):,} of {before:,} variants on chromosomes {listed} left out{kept}")
        reasons = {
            "in excluded regions": before - int(elsewhere.sum()) - stages["place"],
            "by frequency or missing calls": stages["place"] - stages["counts"],
            "by clumping": stages["counts"] - stages["clumping"],
        }
        return ", ".join([*said, *(f"{count:,} left out {why}" for why, count in reasons.items() if count)])


def rarer(counts: NDArray[np.int64], samples: int) -> NDArray[np.float64]:
    """Return the frequency of the rarer allele, the same number whichever of the two is counted.

    From how many genotypes are missing, single, absent.
    """
    copies = 2 * (samples - counts[:, 0])
    other = counts[:, 1] + 2 * counts[:, 2]
    return np.asarray(np.minimum(other, copies - other) / np.maximum(copies, 1))


def filters_for(
    variants: Variants,
    *,
    chromosomes: Some | None,
    exclude_regions: Some | None,
    clump_r2: float | None,
    clump_kb: float | None,
    clump_variants: int | None,
    **others: Any,
) -> Filters:
    """Return the filters that arguments of a reader mean; without a word on chromosomes, sex chromosomes stay out."""
    wanted = _texts(chromosomes)
    if wanted is None and not on_autosomes(variants.chromosomes).all():
        wanted = (AUTOSOMES,)
    for name, value in (("clump_kb", clump_kb), ("clump_variants", clump_variants)):
        if clump_r2 is None and value is not None:
            msg = f"{name}={value!r} would have no effect: clump_r2, the limit of r², asks for clumping"
            raise InvalidProblemError(msg)
    clumping = None if clump_r2 is None else Clumping(clump_r2, clump_kb, clump_variants)
    return Filters(chromosomes=wanted, exclude_regions=_texts(exclude_regions), clumping=clumping, **others)


def _texts(some: Some | None) -> tuple[str, ...] | None:
    if some is None:
        return None
    return (str(some),) if isinstance(some, (str, int)) else tuple(str(name) for name in some)
