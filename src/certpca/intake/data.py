"""From samples x features to their covariance, checked once and for all; the operators behind it trust."""

from dataclasses import replace
from typing import Any

import numpy as np

from certpca.distributed.dask_covariance import DaskCovariance
from certpca.distributed.dask_reader import DaskReader
from certpca.distributed.to_workers import dask_array_reader, on_workers
from certpca.intake.inputs import checked_names, refuse_device, values_and_names
from certpca.intake.missing import Missing, Undecided, decided, refuse_bad_values
from certpca.intake.sample_weights import checked_weights, require_dense_enough, weighted
from certpca.intake.standardise import Scale, standardisation, working_type
from certpca.operators.covariance import Covariance, DenseCovariance, SparseCovariance
from certpca.operators.streamed import StreamedCovariance
from certpca.readers.array_reader import ArrayReader
from certpca.readers.base import Reader
from certpca.readers.blocks import with_holes_filled
from certpca.readers.moments import Moments, dense_moments, sparse_moments
from certpca.readers.sparse_format import by_columns
from certpca.results.certificate import Source
from certpca.runtime.array_kinds import is_dask_array, is_sparse, require_table
from certpca.runtime.arrays import Indices, Vector, is_host, to_device
from certpca.runtime.errors import InvalidDataError, InvalidProblemError

STREAMED_FROM = 2 << 30  # bytes of a memory map from which it is walked over by blocks that fit a budget


def from_data(
    data: Any,
    *,
    center: bool = True,
    scale: Scale = False,
    missing: Missing = "error",
    ddof: int | None = None,
    sample_weight: Any = None,
    device: str | None = None,
    client: Any = None,
    names: Any = None,
) -> Covariance:
    """Take samples x features and stand for their covariance, which is never formed.

    Parameters
    ----------
    data : array_like, DataFrame or reader
        NumPy array of any real type (memory-mapped too; int8 stays int8), an array of another
        library, scipy.sparse CSR or CSC (kept sparse), a pandas or polars DataFrame, an AnnData object (its X), a dask
        array, or a reader of a file (`read_plink`, `read_pgen`, `read_h5ad`, `read_zarr`, `read_parquet`,
        `open_npy`), which is never in memory as a whole unless it fits the memory budget of the reader.
    center : bool
        Subtract column means, implicitly.
    scale : bool or {"2pq"}
        Divide by column standard deviations, implicitly: the correlation matrix. Without
        centring, divide by the root mean square. ``"2pq"`` divides genotypes (0, 1, 2) by √(2p(1 − p)) instead, as
        geneticists do, where p is half the mean of a column.
    missing : {"error", "mean"}
        ``"error"`` refuses missing values (NaN; -9 in integers that are otherwise not
        negative); ``"mean"`` puts the column mean there, which is zero after centring.
    ddof : int, optional
        Products are divided by rows minus ddof; by default 1 when centred, 0 when not.
    sample_weight : array_like, optional
        How much each sample counts, not negative; only ratios matter, as weights are brought to a mean of one. Means,
        variances and products are weighted; data in memory alone can be, and sparse ones become dense.
    device : str, optional
        Where to compute: ``"cuda"`` moves the data to a GPU once, through torch or CuPy, where that helps (products,
        certificates); what is proved is proved on the host. By default data are used where they are.
    client : distributed.Client, optional
        Its workers hold the data in blocks of columns and compute products and certificates.
        They read PLINK files and memory maps themselves; other data are sent to them. See docs/large_data.md.
    names : sequence of str, optional
        One name for each feature. Taken from a DataFrame's columns by default.

    Returns
    -------
    Operator
        What every verb takes as `data`.

    Raises
    ------
    InvalidDataError
        Where the data cannot be used as they are; the message names a column and what to do.
    InvalidProblemError
        Where an option has no meaning for these data.
    ClusterError
        Where the cluster of the client cannot do the work.

    See Also
    --------
    from_matrix : A covariance matrix that is known already.
    load_table : Data from a file.

    Examples
    --------
    >>> import numpy as np, certpca
    >>> certpca.from_data(np.array([[1.0, 2.0], [3.0, 2.5], [5.0, 2.0]])).diagonal().round(3).tolist()
    [4.0, 0.083]
    """
    return _covariance(
        data,
        center=center,
        scale=scale,
        missing=missing,
        ddof=ddof,
        sample_weight=sample_weight,
        device=device,
        client=client,
        names=names,
    )


def from_rows(rows: Any, source: Source, names: Any = None) -> Covariance:
    """Stand for some rows of data that were looked at as a whole: what marks missing values is not decided again.

    Parameters
    ----------
    rows
        In memory, dense or scipy.sparse.
    source
        Of all rows.
    names
        One name for each feature.
    """
    return _covariance(
        rows,
        center=source.center,
        scale=source.scale,  # type: ignore[arg-type]
        missing="mean" if source.fill_missing else "error",
        names=names,
        code=source.missing,
    )


def walked_if_large(data: Any, streamed_from: int = STREAMED_FROM) -> Any:
    """Let a memory map of so many bytes be walked over by blocks; return other data as they are."""
    return ArrayReader(data) if isinstance(data, np.memmap) and data.nbytes >= streamed_from else data


