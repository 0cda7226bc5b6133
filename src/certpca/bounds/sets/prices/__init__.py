"""Prices of features, for components with disjoint supports.

For every w ≥ 0, Σ_i w_i + Σ_t max over |S| ≤ k_t of [λ_max(A_SS) − Σ_{i∈S} w_i] bounds what components with disjoint
supports capture. The least of these bounds is a linear program with a column for each support, solved by generating
columns (`master`, `pricing`): priced problems are solved by a local search until that finds nothing, and only the last
prices have theirs proved, by search trees.
"""
