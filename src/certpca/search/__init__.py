"""What solvers share: eigenpairs, swaps."""
