"""Evidence is a plain file beside its certificate, and is read only where it can be what it says."""

import io
import json
import os
import threading
import zipfile
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca import Certificate
from certpca.frontends.cli.main import main
from certpca.results import evidence as files
from certpca.runtime.errors import DataFileError

ROWS, SIZE = 6, 9
TRIANGLE = ROWS * (ROWS + 1) // 2


@pytest.fixture(scope="module")
def data() -> np.ndarray:
    return np.asarray(np.random.default_rng(1).standard_normal((ROWS, SIZE)))


@pytest.fixture(scope="module")
def certificate(data: np.ndarray) -> Certificate:
    plain = certpca.certify(data, 3, target_gap=0.5, branching=False)
    density = np.eye(ROWS)[np.tril_indices(ROWS)].astype(np.float32) / ROWS
    return replace(plain, kind="l0-dual", evidence={"density": density, "level": np.float64(0.1)}, outside=0, inside=0)


@pytest.fixture
def file(certificate: Certificate, data: np.ndarray, tmp_path: Path) -> Path:
    certpca.save_certificate(replace(certificate, upper_bound=1e3), tmp_path / "a.json")
    np.save(tmp_path / "data.npy", data)
    return tmp_path / "a.json"


def digest(content: bytes) -> str:
    return blake2b(content, digest_size=20).hexdigest()


def name_evidence(certificate: Path, **entry: Any) -> None:
    fields = json.loads(certificate.read_text())
    certificate.write_text(json.dumps({**fields, "evidence": {**fields["evidence"], **entry}}))


def put_evidence(file: Path, content: bytes, name: str = "forged.npz") -> None:
    (file.parent / name).write_bytes(content)
    name_evidence(file, file=name, digest=digest(content))


def archived(compression: int = zipfile.ZIP_STORED, **arrays: Any) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, value in arrays.items():
            content = io.BytesIO()
            np.save(content, np.asarray(value), allow_pickle=True)
            archive.writestr(f"{name}.npy", content.getvalue())
    return stream.getvalue()


def test_evidence_is_read_as_it_was_written(file: Path, certificate: Certificate, data: np.ndarray) -> None:
    back = certpca.load_certificate(file)
    for name, value in certificate.evidence.items():
        np.testing.assert_array_equal(back.evidence[name], value)
    assert certpca.verify(back, data).upper_bound <= 1e3
    assert main(["verify", str(file), str(file.parent / "data.npy")]) == 0


@pytest.mark.parametrize(
    "name",
    ["/dev/zero", "../x", "../a.npz", "sub/x.npz", "..", ".", "", "a\x00b", "C:x", "\\\\host\\x", "x" * 300, "a\nb"],
)
def test_evidence_is_a_plain_name_beside_the_certificate(file: Path, name: str, capsys: Any) -> None:
    name_evidence(file, file=name)
    with pytest.raises(DataFileError, match=r"evidence\.file must be"):
        certpca.load_certificate(file)
    assert main(["verify", str(file), str(file.parent / "data.npy")]) == 2
    assert "evidence.file must be" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files here")
def test_evidence_is_a_regular_file(file: Path) -> None:
    """Devices are endless and pipes wait for ever: neither may be read, or opened in a way that waits."""
    (file.parent / "zero").symlink_to("/dev/zero")
    os.mkfifo(file.parent / "pipe")
    (file.parent / "folder").mkdir()
    (file.parent / "loop").symlink_to("loop")
    finished = threading.Event()

    def load() -> None:
        for name, why in (
            ("zero", "regular"),
            ("pipe", "regular"),
            ("folder", "folder"),
            ("loop", "loop"),
            ("nothing", "there is no file"),
        ):
            name_evidence(file, file=name)
            with pytest.raises(DataFileError, match=why):
                certpca.load_certificate(file)
        finished.set()

    worker = threading.Thread(target=load, daemon=True)
    worker.start()
    worker.join(60)
    assert finished.is_set()


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such files here")
def test_a_certificate_named_by_a_result_is_a_regular_file_too(tmp_path: Path, data: np.ndarray) -> None:
    certpca.save_solution(certpca.solve(data, 3), tmp_path / "r.json")
    fields = json.loads((tmp_path / "r.json").read_text())
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    for name, why in (("zero.json", "regular"), ("/dev/zero", "must be"), ("../x.json", "must be")):
        (tmp_path / "r.json").write_text(json.dumps({**fields, "certificate": name}))
        with pytest.raises(DataFileError, match=why):
            certpca.load_solution(tmp_path / "r.json")


