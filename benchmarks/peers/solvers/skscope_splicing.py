"""skscope's ScopeSolver, a general splicing method, on minus the Rayleigh quotient (through JAX).

Its inner solver is made for convex losses, which this is not. Left alone it starts, and stays, at zero, so it
is started at the leading dense component.
"""

import numpy as np
from benchmarks.peers.problem import Matrix, Problem
from benchmarks.peers.timing import Answer, Effort, timed

LABEL, PACKAGE, ASKS = "skscope", "skscope", "k"
TINY = 1e-9


def solve(problem: Problem, sparsity: int, effort: Effort) -> Answer:
    from jax import numpy as jnp
    from skscope import ScopeSolver

    largest, loadings = problem.leading()
    data = jnp.asarray(problem.dense() / np.sqrt(largest))
    start = loadings / np.sqrt(largest)

    def loss(weights):  # type: ignore[no-untyped-def]  # JAX arrays
        image = data @ weights
        return -(image @ image) / (weights @ weights + TINY)

    def call() -> Matrix:
        solver = ScopeSolver(problem.size, sparsity)
        return np.asarray(solver.solve(loss, init_params=start, jit=True))

    return timed(call, effort)
