"""Prices of features for disjoint supports among many features, and levels for regions of directions at these.

A component with many features is a direction ξ and the features that are worth most along it, Σ [(a_iᵀξ)² − w_i] over
the best k of them. Prices are sought that make no direction worth much (`pricing`). Then many are worth nearly the
same, and a level for all of them is loose: directions are split into wedges, as in `direction_tree`, each with a level
of its own.
"""
