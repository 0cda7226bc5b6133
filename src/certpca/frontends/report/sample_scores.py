"""The samples along components, and what is known of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certpca.operators import Operator
from certpca.results.component_set import ComponentSet
from certpca.results.solution import Solution
from certpca.runtime.arrays import Vector
from certpca.runtime.budget import Progress
from certpca.runtime.errors import InvalidDataError, InvalidProblemError
from certpca.verbs.components import remaining_problem
from certpca.verbs.decompose import NOTHING_LEFT
from certpca.verbs.metadata import Associations, associations
from certpca.verbs.solve import solve

NO_SAMPLES = "Scores need samples; the data given are a matrix."


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Samples x components, the shares of the variance, and labels and names of samples.

    A report on one component has a second one beside it, found for the drawing.
    """

    table: Vector
    ratios: tuple[float, ...]
    second_component: Solution | None = None
    labels: tuple[str, ...] | None = None
    sample_names: tuple[str, ...] | None = None
    associations: Associations | None = None
    left_out: tuple[str, ...] = ()

    @property
    def first(self) -> Vector:
        """Scores on the first component."""
        return np.asarray(self.table[:, 0])

    @property
    def second(self) -> Vector:
        """Scores on the second component."""
        return np.asarray(self.table[:, 1])

    @property
    def second_ratio(self) -> float:
        """The second component's share of the variance."""
        return self.ratios[1]

    def named(self, sample: int) -> str:
        """Say which sample it is."""
        name = f"sample {sample + 1}" if self.sample_names is None else self.sample_names[sample]
        return name if self.labels is None else f"{name}: {self.labels[sample]}"


def of_one(solution: Solution, operator: Operator, progress: Progress) -> tuple[Scores | None, str]:
    """Return the scores of a component and of a second one, or None and why there are none."""
    if operator.rows is None:
        return None, NO_SAMPLES
    rest = remaining_problem(operator, [solution], "schur")
    if not rest.trace() > NOTHING_LEFT * operator.trace():
        return None, "The component explains all the variance there is: nothing is left for a second one to score."
    with np.errstate(over="ignore"):  # as in decompose: features without variance left
        second = solve(rest, solution.sparsity, budget=progress)
    along = [operator.scores(part.support, part.loadings) for part in (solution, second)]
    ratios = (solution.explained_variance_ratio, second.objective / operator.trace())
    return Scores(np.stack(along, axis=1), ratios, second), ""


def of_several(components: ComponentSet, operator: Operator) -> tuple[Scores | None, str]:
    """Return the scores of all components, or None and why there are none."""
    if operator.rows is None:
        return None, NO_SAMPLES
    along = [operator.scores(part.support, part.loadings) for part in components.components]
    return Scores(np.stack(along, axis=1), tuple(map(float, components.explained_variance_ratio))), ""


def checked_about_samples(samples: int | None, **given: Any) -> dict[str, Any]:
    """Return labels and names as texts, one for each sample."""
    checked: dict[str, Any] = {}
    for what, values in given.items():
        one = {"labels": "label", "sample_names": "name"}[what]
        if values is None:
            checked[what] = None
            continue
        if samples is None:
            msg = f"{what} are for samples, but the data are a matrix without samples"
            raise InvalidProblemError(msg)
        if len(values) != samples:
            msg = f"there must be one {one} for each of the {samples} samples, got {len(values)}"
            raise InvalidDataError(msg)
        checked[what] = tuple(str(value) for value in values)
    return checked


def with_metadata(scores: Scores, metadata: Mapping[str, Sequence[Any]] | Any | None) -> Scores:
    """Compare the scores with columns of metadata; those that cannot be compared are listed."""
    if metadata is None:
        return scores
    if not hasattr(metadata, "keys"):
        msg = "metadata must be a DataFrame, or a dictionary with a column for each name"
        raise InvalidDataError(msg)
    columns, left_out = {}, []
    for name in metadata.keys():  # noqa: SIM118  # a DataFrame has these too
        values = [_read(value) for value in metadata[name]]
        try:
            associations(scores.table, {str(name): values})
        except InvalidDataError as error:
            if "samples" in str(error) and "leave it out" not in str(error):
                raise
            left_out.append(str(name))
        else:
            columns[str(name)] = values
    found = associations(scores.table, columns) if columns else None
    return replace(scores, associations=found, left_out=tuple(left_out))


def _read(value: Any) -> Any:
    """Return a number where a text is one; files hold texts only."""
    if not isinstance(value, str):
        return value
    if value.strip() in ("", "NA", "NaN", "nan", "NULL", "."):
        return None
    try:
        return float(value)
    except ValueError:
        return value
