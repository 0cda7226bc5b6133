"""The semidefinite relaxation: max ⟨A, Z⟩ over Z ⪰ 0 with tr Z ≤ 1 and Σ|Z_ij| ≤ k.

Its dual is min over symmetric U of λ_max(A − U) + k max|U_ij|, and every U bounds the optimum of sparse PCA.
`rank_one` looks for a solution uuᵀ, `clipped` completes it to a dual matrix without ever forming one, and `splitting`
iterates with dense matrices where no rank-one solution exists; `solve` puts them in that order.
"""

from certpca.bounds.sdp.relaxation import Relaxation
from certpca.bounds.sdp.solve import solve_relaxation

__all__ = ["Relaxation", "solve_relaxation"]
