"""Solutions, paths and certificates on disk: JSON, and NPZ for the evidence. Files are written whole or not at all."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from certpca.results.certificate import Certificate
from certpca.results.codec import certificate_from_dict, certificate_to_dict, solution_from_dict, solution_to_dict
from certpca.results.evidence import (
    RULES,
    SET_RULES,
    all_evidence,
    digest_of_file,
    evidence_name,
    first_evidence,
    read_evidence,
    write_evidence,
)
from certpca.results.json_files import damage_named, json_writer, read_json
from certpca.results.path import Path as SparsityPath
from certpca.results.schema import (
    CERTIFICATE_FORMAT,
    COMPONENTS_FORMAT,
    CONSTRAINED_CERTIFICATE_FORMAT,
    PATH_FORMAT,
    SOLUTION_FORMATS,
    check_certificate,
    check_path,
    check_reading,
    check_solution,
)
from certpca.results.set_certificate import SetCertificate
from certpca.results.set_codec import (
    SET_FORMAT,
    check_set_certificate,
    set_certificate_from_dict,
    set_certificate_to_dict,
)
from certpca.results.solution import Solution
from certpca.runtime.atomic_write import Target, Writer, write_together
from certpca.runtime.errors import CertpcaError

CERTIFICATE_FORMATS = (CERTIFICATE_FORMAT, CONSTRAINED_CERTIFICATE_FORMAT, SET_FORMAT)
RESULT_FORMATS = (*SOLUTION_FORMATS, COMPONENTS_FORMAT, *CERTIFICATE_FORMATS)


def save_solution(solution: Solution, path: str | Path) -> None:
    """Write a solution to a JSON file, and its certificate, if it has one, to files beside it.

    Parameters
    ----------
    solution : Solution
        What to write.
    path : path_like
        The JSON file; it appears whole or not at all.

    Raises
    ------
    DataFileError
        Where it cannot be written.

    See Also
    --------
    load_solution : Read it again.
    save_certificate : The certificate alone.

    Examples
    --------
    >>> import certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "result.json"
    >>> certpca.save_solution(certpca.solve(certpca.pitprops(), 3), file)
    >>> certpca.load_solution(file).names
    ('topdiam', 'length', 'bowdist')
    """
    target = Path(path)
    files = ResultFiles(target)
    files.write(files.solution(solution, certificate_beside(target)))


def load_solution(path: str | Path) -> Solution:
    """Read a solution written by `save_solution`. Reading proves nothing: `verify` does.

    Parameters
    ----------
    path : path_like
        The JSON file.

    Returns
    -------
    Solution
        As it was saved, with its certificate where it has one.

    Raises
    ------
    DataFileError
        Where there is no such file, or it is damaged, or something else.

    See Also
    --------
    save_solution : Write it.
    verify : Check its certificate against data.

    Examples
    --------
    >>> import certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "result.json"
    >>> certpca.save_solution(certpca.solve(certpca.pitprops(), 3), file)
    >>> certpca.load_solution(file).sparsity
    3
    """
    file = Path(path)
    return loaded_solution(file, read_json(file, SOLUTION_FORMATS, "a solution"))


def certificate_beside(path: str | Path) -> Path:
    """Name the file that holds the certificate of a solution written to `path`."""
    return Path(path).with_suffix(".certificate.json")


def _beside_path(path: Path, sparsity: int) -> Path:
    return path.with_suffix(f".{sparsity}.certificate.json")


def save_path(path: SparsityPath, file: str | Path) -> None:
    """Write a path to a JSON file, and the certificates of its solutions to files beside it.

    Parameters
    ----------
    path : Path
        What to write.
    file : path_like
        The JSON file; it appears whole or not at all.

    Raises
    ------
    DataFileError
        Where it cannot be written.

    See Also
    --------
    load_path : Read it again.

    Examples
    --------
    >>> import certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "path.json"
    >>> certpca.save_path(certpca.path(certpca.pitprops(), [3, 5]), file)
    >>> certpca.load_path(file).sparsities.tolist()
    [3, 5]
    """
    write_path(path, file)


def write_path(path: SparsityPath, file: str | Path, **more: Any) -> None:
    """Write a path with more fields, which `load_path` passes over."""
    target = Path(file)
    files = ResultFiles(target)
    solutions = [files.solution(solution, _beside_path(target, solution.sparsity)) for solution in path.solutions]
    files.write({**path_head(path), **more, "solutions": solutions})


def path_head(path: SparsityPath) -> dict[str, Any]:
    """Return what is said of a path as a whole, as plain JSON values."""
    return {"format": PATH_FORMAT, "seconds": path.seconds}


def load_path(file: str | Path) -> SparsityPath:
    """Read a path written by `save_path`. Reading proves nothing: `verify` does, certificate by certificate.

    Parameters
    ----------
    file : path_like
        The JSON file.

    Returns
    -------
    Path
        As it was saved, with its certificates where it has some.

    Raises
    ------
    DataFileError
        Where there is no such file, or it is damaged, or something else.

    See Also
    --------
    save_path : Write it.

    Examples
    --------
    >>> import certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "path.json"
    >>> certpca.save_path(certpca.path(certpca.pitprops(), [2, 4]), file)
    >>> len(certpca.load_path(file).solutions)
    2
    """
    source = Path(file)
    fields = read_json(source, PATH_FORMAT, "a path")
    with damage_named(source):
        check_path(fields)
        solutions = tuple(loaded_solution(source, part) for part in fields["solutions"])
        return SparsityPath(solutions, float(fields["seconds"]))


def loaded_solution(file: Path, fields: dict[str, Any]) -> Solution:
    """Return the solution that fields of a file hold."""
    with damage_named(file):
        check_solution(fields)
        held = fields.get("certificate")
        if isinstance(held, str):  # earlier versions only named the file it is in
            held = read_json(file.parent / held, CERTIFICATE_FORMAT, "a certificate", named=True)
        return solution_from_dict(fields, None if held is None else _certificate_of_one(file, held))


def load_reading(path: str | Path) -> Any:
    """Return how the file behind stored solutions, components or a certificate was read."""
    file = Path(path)
    fields = read_json(file, RESULT_FORMATS, "a solution, components or a certificate")
    with damage_named(file):
        check_reading(fields.get("reading", {}))
    return fields.get("reading", {})


def save_certificate(certificate: Certificate | SetCertificate, path: str | Path) -> None:
    """Write a certificate to a JSON file, and its evidence to an NPZ file beside it that is named after its content.

    Parameters
    ----------
    certificate : Certificate or SetCertificate
        What to write.
    path : path_like
        The JSON file; it appears whole or not at all.

    Raises
    ------
    DataFileError
        Where it cannot be written.

    See Also
    --------
    load_certificate : Read it again.
    verify : Check it against data.

    Examples
    --------
    >>> import certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "certificate.json"
    >>> certpca.save_certificate(certpca.certify(certpca.pitprops(), 3), file)
    >>> file.exists()
    True
    """
    target = Path(path)
    files = ResultFiles(target)
    files.certificate(certificate, target)
    files.write()


class ResultFiles:
    """The files of a result: evidence, then the certificates that refer to it, and last the result, which holds them.

    Evidence of other content has another name, so that what is there already stays whole until one rename replaces it
    together with its evidence. What nobody refers to any more is removed after that.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._parts: list[tuple[Target, Writer]] = []
        self._certificates: list[Path] = []
        self._used: set[str] = set()

    def solution(self, solution: Solution, beside: Path) -> dict[str, Any]:
        """Add the certificate of a solution, and return fields that hold it too."""
        fields = solution_to_dict(solution)
        if solution.certificate is None:
            return fields
        return {**fields, "certificate": self.certificate(solution.certificate, beside)}

    def certificate(self, certificate: Certificate | SetCertificate, beside: Path) -> dict[str, Any]:
        """Add a certificate, and return its fields, which are complete once its evidence is written."""
        if isinstance(certificate, SetCertificate):
            fields = set_certificate_to_dict(certificate)
        else:
            fields = certificate_to_dict(certificate)

        def write(stream: IO[bytes]) -> None:
            digest = write_evidence(stream, certificate.evidence)
            fields["evidence"] = {"file": evidence_name(self._target, digest), "digest": digest}
            self._used.add(fields["evidence"]["file"])

        if certificate.evidence:
            self._parts.append((lambda: beside.parent / fields["evidence"]["file"], write))
        self._parts.append((beside, json_writer(fields)))
        self._certificates.append(beside)
        return fields

    def write(self, fields: dict[str, Any] | None = None) -> None:
        """Write everything, the fields given last, and remove what that supersedes."""
        last = [] if fields is None else [(self._target, json_writer(fields))]
        old = [file for file in self._certificates if first_evidence(file).exists() and _names_first_evidence(file)]
        write_together([*self._parts, *last], lambda: [*map(first_evidence, old), *self._superseded()])

    def _superseded(self) -> Iterator[Path]:
        """List evidence that is not used any more, and certificates of the earlier result that need it."""
        folder = self._target.parent
        gone = all_evidence(self._target) - self._used
        earlier = re.compile(rf"{re.escape(self._target.stem)}(\.\d+)?\.certificate\.json")
        for file in folder.iterdir() if gone else ():
            others = earlier.fullmatch(file.name) and file not in self._certificates
            if others and _evidence_of(file).get("file") in gone:
                yield file
        for certificate in self._certificates:
            gone |= all_evidence(certificate) - self._used
        yield from (folder / name for name in gone)


