"""Tables written as AnnData lays them out, in HDF5 or Zarr, without the anndata package."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

TINY = 1e-5  # GiB: ten kilobytes, so that every block is cut


def counts(rng: np.random.Generator, rows: int = 120, size: int = 60) -> Any:
    """Draw a table that is mostly zeros, in which a few columns follow one hidden score."""
    table = rng.poisson(0.3, (rows, size)).astype(np.float64)
    table[:, 5:13] += rng.poisson(3.0, (rows, 1)) * (rng.random((rows, 8)) < 0.9)
    return table


def put(group: Any, name: str, values: Any, **storage: Any) -> Any:
    """Put an array into a group of either library; texts too."""
    values = np.asarray(values)
    if values.dtype.kind == "U":
        values = values.astype(object)
    if not hasattr(group, "create_array"):  # h5py
        return group.create_dataset(name, data=values, **storage)
    kind = str if values.dtype == object else values.dtype
    array = group.create_array(name, shape=values.shape, dtype=kind, **storage)
    array[...] = values
    return array


def put_matrix(group: Any, name: str, matrix: Any, **storage: Any) -> None:
    """Put a dense table, or a scipy.sparse one as a group."""
    if not sp.issparse(matrix):
        put(group, name, matrix, **storage)
        return
    inner = group.create_group(name)
    inner.attrs["encoding-type"] = f"{matrix.format}_matrix"
    inner.attrs["shape"] = [int(side) for side in matrix.shape]
    for part in ("data", "indices", "indptr"):
        put(inner, part, getattr(matrix, part))


def put_frame(group: Any, name: str, index: Any, **columns: Any) -> Any:
    """Put names and columns; a pair of codes and categories becomes a group."""
    frame = group.create_group(name)
    frame.attrs["_index"] = "names"
    put(frame, "names", index)
    for key, values in columns.items():
        if isinstance(values, tuple):
            inner = frame.create_group(key)
            for part, entries in zip(("codes", "categories"), values, strict=True):
                put(inner, part, entries)
        else:
            put(frame, key, values)
    return frame


def fill_anndata(root: Any, matrix: Any, layers: dict[str, Any] | None = None, **storage: Any) -> None:
    """Lay out a table, its layers, and names of both axes."""
    rows, size = matrix.shape
    root.attrs["encoding-type"] = "anndata"
    put_matrix(root, "X", matrix, **storage)
    inner = root.create_group("layers")
    for name, layer in (layers or {}).items():
        put_matrix(inner, name, layer)
    put_frame(root, "var", [f"g{index}" for index in range(size)])
    kinds = (np.arange(rows, dtype=np.int8) % 3 - 1, np.array(["b", "t"]))
    put_frame(root, "obs", [f"c{index}" for index in range(rows)], depth=np.arange(rows), kind=kinds)


def h5ad(path: Path, matrix: Any, layers: dict[str, Any] | None = None, **storage: Any) -> Path:
    """Write an AnnData file."""
    import h5py

    with h5py.File(path, "w") as root:
        fill_anndata(root, matrix, layers, **storage)
    return path


def require_within_budget(reader: Any, budget: int) -> None:
    """Walk over a file and refuse blocks that take more than the budget, what products return apart."""
    rows, size = reader.shape
    panel = np.ones((size, 1))
    tracemalloc.start()
    try:
        reader.moments(center=True)
        reader.normal_product(panel, np.zeros(1), np.zeros(size))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < budget + 8 * (rows + 40 * size)
