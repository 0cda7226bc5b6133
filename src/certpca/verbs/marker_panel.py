"""From a result on genotypes to a panel of markers, checked against the genotypes."""

import math
from typing import Any, Unpack

import numpy as np

from certpca.genotypes.markers import MarkerPanel
from certpca.intake import DataOptions, as_operator
from certpca.operators import Operator
from certpca.results.component_set import ComponentSet
from certpca.results.proof import Proof
from certpca.results.solution import Solution
from certpca.runtime.arrays import Indices
from certpca.runtime.errors import InvalidDataError, InvalidProblemError
from certpca.verbs.components import remaining_problem
from certpca.verbs.validation import named_arguments
from certpca.verbs.verify import verify

SAME = 1e-6  # relative; what roundings of another machine may change
UNKNOWN = -1
MARGIN = 1e-6  # relative; roundings of such eigenvalues are a millionth of that
MOST_LEFT = 200  # features among which eigenvalues are computed


@named_arguments
def marker_panel(result: Solution | ComponentSet, data: Any, **options: Unpack[DataOptions]) -> MarkerPanel:
    """Return the markers of sparse components: where they lie, alleles, loadings, and which are in every optimum.

    The result is held against the genotypes: its variances are recomputed, and its certificates verified, which says
    for each marker whether it is proved to be in every best choice of so many variants.

    Parameters
    ----------
    result : Solution or ComponentSet
        From `solve` or `decompose`, or from a file.
    data : reader
        The genotypes it was found on, from `read_plink` or `read_pgen` with the same filters
        (``load_table(file, **result.reading).data``).
    **options : DataOptions
        How they become a matrix, as in `solve`. By default as the certificate says, where there is one.

    Returns
    -------
    MarkerPanel
        What `project` scores other samples by.

    Raises
    ------
    InvalidDataError
        Where the genotypes are not those of the result, or are prepared otherwise.
    CertificateError
        Where a certificate does not hold for them.

    See Also
    --------
    save_markers : Write it as a table.
    project : Score samples.

    Examples
    --------
    >>> import certpca, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "example"
    >>> certpca.write_plink(file, certpca.balding_nichols(60, 30).data)
    >>> genotypes = certpca.read_plink(file)
    >>> panel = certpca.marker_panel(certpca.solve(genotypes, 4, certify=True), genotypes)
    >>> panel.size, panel.n_components
    (4, 1)
    """
    found = result.components if isinstance(result, ComponentSet) else (result,)
    variants = getattr(data, "variants", None)
    if variants is None:
        msg = f"markers are of genotypes, from read_plink or read_pgen (.bed, .pgen), got {type(data).__name__}"
        raise InvalidDataError(msg)
    if data.shape[1] != found[0].size:
        msg = (
            f"the result is about {found[0].size:,} variants, the genotypes have {data.shape[1]:,}; read them with the "
            "filters of the result, as load_table(file, **result.reading) and certpca markers do"
        )
        raise InvalidDataError(msg)
    operator = as_operator(data, **(options or _as_certified(result, data.shape[0])))
    _refuse_other_data(result, found, operator)
    support = support_of(result)
    loadings = np.stack([part.component[support] for part in found], axis=1)
    proved = np.full(loadings.shape, UNKNOWN, dtype=np.int8)
    deflation = result.deflation if isinstance(result, ComponentSet) else None
    for number, part in enumerate(found):
        if part.certificate is not None:
            problem = remaining_problem(operator, found[:number], deflation)
            proved[:, number] = np.isin(support, in_every_optimum(verify(part.certificate, problem), problem))
    if isinstance(result, ComponentSet) and result.certificate is not None:
        verify(result.certificate, operator)
    chosen = variants.take(support)
    means, weights = operator.standardised_by(support)
    return MarkerPanel(
        chosen.names,
        chosen.chromosomes,
        chosen.positions,
        chosen.counted,
        chosen.other,
        means,
        weights,
        loadings,
        proved,
    )


def in_every_optimum(proof: Proof, problem: Operator) -> Indices:
    """Return the features that are in every best choice: those the checker found, and those its exclusions leave.

    Every best choice is among the features that are not proved to be in none. One without some feature of these
    captures at most the largest eigenvalue of the matrix on the others; where that is less than what is captured, by
    more than any rounding, the feature is in every best choice.
    """
    left = np.setdiff1d(np.arange(proof.size), proof.outside)
    if left.size > MOST_LEFT:
        return proof.inside
    matrix, found = problem.submatrix(left), set(proof.inside.tolist())
    for place, feature in enumerate(left.tolist()):
        rest = np.delete(np.arange(left.size), place)
        without = float(np.linalg.eigvalsh(matrix[np.ix_(rest, rest)])[-1]) if rest.size else 0.0
        if without < (1 - MARGIN) * proof.objective:
            found.add(feature)
    return np.array(sorted(found), dtype=np.intp)


def support_of(result: Solution | ComponentSet) -> Indices:
    """Return the features of all components."""
    found = result.components if isinstance(result, ComponentSet) else (result,)
    return np.unique(np.concatenate([part.support for part in found]))


def _as_certified(result: Solution | ComponentSet, rows: int) -> dict[str, Any]:
    """Return how data become a matrix where a certificate of the whole matrix says so."""
    found = result.components if isinstance(result, ComponentSet) else (result,)
    own = result.certificate or found[0].certificate
    if own is None:
        return {}
    said = own.normalisation
    if said.get("kind") != "data":
        msg = "the result is of a matrix, not of genotypes: its markers cannot be scored"
        raise InvalidProblemError(msg)
    ddof = rows - round(said["divisor"])
    if ddof < 0:
        msg = f"the result is of more samples than the {rows:,} of the genotypes; read them as they were read for it"
        raise InvalidDataError(msg)
    return {
        "center": said["center"],
        "scale": said["scale"],
        "missing": "mean" if said["fill_missing"] else "error",
        "ddof": ddof,
    }


def _refuse_other_data(result: Solution | ComponentSet, found: tuple[Solution, ...], operator: Operator) -> None:
    """Recompute what components capture."""
    for number, part in enumerate(found):
        told = result.explained_variance[number] if isinstance(result, ComponentSet) else part.objective
        captured = operator.quadratic_form(part.support, part.loadings)
        if not math.isclose(captured, float(told), rel_tol=SAME) or not math.isclose(
            float(np.linalg.norm(part.loadings)), 1.0, rel_tol=SAME
        ):
            msg = (
                f"component {number + 1} captures {captured:.6g} of these genotypes and not {float(told):.6g} as the "
                "result says; they are others, or become a matrix in another way (scale, missing: --hardy-weinberg, "
                "--correlation, --missing mean)"
            )
            raise InvalidDataError(msg)
