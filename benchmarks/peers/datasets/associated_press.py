"""Real text: articles of the Associated Press, words of at least five articles, entries log(1 + count)."""

import numpy as np
from benchmarks.machine import SHARED
from benchmarks.peers.problem import Case, Problem, sparse


def load() -> Problem:
    from scipy.sparse import csr_array, load_npz

    counts = load_npz(SHARED / "text_associated_press" / "X.npz").astype(np.float32)
    counts = csr_array(counts[:, np.asarray((counts > 0).sum(axis=0)).ravel() >= 5])
    counts.data = np.log1p(counts.data)
    return sparse(counts)


CASES = [Case("Associated Press 2246 x 9172, sparse", 9172, 10, load)]
