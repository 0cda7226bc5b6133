"""Solutions, paths and certificates on disk: JSON, and NPZ for the evidence. Files are written whole or not at all."""

import contextlib
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from certpca.certificates.checker import Proof
from certpca.errors import DataFileError
from certpca.plain_results import (
    CERTIFICATE_FORMAT,
    FORMAT,
    certificate_from_dict,
    certificate_to_dict,
    solution_from_dict,
    solution_to_dict,
)
from certpca.result import Certificate, Solution
from certpca.whole_files import Writer, write_bytes_whole, write_text_whole, write_together

if TYPE_CHECKING:  # its module loads every solver, which reading one result needs not
    from certpca.sparsity_path import Path as SparsityPath

__all__ = [
    "certificate_beside",
    "certificate_to_dict",
    "load_certificate",
    "load_path",
    "load_solution",
    "proof_to_dict",
    "save_certificate",
    "save_path",
    "save_solution",
    "solution_from_dict",
    "solution_to_dict",
    "write_bytes_whole",
    "write_text_whole",
]

PATH_FORMAT = "certpca path 1"

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
    fields, files = _parts(solution, certificate_beside(target))
    write_together([*files, (target, _json_writer(fields))])


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
    parts = [
        _parts(solution, target.with_suffix(f".{solution.sparsity}.certificate.json")) for solution in path.solutions
    ]
    fields = {"format": PATH_FORMAT, "seconds": path.seconds, "solutions": [solution for solution, _ in parts]}
    write_together([*(file for _, files in parts for file in files), (target, _json_writer(fields))])


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


def _parts(solution: Solution, beside: Path) -> tuple[dict[str, Any], list[tuple[Path, Writer]]]:
    """Return the fields of a solution, and the files of its certificate, if it has one."""
    fields = solution_to_dict(solution)
    if solution.certificate is None:
        return fields, []
    return {**fields, "certificate": beside.name}, _certificate_files(solution.certificate, beside)


def _loaded_solution(file: Path, fields: dict[str, Any]) -> Solution:
    with _damage_named(file):
        beside = fields.get("certificate")
        certificate = load_certificate(file.parent / str(beside)) if beside else None
        return solution_from_dict(fields, certificate)


def load_reading(path: str | Path) -> Any:
    """Return how the file behind a stored solution or certificate was read."""
    file = Path(path)
    try:
        fields = _read_json(file, FORMAT, "a solution")
    except DataFileError:
        fields = _read_json(file, CERTIFICATE_FORMAT, "a solution or a certificate")
    return fields.get("reading", {})


def proof_to_dict(proof: Proof, certificate: Certificate, reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the checker established as plain JSON values, and how the file was read for it."""
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
        "failure_probability": proof.failure_probability,
        "size": proof.size,
        "matrix": proof.matrix,
        "normalisation": dict(proof.normalisation),
        "reading": dict(reading),
    }


def save_certificate(certificate: Certificate, path: str | Path) -> None:
    """Write a certificate to a JSON file, and its evidence to an NPZ file of the same name."""
    write_together(_certificate_files(certificate, Path(path)))


def _certificate_files(certificate: Certificate, target: Path) -> list[tuple[Path, Writer]]:
    evidence = target.with_suffix(".npz")
    fields = certificate_to_dict(certificate)

    def write(stream: IO[bytes]) -> None:
        arrays = {name: np.asarray(value) for name, value in certificate.evidence.items()}
        np.savez(stream, allow_pickle=False, **arrays)
        stream.seek(0)
        fields["evidence"] = {"file": evidence.name, "digest": _digest_of(stream)}

    return [*([(evidence, write)] if certificate.evidence else []), (target, _json_writer(fields))]


def _json_writer(fields: dict[str, Any]) -> Writer:
    return lambda stream: stream.write((json.dumps(fields, indent=1) + "\n").encode())


def load_certificate(path: str | Path) -> Certificate:
    """Read a certificate written by `save_certificate`. Reading proves nothing: `verify` does."""
    file = Path(path)
    fields = _read_json(file, CERTIFICATE_FORMAT, "a certificate")
    with _damage_named(file):
        evidence = _load_evidence(file, fields["evidence"]) if "evidence" in fields else {}
        return certificate_from_dict(fields, evidence)


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
    with file.open("rb") as stream:
        return _digest_of(stream)


def _digest_of(stream: IO[bytes]) -> str:
    digest = blake2b(digest_size=20)
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
