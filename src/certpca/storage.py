"""Solutions, paths and certificates on disk: JSON, and NPZ for the evidence. Files are written whole or not at all."""

import contextlib
import json
import math
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from certpca.budget import Step
from certpca.certificates.checker import Proof
from certpca.errors import DataFileError
from certpca.result import Certificate, Solution, Status

if TYPE_CHECKING:  # its module loads every solver, which reading one result needs not
    from certpca.sparsity_path import Path as SparsityPath

FORMAT = "certpca solution 1"
PATH_FORMAT = "certpca path 1"
CERTIFICATE_FORMAT = "certpca certificate 1"

# What reading nonsense can raise: wrong types and ranges, broken archives, absurd sizes and depths.
DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,  # NumPy and zipfile: unknown compression, too deep a nesting
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)


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


def solution_from_dict(fields: dict[str, Any], certificate: Certificate | None = None) -> Solution:
    """Make a solution from what `solution_to_dict` gave; a bound without its certificate is not believed."""
    names = fields["names"]
    support = np.array(fields["support"], dtype=np.intp)
    loadings = np.array(fields["loadings"], dtype=np.float64)
    if support.ndim != 1 or support.shape != loadings.shape:
        msg = f"support and loadings must be lists of one length, got shapes {support.shape} and {loadings.shape}"
        raise ValueError(msg)
    size = int(fields["size"])
    if support.size and not (support.min() >= 0 and support.max() < size):
        msg = f"support must lie in 0..{size - 1}, got {support.min()}..{support.max()}"
        raise ValueError(msg)
    if names is not None and len(names) != support.size:
        msg = f"there must be one name for each of {support.size} loadings, got {len(names)}"
        raise ValueError(msg)
    return Solution(
        support=support,
        names=None if names is None else tuple(str(name) for name in names),
        loadings=loadings,
        objective=float(fields["objective"]),
        explained_variance_ratio=float(fields["explained_variance_ratio"]),
        relative_objective=float(fields["relative_objective"]),
        size=size,
        sparsity=int(fields["sparsity"]),
        matrix=fields["matrix"],
        solver=fields["solver"],
        status=Status[fields["status"]],
        seconds=float(fields["seconds"]),
        refitted=fields["refitted"],
        history=tuple(Step(step[0], step[1], _number(step[2])) for step in fields["history"]),
        details=dict(fields["details"]),
        certificate=certificate,
    )


def save_solution(solution: Solution, path: str | Path) -> None:
    """Write a solution to a JSON file, and its certificate, if it has one, to files beside it.

    Examples
    --------
    >>> import certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "result.json"
    >>> certpca.save_solution(certpca.solve(certpca.pitprops(), 3), file)
    >>> certpca.load_solution(file).names
    ('topdiam', 'length', 'bowdist')
    """
    target = Path(path)
    write_text_whole(target, json.dumps(_stored_solution(solution, certificate_beside(target)), indent=1) + "\n")


def load_solution(path: str | Path) -> Solution:
    """Read a solution written by `save_solution`."""
    file = Path(path)
    return _loaded_solution(file, _read_json(file, FORMAT, "a solution"))


def certificate_beside(path: str | Path) -> Path:
    """Name the file that holds the certificate of a solution written to `path`."""
    return Path(path).with_suffix(".certificate.json")


def save_path(path: "SparsityPath", file: str | Path) -> None:
    """Write a path to a JSON file, and the certificates of its solutions to files beside it.

    Examples
    --------
    >>> import certpca, tempfile, pathlib
    >>> from certpca.storage import load_path, save_path
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "path.json"
    >>> save_path(certpca.path(certpca.pitprops(), [3, 5]), file)
    >>> load_path(file).sparsities.tolist()
    [3, 5]
    """
    target = Path(file)
    solutions = [
        _stored_solution(solution, target.with_suffix(f".{solution.sparsity}.certificate.json"))
        for solution in path.solutions
    ]
    fields = {"format": PATH_FORMAT, "seconds": path.seconds, "solutions": solutions}
    write_text_whole(target, json.dumps(fields, indent=1) + "\n")


def load_path(file: str | Path) -> "SparsityPath":
    """Read a path written by `save_path`. Reading proves nothing: `verify` does, certificate by certificate."""
    from certpca.sparsity_path import Path as SparsityPath

    source = Path(file)
    fields = _read_json(source, PATH_FORMAT, "a path")
    with _damage_named(source):
        solutions = tuple(_loaded_solution(source, part) for part in fields["solutions"])
        sparsities = [solution.sparsity for solution in solutions]
        if not solutions or sparsities != sorted(set(sparsities)):
            msg = f"the sparsities of a path must increase, got {sparsities}"
            raise ValueError(msg)
        return SparsityPath(solutions, float(fields["seconds"]))


def _stored_solution(solution: Solution, beside: Path) -> dict[str, Any]:
    """Return the fields of a solution once its certificate, if it has one, is written."""
    fields = solution_to_dict(solution)
    if solution.certificate is not None:
        save_certificate(solution.certificate, beside)
        fields["certificate"] = beside.name
    return fields


def _loaded_solution(file: Path, fields: dict[str, Any]) -> Solution:
    with _damage_named(file):
        beside = fields.get("certificate")
        certificate = load_certificate(file.parent / str(beside)) if beside else None
        return solution_from_dict(fields, certificate)


