"""Numerical building blocks that know operators but no algorithm."""
