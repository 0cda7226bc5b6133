"""Plumbing that knows nothing of the problem: arrays, budgets, checkpoints, files, threads, errors."""
