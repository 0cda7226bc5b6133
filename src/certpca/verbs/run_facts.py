"""What a checkpoint says about the run it belongs to."""

import json
from hashlib import blake2b
from typing import Any

import numpy as np

from certpca.checker import Examiner
from certpca.operators import Operator
from certpca.solvers import Solver
from certpca.verbs.validation import (
    generator,
)


def run_facts(command: str, operator: Operator, rng: Any) -> dict[str, Any]:
    """Return what every checkpoint says about the run it belongs to; a command adds what was asked of it."""
    seed = rng
    if not isinstance(rng, int):
        state = generator(rng).bit_generator.state
        seed = digest(json.dumps(state, default=lambda part: part.tolist()).encode())
    return {"command": command, "data": Examiner(operator.source()).fingerprint, "seed": seed}


def described(method: Solver) -> str:
    """Name a solver with its settings, where it shows them."""
    shown = repr(method)
    return method.name if shown.startswith("<") else shown


def digest(*parts: Any) -> str:
    """Hash arrays and bytes."""
    digest = blake2b(digest_size=20)
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else part)
    return digest.hexdigest()