def certificate_to_dict(certificate: Certificate) -> dict[str, Any]:
    """Return everything but the evidence as plain JSON values."""
    return {
        "format": CERTIFICATE_FORMAT,
        "kind": certificate.kind,
        "sparsity": certificate.sparsity,
        "upper_bound": certificate.upper_bound,
        "objective": certificate.objective,
        "gap": certificate.gap,
        "features_in_no_optimum": certificate.outside,
        "features_in_every_optimum": certificate.inside,
        "matrix": certificate.matrix,
        "size": certificate.size,
        "normalisation": dict(certificate.normalisation),
        "fingerprint": certificate.fingerprint,
        "support": certificate.support.tolist(),
        "loadings": certificate.loadings.tolist(),
        "tree": certificate.tree,
        "seconds": certificate.seconds,
    }


def proof_to_dict(proof: Proof, certificate: Certificate) -> dict[str, Any]:
    """Return what the checker established as plain JSON values."""
    return {
        "proved": True,
        "kind": proof.kind,
        "sparsity": proof.sparsity,
        "upper_bound": proof.upper_bound,
        "claimed": certificate.upper_bound,
        "objective": proof.objective,
        "gap": proof.gap,
        "features_in_no_optimum": proof.outside.tolist(),
        "features_in_every_optimum": proof.inside.tolist(),
        "matrix": certificate.matrix,
    }


def save_certificate(certificate: Certificate, path: str | Path) -> None:
    """Write a certificate to a JSON file, and its evidence to an NPZ file of the same name."""
    target = Path(path)
    evidence = target.with_suffix(".npz")

    def write(stream: IO[bytes]) -> None:
        np.savez(
            stream, allow_pickle=False, **{name: np.asarray(value) for name, value in certificate.evidence.items()}
        )

    fields = certificate_to_dict(certificate)
    if certificate.evidence:
        _write_whole(evidence, write)
        fields["evidence"] = {"file": evidence.name, "digest": _digest(evidence)}
    write_text_whole(target, json.dumps(fields, indent=1) + "\n")


def load_certificate(path: str | Path) -> Certificate:
    """Read a certificate written by `save_certificate`. Reading proves nothing: `verify` does."""
    file = Path(path)
    fields = _read_json(file, CERTIFICATE_FORMAT, "a certificate")
    with _damage_named(file):
        evidence = _load_evidence(file, fields["evidence"]) if "evidence" in fields else {}
        return Certificate(
            kind=fields["kind"],
            size=fields["size"],
            sparsity=fields["sparsity"],
            upper_bound=float(fields["upper_bound"]),
            matrix=fields["matrix"],
            normalisation=dict(fields["normalisation"]),
            fingerprint=fields["fingerprint"],
            support=np.array(fields["support"], dtype=np.intp),
            loadings=np.array(fields["loadings"], dtype=np.float64),
            evidence=evidence,
            tree=fields["tree"],
            objective=float(fields["objective"]),
            outside=int(fields["features_in_no_optimum"]),
            inside=int(fields["features_in_every_optimum"]),
            seconds=float(fields["seconds"]),
        )


def _load_evidence(file: Path, entry: dict[str, str]) -> dict[str, Any]:
    beside = file.parent / entry["file"]
    if not beside.exists():
        msg = f"the evidence of {str(file)!r} is missing: there is no file {str(beside)!r}"
        raise DataFileError(msg)
    if _digest(beside) != entry["digest"]:
        msg = f"{str(beside)!r} is not the evidence that {str(file)!r} was written with"
        raise DataFileError(msg)
    # Opened here, so that it is closed even where NumPy cannot make sense of it.
    with beside.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _digest(file: Path) -> str:
    digest = blake2b(digest_size=20)
    with file.open("rb") as stream:
        while part := stream.read(1 << 24):
            digest.update(part)
    return digest.hexdigest()


def _read_json(file: Path, form: str, what: str) -> dict[str, Any]:
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        msg = f"there is no file {str(file)!r}"
        raise DataFileError(msg) from error
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        msg = f"{str(file)!r} cannot be read as {what}: {error}"
        raise DataFileError(msg) from error
    if not isinstance(fields, dict) or fields.get("format") != form:
        msg = f"{str(file)!r} is not {what} written by certpca ({form!r} is missing)"
        raise DataFileError(msg)
    return fields


@contextlib.contextmanager
def _damage_named(file: Path) -> Iterator[None]:
    try:
        yield
    except DataFileError:
        raise
    except DAMAGE as error:
        msg = f"{str(file)!r} is damaged: {error!r}"
        raise DataFileError(msg) from error


def write_text_whole(path: str | Path, text: str) -> None:
    """Write text so that a reader sees the old file or the new one."""
    _write_whole(Path(path), lambda stream: stream.write(text.encode()))


def write_bytes_whole(path: str | Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let a function write bytes so that a reader sees the old file or the new one."""
    _write_whole(Path(path), write)


def _write_whole(target: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write beside the target, then rename."""
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        msg = f"cannot write {str(target)!r}: {error.strerror or error}"
        raise DataFileError(msg) from error
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
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
