"""Several components on disk: one JSON file, with the certificates of the set or of its steps beside it."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from certpca.results.codec import status_named
from certpca.results.component_set import GREEDY, TOGETHER, ComponentSet
from certpca.results.field_checks import Check, either, fields, list_of, null, number, one_of, refuse, text
from certpca.results.files import ResultFiles, certificate_beside, loaded_certificate, loaded_solution
from certpca.results.json_files import damage_named, read_json
from certpca.results.schema import (
    COMPONENTS_FORMAT,
    LARGEST_VARIANCE,
    SOLUTION,
    SOLUTION_FORMATS,
    check_solution,
)
from certpca.results.set_certificate import SetCertificate
from certpca.results.set_codec import MOST_COMPONENTS
from certpca.results.solution import Solution

_VARIANCES = list_of(number(0.0, LARGEST_VARIANCE), MOST_COMPONENTS, 1)
COMPONENTS = fields(
    {
        "format": one_of(COMPONENTS_FORMAT),
        "together": one_of(*TOGETHER),
        "deflation": either(null, text(64)),
        "explained_variance": _VARIANCES,
        "adjusted_variance": _VARIANCES,
        "total_variance": number(0.0, LARGEST_VARIANCE),
        "trace": number(0.0, LARGEST_VARIANCE),
        "status": text(64, "[A-Z_]+", "the name of a status"),
        "seconds": number(0.0),
        "components": list_of(Check(check_solution, SOLUTION.schema), MOST_COMPONENTS, 1),
    },
)


def save_components(components: ComponentSet, path: str | Path) -> None:
    """Write components to a JSON file, and their certificate, if they have one, to files beside it.

    Parameters
    ----------
    components : ComponentSet
        What to write; the data stay where they are.
    path : path_like
        The JSON file; it appears whole or not at all.

    Raises
    ------
    DataFileError
        Where it cannot be written.

    See Also
    --------
    load_components : Read them again.
    save_certificate : The certificate alone.

    Examples
    --------
    >>> import certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "components.json"
    >>> certpca.save_components(certpca.decompose(certpca.pitprops(), 2, 3), file)
    >>> len(certpca.load_components(file).components)
    2
    """
    target = Path(path)
    files = ResultFiles(target)
    solutions = [
        files.solution(solution, target.with_suffix(f".{number}.certificate.json"))
        for number, solution in enumerate(components.components, start=1)
    ]
    record = {**components_to_dict(components), "components": solutions}
    if components.certificate is not None:
        record["certificate"] = files.certificate(components.certificate, certificate_beside(target))
    files.write(record)


def components_to_dict(components: ComponentSet) -> dict[str, Any]:
    """Return what is said of the set as plain JSON values; what is not finite becomes null."""
    return {
        "format": COMPONENTS_FORMAT,
        "together": components.together,
        "deflation": components.deflation,
        "sparsities": list(components.sparsities),
        "objective": components.objective,
        "upper_bound": components.upper_bound if math.isfinite(components.upper_bound) else None,
        "gap": components.gap if math.isfinite(components.gap) else None,
        "explained_variance": components.explained_variance.tolist(),
        "adjusted_variance": components.adjusted_variance.tolist(),
        "total_variance": components.total_variance,
        "trace": components.trace,
        "status": components.status.name,
        "message": components.status.value,
        "seconds": components.seconds,
        "reading": dict(components.reading),
    }


def load_components(path: str | Path) -> ComponentSet:
    """Read components written by `save_components`. Reading proves nothing: `verify` does.

    Parameters
    ----------
    path : path_like
        The JSON file.

    Returns
    -------
    ComponentSet
        As they were saved, with their certificate where they have one.

    Raises
    ------
    DataFileError
        Where there is no such file, or it is damaged, or something else.

    See Also
    --------
    save_components : Write them.
    verify : Check their certificate against data.

    Examples
    --------
    >>> import certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "components.json"
    >>> certpca.save_components(certpca.decompose(certpca.pitprops(), 2, 3, together="disjoint"), file)
    >>> certpca.load_components(file).together
    'disjoint'
    """
    file = Path(path)
    return _loaded_components(file, read_json(file, COMPONENTS_FORMAT, "components"))


def load_result(path: str | Path) -> Solution | ComponentSet:
    """Read a solution or several components, whichever a file holds."""
    file = Path(path)
    record = read_json(file, (*SOLUTION_FORMATS, COMPONENTS_FORMAT), "a solution or components")
    several = record["format"] == COMPONENTS_FORMAT
    return _loaded_components(file, record) if several else loaded_solution(file, record)


def _loaded_components(file: Path, record: dict[str, Any]) -> ComponentSet:
    with damage_named(file):
        _check(record)
        solutions = tuple(loaded_solution(file, part) for part in record["components"])
        held = record.get("certificate")
        certificate = None if held is None else loaded_certificate(file, held)
        if certificate is not None and not isinstance(certificate, SetCertificate):
            refuse("certificate", "that of several components", held)
        return ComponentSet(
            components=solutions,
            explained_variance=np.array(record["explained_variance"], dtype=np.float64),
            adjusted_variance=np.array(record["adjusted_variance"], dtype=np.float64),
            total_variance=float(record["total_variance"]),
            trace=float(record["trace"]),
            together=record["together"],
            deflation=record["deflation"],
            status=status_named(record["status"]),
            seconds=float(record["seconds"]),
            certificate=certificate if isinstance(certificate, SetCertificate) else None,
        )


def _check(record: dict[str, Any]) -> None:
    """Refuse fields of components that none have."""
    COMPONENTS(record, "")
    count = len(record["components"])
    for name in ("explained_variance", "adjusted_variance"):
        if len(record[name]) != count:
            refuse(name, f"one for each of {count} components", record[name])
    if len({part["size"] for part in record["components"]}) > 1:
        refuse("components", "about the same number of features", record["components"])
    if (record["together"] == GREEDY) != (record["deflation"] is not None):
        refuse("deflation", "there for greedy components and for no others", record["deflation"])
