"""Components on one support: a few directions count for each feature by itself, for the rest features have prices.

Where a few directions hold most of what the components capture, the rest is noise, in which a mixture of all directions
lets every feature lean on one of its own. A threshold θ prices features by what they lack along the few directions,
w_i = (θ − s_i)₊, so that the mixture pays for every feature that it uses a little of. `point` evaluates the bound,
`search` looks for the density of directions and for θ.
"""
