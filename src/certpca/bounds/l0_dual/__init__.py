"""The dual of the sparsity constraint in sample space."""
