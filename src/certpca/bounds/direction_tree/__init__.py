"""Tighten the dual bound by splitting the directions of sample space.

Where the relaxation is loose, its best density mixes two or three competing directions. A plane through the two
leading eigenvectors v, w of the density is cut into double wedges, the sets of ξ with (r·ξ)(s·ξ) ≤ 0 for two rays
r, s of it; on each the dual has one more multiplier. Best first: the region with the largest bound is split next.
Where the plane nearly coincides with one that was cut before, that wedge is halved instead: stacking new planes
leaves nearly empty regions whose duals are hard to solve.
"""
