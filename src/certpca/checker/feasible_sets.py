"""What components that are chosen together capture, with proof that such components exist.

Stored loadings x_t are floating-point numbers. That supports are disjoint can be seen from these exactly; that loadings
are orthogonal, or scores uncorrelated, holds up to roundings only. What is returned is a lower bound for the sum of
what *exactly* feasible components capture, one next to each x_t and on the same support, so that the optimum is never
below it.

They are made one after the other. Let x_1', …, x_{t−1}' be exact, ‖x_s' − x_s‖ ≤ δ_s, and let y_s' be what x_t' must
be orthogonal to on its support P: y_s' = Px_s' for orthogonal loadings, PAx_s' for uncorrelated scores. With the known
y_s in its place and E = Y' − Y, the projection of x_t onto the complement of the y_s' differs from x_t by at most

    δ_t = (‖Yᵀx_t‖ + ‖E‖‖x_t‖) / (σ_min(Y) − ‖E‖),

and its squared length is between ‖x_t‖² − δ_t² and ‖x_t‖². So with f = x_tᵀAx_t − 2‖A‖‖x_t‖δ_t − ‖A‖δ_t² it captures
at least f/‖x_t‖², or f/(‖x_t‖² − δ_t²) where f is negative, which it can be for a matrix that is given. Components
without a common feature are orthogonal as they are. Where features in common are as few as the conditions, leaving all
of them out serves as well, with δ_t the length of the loadings there. (docs/mathematics.md, 13.1)

Stored loadings must be feasible to `FEASIBLE` too: they, and not their neighbours, are what is used later.

Allowance. Inner products of length m round by γ_m; the smallest eigenvalue of YᵀY is proved by a Cholesky
factorisation.
"""

import math
from dataclasses import dataclass

import numpy as np

from certpca.checker.captured import loadings_of
from certpca.checker.data import Prepared
from certpca.checker.numbers import Indices, Vector, gamma, largest_eigenvalue, require
from certpca.results.set_certificate import SetCertificate

FEASIBLE = 1e-9  # the largest cosine between two loadings, or two scores, that were to be orthogonal


@dataclass(slots=True)
class _Component:
    """Loadings of length one up to roundings, and how far exact ones may be."""

    support: Indices
    loadings: Vector
    distance: float = 0.0


def captured_together(prepared: Prepared, certificate: SetCertificate) -> float:
    """Return the sum of what feasible components next to the stored ones capture, rounded down."""
    size, problem = prepared.size, certificate.problem
    require(
        len(certificate.supports) == len(certificate.loadings) == len(certificate.sparsities), "it lacks components"
    )
    components, listed = [], []
    for support, loadings, sparsity in zip(
        certificate.supports, certificate.loadings, certificate.sparsities, strict=True
    ):
        chosen, values = loadings_of(support, loadings, sparsity, size)
        listed.append(chosen)
        kept = values != 0  # what is zero meets nothing
        components.append(_Component(chosen[kept], values[kept] / np.linalg.norm(values[kept])))
    features = np.concatenate(listed)
    union = np.unique(features)
    if problem == "disjoint":
        require(union.size == features.size, "two of its components have a feature in common")
    elif problem == "shared":
        require(len(set(certificate.sparsities)) == 1, "components on the same features have different sparsities")
        require(union.size <= certificate.sparsities[0], "its components together have more features than allowed")
    norm = 0.0
    if problem != "disjoint":
        norm = _norm(prepared, union)
        (_correct_scores if problem == "uncorrelated" else _correct_loadings)(prepared, components, union, norm)
    total, doubt = 0.0, 0.0
    for component in components:
        value, off = prepared.form(component.support, component.loadings)
        length = float(component.loadings @ component.loadings)
        slip = gamma(component.support.size + 16)
        moved = norm * component.distance * (2 * math.sqrt(length) + component.distance)
        lost = slip * abs(value) + off + moved
        if value < lost:  # what is negative grows when it is divided by less
            lost += (lost - value) * component.distance**2 / (length - component.distance**2)
        total += value / length
        doubt += lost / length
    count = len(components)
    total -= (doubt + gamma(count + 8) * (abs(total) + doubt)) * (1 + gamma(count + 16))
    return max(0.0, total) if prepared.never_negative else total


