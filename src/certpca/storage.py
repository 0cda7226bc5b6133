"""Solutions on disk, as JSON. Files are written whole or not at all."""

import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from certpca.budget import Step
from certpca.errors import DataFileError
from certpca.result import Solution, Status

FORMAT = "certpca solution 1"


def solution_to_dict(solution: Solution) -> dict[str, Any]:
    """Return the fields of a solution as plain JSON values; infinity becomes null."""
    return {
        "format": FORMAT,
        "support": solution.support.tolist(),
        "names": None if solution.names is None else list(solution.names),
        "loadings": solution.loadings.tolist(),
        "objective": solution.objective,
        "explained_variance_ratio": solution.explained_variance_ratio,
        "relative_objective": solution.relative_objective,
        "upper_bound": _finite(solution.upper_bound),
        "gap": _finite(solution.gap) if math.isfinite(solution.upper_bound) else None,
        "size": solution.size,
        "sparsity": solution.sparsity,
        "matrix": solution.matrix,
        "solver": solution.solver,
        "status": solution.status.name,
        "message": solution.status.value,
        "seconds": solution.seconds,
        "refitted": solution.refitted,
        "history": [[step.seconds, step.objective, _finite(step.upper_bound)] for step in solution.history],
        "details": {name: float(value) for name, value in solution.details.items()},
    }


def solution_from_dict(fields: dict[str, Any]) -> Solution:
    """Make a solution from what `solution_to_dict` gave."""
    names = fields["names"]
    support = np.array(fields["support"], dtype=np.intp)
    loadings = np.array(fields["loadings"], dtype=np.float64)
    if support.ndim != 1 or support.shape != loadings.shape:
        msg = f"support and loadings must be lists of one length, got shapes {support.shape} and {loadings.shape}"
        raise ValueError(msg)
    return Solution(
        support=support,
        names=None if names is None else tuple(names),
        loadings=loadings,
        objective=float(fields["objective"]),
        explained_variance_ratio=float(fields["explained_variance_ratio"]),
        relative_objective=float(fields["relative_objective"]),
        size=int(fields["size"]),
        sparsity=int(fields["sparsity"]),
        matrix=fields["matrix"],
        solver=fields["solver"],
        status=Status[fields["status"]],
        seconds=float(fields["seconds"]),
        refitted=fields["refitted"],
        history=tuple(Step(step[0], step[1], _number(step[2])) for step in fields["history"]),
        details=dict(fields["details"]),
        upper_bound=_number(fields["upper_bound"]),
    )


def save_solution(solution: Solution, path: str | Path) -> None:
    """Write a solution to a JSON file.

    Examples
    --------
    >>> import certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "result.json"
    >>> certpca.save_solution(certpca.solve(certpca.pitprops(), 3), file)
    >>> certpca.load_solution(file).names
    ('topdiam', 'length', 'bowdist')
    """
    write_text_whole(path, json.dumps(solution_to_dict(solution), indent=1) + "\n")


def load_solution(path: str | Path) -> Solution:
    """Read a solution written by `save_solution`."""
    file = Path(path)
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        msg = f"there is no file {str(file)!r}"
        raise DataFileError(msg) from error
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        msg = f"{str(file)!r} cannot be read as a solution: {error}"
        raise DataFileError(msg) from error
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        msg = f"{str(file)!r} is not a solution written by certpca ({FORMAT!r} is missing)"
        raise DataFileError(msg)
    try:
        return solution_from_dict(fields)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        msg = f"{str(file)!r} is damaged: {error!r}"
        raise DataFileError(msg) from error


def write_text_whole(path: str | Path, text: str) -> None:
    """Write beside the target, then rename: a reader sees the old file or the new one."""
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        msg = f"cannot write {str(target)!r}: {error.strerror or error}"
        raise DataFileError(msg) from error
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        mask = os.umask(0)
        os.umask(mask)
        part.chmod(0o666 & ~mask)  # temporary files are private; results are as open as the user wants
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        msg = f"cannot write {str(target)!r}: {error.strerror or error}"
        raise DataFileError(msg) from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: float | None) -> float:
    return math.inf if value is None else float(value)
