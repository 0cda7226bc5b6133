"""What a certificate says a component must satisfy besides its sparsity, and the problem that is left of it.

Features that are left out are left out of the data before anything is measured, so that every rule is about the
principal submatrix of the others. There every bound for all supports, and for loadings of any sign, is one for those
that are allowed; some rules read the constraints and prove more (docs/mathematics.md, 17). Nothing is repeated from the
certificate that was not looked at here.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from certpca.checker.columns import stored_columns
from certpca.checker.numbers import Indices, require
from certpca.checker.sparse_table import SparseTable, is_sparse
from certpca.results.certificate import Certificate, Source
from certpca.results.constraints import Constraints


def require_constraints(given: Any, size: int, sparsity: int) -> Constraints:
    """Refuse constraints that are malformed, contradict each other, or allow no support; return what they imply."""
    require(type(given) is Constraints, "its constraints are malformed")
    require(type(given.nonnegative) is bool, "its constraints are malformed")
    require(isinstance(given.groups, tuple), "its groups are malformed")
    for features in (given.include, given.exclude, *given.groups):
        _require_features(features, size)
    members = [feature for group in given.groups for feature in group]
    require(len(set(members)) == len(members), "its groups have features in common")
    require(all(given.groups), "a group of its constraints is empty")
    meant = Constraints(given.include, given.exclude, given.groups, given.nonnegative).completed
    require(not set(meant.include) & set(meant.exclude), "it forces a feature in and leaves it out")
    require(len(meant.include) <= sparsity, "it forces more features in than its sparsity allows")
    require(
        size - len(meant.exclude) >= sparsity, "it leaves out so many features that fewer than its sparsity are left"
    )
    return meant


def _require_features(features: Any, size: int) -> None:
    require(
        isinstance(features, tuple) and all(type(feature) is int and 0 <= feature < size for feature in features),
        "its constraints name features that are not there",
    )
    require(all(left < right for left, right in pairwise(features)), "features of its constraints are not sorted")


def narrowed(certificate: Certificate, meant: Constraints, kept: Indices) -> Certificate:
    """Return the same claim about the features that are kept, by their places among these."""
    support = np.asarray(certificate.support)
    require(
        support.ndim == 1 and (support.size == 0 or support.dtype.kind in "iu"), "its support is not a list of indices"
    )
    places = np.searchsorted(kept, support)
    there = bool((places < kept.size).all()) and bool((kept[np.minimum(places, kept.size - 1)] == support).all())
    require(there, "its support has a feature that is left out")
    return replace(certificate, size=int(kept.size), support=places, constraints=meant.on(kept))


def require_allowed(certificate: Certificate, source: Source) -> None:
    """Refuse loadings that the constraints do not allow."""
    constraints, loadings = certificate.constraints, np.asarray(certificate.loadings, dtype=np.float64)
    taken = constraints.places_taken(certificate.support)
    require(
        not constraints or taken <= certificate.sparsity,
        f"with what its constraints imply its support has {taken} features, more than its sparsity",
    )
    # Nothing captures nothing, which may be more than what is allowed of a matrix that is given.
    anything = source.kind == "data" or not constraints.groups or np.size(certificate.support) > 0
    require(anything, "it has no loadings")
    require(
        not constraints.nonnegative or bool((loadings >= 0).all()), "it has a negative loading, and says that none is"
    )


def source_of(source: Source, kept: Indices) -> Source:
    """Return the numbers of some features alone."""
    if kept.size == source.values.shape[1]:
        return source
    values, both = source.values, source.kind == "matrix"
    if is_sparse(values):
        values = SparseTable(values)
        if not both:
            return replace(source, values=values.take(kept))
    return replace(source, values=KeptColumns(values, kept, both=both))


class KeptColumns:
    """Some columns of a table, cut out when they are asked for; of a matrix the rows of the same numbers, too."""

    def __init__(self, values: Any, kept: Indices, *, both: bool = False) -> None:
        self._values, self._kept, self._both = values, kept, both
        self.shape = (int(kept.size) if both else int(values.shape[0]), int(kept.size))
        self.dtype = values.dtype

    def __getitem__(self, key: tuple[slice, slice]) -> Any:
        """Return a run of the columns that are kept."""
        wanted = self._kept[key[1]]
        if wanted.size == 0:
            return np.empty((self.shape[0], 0))
        first = int(wanted[0])
        part = stored_columns(self._values, slice(first, int(wanted[-1]) + 1), wanted - first)
        return part[self._kept] if self._both else part
