"""Upper bounds with their evidence, and the checker that trusts none of it."""
