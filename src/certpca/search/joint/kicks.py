"""Random changes of a set, from which a search climbs again."""

from collections.abc import Sequence

import numpy as np

from certpca.runtime.arrays import top_k
from certpca.search.joint.component import Member, fitted
from certpca.search.joint.problems import DISJOINT
from certpca.search.joint.set_problem import Members, SetProblem, with_changes
from certpca.search.joint.starts import from_supports


def kicked(search: SetProblem, members: Members, counts: Sequence[int], rng: np.random.Generator) -> Members | None:
    """Change a set at random: other features for one component, two anew, or all once more in another order."""
    way = 0 if search.problem == DISJOINT else int(rng.integers(3))
    return (_replaced, _anew, _reordered)[way](search, members, counts, rng)


def _replaced(search: SetProblem, members: Members, counts: Sequence[int], rng: np.random.Generator) -> Members | None:
    """Replace some features of a component, more likely by ones that go well with it."""
    t = int(rng.integers(len(members)))
    member = members[t]
    image = np.abs(search.matrix[:, member.support] @ member.loadings) ** 2
    image[member.support] = 0.0
    weight = image + 1e-3 * image.max() + np.finfo(float).tiny
    weight[member.support] = 0.0
    count = min(int(rng.integers(1, max(2, member.support.size // 2 + 1))), int((weight > 0).sum()))
    if count == 0:
        return None
    entering = rng.choice(image.size, size=count, replace=False, p=weight / weight.sum())
    support = np.union1d(rng.permutation(member.support)[count:], entering)
    if search.problem == DISJOINT:  # the others give up what is taken of theirs
        supports = [support if s == t else np.setdiff1d(other.support, support) for s, other in enumerate(members)]
        return from_supports(search, supports, counts)
    changed = fitted(search.matrix, support, search.place(members, t)[1])
    return None if changed is None else with_changes(members, {t: changed})


def _anew(search: SetProblem, members: Members, counts: Sequence[int], rng: np.random.Generator) -> Members | None:
    """Find two components again from random directions, beside the others."""
    gone = rng.permutation(len(members))[:2].tolist()
    kept = {t: member for t, member in enumerate(members) if t not in gone}
    for t in gone:
        image = np.abs(search.vectors @ rng.standard_normal(search.vectors.shape[1]))
        grown = search.beside(tuple(kept.values()), top_k(image, counts[t]), counts[t])
        if grown is None:
            return None
        kept[t] = grown
    return tuple(kept[t] for t in range(len(members)))


def _reordered(search: SetProblem, members: Members, counts: Sequence[int], rng: np.random.Generator) -> Members | None:
    """Improve all from where they are, each beside the ones before it in a random order."""
    new: dict[int, Member] = {}
    for t in rng.permutation(len(members)).tolist():
        grown = search.beside(tuple(new.values()), members[t].support, counts[t])
        if grown is None:
            return None
        new[t] = grown
    return tuple(new[t] for t in range(len(members)))
