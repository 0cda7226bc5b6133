"""Products of a covariance with a panel, from a packed genotype file: four ways that must agree.

`floats` is what certpca does: unpacking to floating point, a tile at a time. `bed-reader` decodes blocks with that
library (pip install bed-reader) and multiplies with NumPy. `tiles` decodes blocks with NumPy and multiplies with BLAS.
`tables` adds up, for every byte, partial sums prepared for all 256 values of it; only the second half of the product,
Xᵀ times the scores, is timed so, against the same half of `floats`. Where `plink2` is on the path, its approximate
principal components of the same file are timed against leading eigenvectors found here, both with two threads.

python -m benchmarks.speed.packed_genotypes
"""

import shutil
import subprocess
import tempfile
import time
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numba
import numpy as np
from benchmarks.machine import facts, fastest, write_results

import certpca
from certpca.readers.walks import ColumnWalk
from certpca.runtime.threads import threads_allowed
from certpca.search.krylov import leading_eigenpairs

SHAPES = ((2_240, 37_493), (10_001, 20_000))
WIDTHS = (1, 16, 64)
MISSING = 0.01
BLOCK = 2_048  # variants that bed-reader decodes at a time
COMPONENTS = 10


def genotypes(rows: int, size: int, rng: np.random.Generator) -> Any:
    """Draw genotypes by variants of random frequencies, some missing."""
    frequency = rng.uniform(0.05, 0.95, size)
    table = np.empty((rows, size), dtype=np.int8)
    for start in range(0, size, BLOCK):
        part = slice(start, min(start + BLOCK, size))
        drawn = rng.random((2, rows, part.stop - part.start)) < frequency[part]
        table[:, part] = drawn.sum(axis=0)
        table[:, part][rng.random((rows, part.stop - part.start)) < MISSING] = -9
    return table


def by_bed_reader(file: Path, panel: Any, mean: Any, divisor: int) -> Any:
    """Read standardised blocks twice: X times the panel, then the transpose times that."""
    with import_module("bed_reader").open_bed(file) as bed:

        def blocks() -> Any:
            for start in range(0, panel.shape[0], BLOCK):
                part = slice(start, min(start + BLOCK, panel.shape[0]))
                block = bed.read(np.s_[:, part], dtype="float32", order="F")
                block -= mean[part].astype(np.float32)
                np.nan_to_num(block, copy=False)
                yield part, block

        scores = sum(block @ panel[part] for part, block in blocks())
        return np.concatenate([block.T @ scores for _, block in blocks()]) / divisor


@numba.njit(parallel=True, fastmath=True)
def by_tables(packed, fill, scores, product):  # type: ignore[no-untyped-def]
    """Return Xᵀ·scores by one look-up for every byte and vector; a missing genotype is added afterwards."""
    size, length, vectors = packed.shape[0], packed.shape[1], scores.shape[1]
    sums = np.zeros((length, 256, vectors), scores.dtype)
    for b in numba.prange(length):
        for byte in range(256):
            for p in range(4):
                code = byte >> (2 * p) & 3
                count = 2 if code == 0 else (1 if code == 2 else 0)
                for c in range(vectors):
                    sums[b, byte, c] += count * scores[4 * b + p, c]
    for j in numba.prange(size):
        for b in range(length):
            byte = packed[j, b]
            for c in range(vectors):
                product[j, c] += sums[b, byte, c]
            if byte & ~(byte >> 1) & 0x55:
                for p in range(4):
                    if byte >> (2 * p) & 3 == 1:
                        for c in range(vectors):
                            product[j, c] += fill[j] * scores[4 * b + p, c]


