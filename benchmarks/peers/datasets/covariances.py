"""Covariance and correlation matrices of the literature whose optimum is known, as data with that XᵀX."""

import json
from functools import partial

import numpy as np
from benchmarks.machine import SHARED
from benchmarks.peers.problem import Case, Problem, from_matrix

# name, sparsity, file, whether it is part of the quick profile
CHOSEN = (
    ("ionosphere", 10, "normionosphere", True),
    ("pol", 5, "INFORMS_pol", False),
    ("digits", 10, "INFORMS_digits", False),
    ("lung", 5, "normlung", False),
    ("communities", 10, "communities", True),
    ("communities, correlation", 10, "normCommunities", False),
)


def load(file: str) -> Problem:
    return from_matrix(np.load(SHARED / "covariances" / f"{file}.npz")["A"])


def cases() -> list[Case]:
    source = SHARED.parent / "reference" / "published_values.json"
    if not source.exists():
        return []
    listed = {(row["dataset"], row["k"]): row for row in json.loads(source.read_text())["instances"]}
    made = []
    for name, sparsity, file, quick in CHOSEN:
        row = listed[file.removeprefix("INFORMS_"), sparsity]
        label = f"{name} {row['n']} x {row['n']}"
        made.append(Case(label, row["n"], sparsity, partial(load, file), quick, row["objective"]))
    return made


CASES = cases()
