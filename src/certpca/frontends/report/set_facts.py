"""Several components held against data: whatever the data decide is computed again, and nothing else is believed."""

import math
import time
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np

from certpca.checker import Examiner
from certpca.frontends.report.data_facts import DataFacts, data_facts
from certpca.frontends.report.facts import LARGEST, Files, refuse_without_data
from certpca.frontends.report.recomputed import SAME
from certpca.frontends.report.sample_scores import Scores, checked_about_samples, of_several, with_metadata
from certpca.intake import DataOptions, as_operator
from certpca.operators import Operator
from certpca.results.component_set import GREEDY, ComponentSet
from certpca.results.errors import CertificateError
from certpca.runtime.arrays import Vector
from certpca.verbs.components import remaining_problem, with_variances

FEASIBLE = 1e-8  # inner products that count as zero, of unit loadings, and of scores in units of their deviations


@dataclass(frozen=True, slots=True, eq=False)
class SetFacts:
    """What a report on several components tells.

    Parameters
    ----------
    components : ComponentSet
        What the report is on; with data, recomputed from them.
    files : Files
        Where things lie.
    checked : bool
        Whether they were held against data.
    refusal : str
        Why they were not accepted, or "".
    seconds : float
        How long that took.
    largest : int
        How many features are drawn.
    data : DataFacts, optional
        The data in numbers.
    scores : Scores, optional
        On all components, with labels and names of samples and what metadata say.
    no_scores : str
        Why there are none.
    genes : bool
        Whether names of features are those of genes, and lead to them.

    See Also
    --------
    write_report : What returns it.

    Examples
    --------
    >>> import certpca
    >>> certpca.SetFacts(certpca.decompose(certpca.pitprops(), 2, 3)).refused
    False
    """

    components: ComponentSet
    files: Files = field(default_factory=Files)
    checked: bool = False
    refusal: str = ""
    seconds: float = 0.0
    largest: int = LARGEST
    data: DataFacts | None = None
    scores: Scores | None = None
    no_scores: str = ""
    genes: bool = False

    @property
    def size(self) -> int:
        """Number of features."""
        return self.components.size

    @property
    def matrix(self) -> str:
        """Which matrix it is, in words."""
        return self.components.components[0].matrix

    @property
    def trace(self) -> float:
        """The total variance."""
        return self.components.trace

    @property
    def about(self) -> str:
        """Whether the report is on one component or on several."""
        return "several"

    @property
    def refused(self) -> bool:
        """Whether data or certificate contradict the components."""
        return bool(self.refusal)


def gather_set(
    components: ComponentSet,
    data: Any = None,
    files: Files | None = None,
    *,
    labels: Any = None,
    sample_names: Any = None,
    metadata: Any = None,
    **options: Unpack[DataOptions],
) -> SetFacts:
    """Hold components against data where these are given, and against their certificate in any case."""
    begin = time.perf_counter()
    facts = SetFacts(components, files or Files(), refusal=_contradiction(components))
    if data is None:
        refuse_without_data(labels=labels, sample_names=sample_names, metadata=metadata)
    if data is None or facts.refusal:
        return replace(facts, checked=data is not None)
    operator = as_operator(data, **options)
    about = checked_about_samples(operator.rows, labels=labels, sample_names=sample_names)
    refusal, found = _held_against(operator, components)
    seconds = time.perf_counter() - begin
    facts = replace(facts, components=found, refusal=refusal, checked=True, seconds=seconds)
    if refusal:
        return facts
    scores, reason = of_several(found, operator)
    scores = None if scores is None else with_metadata(replace(scores, **about), metadata)
    return replace(
        facts, data=data_facts(operator, facts.files.data or "the data given"), scores=scores, no_scores=reason
    )


def _contradiction(components: ComponentSet) -> str:
    """Say where components and their certificate do not fit each other."""
    certificate = components.certificate
    if certificate is None:
        return ""
    for what, own, other in (
        ("problem", components.together, certificate.problem),
        ("number of features", components.size, certificate.size),
        ("list of sparsities", list(components.sparsities), list(certificate.sparsities)),
    ):
        if own != other:
            return f"the {what} is {own} in the result but {other} in its certificate"
    if components.objective > certificate.upper_bound * (1 + SAME):
        return "the components capture more than the upper bound of their certificate"
    return ""


def _held_against(operator: Operator, components: ComponentSet) -> tuple[str, ComponentSet]:
    if operator.size != components.size:
        return f"the data have {operator.size:,} features, the result {components.size:,}", components
    again = with_variances(
        operator,
        [replace(part, names=operator.names_of(part.support)) for part in components.components],
        together=components.together,
        deflation=components.deflation,
        status=components.status,
        seconds=components.seconds,
        certificate=components.certificate,
    )
    for j, (own, claimed) in enumerate(zip(again.explained_variance, components.explained_variance, strict=True)):
        if not math.isclose(own, claimed, rel_tol=SAME):
            return f"component {j + 1} captures {own:.6g} there, not {claimed:.6g}", components
    if not math.isclose(again.trace, components.trace, rel_tol=SAME):
        return f"the total variance is {again.trace:.6g} there, not {components.trace:.6g}", components
    refusal = _infeasible(operator, again)
    return (refusal, components) if refusal else _verified(operator, again)


def _infeasible(operator: Operator, components: ComponentSet) -> str:
    """Say which condition on the set is broken."""
    loadings = components.loadings
    together = components.together
    if together == "disjoint" and ((loadings != 0).sum(axis=1) > 1).any():
        return "a feature is in two components, which should have none in common"
    if together in ("orthogonal", "shared") and _off_diagonal(loadings.T @ loadings) > FEASIBLE:
        return "the loadings are not orthogonal"
    if together == "shared" and int(loadings.any(axis=1).sum()) > max(components.sparsities):
        return "the components use more features than they may share"
    if together == "uncorrelated":
        near = operator.near_one()
        panel = near.xp.asarray(loadings, dtype=near.xp.float64, device=near.device)
        scores = loadings.T @ np.asarray(near.matmat(panel))
        spread = np.sqrt(np.maximum(np.diag(scores), np.finfo(float).tiny))
        if _off_diagonal(scores / np.outer(spread, spread)) > FEASIBLE:
            return "the scores are correlated"
    return ""


def _off_diagonal(products: Vector) -> float:
    return float(np.abs(products - np.diag(np.diag(products))).max(initial=0.0))


def _verified(operator: Operator, components: ComponentSet) -> tuple[str, ComponentSet]:
    """Let the checker look at the certificate of the set, or at those of its greedy steps."""
    try:
        if components.certificate is not None:
            proof = Examiner(operator.source()).check(components.certificate)
            return "", replace(components, certificate=replace(components.certificate, upper_bound=proof.upper_bound))
        if components.together == GREEDY:
            for j, certificate in enumerate(components.certificates):
                if certificate is not None:
                    rest = remaining_problem(operator, components.components[:j], components.deflation)
                    Examiner(rest.source()).check(certificate)
    except CertificateError as error:
        return str(error), components
    return "", components