def measured(file: Path, width: int, rng: np.random.Generator) -> dict[str, Any]:
    reader = certpca.read_plink(file)
    operator = certpca.from_data(reader, missing="mean")
    mean, _ = operator.standardisation()
    rows, size = reader.shape
    panel = rng.standard_normal((size, width)).astype(np.float32)
    shift = mean.astype(np.float32) @ panel
    fill = mean

    def floats() -> Any:
        return operator.matmat(panel)

    def peer() -> Any:
        return by_bed_reader(file, panel, mean, rows - 1)

    def tiles() -> Any:
        # What a reader does that only knows how to decode columns.
        scores = ColumnWalk(reader).times(panel, fill) - shift
        back = ColumnWalk(reader).transposed_times(scores, fill)
        return (back - mean.astype(np.float32)[:, None] * scores.sum(axis=0)) / (rows - 1)

    expected = floats()  # compiles
    before = reader.passes
    floats()
    passes = reader.passes - before
    times = {"floats": fastest(floats)}
    for name, job in (("bed-reader", peer), ("tiles", tiles)):
        np.testing.assert_allclose(job(), expected, atol=2e-4 * np.abs(expected).max())
        times[name] = fastest(job)

    scores = rng.standard_normal((rows, width)).astype(np.float32)
    table = np.fromfile(file, dtype=np.uint8, offset=3).reshape(size, -1)
    padded = np.zeros((4 * table.shape[1], width), dtype=np.float32)
    padded[:rows] = scores

    def half() -> Any:
        return reader.transposed_times(scores, fill)

    def looked_up() -> Any:
        product = np.zeros((size, width), dtype=np.float32)
        by_tables(table, fill.astype(np.float32), padded, product)
        return product

    expected = half()
    np.testing.assert_allclose(looked_up(), expected, atol=2e-4 * np.abs(expected).max())
    halves = {"floats": fastest(half), "tables": fastest(looked_up)}
    return {
        "samples": rows,
        "variants": size,
        "vectors": width,
        "passes": passes,
        "seconds": times,
        "seconds_transposed_half": halves,
    }


def components(file: Path) -> dict[str, Any]:
    """Find the leading principal components of standardised genotypes, here and with plink2."""
    begin = time.perf_counter()
    operator = certpca.from_data(certpca.read_plink(file), missing="mean", scale="2pq")
    ours = leading_eigenpairs(operator, COMPONENTS)
    row: dict[str, Any] = {"samples": operator.rows, "variants": operator.size, "components": COMPONENTS}
    row |= {"certpca_seconds": time.perf_counter() - begin, "certpca_residual": ours.residual}
    if shutil.which("plink2") is None:
        return row
    target = file.with_suffix(".components")
    options = ["--pca", "approx", str(COMPONENTS), "--threads", str(threads_allowed()), "--out", str(target)]
    begin = time.perf_counter()
    subprocess.run(["plink2", "--bfile", str(file.with_suffix("")), *options], check=True, stdout=subprocess.DEVNULL)
    row["plink2_seconds"] = time.perf_counter() - begin
    # Both divide the sum over variants by a number of their own.
    theirs = np.loadtxt(f"{target}.eigenval")
    row["values_over_ours"] = (theirs / ours.values * (ours.values[0] / theirs[0])).tolist()
    return row


def main() -> None:
    start, rng = facts(), np.random.default_rng(0)
    rows, ours = [], []
    with tempfile.TemporaryDirectory() as folder:
        for samples, variants in SHAPES:
            file = Path(folder) / f"{samples}.bed"
            chromosomes = ["1"] * variants  # plink2 leaves out variants of no chromosome
            certpca.write_plink(file, genotypes(samples, variants, rng), chromosomes=chromosomes)
            for width in WIDTHS:
                row = measured(file, width, rng)
                rows.append(row)
                times = ", ".join(f"{name} {seconds:.3f} s" for name, seconds in row["seconds"].items())
                halves = ", ".join(f"{name} {time:.3f} s" for name, time in row["seconds_transposed_half"].items())
                print(f"{samples} x {variants}, {width} vectors: {times}; transposed half: {halves}", flush=True)
            ours.append(components(file))
            print(ours[-1], flush=True)
    extra = {"bed_reader": version("bed-reader"), "threads": threads_allowed(), "components": ours}
    print(write_results("packed_genotypes", start, {**extra, "rows": rows}))


if __name__ == "__main__":
    main()
