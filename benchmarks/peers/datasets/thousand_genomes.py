"""Real genotypes: chromosome 1 of 1,040 people of the 1000 Genomes Project, variants with frequency above 5 %."""

import numpy as np
from benchmarks.machine import SHARED
from benchmarks.peers.problem import Case, Problem, centred


def load() -> Problem:
    genotypes = np.load(SHARED / "geno_1kg_chr1" / "geno.npz")["G"]
    frequency = genotypes.mean(axis=0) / 2
    return centred(genotypes[:, np.minimum(frequency, 1 - frequency) > 0.05].astype(np.float32))


CASES = [Case("1000 Genomes chr1 1040 x 12510", 12510, 208, load)]
