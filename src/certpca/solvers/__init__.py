"""One file for each solver; each registers itself."""

from certpca.solvers.base import Solver, available_solvers, register, solver_named

__all__ = ["Solver", "available_solvers", "register", "solver_named"]
