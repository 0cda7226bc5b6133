"""Components chosen together on a matrix in memory: the problem, and one component beside the others."""

from collections.abc import Sequence
from dataclasses import dataclass

from certpca.runtime.arrays import Indices, Mask, Vector
from certpca.runtime.lateness import Late, never
from certpca.search.joint.component import Member, fitted, improved
from certpca.search.joint.problems import allowed_features, normals_of

Members = tuple[Member, ...]


def total(members: Sequence[Member]) -> float:
    """Add up the variances along components."""
    return float(sum(member.value for member in members))


def with_changes(members: Members, changes: dict[int, Member]) -> Members:
    """Replace some components, by their places."""
    return tuple(changes.get(t, member) for t, member in enumerate(members))


@dataclass(frozen=True, slots=True, eq=False)
class SetProblem:
    """A problem on a matrix in memory.

    Parameters
    ----------
    matrix
        Symmetric positive semidefinite.
    problem
        One of `JOINT_PROBLEMS` but "shared", which has a search of its own.
    vectors
        Its leading eigenvectors, as many as starts may be made of.
    movable
        Whether features may move between components: where a total is split, and not each sparsity given.
    late
        Ends all searches with what they have.
    """

    matrix: Vector
    problem: str
    vectors: Vector
    movable: bool = False
    late: Late = never

    def place(self, members: Members, place: int) -> tuple[Mask, Vector | None]:
        """Return the features allowed to one of several components, and its normals."""
        others = members[:place] + members[place + 1 :]
        size = self.matrix.shape[0]
        return allowed_features(self.problem, size, others), normals_of(self.problem, self.matrix, others)

    def beside(self, others: Members, support: Indices, count: int) -> Member | None:
        """Improve the component on a support beside others that stay as they are."""
        allowed = allowed_features(self.problem, self.matrix.shape[0], others)
        normals = normals_of(self.problem, self.matrix, others)
        member = fitted(self.matrix, support, normals)
        return None if member is None else improved(self.matrix, member, count, allowed, normals, self.late)
