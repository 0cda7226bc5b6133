"""The pair bound on tens of thousands of features, for small supports.

The pair bound (`pair_bound`) has U, K and α on every pair of features. Where these are many, only the rows that matter
get numbers of their own: M, the rows whose k largest squares are largest. All other pairs take U_ij = A_ij, all other
features U_ii = A_ii − c and α_i = α₀. Then A − U is block-diagonal, and with
λ = max(λ_max((A − U + diag α)_MM), c + α₀)
and C_ij = U_ij²/(2(α_i + α_j)) + K_ij

    Z* ≤ λ + the sum of the k largest β_i,   β_i = C_ii + the k − 1 largest C_ij, j ≠ i.

All n² pairs are looked at once, by blocks of rows, and nothing of size n × n is kept. What the bound is for supports
with a given feature leaves out nearly all features on many data; a search tree decides among the few that are left.
"""
