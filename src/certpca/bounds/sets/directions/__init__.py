"""Prices of directions, for components with orthogonal loadings.

For every M ⪰ 0, tr M + Σ_t max over k_t-sparse unit x of xᵀ(A − M)x bounds what orthonormal components capture. M = VVᵀ
is sought by quasi-Newton steps on V, with the maximum smoothed over supports that are known; supports that are worth more
at the M found are added, until local search finds none, and search trees prove the rest.
"""