def _norm(prepared: Prepared, union: Indices) -> float:
    """Bound the norm of the matrix on some features."""
    if prepared.never_negative:
        return prepared.lift(prepared.trace)
    matrix, slack = prepared.dense(union)
    return (float(np.linalg.norm(matrix)) + slack) * (1 + gamma(union.size**2 + 8))


def _correct_loadings(prepared: Prepared, components: list[_Component], union: Indices, norm: float) -> None:
    """Find exactly orthogonal loadings."""
    del prepared, norm
    columns = np.zeros((union.size, len(components)))
    for number, component in enumerate(components):
        columns[np.searchsorted(union, component.support), number] = component.loadings
    for number, component in enumerate(components):
        place = np.searchsorted(union, component.support)
        part = columns[np.ix_(place, np.arange(number))]
        meets = np.flatnonzero(part.any(axis=0))
        if meets.size == 0:
            continue
        _require_feasible(part[:, meets], component, FEASIBLE, "orthogonal")
        others = components[:number]
        distances = np.array([others[other].distance for other in meets])
        moved = _moved(part[:, meets], distances, component)
        common = part.any(axis=1)
        if int(common.sum()) <= meets.size:
            moved = min(
                moved, float(np.linalg.norm(component.loadings[common])) * (1 + gamma(component.support.size + 8))
            )
        component.distance = moved
        _require_near(component)


def _correct_scores(prepared: Prepared, components: list[_Component], union: Indices, norm: float) -> None:
    """Find loadings whose scores are exactly uncorrelated."""
    require(union.size <= prepared.limits.largest_dense, "its components have too many features to multiply all pairs")
    prepared.work.spend(float(union.size) ** 2 * (prepared.depth + len(components)))
    matrix, slack = prepared.dense(union)
    slip = slack + gamma(union.size + 8) * float(np.linalg.norm(matrix)) * (1 + gamma(union.size**2 + 8))
    images: list[Vector] = []
    for number, component in enumerate(components):
        place = np.searchsorted(union, component.support)
        if number:
            part = np.stack([image[place] for image in images], axis=1)
            scores = [
                math.sqrt(max(float(x.loadings @ y[np.searchsorted(union, x.support)]), 0.0))
                for x, y in zip(components[:number], images, strict=True)
            ]
            own = float(component.loadings @ matrix[np.ix_(place, place)] @ component.loadings)
            allowed = FEASIBLE * np.array(scores) * math.sqrt(max(own, 0.0)) + 2 * slip  # which no numbers undercut
            _require_feasible(part, component, allowed, "uncorrelated")
            distances = np.array([norm * other.distance + slip * 1.01 for other in components[:number]])
            component.distance = _moved(part, distances, component)
            _require_near(component)
        images.append(matrix[:, place] @ component.loadings)


def _require_feasible(part: Vector, component: _Component, allowed: float | Vector, what: str) -> None:
    off = np.abs(part.T @ component.loadings)
    require(bool((off <= allowed).all()), f"its components are not {what}")


def _require_near(component: _Component) -> None:
    require(component.distance <= math.sqrt(FEASIBLE), "no exactly feasible components are near the stored ones")


def _moved(part: Vector, distances: Vector, component: _Component) -> float:
    """Return δ_t, where the columns of Y are `part`, each known up to a distance."""
    rows, count = part.shape
    lengths = np.linalg.norm(part, axis=0)
    if not (lengths > 0).all():
        return math.inf
    slip = gamma(rows + 16)
    columns = part / lengths
    off = math.sqrt(float(((distances / lengths) ** 2).sum())) * (1 + gamma(count + 16)) + slip * math.sqrt(count)
    smallest = -largest_eigenvalue(-(columns.T @ columns), slip * 2 * count)
    if not smallest > 0:
        return math.inf
    sigma = math.sqrt(smallest) * (1 - gamma(8)) - off
    if not sigma > 0:
        return math.inf
    length = float(np.linalg.norm(component.loadings)) * (1 + slip)
    residual = (
        float(np.linalg.norm(columns.T @ component.loadings)) * (1 + slip) + (off + slip * math.sqrt(count)) * length
    )
    return residual / sigma * (1 + gamma(16))
