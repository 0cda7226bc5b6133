"""Make the golden certificates anew: `python -m tests.golden.make`, from the root of the repository.

With names, as `python -m tests.golden.make shared-split`, only these and what is tampered from them; others stay as
they are, so that what earlier versions wrote is still checked.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterable
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
from tests.golden.valid import VALID, Valid, data, exact_matrix

FOLDER = Path(certpca.__file__).parent / "golden"
FORMAT = "certpca golden 1"
KEPT = "README.md"


def all_data() -> dict[str, np.ndarray]:
    """Return the data, and what is wrong with them for some."""
    other, negative = data()["wide.npy"].copy(), data()["gaps.npy"].copy()
    other[0, 0] += 1.0
    negative[0, 0] = -1
    return {**data(), "other.npy": other, "negative.npy": negative}


def write_data(folder: Path, there: set[str]) -> None:
    """Write the data files that are not there."""
    for name, values in all_data().items():
        if name in there:
            continue
        if name.endswith(".npy"):
            np.save(folder / name, values)
        else:
            header = ",".join(f"f{number}" for number in range(values.shape[1]))
            np.savetxt(folder / name, values, fmt="%.3f", delimiter=",", header=header, comments="")


def write_valid(folder: Path, cases: Iterable[Valid]) -> list[dict[str, Any]]:
    """Write valid certificates, and return what is to be said of them."""
    listed = []
    for case in cases:
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


def files_of(case: dict[str, Any]) -> set[str]:
    """Return the certificate and its evidence."""
    name = case["certificate"]
    return {name} | {json.loads((FOLDER / name).read_text()).get("evidence", {}).get("file", name)}


def main(names: list[str]) -> None:
    """Write into a new folder, and put what is there in the place of the old files."""
    chosen = [case for case in VALID if not names or case.name in names]
    origins = {case.name: case.data for case in chosen}
    stay: list[dict[str, Any]] = []
    kept = {KEPT}
    if names:
        kept |= {name for name in all_data() if (FOLDER / name).exists()}
        before = json.loads((FOLDER / "list.json").read_text())
        made_again = {f"{name}.json" for name in names}
        every = before["cases"] + before["later"]
        stay = [case for case in every if not {case["certificate"], case.get("from")} & made_again]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_data(folder, kept)
        listed = write_valid(folder, chosen)
        listed += [write_tampered(folder, case, origins) for case in TAMPERED if case.origin in origins]
        names_in_order = [case.name for case in VALID] + [case.name for case in TAMPERED]
        order = {name: place for place, name in enumerate(names_in_order)}
        listed = sorted(stay + listed, key=lambda case: order[case["certificate"][:-5].removeprefix("refused-")])
        later = {f"{case.name}.json" for case in VALID if case.later}
        known = [case for case in listed if not {case["certificate"], case.get("from")} & later]
        lists = {"format": FORMAT, "cases": known, "later": [case for case in listed if case not in known]}
        (folder / "list.json").write_text(json.dumps(lists, indent=1) + "\n")
        FOLDER.mkdir(exist_ok=True)
        kept = kept.union(*map(files_of, stay))
        for old in FOLDER.iterdir():
            if old.name not in kept:
                old.unlink()
        for new in folder.iterdir():
            shutil.copyfile(new, FOLDER / new.name)
    size = sum(file.stat().st_size for file in FOLDER.iterdir())
    print(f"{len(VALID)} valid and {len(TAMPERED)} tampered, {size // 1000} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
