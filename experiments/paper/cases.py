"""The data sets of the paper's figures, or what stands in for those that cannot be shipped."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import certpca
from certpca.operators import Operator
from experiments.data import common_variants, genotypes, table
from experiments.running import SEED

SIXTIETHS = (1, 3, 5, 7, 9, 11, 13, 15)  # the paper's sparsities are these shares of the number of features
CHR1 = (624, 1875, 3125, 4372, 5628, 6873, 8122, 9377)  # the paper's, for 37,493 features
SHAPES = {"simulated2": (2, 40844), "simulated3": (3, 34258), "simulated4": (4, 30328)}  # the paper's other chromosomes
SAMPLES = 2240
GROUPS = ((2, 0.5), (4, 0.3), (8, 0.2))  # populations that shares of the variants tell apart: each half of those before
FST = 0.1
MISSING = 0.014  # share of calls that the paper's genotypes lack
TENTHS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9)


@dataclass(frozen=True)
class Case:
    """One data set.

    Parameters
    ----------
    title
        In words.
    needs
        Its folder beside the checkout, or none.
    load
        Returns samples x features, or the matrix itself.
    sparsities
        For a number of features.
    proof_seconds
        For the search and the proofs of all sparsities together: full and quick profile.
    center
        Whether columns are centred.
    """

    title: str
    needs: tuple[str, ...]
    load: Callable[[], Any]
    sparsities: Callable[[int], tuple[int, ...]]
    proof_seconds: tuple[float, float]
    center: bool = True


def shares_of(size: int) -> tuple[int, ...]:
    """Return the paper's shares of a number of features."""
    return tuple(sorted({max(1, round(size * part / 60)) for part in SIXTIETHS}))


def thinned(values: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Keep a few, ends included."""
    return tuple(values[place] for place in sorted({round(x) for x in np.linspace(0, len(values) - 1, count)}))


def _with_few(size: int) -> tuple[int, ...]:
    """Add sparsities at which genes can still be read one by one."""
    return tuple(sorted({10, 50, *shares_of(size)}))


def _alon() -> np.ndarray:
    return np.asarray(
        np.log2(np.maximum(table("expr_alon")[0], 1))
    )  # intensities there; the other sets are logarithms already


def _expression(title: str, folder: str, load: Callable[[], Any] | None = None) -> Case:
    return Case(title, (folder,), load or (lambda: table(folder)[0]), _with_few, (120, 8))


def _thousand_genomes(title: str, folder: str) -> Case:
    return Case(title, (folder,), lambda: common_variants(genotypes(folder).calls), shares_of, (240, 10))


def nested_populations(variants: int, seed: int) -> np.ndarray:
    """Draw genotypes of eight populations, in pairs that are in pairs, by the Balding-Nichols model."""
    counts = [round(share * variants) for _, share in GROUPS]
    counts[0] += variants - sum(counts)
    drawn = [
        certpca.balding_nichols(
            SAMPLES, count, populations=groups, fst=FST, rng=np.random.default_rng([seed, groups])
        ).data
        for (groups, _), count in zip(GROUPS, counts, strict=True)
    ]
    return np.concatenate(drawn, axis=1)


def with_missing_calls(calls: np.ndarray, share: float = MISSING) -> np.ndarray:
    """Leave calls out at random."""
    lost = np.random.default_rng(SEED).random(calls.shape, dtype=np.float32) < share
    return np.where(lost, np.float32(np.nan), calls.astype(np.float32))


def _simulated(key: str) -> Case:
    chromosome, variants = SHAPES[key]
    return Case(
        f"simulated, size of chromosome {chromosome}",
        (),
        lambda: nested_populations(variants, chromosome),
        lambda size: thinned(shares_of(size), 4),
        (150, 30),
    )


MEASURED = (
    "simulated",
    "simulated2",
    "simulated3",
    "simulated4",
    "chr1",
    "chr22",
    "hapmap3",
    "hgdp",
    "bladder",
    "lung",
    "alon",
)  # genotypes and expression, in the order of pages
CASES = {
    "simulated": Case(
        "simulated genotypes", ("simulated",), lambda: genotypes("simulated").calls, lambda _: CHR1, (240, 60)
    ),
    **{key: _simulated(key) for key in SHAPES},
    "hgdp": Case("HGDP", ("geno_hgdp_159",), lambda: genotypes("geno_hgdp_159").calls, shares_of, (120, 10)),
    "chr1": _thousand_genomes("1000 Genomes, chromosome 1", "geno_1kg_chr1"),
    "chr22": _thousand_genomes("1000 Genomes, chromosome 22", "geno_1kg_chr22"),
    "hapmap3": Case(
        "HapMap3", ("geno_hapmap3_672",), lambda: genotypes("geno_hapmap3_672").calls, shares_of, (240, 10)
    ),
    "bladder": _expression("bladder cancer expression", "expr_bladderbatch"),
    "lung": _expression("lung cancer expression", "expr_lung_harvard"),
    "alon": _expression("colon cancer expression", "expr_alon", _alon),
    "synthetic": Case(
        "the paper's synthetic data",
        (),
        lambda: certpca.rotated_hadamard(rng=0).data,
        lambda size: tuple(round(share * size) for share in TENTHS),
        (60, 10),
        center=False,
    ),
    "pitprops": Case("pit props", (), certpca.pitprops, lambda size: tuple(range(1, size + 1)), (30, 30)),
}


@dataclass(frozen=True)
class Problem:
    """A data set, ready to solve."""

    operator: Operator
    data: Any
    samples: int | None


def prepared(data: Any, *, center: bool = True) -> Problem:
    """Make the paper's matrix of data: columns centred, missing values at their mean."""
    if isinstance(data, Operator):
        return Problem(data, None, None)
    return Problem(certpca.from_data(data, center=center, missing="mean"), data, int(data.shape[0]))


@lru_cache(maxsize=1)  # the largest take a gigabyte
def problem(key: str) -> Problem:
    """Load a case and prepare it."""
    case = CASES[key]
    return prepared(case.load(), center=case.center)


def density(data: np.ndarray, block: int = 2048) -> float:
    """Return the share of entries that are not zero once columns are centred and missing values are at the mean."""
    filled = 0
    for start in range(0, data.shape[1], block):
        part = np.asarray(data[:, start : start + block], dtype=np.float64)
        if data.dtype.kind == "i":
            part[part < 0] = np.nan
        known = ~np.isnan(part)
        centre = np.where(known, part, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        filled += int(np.count_nonzero(known & (np.abs(part - centre) > 1e-9 * (1 + np.abs(centre)))))
    return float(filled / data.size)
