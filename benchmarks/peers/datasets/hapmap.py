"""Real genotypes: 672 people of the HapMap project; missing ones take the mean of their variant."""

import numpy as np
from benchmarks.machine import SHARED
from benchmarks.peers.problem import Case, Problem, centred


def load() -> Problem:
    genotypes = np.load(SHARED / "geno_hapmap3_672" / "geno.npz")["G"].astype(np.float32)
    genotypes[genotypes < 0] = np.nan
    return centred(np.where(np.isnan(genotypes), np.nanmean(genotypes, axis=0), genotypes))


CASES = [Case("HapMap3 672 x 21694", 21694, 360, load)]
