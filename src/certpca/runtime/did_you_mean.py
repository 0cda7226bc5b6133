"""What a wrong word was meant to be."""

from collections.abc import Iterable
from difflib import get_close_matches

# Words of other libraries for what has a name here; the first that is known where the word was used is suggested.
ELSEWHERE = {
    "alpha": ("sparsity",),
    "batch_size": ("memory",),
    "callback": ("listener",),
    "cardinality": ("sparsity",),
    "gap": ("target_gap",),
    "gpu": ("device",),
    "k": ("sparsity", "sparsities"),
    "keepx": ("sparsity",),
    "max_time": ("time_limit",),
    "method": ("solver",),
    "n_jobs": ("workers",),
    "n_nonzero": ("sparsity",),
    "ncomp": ("n_components",),
    "random_state": ("rng",),
    "resume": ("checkpoint",),
    "rng": ("random_state",),
    "seconds": ("time_limit",),
    "seed": ("rng", "random_state"),
    "standardize": ("scale",),
    "time": ("time_limit",),
    "timeout": ("time_limit",),
    "tol": ("target_gap",),
    "tolerance": ("target_gap",),
    "verbose": ("listener",),
    "warm_start": ("warm",),
}


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question that names the known word nearest to a wrong one, or nothing where none is near.

    Examples
    --------
    >>> did_you_mean("taget_gap", ["target_gap", "solver"])
    "; did you mean 'target_gap'?"
    >>> did_you_mean("seed", ["rng", "solver"])
    "; did you mean 'rng'?"
    >>> did_you_mean("colour", ["rng", "solver"])
    ''
    """
    words = list(known)
    said = str(word).lower().replace("-", "_")
    meant = [name for name in ELSEWHERE.get(said, ()) if name in words] or get_close_matches(
        said.replace("_", ""), [name.replace("_", "").replace("-", "") for name in words], 1
    )
    near = [name for name in words if meant and meant[0] in (name, name.replace("_", "").replace("-", ""))]
    return f"; did you mean {near[0]!r}?" if near else ""
