"""Blocks of memory that are freed are used again without the system."""

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
import numpy as np
from certpca.runtime.freed_memory import keep_freed_memory
if {kept}:
    keep_freed_memory()
def used():
    first, second, third = (np.zeros(3 << 20, dtype=np.uint8) + 1 for _ in range(3))
used()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    used()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries keep freed memory in other ways")
def test_blocks_that_are_freed_cost_no_faults_again():
    def faults(*, kept: bool) -> int:
        code = FAULTS.format(kept=kept)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return int(done.stdout)

    assert faults(kept=True) < 0.1 * faults(kept=False)


def test_whoever_prepares_data_has_it_kept():
    code = (
        "import numpy as np, certpca\n"
        "from certpca.runtime.freed_memory import keep_freed_memory\n"
        "for _ in range(2):\n    certpca.solve(np.eye(3), 1, covariance=True)\n"
        "print(keep_freed_memory.cache_info().misses)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1"]
