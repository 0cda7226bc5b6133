"""The dual of the sparsity constraint with a matrix as its level: Z* ≤ λ_max(kR + Σ Y_i)."""
