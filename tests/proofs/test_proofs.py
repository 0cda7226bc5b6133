"""The proofs in Coq hold, where Coq is there."""

import shutil
import subprocess
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[2] / "proofs" / "check"


@pytest.mark.skipif(shutil.which("coqc") is None, reason="there is no Coq here (Debian: apt install coq)")
def test_the_proofs_hold() -> None:
    done = subprocess.run([str(CHECK)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "all proofs hold" in done.stdout
    assert done.stdout.count("Axioms:") == 2  # those of the real numbers, for each theorem
    assert done.stdout.count("sig_forall_dec") == done.stdout.count("functional_extensionality_dep") == 2
