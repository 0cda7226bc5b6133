"""The semidefinite relaxation: max ⟨A, Z⟩ over Z ⪰ 0 with tr Z ≤ 1 and Σ|Z_ij| ≤ k.

Its dual is min over symmetric U of λ_max(A − U) + k max|U_ij|, and every U bounds the optimum of sparse PCA.
`rank_one` looks for a solution uuᵀ, and `clipped` completes it to a dual matrix without ever forming one. Where that is
not enough, `splitting` iterates with dense matrices on the features that `active_set` chooses, and `parted` completes
the dual matrix on the others; `solve` puts them in that order.
"""

from certpca.bounds.sdp.relaxation import Relaxation
from certpca.bounds.sdp.solve import solve_relaxation

__all__ = ["Relaxation", "solve_relaxation"]
