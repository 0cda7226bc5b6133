"""The dual point of another sparsity: its bound kρ + λ_max(Σ Y_i) holds for every k, so it may do."""

from certpca.bounds.evidence import level_of
from certpca.bounds.l0_dual.features import too_deep
from certpca.bounds.proof_search import ProofSearch

ORDER = 30
KINDS = ("l0-dual",)


def applies(search: ProofSearch) -> bool:
    """Whether an earlier certificate holds one dual point for all features of the same data."""
    usable = search.goal.usable_warm(search.prover.fingerprint) is not None
    return usable and not too_deep(search.operator, search.goal.depth)


def seconds(search: ProofSearch) -> float:
    """Return nothing: the checker remembers the point."""
    del search
    return 0.0


def make(search: ProofSearch) -> None:
    """Prove it where that is enough, or where something should be in hand."""
    warm = search.goal.usable_warm(search.prover.fingerprint)
    assert warm is not None
    search.over = search.near_enough(warm.upper_bound + (search.sparsity - warm.sparsity) * level_of(warm))
    if search.over or search.progress.timed:
        search.offer(search.proved("l0-dual", dict(warm.evidence)))
