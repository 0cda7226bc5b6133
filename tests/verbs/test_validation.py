"""What is wrong with an argument is said in the same words by every verb, before any work is done."""

import math
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.runtime.errors import InvalidProblemError

DATA = np.random.default_rng(0).standard_normal((20, 6))
VERBS: dict[str, Any] = {
    "solve": lambda **more: certpca.solve(DATA, **{"sparsity": 3, "certify": True, **more}),
    "certify": lambda **more: certpca.certify(DATA, **{"sparsity": 3, **more}),
    "path": lambda **more: certpca.path(DATA, **{"sparsities": [2, 3], "certify": True, **more}),
    "decompose": lambda **more: certpca.decompose(DATA, **{"n_components": 2, "sparsity": 3, "certify": True, **more}),
    "choose": lambda **more: certpca.choose_sparsity(DATA, **{"sparsities": [2, 3], "certify": True, **more}),
    "folds": lambda **more: certpca.choose_sparsity(DATA, [2], **{"method": "cross-validation", **more}),
    "halves": lambda **more: certpca.choose_sparsity(DATA, [2], **{"method": "stability", **more}),
    "relaxation": lambda **more: certpca.solve_sdp(DATA, **{"sparsity": 3, **more}),
    "estimator": lambda **more: certpca.SparsePCA(**{"sparsity": 3, "certify": True, **more}).fit(DATA),
    "kernel": lambda **more: certpca.SparseKernelPCA(**{"sparsity": 3, "certify": True, **more}).fit(DATA),
}
PROVING = ["solve", "certify", "path", "decompose", "choose", "estimator", "kernel"]
LIMITED = ["solve", "certify", "path", "decompose", "choose", "relaxation"]
NOT_WHOLE = [math.nan, -1, 0, 2.5, "3", True]
NOT_FLAGS = ["yes", 1, None, math.nan]
WRONG: list[tuple[str, list[str], list[Any], str]] = [
    ("target_gap", PROVING, [math.nan, math.inf, -1, 1.0, 0.5j, "x", True, [1]], r"must lie in \[0, 1\), got"),
    (
        "sparsity",
        ["solve", "certify", "decompose", "relaxation", "estimator", "kernel"],
        [*NOT_WHOLE, math.inf, 21],
        "sparsity must be a whole number in 1..",
    ),
    (
        "sparsities",
        ["path", "choose"],
        ["5", 5, math.nan, [2.5], [0], [7], [True], ["3"], []],
        "sparsit(y|ies) must (be a whole number|be a list of whole numbers|name at least one)",
    ),
    (
        "rng",
        ["solve", "certify", "path", "decompose", "choose"],
        [-1, 1.5, "a", True, math.nan],
        r"rng \(random_state, --seed\) must",
    ),
    ("budget", LIMITED, [5, "fast", math.nan, True], "budget must be a Budget, such as"),
    (
        "time_limit",
        [*LIMITED, "estimator", "kernel"],
        [0, -1, math.nan, "5", True],
        "time_limit must be a positive number",
    ),
    ("listener", LIMITED, [5, "x"], "listener must be a function of one Step"),
    ("n_components", ["decompose", "estimator", "kernel"], [*NOT_WHOLE, 21], "n_components must be a whole number in"),
    ("certify", ["solve", "path", "decompose", "choose", "estimator", "kernel"], NOT_FLAGS, "certify must be True or"),
    (
        "checkpoint",
        ["solve", "certify", "path", "decompose", "choose"],
        [5, True, math.nan],
        "checkpoint must be the name of a folder",
    ),
    ("depth", ["certify"], [*NOT_WHOLE, math.inf], "depth must be a positive number of directions"),
    ("branching", ["certify"], NOT_FLAGS, "branching must be True, False or"),
    ("semidefinite", ["certify"], NOT_FLAGS, "semidefinite must be True or False"),
    ("warm", ["certify"], [5, "x"], "warm must be a certificate"),
    ("solution", ["certify"], [5, "x"], "solution must be a solution"),
    ("memory", ["relaxation"], [0, -1, math.nan, math.inf, "5", True], "memory must be a positive number of GiB"),
    ("target_gap", ["relaxation"], [0, 1, -1, math.nan, "5", True], r"target_gap must lie in \(0, 1\)"),
    ("warm", ["relaxation"], [5, "x"], "warm must be a relaxation"),
    ("refit", ["solve"], NOT_FLAGS, "refit must be True or False"),
    ("together", ["decompose", "estimator"], ["apart", True, None, 5], "together must be one of greedy, disjoint"),
    ("folds", ["folds"], [1, *NOT_WHOLE], "folds must be a whole number of at least 2"),
    ("subsamples", ["halves"], [1, *NOT_WHOLE], "subsamples must be a whole number of at least 2"),
    ("stable", ["halves"], [0, 1.5, "x", True, math.nan], r"stable must lie in \(0, 1\]"),
]


@pytest.mark.parametrize(
    ("name", "verb", "value", "message"),
    [(name, verb, value, message) for name, verbs, values, message in WRONG for verb in verbs for value in values],
)
def test_wrong_arguments_are_refused(name: str, verb: str, value: Any, message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        VERBS[verb](**{name: value})


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_right_is_accepted(verb: str) -> None:
    VERBS[verb]()


@pytest.mark.parametrize(
    "limits", [{"seconds": "5"}, {"seconds": True}, {"seconds": None}, {"steps": "3"}, {"steps": True}]
)
def test_budgets_of_no_number_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(InvalidProblemError, match="a budget needs seconds > 0 and steps >= 1, got"):
        certpca.Budget(**limits)


def test_numbers_of_numpy_are_numbers() -> None:
    budget: Any = {"seconds": np.float32(60), "steps": np.int64(1000)}
    sparsity: Any = np.int64(3)
    more: Any = {"certify": True, "target_gap": np.float64(0.01), "rng": np.uint8(3)}
    assert certpca.solve(DATA, sparsity, budget=certpca.Budget(**budget), **more).certificate is not None
