"""Bounds from pairs of features, for problems small enough to hold the matrix.

A node of a search tree has features fixed in (I), free ones (R) and a budget b = k − |I| of free features to choose;
N is I and R together. For every symmetric U, antisymmetric K and α > 0, with

    C_ij = U_ij² / (2(α_i + α_j)) + K_ij,
    β_i = Σ_{j∈I} C_ij + [i∈R] C_ii + (the b − [i∈R] largest C_ij, j ∈ R, j ≠ i),
    T = Σ_{i∈I} β_i + (the b largest β_i, i ∈ R),

every support S of the node has λ_max(A_SS) ≤ λ_max((A − U + diag α)_NN) + T. For a unit x on S,
2U_ij x_i x_j ≤ (α_i + α_j) x_i²x_j² + U_ij²/(α_i + α_j) for i < j and U_ii x_i² ≤ α_i x_i⁴ + U_ii²/(4α_i); the quartic
terms add up to Σ α_i x_i², the others to Σ_{i,j∈S} C_ij, where K cancels, and row by row that is at most T.

This implies the cuts Σ_j X_ij² ≤ X_ii z_i and (Σ_j |X_ij|)² ≤ k X_ii z_i of the literature, since each row is relaxed
to the convex hull of k-sparse unit vectors. What forcing one feature in, or out, does to T is known for all features
after one pass over C.
"""
