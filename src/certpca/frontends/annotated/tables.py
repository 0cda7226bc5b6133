"""The table of an AnnData object, in memory or backed by a file; the library itself is not needed to look at one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from certpca.readers.base import DEFAULT_MEMORY
from certpca.runtime.arrays import Indices
from certpca.runtime.did_you_mean import did_you_mean
from certpca.runtime.errors import InvalidDataError, InvalidProblemError


@dataclass(frozen=True, slots=True)
class AnnotatedTable:
    """Numbers of an AnnData object.

    Parameters
    ----------
    data
        Samples x features: an array, scipy.sparse, or a reader of the file behind the object.
    names
        Of the features.
    chosen
        Where these stand among the variables of the object; None where they are not variables.
    """

    data: Any
    names: tuple[str, ...]
    chosen: Indices | None


def is_annotated(data: Any) -> bool:
    """Say whether an object is AnnData, or looks like it."""
    return all(hasattr(data, part) for part in ("X", "var_names", "obsm", "varm", "uns"))


def table_of(
    adata: Any,
    *,
    layer: str | None = None,
    use_rep: str | None = None,
    mask_var: Any = None,
    memory: float | None = None,
) -> AnnotatedTable:
    """Return the table that is asked for: X, a layer, or a representation of the samples.

    Parameters
    ----------
    adata
        The object.
    layer
        A layer instead of X.
    use_rep
        A representation in `.obsm` instead of variables.
    mask_var
        Only these variables: a column of `.var`, or one truth value for each.
    memory
        GiB for data on their way from the file of a backed object.
    """
    if layer is not None and use_rep is not None:
        msg = "give layer, which holds variables, or use_rep, a representation of samples in .obsm, but not both"
        raise InvalidProblemError(msg)
    if use_rep is not None:
        if mask_var is not None:
            msg = f"mask_var chooses among variables, but use_rep={use_rep!r} has none"
            raise InvalidProblemError(msg)
        values = _entry(adata.obsm, use_rep, "use_rep", ".obsm")
        count = int(values.shape[1])
        columns = getattr(values, "columns", None)  # a DataFrame names its own
        own = [f"{use_rep.removeprefix('X_')}{j + 1}" for j in range(count)] if columns is None else columns
        return AnnotatedTable(values, tuple(map(str, own)), None)
    values = _backed(adata, memory) if layer is None and getattr(adata, "isbacked", False) else None
    if values is None:
        values = adata.X if layer is None else _entry(adata.layers, layer, "layer", ".layers")
    if values is None:
        known = ", ".join(map(repr, adata.layers)) or "none either"
        msg = f"the AnnData object has no X; name a layer, as in layer='counts' (there are: {known})"
        raise InvalidDataError(msg)
    names = tuple(str(name) for name in adata.var_names)
    if mask_var is None:
        return AnnotatedTable(values, names, np.arange(len(names)))
    chosen = np.flatnonzero(_mask(adata, mask_var))
    return AnnotatedTable(values[:, chosen], tuple(names[j] for j in chosen), chosen)


def _backed(adata: Any, memory: float | None) -> Any:
    """Open the table in the file behind an object, which is not loaded beyond the memory allowed."""
    from certpca.formats.groups.anndata_layout import open_table

    if adata.is_view:
        msg = (
            "the AnnData object is a part of one that is backed by a file; take it into memory (adata.to_memory()), "
            "or choose variables with mask_var"
        )
        raise InvalidDataError(msg)
    root = adata.file["obs"].file
    return open_table(root, str(adata.filename), None, DEFAULT_MEMORY if memory is None else memory)


def _entry(entries: Any, name: Any, argument: str, place: str) -> Any:
    known = list(entries)
    if name not in known:
        there = f"there are {', '.join(map(repr, known))}" if known else "it is empty"
        msg = f"{argument}={name!r}: {place} has no such entry; {there}{did_you_mean(str(name), known)}"
        raise InvalidProblemError(msg)
    return entries[name]


def _mask(adata: Any, mask_var: Any) -> Any:
    if isinstance(mask_var, str):
        if mask_var not in adata.var:
            meant = did_you_mean(mask_var, [str(name) for name in adata.var])
            msg = f"mask_var={mask_var!r}: .var has no such column{meant}"
            raise InvalidProblemError(msg)
        mask_var = adata.var[mask_var]
    mask = np.asarray(mask_var)
    count = len(adata.var_names)
    if mask.dtype != bool or mask.shape != (count,):
        msg = f"mask_var must be a column of .var, or {count} truth values, got {mask.dtype} of shape {mask.shape}"
        raise InvalidProblemError(msg)
    if not mask.any():
        msg = "mask_var chooses no variable"
        raise InvalidProblemError(msg)
    return mask
