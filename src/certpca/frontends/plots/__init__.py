"""Drawings with matplotlib."""
