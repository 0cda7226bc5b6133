"""Branch and bound over features."""
