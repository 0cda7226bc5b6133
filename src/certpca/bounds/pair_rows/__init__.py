"""The pair bound on tens of thousands of features, for small supports.

The pair bound (`pair_bound`) has U, K and α on every pair of features. Where these are many, only the rows that matter
get numbers of their own: M, the rows whose k largest squares are largest, and in these rows only the features that they
choose, M itself and its partners J. All other pairs take U_ij = A_ij, all other features U_ii = A_ii − c and α_i = α₀.
With Y = (A − U)_MJ, any s > 0, λ = max(λ_max((A − U + diag α)_MM + YYᵀ/s), c + α₀ + s)
and C_ij = U_ij²/(2(α_i + α_j)) + K_ij

    Z* ≤ λ + the sum of the k largest β_i,   β_i = C_ii + the k − 1 largest C_ij, j ≠ i.

All n² pairs are looked at once, by blocks of rows, and nothing of size n × n is kept. What the bound is for supports
with a given feature leaves out nearly all features on many data. A point goes on among those that are left, and in the
end a search tree decides among the few.
"""
