"""Transformers for scikit-learn."""
