"""What a component must satisfy besides its sparsity, as a value that search, proofs and the checker all read.

A support S is allowed if it has all of `include`, none of `exclude`, of every group all features or none, and at most
as many features as the sparsity. Loadings are allowed if they are zero outside some allowed support, and with
`nonnegative` none of them is negative. So features that are forced in take their places whether or not their loadings
come out as zero.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from certpca.runtime.arrays import Indices

LISTED = 12  # features that are named one by one in running text


@dataclass(frozen=True)
class Constraints:
    """What a component must satisfy besides its sparsity.

    Parameters
    ----------
    include : tuple of int
        Features that every support has, in increasing order.
    exclude : tuple of int
        Features that none has, in increasing order.
    groups : tuple of tuple of int
        Sets of features of which a support has all or none; no feature is in two of them.
    nonnegative : bool
        Whether no loading may be negative.

    See Also
    --------
    solve : Takes them by name.
    Certificate : States those that its bound is about.

    Examples
    --------
    >>> import certpca
    >>> str(certpca.Constraints(include=(2,), nonnegative=True))
    'feature 2 forced in; no negative loadings'
    """

    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    nonnegative: bool = False

    def __bool__(self) -> bool:
        """Say whether anything is asked for."""
        return bool(self.include or self.exclude or self.groups or self.nonnegative)

    def __str__(self) -> str:
        """Say in words what is asked for."""
        return self.in_words()

    def in_words(self, names: Sequence[str] | None = None) -> str:
        """Say what is asked for, or nothing where nothing is.

        Parameters
        ----------
        names : sequence of str, optional
            Of all features; without them features go by their indices.

        Returns
        -------
        str
            A phrase for each constraint.
        """
        said = []
        for features, what in ((self.include, "forced in"), (self.exclude, "left out")):
            if features:
                said.append(f"{_listed(features, names)} {what}")
        if self.groups:
            count, members = len(self.groups), sum(map(len, self.groups))
            of_them = "1 group" if count == 1 else f"{count:,} groups"
            said.append(f"all or none of {of_them} with {members:,} features")
        if self.nonnegative:
            said.append("no negative loadings")
        return "; ".join(said)

    @cached_property
    def completed(self) -> "Constraints":
        """The same with everything that groups imply: one feature in or out means all of its group."""
        include, exclude = set(self.include), set(self.exclude)
        for group in self.groups:
            for chosen in (include, exclude):
                if not chosen.isdisjoint(group):
                    chosen.update(group)
        open_ones = sorted(group for group in self.groups if not (include | exclude).intersection(group))
        return Constraints(tuple(sorted(include)), tuple(sorted(exclude)), tuple(open_ones), self.nonnegative)

    def on(self, kept: Indices) -> "Constraints":
        """Return what is asked of some features alone, by their places among these.

        A group of which a feature is not there can only be left out.

        Parameters
        ----------
        kept : ndarray of int
            The features, in increasing order.

        Returns
        -------
        Constraints
            By places among these.
        """
        places = {int(feature): place for place, feature in enumerate(kept)}
        groups, exclude = [], {places[feature] for feature in self.exclude if feature in places}
        for group in self.groups:
            there = [places[feature] for feature in group if feature in places]
            if len(there) == len(group):
                groups.append(tuple(there))
            else:
                exclude.update(there)
        include = [places[feature] for feature in self.include if feature in places]
        return Constraints(tuple(include), tuple(sorted(exclude)), tuple(groups), self.nonnegative)

    def kept(self, size: int) -> Indices:
        """Return the features that supports may have.

        Parameters
        ----------
        size : int
            Number of all features.

        Returns
        -------
        ndarray of int
            Those that are not left out.
        """
        allowed = np.ones(size, dtype=bool)
        allowed[list(self.completed.exclude)] = False
        return np.flatnonzero(allowed)

    def places_taken(self, support: Iterable[int]) -> int:
        """Return how many features the smallest support has that has these and all that is implied.

        Parameters
        ----------
        support : iterable of int
            Features with loadings.

        Returns
        -------
        int
            The number.
        """
        chosen = {int(feature) for feature in support}
        chosen.update(self.completed.include)
        for group in self.groups:
            if not chosen.isdisjoint(group):
                chosen.update(group)
        return len(chosen)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            Every field, by name.
        """
        return {
            "include": list(self.include),
            "exclude": list(self.exclude),
            "groups": [list(group) for group in self.groups],
            "nonnegative": self.nonnegative,
        }

    @staticmethod
    def from_dict(fields: Mapping[str, Any]) -> "Constraints":
        """Return what plain values stand for.

        Parameters
        ----------
        fields : mapping
            As `to_dict` returns it.

        Returns
        -------
        Constraints
            The value.
        """
        return Constraints(
            tuple(fields["include"]),
            tuple(fields["exclude"]),
            tuple(tuple(group) for group in fields["groups"]),
            fields["nonnegative"],
        )


FREE = Constraints()


def _listed(features: Sequence[int], names: Sequence[str] | None) -> str:
    what = "feature" if len(features) == 1 else f"{len(features):,} features"
    shown = ", ".join(str(feature) if names is None else names[feature] for feature in features[:LISTED])
    more = f" and {len(features) - LISTED:,} more" if len(features) > LISTED else ""
    return f"{what} {shown}{more}" if len(features) == 1 else f"{what} ({shown}{more})"
