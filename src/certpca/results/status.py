"""How a run ended, in the sentences that users read."""

from enum import Enum


class Status(Enum):
    """How a run ended. The values are the sentences users read.

    See Also
    --------
    Solution : Its `status` is one of these, as is that of a certificate.

    Examples
    --------
    >>> import certpca
    >>> certpca.solve(certpca.pitprops(), 3, "branch-and-bound").status
    <Status.OPTIMAL: 'proved optimal: no other choice of features captures more, to one part in a million'>
    """

    CONVERGED = "finished: the method reached its own stopping rule"
    OPTIMAL = "proved optimal: no other choice of features captures more, to one part in a million"
    WITHIN_GAP = "finished: proved to be within the gap asked for, which is not a proof of optimality"
    OUT_OF_BUDGET = "stopped at the budget with the best answer so far; allow more time or steps to go on"
    INTERRUPTED = "stopped by the user with the best answer so far"
    SAMPLED = "finished on sampled directions, not on all of them; raise max_cells for the exact low-rank optimum"
    TOO_LARGE = (
        "stopped before the dense steps, which need more memory than allowed (see needed_memory); "
        "raise `memory`, or use `certify`, whose dual needs no matrix of that size"
    )
    STALLED = "stopped because further steps hardly helped; the bound is valid but the requested gap was not reached"
    NOTHING_SELECTED = (
        "finished without an answer of the method's own: no feature reached its threshold, and the one that came "
        "nearest is returned; lower epsilon"
    )
    WIDER_SUPPORT = (
        "finished: the support is wider than the sparsity, as the accuracy mode allows; "
        "leave epsilon unset for at most `sparsity` loadings"
    )