def bomb() -> bytes:
    """Little that unpacks to much."""
    return archived(zipfile.ZIP_DEFLATED, density=np.zeros(200_000_000 // 8), level=1.0)


def overlapping() -> bytes:
    """A list of contents in which every array takes the whole file."""
    content = bytearray(archived(density=np.zeros(TRIANGLE), level=1.0))
    place = content.index(b"PK\x01\x02")
    while content[place : place + 4] == b"PK\x01\x02":
        content[place + 20 : place + 28] = 2 * (len(content) - 10).to_bytes(4, "little")  # packed and unpacked
        place += 46 + int.from_bytes(content[place + 28 : place + 30], "little")
    return bytes(content)


def encrypted() -> bytes:
    """A list of contents that says its first array needs a password."""
    content = bytearray(archived(density=np.zeros(TRIANGLE), level=1.0))
    for place, flag in ((content.index(b"PK\x01\x02"), 8), (content.index(b"PK\x03\x04"), 6)):
        content[place + flag] |= 1
    return bytes(content)


def longer_than_it_says() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.zeros(3))
    content = stream.getvalue().replace(b"(3,)", b"(9,)")
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("density.npy", content)
    return whole.getvalue()


def with_header(header: str) -> bytes:
    text = header.encode().ljust(117) + b"\n"
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("density.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    return whole.getvalue()


FORGED: dict[str, tuple[Callable[[], bytes], str]] = {
    "a bomb": (bomb, "compressed"),
    "arrays that share their bytes": (overlapping, "overlap"),
    "a password": (encrypted, "encrypted"),
    "no archive": (lambda: b"not an archive", "damaged"),
    "nothing": (lambda: b"", "damaged"),
    "a pickle": (lambda: archived(density=np.array([{}], dtype=object), level=1.0), "type object"),
    "text": (lambda: archived(density=np.array(["1"]), level=1.0), "type"),
    "complex numbers": (lambda: archived(density=np.zeros(3, dtype=complex), level=1.0), "type complex"),
    "half precision": (lambda: archived(density=np.zeros(3, dtype=np.float16), level=1.0), "type float16"),
    "wide floats": (lambda: archived(density=np.zeros(3, dtype=np.longdouble), level=1.0), "type"),
    "another byte order": (lambda: archived(density=np.zeros(3, dtype=">f8"), level=1.0), "type"),
    "whole numbers for floats": (lambda: archived(density=np.zeros(3, dtype=int), level=1.0), "type int"),
    "records": (lambda: archived(density=np.zeros(3, dtype=[("a", "f8")]), level=1.0), "type"),
    "too many numbers": (
        lambda: archived(density=np.zeros(SIZE * (SIZE + 1) // 2 + 1), level=1.0),
        "does not fit 9 features",
    ),
    "too many axes": (lambda: archived(density=np.zeros((3, 3)), level=1.0), "shape"),
    "a level that is a list": (lambda: archived(density=np.zeros(TRIANGLE), level=np.zeros(3)), "shape"),
    "an array nobody asked for": (lambda: archived(density=np.zeros(3), level=1.0, spare=np.zeros(3)), "'spare.npy'"),
    "an array of another kind": (lambda: archived(matrix=np.zeros(3), level=1.0), "'matrix.npy'"),
    "a name with folders": (
        lambda: archived(zipfile.ZIP_STORED, **{"../density": np.zeros(3)}),
        "no certificate of kind",
    ),
    "a length that is not true": (longer_than_it_says, "not as long as it says"),
    "a negative shape": (
        lambda: with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }"),
        "refused|damaged",
    ),
    "an absurd shape": (
        lambda: with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (10**18,), }"),
        "refused|damaged",
    ),
    "a header that is code": (lambda: with_header("__import__('os').getpid()"), "damaged"),
    "a header that is too deep": (lambda: with_header("(" * 100), "damaged"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_evidence_is_refused_before_it_is_unpacked(name: str, file: Path, capsys: Any) -> None:
    forged, why = FORGED[name]
    put_evidence(file, forged())
    with pytest.raises(DataFileError, match=why):
        certpca.load_certificate(file)
    assert main(["verify", str(file), str(file.parent / "data.npy")]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_bomb_takes_no_memory(file: Path) -> None:
    import tracemalloc

    content = archived(zipfile.ZIP_DEFLATED, density=np.zeros(400_000_000 // 8), level=1.0)
    assert len(content) < 1_000_000
    put_evidence(file, content)
    tracemalloc.start()
    with pytest.raises(DataFileError, match="compressed"):
        certpca.load_certificate(file)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 40_000_000


def test_a_mistake_of_the_program_does_not_look_like_a_damaged_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mistake in (TypeError, AttributeError, KeyError):

        def mistaken(*_: object, error: type[Exception] = mistake) -> None:
            raise error

        monkeypatch.setattr("certpca.results.files.certificate_from_dict", mistaken)
        with pytest.raises(mistake):
            certpca.load_certificate(file)


def test_limits_are_kept(file: Path, certificate: Certificate) -> None:
    entry = json.loads(file.read_text())["evidence"]
    given = file.parent, entry["file"], entry["digest"], certificate.kind, certificate.size
    length, arrays = (file.parent / entry["file"]).stat().st_size, len(certificate.evidence)
    assert set(files.read_evidence(*given, most_bytes=length, most_arrays=arrays)) == set(certificate.evidence)
    with pytest.raises(DataFileError, match="larger than"):
        files.read_evidence(*given, most_bytes=length - 1)
    with pytest.raises(DataFileError, match="too many arrays"):
        files.read_evidence(*given, most_arrays=arrays - 1)


def test_an_unknown_kind_is_refused(file: Path) -> None:
    fields = json.loads(file.read_text())
    file.write_text(json.dumps({**fields, "kind": "faith"}))
    with pytest.raises(DataFileError, match="unknown kind 'faith'"):
        certpca.load_certificate(file)
