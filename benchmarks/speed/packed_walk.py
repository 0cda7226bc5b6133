"""What dot products of bytes are worth: a walk over a packed file with and without them, in turns.

The walk is that of `svd-threshold`: four vectors in single precision, there and back (FFᵀ times scores), while variants
are in the cache. Without them genotypes are unpacked to floating point, as on processors without AVX-512's VNNI. What
counts is the middle of the seconds on the clock; seconds of the processor, which other programs disturb less, stand
beside them, and so does the load of the machine. The loops stay as long as they are twice as fast.

python -m benchmarks.speed.packed_walk
"""

import os
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.machine import facts, write_results

import certpca
from certpca.genotypes import packed_dots
from certpca.runtime.threads import threads_allowed
from certpca.search.krylov import WALK_WIDTH

SAMPLES, VARIANTS = 20_000, 20_000
MISSING = 0.01
ROUNDS = 40
TOGETHER = 500  # variants that are drawn at a time


def genotypes(rng: np.random.Generator) -> Any:
    """Draw genotypes by variants of random frequencies, some missing."""
    table = np.empty((VARIANTS, SAMPLES), dtype=np.int8)
    for start in range(0, VARIANTS, TOGETHER):
        part = slice(start, start + TOGETHER)
        cut = rng.integers(13, 243, (TOGETHER, 1), dtype=np.uint8)
        first, second, hole = (rng.integers(0, 256, (TOGETHER, SAMPLES), dtype=np.uint8) for _ in range(3))
        table[part] = (first < cut).astype(np.int8) + (second < cut)
        table[part][hole < 256 * MISSING] = -9
    return table.T


def main() -> None:
    """Time walks in turns and write how many times as fast they are."""
    start, rng = facts(), np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        certpca.write_plink(Path(folder) / "made", genotypes(rng))
        operator = certpca.from_data(certpca.read_plink(Path(folder) / "made"), missing="mean")
        walk = operator.factor().sample_product
        scores = rng.standard_normal((SAMPLES, WALK_WIDTH)).astype(np.float32)

        def floats() -> Any:
            with patch.object(packed_dots, "HAS_DOTS", False):
                return walk(scores)

        ways = {"bytes": lambda: walk(scores), "floats": floats}
        one, other = (way() for way in ways.values())  # compiles
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-4 * np.abs(other).max())
        times: dict[str, list[float]] = {name: [] for name in ways}
        work: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, way in ways.items():
                begin, used = time.perf_counter(), time.process_time()
                way()
                times[name].append(time.perf_counter() - begin)
                work[name].append(time.process_time() - used)
    content = {
        "samples": SAMPLES,
        "variants": VARIANTS,
        "vectors": WALK_WIDTH,
        "threads": threads_allowed(),
        "whole_numbers": packed_dots.HAS_DOTS,
        "seconds": {name: float(np.median(found)) for name, found in times.items()},
        "processor_seconds": {name: float(np.median(found)) for name, found in work.items()},
        "times_as_fast": float(np.median(times["floats"]) / np.median(times["bytes"])),
        "times_as_fast_by_processor": float(np.median(work["floats"]) / np.median(work["bytes"])),
        "load_after": os.getloadavg(),
        "each": {"seconds": times, "processor_seconds": work},
    }
    print(content)
    print(write_results("packed_walk", start, content))


if __name__ == "__main__":
    main()
