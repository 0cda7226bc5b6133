"""Tighten a bound whose levels are matrices by splitting supports by how many features they have in a group.

Where the relaxation is loose, its density mixes directions that choose different features, each with k of its own. Let
a group hold the features that one of them chooses. Supports with many features of the group are of no use to the other
directions, supports with few of none to the first: on either side the mixture has to give up something in every one of
its directions at once, since counts bound matrices and not traces. (Cutting the directions of sample space into wedges,
as `direction_tree` does, bounds traces, and needs exponentially many parts where several directions compete.)

Best first: the cell of counts with the largest bound is solved more closely, or split. Every group of a cell has a
level of its own (`cell_model`); the rule `count_tree` has the inequality.
"""
