"""Real genotypes of the 1000 Genomes Project, variants with frequency above 5 %: chromosomes 1 and 22."""

from functools import partial

import numpy as np
from benchmarks.machine import SHARED
from benchmarks.peers.problem import Case, Problem, centred


def load(folder: str) -> Problem:
    genotypes = np.load(SHARED / folder / "geno.npz")["G"]
    frequency = genotypes.mean(axis=0) / 2
    return centred(genotypes[:, np.minimum(frequency, 1 - frequency) > 0.05].astype(np.float32))


CASES = [
    Case("1000 Genomes chr1 1040 x 12510", 12510, 208, partial(load, "geno_1kg_chr1")),
    Case("1000 Genomes chr22 1092 x 3946", 3946, 66, partial(load, "geno_1kg_chr22")),
]
