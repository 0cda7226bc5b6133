"""Put all golden certificates before the checker as this interpreter runs it: another BLAS, other kernels, threads.

    PYTHONPATH=src python benchmarks/checkers/golden.py

needs NumPy alone, so that it runs with any build of it, such as Debian's with the reference BLAS, or under
OPENBLAS_CORETYPE and OPENBLAS_NUM_THREADS. It prints with what was computed and how many verdicts are as listed; the
exit status is 0 only if all are.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import certpca
from certpca.checker.arithmetic import names
from certpca.checker.check import check
from certpca.results.certificate import Source
from certpca.results.files import load_certificate
from certpca.runtime.errors import CertpcaError

FOLDER = Path(certpca.__file__).parent / "golden"


def source_of(file: Path, normalisation: dict[str, Any]) -> Source:
    """Read data, to be turned into a matrix as a certificate says."""
    values = np.load(file) if file.suffix == ".npy" else np.loadtxt(file, delimiter=",", skiprows=1)
    return Source(values=values, **normalisation)


def accepted(case: dict[str, Any]) -> bool:
    """Say whether the checker accepts a case."""
    try:
        certificate = load_certificate(FOLDER / case["certificate"])
        check(certificate, source_of(FOLDER / case["data"], dict(certificate.normalisation)))
    except CertpcaError:
        return False
    return True


def main() -> int:
    """Compare all verdicts with the list."""
    listed = json.loads((FOLDER / "list.json").read_text(encoding="utf-8"))
    cases = listed["cases"] + listed["later"]
    wrong = [case["certificate"] for case in cases if accepted(case) != case["accepted"]]
    print(f"{names()}: {len(cases) - len(wrong)} of {len(cases)} verdicts as listed", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