def _names_first_evidence(file: Path) -> bool:
    """Say whether a certificate of an earlier version needs what lies there under its own name."""
    entry = _evidence_of(file)
    return entry.get("file") == first_evidence(file).name and digest_of_file(first_evidence(file)) == entry["digest"]


def _evidence_of(file: Path) -> dict[str, str]:
    """Return what a certificate that is there already says about its evidence."""
    with contextlib.suppress(CertpcaError):
        fields = read_json(file, CERTIFICATE_FORMATS, "a certificate", named=True)
        (check_set_certificate if fields["format"] == SET_FORMAT else check_certificate)(fields)
        return dict(fields.get("evidence", {}))
    return {}


def load_certificate(path: str | Path) -> Certificate | SetCertificate:
    """Read a certificate written by `save_certificate`. Reading proves nothing: `verify` does.

    Parameters
    ----------
    path : path_like
        The JSON file; its evidence lies beside it.

    Returns
    -------
    Certificate or SetCertificate
        As it was saved.

    Raises
    ------
    DataFileError
        Where there is no such file, or it is damaged, or something else.

    See Also
    --------
    save_certificate : Write it.
    verify : Check it against data.

    Examples
    --------
    >>> import certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "certificate.json"
    >>> certpca.save_certificate(certpca.certify(certpca.pitprops(), 3), file)
    >>> certpca.verify(certpca.load_certificate(file), certpca.pitprops()).sparsity
    3
    """
    file = Path(path)
    beside = certificate_beside(file)  # where it is a result
    hint = f"; you may want {str(beside)!r}" if beside.is_file() else ""
    return loaded_certificate(file, read_json(file, CERTIFICATE_FORMATS, "a certificate", hint=hint))


def loaded_certificate(file: Path, fields: dict[str, Any]) -> Certificate | SetCertificate:
    """Return the certificate that fields of a file hold, of one component or of several."""
    if fields.get("format") != SET_FORMAT:
        return _certificate_of_one(file, fields)
    with damage_named(file):
        check_set_certificate(fields)
        return set_certificate_from_dict(fields, _loaded_evidence(file, fields, SET_RULES))


def _certificate_of_one(file: Path, fields: dict[str, Any]) -> Certificate:
    with damage_named(file):
        check_certificate(fields)
        return certificate_from_dict(fields, _loaded_evidence(file, fields, RULES))


def _loaded_evidence(file: Path, fields: dict[str, Any], declared: str) -> dict[str, Any]:
    entry = fields.get("evidence")
    if entry is None:
        return {}
    return read_evidence(file.parent, entry["file"], entry["digest"], fields["kind"], fields["size"], declared=declared)
