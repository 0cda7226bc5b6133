"""Gene expression of 57 bladder samples (Dyrskjøt 2004): far fewer rows than columns."""

import numpy as np
from benchmarks.machine import SHARED
from benchmarks.peers.problem import Case, Problem, centred


def load() -> Problem:
    return centred(np.load(SHARED / "expr_bladderbatch" / "X.npz")["X"])


CASES = [Case("expression 57 x 22283", 22283, 10, load)]
