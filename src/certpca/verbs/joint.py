"""Components chosen together: searched for jointly, judged, and proved as a set where a gap is asked for."""

import math

import numpy as np

from certpca.bounds.near_one import in_data_units
from certpca.bounds.sets.find import find_set_certificate
from certpca.operators import Operator, on_host
from certpca.results.certificate import PROVED_OPTIMAL
from certpca.results.set_certificate import SetCertificate
from certpca.results.solution import Solution, ending
from certpca.results.status import Status
from certpca.runtime.arrays import Vector, fix_sign
from certpca.runtime.budget import Progress
from certpca.runtime.checkpoint import Checkpoint
from certpca.search.joint.find import IN_MEMORY, find_together
from certpca.search.joint.stages import Budgets
from certpca.search.krylov import ROUGH, leading_eigenpairs
from certpca.verbs.components import Components, with_variances
from certpca.verbs.judge import standardised_by
from certpca.verbs.solve import share_of_the_search, solve

SOLVER = "joint"  # what their solutions say they were found by
APART_WILL_DO = ("disjoint", "orthogonal")  # problems that components with no feature in common solve


def found_together(
    operator: Operator,
    together: str,
    budgets: Budgets,
    rng: np.random.Generator,
    progress: Progress,
    target_gap: float | None,
    states: Checkpoint | None,
) -> Components:
    """Search for the set, prove a bound for it where a gap is asked for, and put it together."""
    near = operator.near_one()
    units = near.power - operator.power
    progress.power += units
    search = progress.part(
        share_of_the_search(near, progress, proving=target_gap is not None),
        None if states is None else states.part("search"),
        after=progress,
    )
    loadings = search.load("set", Vector)
    if loadings is None:
        seed = int(rng.integers(2**31))
        loadings = find_together(on_host(near), together, budgets, seed, search)
        # On few features every stage of the search begins from these too, so that it never falls as budgets grow.
        if near.size > IN_MEMORY and together in APART_WILL_DO and budgets.total is None:
            loadings = _no_worse_than_one_by_one(near, budgets.counts, loadings, seed, search)
        search.finish("set", loadings)
    counts = budgets.counts if budgets.total is None else tuple(int(n) for n in (loadings != 0).sum(axis=0))
    status, certificate = ending(progress, Status.CONVERGED), None
    if target_gap is not None:
        proof = progress.part(checkpoint=None if states is None else states.part("proof"), after=search)
        certificate = find_set_certificate(near, together, counts, loadings, target_gap, proof)
        status = ending(progress, certificate.status or status)
        loadings = _better(near, loadings, certificate)
        certificate = in_data_units(certificate, units)
    found = _solutions(operator, near, units, loadings, counts, status, progress)
    value = sum(solution.objective for solution in found)
    if certificate is not None and value >= certificate.upper_bound * (1 - PROVED_OPTIMAL):
        status = Status.OPTIMAL
    return with_variances(
        operator, found, together=together, status=status, seconds=progress.seconds, certificate=certificate
    )


def _no_worse_than_one_by_one(
    operator: Operator, counts: tuple[int, ...], loadings: Vector, seed: int, progress: Progress
) -> Vector:
    """Return the best component, the best on the features that it leaves and so on, where these capture more."""
    others, left = np.zeros_like(loadings), np.arange(operator.size)
    for column, count in zip(others.T, counts, strict=True):
        if progress.late() or left.size < count:
            return loadings
        found = solve(
            operator.restrict(left), count, rng=seed, time_limit=progress.remaining if progress.timed else None
        )
        column[left[found.support]] = found.loadings
        left = np.delete(left, found.support)
    if len(set(counts)) == 1:
        values = [_captured(operator, column[:, None]) for column in others.T]
        others = others[:, np.argsort(values, kind="stable")[::-1]]
    return others if _captured(operator, others) > _captured(operator, loadings) * (1 + 1e-9) else loadings


def _captured(operator: Operator, loadings: Vector) -> float:
    return sum(operator.quadratic_form(np.flatnonzero(column), column[column != 0]) for column in loadings.T)


def _better(operator: Operator, loadings: Vector, certificate: SetCertificate) -> Vector:
    """Return the components of the certificate where its search came upon better ones."""
    if certificate.objective <= _captured(operator, loadings) * (1 + 1e-9):
        return loadings
    others = np.zeros_like(loadings)
    for column, support, own in zip(others.T, certificate.supports, certificate.loadings, strict=True):
        column[support] = fix_sign(own)
    return others


def _solutions(
    operator: Operator,
    near: Operator,
    units: int,
    loadings: Vector,
    counts: tuple[int, ...],
    status: Status,
    progress: Progress,
) -> list[Solution]:
    """Say of each component what it captures by itself."""
    trace = operator.trace()
    pairs = leading_eigenpairs(near, 1, rng=0, late=progress.late)
    largest = math.ldexp(float(pairs.values[0]), units) if pairs.residual <= ROUGH else math.nan
    found = []
    for column, count in zip(loadings.T, counts, strict=True):
        support = np.flatnonzero(column)
        objective = math.ldexp(max(near.quadratic_form(support, column[support]), 0.0), units)
        top = largest if math.isnan(largest) else max(largest, objective)
        mean, scale = standardised_by(operator, support)
        found.append(
            Solution(
                support=support,
                names=operator.names_of(support),
                loadings=column[support],
                objective=objective,
                explained_variance_ratio=objective / trace if trace > 0 else 0.0,
                relative_objective=objective / top if top > 0 or math.isnan(top) else 0.0,
                size=operator.size,
                sparsity=count,
                matrix=operator.description,
                solver=SOLVER,
                status=status,
                seconds=progress.seconds,
                history=progress.history,
                reading=dict(operator.reading),
                mean=mean,
                scale=scale,
            )
        )
    return found
