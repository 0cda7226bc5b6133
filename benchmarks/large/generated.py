# ruff: noqa: NPY002  (compiled parallel loops have no other generator)
"""Generate genotypes of a structured sample straight into a packed PLINK file, block by block.

Populations of different sizes differ as Balding and Nichols (Genetica 96, 1995) have it: the frequency of a variant in
a population is a beta variable around an ancestral one. Neighbouring variants of a stretch share some of their
genotypes, as in linkage.

python -m benchmarks.large.generated FILE [--samples 20000] [--variants 200000]
"""

import argparse
from pathlib import Path
from typing import Any

import numba
import numpy as np

SHARES = (0.45, 0.25, 0.15, 0.10, 0.05)  # of the populations
DIFFERENTIATION = 0.05  # F_ST
LINKED = 0.6  # share of samples whose genotype is that of the variant before
STRETCH = 20  # variants in linkage
MISSING = 0.005
BLOCK = 4_000  # variants generated at a time


@numba.njit(parallel=True, cache=True)
def fill(packed, before, frequencies, population, seeds, stretch, linked, missing):  # type: ignore[no-untyped-def]
    """Write packed variants; each stretch has a generator of its own, so threads do not matter."""
    size, samples = frequencies.shape[0], population.size
    for part in numba.prange(size // stretch):
        np.random.seed(seeds[part])
        genotype = before[part]
        for j in range(part * stretch, (part + 1) * stretch):
            fresh = j == part * stretch
            for i in range(samples):
                if fresh or np.random.random() >= linked:
                    p = frequencies[j, population[i]]
                    genotype[i] = np.uint8(np.random.random() < p) + np.uint8(np.random.random() < p)
                code = 3 - genotype[i] if genotype[i] < 2 else 0
                code = 2 if genotype[i] == 1 else code
                if np.random.random() < missing:
                    code = 1
                packed[j, i >> 2] |= np.uint8(code << (2 * (i & 3)))


def generate(file: Path, samples: int, variants: int, seed: int = 0) -> None:
    """Write FILE.bed, .bim and .fam."""
    if variants % BLOCK or BLOCK % STRETCH:
        msg = f"the number of variants must be a multiple of {BLOCK}"
        raise SystemExit(msg)
    rng = np.random.default_rng(seed)
    population = np.sort(rng.choice(len(SHARES), samples, p=SHARES))
    spread = (1 - DIFFERENTIATION) / DIFFERENTIATION
    with file.with_suffix(".bed").open("wb") as stream:
        stream.write(b"\x6c\x1b\x01")
        for _ in range(0, variants, BLOCK):
            ancestral = rng.uniform(0.05, 0.5, BLOCK)
            ours = rng.beta(ancestral[:, None] * spread, (1 - ancestral[:, None]) * spread, (BLOCK, len(SHARES)))
            packed = np.zeros((BLOCK, (samples + 3) // 4), dtype=np.uint8)
            room = np.zeros((BLOCK // STRETCH, samples), dtype=np.uint8)
            seeds = rng.integers(0, 2**31, BLOCK // STRETCH)
            fill(packed, room, ours, population, seeds, STRETCH, LINKED, MISSING)
            stream.write(packed.tobytes())
    with file.with_suffix(".bim").open("w") as text:
        for number in range(variants):
            text.write(f"{1 + 22 * number // variants}\tv{number + 1}\t0\t{number + 1}\tA\tB\n")
    with file.with_suffix(".fam").open("w") as text:
        for number, group in enumerate(population):
            text.write(f"p{group} s{number + 1} 0 0 0 -9\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--variants", type=int, default=200_000)
    options: Any = parser.parse_args()
    generate(options.file, options.samples, options.variants)


if __name__ == "__main__":
    main()
