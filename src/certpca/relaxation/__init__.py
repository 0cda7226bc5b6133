"""The optimisers behind certificates. What they find is proved elsewhere, by the checker."""
