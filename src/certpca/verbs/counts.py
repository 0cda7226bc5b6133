"""How many features several components may have: what fits the data and what the components are to be together."""

from typing import Any

import numpy as np

from certpca.operators import Operator, on_host
from certpca.results.component_set import GREEDY
from certpca.runtime.errors import InvalidProblemError
from certpca.search.joint.find import rank_up_to
from certpca.search.joint.problems import DISJOINT, ORTHOGONAL, SHARED, UNCORRELATED
from certpca.search.joint.stages import least_total
from certpca.verbs.validation import checked_sparsity, is_whole, require


def checked_counts(n_components: Any, sparsity: Any, total: Any, size: int, together: str = GREEDY) -> tuple[int, ...]:
    """Return the sparsity of each of several components; with a total, the least that each may have."""
    whole = is_whole(n_components) and 1 <= n_components <= size
    require(whole, "n_components", f"a whole number in 1..{size} (n_features={size})", n_components)
    if (sparsity is None) == (total is None):
        either = "sparsity" if together in (GREEDY, SHARED) else "sparsity, or a total to split among them"
        msg = f"say how many features components may have: give {either}"
        raise InvalidProblemError(msg + (", but not both" if sparsity is not None else ""))
    if total is not None:
        return _of_a_total(int(n_components), total, size, together)
    several = np.ndim(sparsity) == 1
    each = list(sparsity) if several else [sparsity] * int(n_components)
    if len(each) != n_components:
        msg = f"sparsity must be one number or one for each of {n_components} components, got {len(each)}"
        raise InvalidProblemError(msg)
    counts = tuple(checked_sparsity(count, size) for count in each)
    if together == DISJOINT and sum(counts) > size:
        fits = f"up to {size // n_components} each" if size >= n_components else f"at most {size} components"
        msg = f"disjoint supports need {sum(counts)} features in all, but there are {size}; {fits} would fit"
        raise InvalidProblemError(msg)
    if together == SHARED:
        if len(set(counts)) > 1:
            msg = f"components that share their features have one sparsity, got {list(counts)}"
            raise InvalidProblemError(msg)
        if counts[0] < n_components:
            msg = f"{n_components} orthogonal components need {n_components} shared features at least, got {counts[0]}"
            raise InvalidProblemError(msg)
    if together == UNCORRELATED:
        _require_room(counts)
    return counts


def _of_a_total(n_components: int, total: Any, size: int, together: str) -> tuple[int, ...]:
    if together == SHARED:
        msg = "components that share their features have nothing to split; give sparsity"
        raise InvalidProblemError(msg)
    least = least_total(together, n_components)
    most = size if together == DISJOINT else size * n_components
    fits = f"a whole number in {least}..{most} for {n_components} components of {size} features"
    require(is_whole(total) and least <= total <= most, "total", fits, total)
    return tuple(range(1, n_components + 1)) if together == UNCORRELATED else (1,) * n_components


def _require_room(counts: tuple[int, ...]) -> None:
    """Refuse components with fewer loadings than there are conditions on them."""
    for place, count in enumerate(sorted(counts), start=1):
        if count < place:
            msg = (
                f"uncorrelated scores ask {place - 1} conditions of a component with {count} loadings; {len(counts)} "
                f"components need {', '.join(map(str, range(1, len(counts) + 1)))} loadings at least, in any order"
            )
            raise InvalidProblemError(msg)


def require_rank(operator: Operator, count: int, together: str) -> None:
    """Refuse more uncorrelated components, or eigenvectors of one submatrix, than the matrix has directions."""
    if together in (DISJOINT, ORTHOGONAL):
        return
    rank = rank_up_to(on_host(operator.near_one()), count)
    if rank < count:
        msg = f"the {operator.description} has rank {rank}, so at most {rank} components fit together={together!r}"
        raise InvalidProblemError(msg + f", got n_components={count}")
