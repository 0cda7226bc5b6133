"""Make the golden certificates anew: `python -m tests.golden.make`, from the root of the repository."""

import json
import shutil
import tempfile
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

import certpca
from certpca.results.certificate import RANDOM, Source
from tests.brute_force import constrained_brute_force
from tests.golden.refusals import TAMPERED
from tests.golden.tampered import Draft, Tampered
from tests.golden.valid import VALID, data, exact_matrix

FOLDER = Path(certpca.__file__).parent / "golden"
FORMAT = "certpca golden 1"
KEPT = "README.md"


def all_data() -> dict[str, np.ndarray]:
    """Return the data, and what is wrong with them for some."""
    other, negative = data()["wide.npy"].copy(), data()["gaps.npy"].copy()
    other[0, 0] += 1.0
    negative[0, 0] = -1
    return {**data(), "other.npy": other, "negative.npy": negative}


def write_data(folder: Path) -> None:
    """Write the data files."""
    for name, values in all_data().items():
        if name.endswith(".npy"):
            np.save(folder / name, values)
        else:
            header = ",".join(f"f{number}" for number in range(values.shape[1]))
            np.savetxt(folder / name, values, fmt="%.3f", delimiter=",", header=header, comments="")


def write_valid(folder: Path) -> list[dict[str, Any]]:
    """Write the valid certificates, and return what is to be said of them."""
    listed = []
    for case in VALID:
        certificate = replace(case.make(data()[case.data]), seconds=0.0)  # which differs from run to run
        file = f"{case.name}.json"
        certpca.save_certificate(certificate, folder / file)
        proof = certpca.verify(certificate, data()[case.data])
        listed.append(
            {
                "certificate": file,
                "data": case.data,
                "accepted": True,
                "kind": certificate.kind,
                "shows": case.shows,
                "upper_bound": certificate.upper_bound,
                "proved": None if certificate.kind.endswith(RANDOM) else proof.upper_bound,
                "captured": proof.objective,
                "optimum": optimum(certificate, data()[case.data]),
            }
        )
    return listed


def optimum(certificate: Any, values: np.ndarray) -> float | None:
    """Return the optimum by trying every support: that of one component."""
    if isinstance(certificate, certpca.SetCertificate):
        return None
    matrix = exact_matrix(Source(values=values, **certificate.normalisation))
    return float(constrained_brute_force(matrix, certificate.sparsity, certificate.constraints))


def write_tampered(folder: Path, case: Tampered, origins: dict[str, str]) -> dict[str, Any]:
    """Write a certificate that must be refused, and return what is to be said of it."""
    fields = json.loads((folder / f"{case.origin}.json").read_text())
    arrays = {}
    if "evidence" in fields:
        with np.load(folder / fields["evidence"]["file"]) as held:
            arrays = {name: held[name] for name in held.files}
    draft = Draft(fields, arrays, origins[case.origin], all_data())
    case.edit(draft)
    if not draft.kept:
        content = draft.archive(draft.arrays)
        name = f"refused-{case.name}.npz"
        (folder / name).write_bytes(content)
        digest = blake2b(content, digest_size=20).hexdigest()
        fields["evidence"] = {"file": name, "digest": digest if draft.honest else fields["evidence"]["digest"]}
    file = f"refused-{case.name}.json"
    (folder / file).write_text(draft.text(json.dumps(fields, indent=1)) + "\n")
    return {
        "certificate": file,
        "data": draft.data,
        "accepted": False,
        "from": f"{case.origin}.json",
        "change": case.change,
        "reason": case.reason,
        "says": case.says,
    }


def main() -> None:
    """Write everything into a new folder, and put that in the place of the old one."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_data(folder)
        listed = write_valid(folder)
        origins = {case.name: case.data for case in VALID}
        listed += [write_tampered(folder, case, origins) for case in TAMPERED]
        later = {f"{case.name}.json" for case in VALID if case.later}
        known = [case for case in listed if not {case["certificate"], case.get("from")} & later]
        lists = {"format": FORMAT, "cases": known, "later": [case for case in listed if case not in known]}
        (folder / "list.json").write_text(json.dumps(lists, indent=1) + "\n")
        FOLDER.mkdir(exist_ok=True)
        for old in FOLDER.iterdir():
            if old.name != KEPT:
                old.unlink()
        for new in folder.iterdir():
            shutil.copyfile(new, FOLDER / new.name)
    files = list(FOLDER.iterdir())
    print(f"{len(VALID)} valid and {len(TAMPERED)} tampered, {sum(file.stat().st_size for file in files) // 1000} kB")


if __name__ == "__main__":
    main()
