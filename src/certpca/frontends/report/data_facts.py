"""The data in numbers."""

from dataclasses import dataclass

from certpca.operators import Operator
from certpca.readers.moments import Moments, dense_moments, sparse_moments
from certpca.results.certificate import Source
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import to_vector


@dataclass(frozen=True, slots=True)
class DataFacts:
    """The data in numbers; a matrix that was given as such has no samples."""

    name: str
    matrix: str
    samples: int | None
    features: int
    missing: int
    constant: int
    total_variance: float


def data_facts(operator: Operator, name: str) -> DataFacts:
    """Look at the data."""
    missing = 0
    if operator.rows is not None:
        source = operator.source()
        if source.fill_missing:  # else there are none: they would have been refused
            moments = _moments(source)
            missing = int((moments.rows - moments.count).sum())
    constant = int((to_vector(operator.diagonal()) == 0.0).sum())
    return DataFacts(name, operator.description, operator.rows, operator.size, missing, constant, operator.trace())


def _moments(source: Source) -> Moments:
    values = source.values
    if hasattr(values, "moments"):  # a reader of a file, which counts while it walks
        return values.moments(center=True)  # type: ignore[no-any-return]
    return (
        sparse_moments(values, center=True) if is_sparse(values) else dense_moments(values, source.missing, center=True)
    )
