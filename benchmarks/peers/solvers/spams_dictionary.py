"""SPAMS' online dictionary learning with one sparse atom: the sparse PCA of Mairal, Bach, Ponce & Sapiro (2010).

The scores need a ridge penalty: without one the atom shrinks until its constraint says nothing.
"""

import numpy as np
from benchmarks.peers.problem import Matrix, Problem
from benchmarks.peers.timing import Answer, Effort, tuned

LABEL, PACKAGE, ASKS = "SPAMS", "spams-bin", "a penalty"
STEPS, LARGEST_BATCH = 300, 512
PENALISED, L1L2 = 2, 1  # its numbers for a penalty on the scores, and for atoms with ‖d‖² + γ‖d‖₁ ≤ 1
RIDGE = 1.0  # for data scaled to a leading variance of one


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    import spams

    largest, loadings = problem.leading()
    signals = np.asfortranarray(problem.dense().T * np.sqrt(problem.rows / largest))
    start = np.asfortranarray((loadings / np.sqrt(largest)).reshape(-1, 1).astype(signals.dtype))

    def fit(penalty: float) -> Matrix:
        atom = spams.trainDL(
            signals, D=start.copy(order="F"), K=1, lambda1=0.0, lambda2=RIDGE, mode=PENALISED, modeD=L1L2,
            gamma1=penalty, iter=STEPS, batchsize=min(LARGEST_BATCH, problem.rows), verbose=False,
        )  # fmt: skip
        return np.asarray(atom).ravel()

    return tuned(fit, 2.0 / np.sqrt(sparsity), sparsity, effort)
