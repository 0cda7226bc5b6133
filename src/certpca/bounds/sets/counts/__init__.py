"""Disjoint supports where components compete for a block of features: parts by how many of it each component has.

Prices alone let each component have a share of several supports, so that two components may each be "half of the best
support of the block". Where it is said how many features of the block each has, they cannot.
"""