def _covariance(
    data: Any,
    *,
    center: bool,
    scale: Scale,
    missing: Missing,
    ddof: int | None = None,
    sample_weight: Any = None,
    device: str | None = None,
    client: Any = None,
    names: Any = None,
    code: int | Undecided | None = Undecided.UNDECIDED,
) -> Covariance:
    _check_options(missing, scale, ddof, center=center)
    reading = dict(getattr(data, "reading", None) or {})
    data = walked_if_large(data, 0 if client is not None else STREAMED_FROM)
    if not isinstance(scale, str):
        scale = bool(scale)
    center = bool(center)
    if client is not None and is_dask_array(data):
        data = dask_array_reader(data, client)
    values, found = values_and_names(data)
    require_table(values)
    rows, size = (int(side) for side in values.shape)
    if center and rows < 2:
        msg = f"a covariance needs at least two rows, got {rows}; use center=False for the uncentred second moment"
        raise InvalidDataError(msg)
    divisor = rows - ((1 if center else 0) if ddof is None else ddof)
    if divisor <= 0:
        msg = f"ddof must be less than the number of rows ({rows}), got {ddof}"
        raise InvalidProblemError(msg)
    labels = checked_names(names, found, size)
    sparse = is_sparse(values)
    given = values
    weights = None if sample_weight is None else _weights(sample_weight, values, scale, device, client)
    if device is not None:
        refuse_device(device if sparse or isinstance(values, Reader) else None, "sparse data, or data in a file")
        refuse_device(None if client is None else device, "data on the workers of a client")
        values = to_device(values, device)
    if sparse:
        given = values = by_columns(values)
    if client is not None:
        values = on_workers(values, client)
    kind, code, moments = _looked_at(values, code, center=center)
    refuse_bad_values(moments, labels, missing, code)
    if kind is SparseCovariance and moments.any_missing:
        values = with_holes_filled(values, values.dtype, moments.mean)
    origin = None
    if weights is not None:
        holes = moments.any_missing
        coded = code if holes else None
        told = Source("data", given, center, scale, float(divisor), coded, holes, tuple(weights.tolist()))
        values, moments, origin = weighted(given, told, weights)
        kind, code, sparse = DenseCovariance, None, False
    columns = standardisation(moments, divisor, code, labels, center=center, scale=scale)
    columns = columns if origin is None else replace(columns, weighted=origin)
    weighting = "" if weights is None else "weighted "
    description = (
        f"{weighting}{'correlation' if scale is True else 'covariance'} matrix "
        f"({'centred' if center else 'uncentred'}, {'scaled by √(2p(1 − p)), ' if scale == '2pq' else ''}"
        f"divided by {divisor}) of {rows} x {size} {'sparse ' if sparse else ''}data"
    )
    operator = kind(values, columns, working_type(values, moments), labels, description, given)
    operator.reading = reading
    return operator


def _weights(sample_weight: Any, values: Any, scale: Scale, device: str | None, client: Any) -> Vector:
    """Return sample weights, or refuse data that cannot have them."""
    here = is_sparse(values) or (not isinstance(values, Reader) and is_host(values))
    if not here or device is not None or client is not None:
        msg = "sample_weight is for data in memory; read the columns wanted first, as in data[:, :1000]"
        raise InvalidProblemError(msg)
    if isinstance(scale, str):
        msg = f"sample_weight and scale={scale!r} cannot be combined; use scale=True, or no weights"
        raise InvalidProblemError(msg)
    require_dense_enough(values)
    return checked_weights(sample_weight, int(values.shape[0]))


def _check_options(missing: Missing, scale: Scale, ddof: int | None, *, center: bool) -> None:
    if missing not in ("error", "mean"):
        msg = f'missing must be "error" or "mean", got {missing!r}'
        raise InvalidProblemError(msg)
    if isinstance(scale, str) and (scale != "2pq" or not center):
        msg = f'scale must be True (unit variances), False or "2pq", which needs centring; got {scale!r}'
        raise InvalidProblemError(msg)
    if ddof is not None and (not isinstance(ddof, (int, np.integer)) or isinstance(ddof, bool) or ddof < 0):
        msg = f"ddof must be a whole number from 0, got {ddof!r}"
        raise InvalidProblemError(msg)


def spread_and_missing(values: Any) -> tuple[Vector, Indices]:
    """Return the standard deviation of every column as it is, and how many of its values are missing.

    Parameters
    ----------
    values
        Samples x features, as `values_and_names` returns them.
    """
    values = by_columns(values) if is_sparse(values) else values
    _, _, moments = _looked_at(values, Undecided.UNDECIDED, center=True)
    freedom = np.maximum(moments.count - 1, 1)
    return np.ldexp(np.sqrt(moments.squares / freedom), moments.power), (moments.rows - moments.count).astype(np.intp)


def _looked_at(
    values: Any, code: int | Undecided | None, *, center: bool
) -> tuple[type[Covariance], int | None, Moments]:
    """Return the kind of operator for the data, what marks missing values in them, and their moments."""
    if isinstance(values, Reader):
        kind = DaskCovariance if isinstance(values, DaskReader) else StreamedCovariance
        return kind, values.missing_code(), values.moments(center=center)
    if is_sparse(values):
        return SparseCovariance, None, sparse_moments(values, center=center)
    code = decided(values, code)
    return DenseCovariance, code, dense_moments(values, code, center=center)
