"""From what users hold to operators, checked once and for all.

`from_matrix`, `from_data` and `from_kernel` validate; the operators behind them trust.
"""

import math
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, TypedDict

import numpy as np

from certpca.distributed.dask_data import DaskCovariance, DaskReader, dask_array_reader, on_workers
from certpca.intake.inputs import checked_names, label_of, require_in_memory, values_and_names
from certpca.intake.matrix_checks import checked_dense_matrix, checked_sparse_matrix
from certpca.operators.base import LARGEST_VARIANCE, ORDINARY_POWER, SMALLEST_VARIANCE, Operator
from certpca.operators.covariance import Covariance, DenseCovariance, SparseCovariance, Standardisation
from certpca.operators.explicit import ExplicitOperator, SparseOperator
from certpca.operators.kernel import KernelFunction, KernelOperator, named_kernel
from certpca.operators.streamed import StreamedCovariance
from certpca.readers.array_reader import ArrayReader
from certpca.readers.base import Reader
from certpca.readers.missing import genotype_code
from certpca.readers.moments import Moments, dense_moments, sparse_moments
from certpca.readers.sparse_format import by_columns
from certpca.results.certificate import Source
from certpca.runtime.array_kinds import is_dask_array, is_sparse, require_table
from certpca.runtime.arrays import Vector, is_host, namespace, to_device, to_vector
from certpca.runtime.errors import InvalidDataError, InvalidProblemError

LARGEST_WEIGHT = 2.0**1020
STREAMED_FROM = 2 << 30  # bytes of a memory map from which it is walked over by blocks that fit a budget

Missing = Literal["error", "mean"]
Scale = bool | Literal["2pq"]


class Undecided(Enum):
    """Says that what marks missing values is to be found out from the data."""

    UNDECIDED = "undecided"


class DataOptions(TypedDict, total=False):
    """How data become a matrix; see `from_data`. `covariance=True`: they are the matrix already.

    `reading`: how the file behind them was read (`Table.reading`), which results repeat for those who verify them.
    """

    covariance: bool
    center: bool
    scale: Scale
    missing: Missing
    ddof: int | None
    device: str | None
    client: Any
    names: Any
    reading: Mapping[str, Any]


def as_operator(data: Any, **options: Any) -> Operator:
    """Turn whatever the caller holds into an operator."""
    if isinstance(data, Operator):
        if options:
            msg = f"an operator is already prepared; {', '.join(sorted(options))} cannot be applied to it"
            raise InvalidProblemError(msg)
        return data
    reading = options.pop("reading", None)
    operator = _as_new_operator(data, **options)
    if reading is not None:
        operator.reading = dict(reading)
    return operator


def _as_new_operator(data: Any, **options: Any) -> Operator:
    if options.pop("covariance", False):
        unused = sorted(set(options) - {"names", "device"})
        if unused:
            msg = f"with covariance=True the matrix is used as it is; {', '.join(unused)} cannot be applied to it"
            raise InvalidProblemError(msg)
        return from_matrix(data, **options)
    return from_data(data, **options)


def from_matrix(matrix: Any, *, device: str | None = None, names: Any = None) -> Operator:
    """Take a covariance, correlation or kernel matrix as it is.

    Parameters
    ----------
    matrix : array_like, sparse matrix or DataFrame
        Symmetric positive semidefinite: NumPy or another array library, scipy.sparse, or a
        pandas or polars DataFrame. Rounding-size asymmetry is averaged away; eigenvalues
        down to -1e-6 of the largest are accepted, as published matrices have them.
    device : str, optional
        Where to compute, as in `from_data`.
    names : sequence of str, optional
        One name for each feature. Taken from a DataFrame's columns by default.

    Returns
    -------
    Operator
        What every verb takes as `data`.

    Raises
    ------
    InvalidDataError
        Where the matrix is not square, symmetric, finite or positive semidefinite.
    InvalidProblemError
        Where it cannot be moved to the device.

    See Also
    --------
    from_data : Samples x features.
    from_kernel : The kernel matrix of samples.

    Examples
    --------
    >>> import numpy as np, certpca
    >>> certpca.from_matrix(np.eye(3)).size
    3
    """
    values, found = values_and_names(matrix)
    require_in_memory(values, "a matrix")
    require_table(values)
    if values.shape[0] != values.shape[1]:
        msg = (
            f"a covariance matrix is square, got {values.shape[0]} x {values.shape[1]}; "
            "for samples x features leave covariance unset"
        )
        raise InvalidDataError(msg)
    labels = checked_names(names, found, values.shape[1])
    if is_sparse(values):
        refuse_device(device, "a sparse matrix")
        return SparseOperator(checked_sparse_matrix(values), labels, given=values)
    moved = values if device is None else to_device(values, device)
    return ExplicitOperator(checked_dense_matrix(moved), labels, given=values)


def from_data(
    data: Any,
    *,
    center: bool = True,
    scale: Scale = False,
    missing: Missing = "error",
    ddof: int | None = None,
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
        array, or a reader of a file (`read_plink`, `read_h5ad`, `read_zarr`, `read_parquet`, `open_npy`), which is
        never in memory as a whole unless it fits the memory budget of the reader.
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
        data, center=center, scale=scale, missing=missing, ddof=ddof, device=device, client=client, names=names
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


def _covariance(
    data: Any,
    *,
    center: bool,
    scale: Scale,
    missing: Missing,
    ddof: int | None = None,
    device: str | None = None,
    client: Any = None,
    names: Any = None,
    code: int | Undecided | None = Undecided.UNDECIDED,
) -> Covariance:
    _check_options(missing, scale, ddof, center=center)
    reading = dict(getattr(data, "reading", None) or {})
    if isinstance(data, np.memmap) and (data.nbytes >= STREAMED_FROM or client is not None):
        data = ArrayReader(data)
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
    if device is not None:
        refuse_device(device if sparse or isinstance(values, Reader) else None, "sparse data, or data in a file")
        refuse_device(None if client is None else device, "data on the workers of a client")
        values = to_device(values, device)
    if sparse:
        given = values = by_columns(values)
    if client is not None:
        values = on_workers(values, client)
    kind, code, moments = _looked_at(values, code, center=center)
    _refuse_bad_values(moments, labels, missing, code)
    if kind is SparseCovariance and moments.any_missing:
        values = _fill_sparse(values, moments.mean)
    columns = _standardisation(moments, divisor, code, labels, center=center, scale=scale)
    description = (
        f"{'correlation' if scale is True else 'covariance'} matrix ({'centred' if center else 'uncentred'}, "
        f"{'scaled by √(2p(1 − p)), ' if scale == '2pq' else ''}divided by {divisor}) of {rows} x {size} "
        f"{'sparse ' if sparse else ''}data"
    )
    operator = kind(values, columns, _working_type(values, moments), labels, description, given)
    operator.reading = reading
    return operator


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


def _looked_at(
    values: Any, code: int | Undecided | None, *, center: bool
) -> tuple[type[Covariance], int | None, Moments]:
    """Return the kind of operator for the data, what marks missing values in them, and their moments."""
    if isinstance(values, Reader):
        kind = DaskCovariance if isinstance(values, DaskReader) else StreamedCovariance
        return kind, values.missing_code(), values.moments(center=center)
    if is_sparse(values):
        return SparseCovariance, None, sparse_moments(values, center=center)
    if isinstance(code, Undecided):
        code = genotype_code(values)
    return DenseCovariance, code, dense_moments(values, code, center=center)


def from_kernel(
    samples: Any,
    kernel: str | KernelFunction = "rbf",
    *,
    center: bool = True,
    names: Any = None,
    **parameters: float,
) -> Operator:
    """Take samples and stand for their kernel matrix: sparsity is then in samples.

    Parameters
    ----------
    samples : array_like or sparse matrix
        Samples x features; or, with ``kernel="precomputed"``, the kernel matrix.
    kernel : {"linear", "rbf", "polynomial", "precomputed"} or callable
        A name, or a positive semidefinite function of two blocks of rows that returns the matrix of kernel values.
    center : bool
        Centre in feature space.
    names : sequence of str, optional
        One name for each sample.
    **parameters : float
        Of a named kernel: gamma, degree, coef0, as in scikit-learn.

    Returns
    -------
    Operator
        What every verb takes as `data`.

    Raises
    ------
    InvalidProblemError
        Where there is no such kernel, or it has no such parameter.
    InvalidDataError
        Where the samples cannot be used as they are.

    See Also
    --------
    SparseKernelPCA : The same for scikit-learn, with scores.

    Examples
    --------
    >>> import numpy as np, certpca
    >>> certpca.from_kernel(np.arange(6.0).reshape(3, 2), "linear").trace()
    16.0
    """
    if parameters and (kernel == "precomputed" or not isinstance(kernel, str)):
        msg = f"only named kernels take parameters; {', '.join(sorted(parameters))} cannot be applied to this one"
        raise InvalidProblemError(msg)
    if kernel == "precomputed":
        operator = from_matrix(samples, names=names)
        if not center:
            return operator
        matrix = operator.submatrix(np.arange(operator.size))
        means = matrix.mean(axis=0)
        return ExplicitOperator(matrix - means - means[:, None] + means.mean(), operator.names, "centred kernel matrix")
    values, _ = values_and_names(samples)
    require_in_memory(values, "kernel samples")
    require_table(values)
    if is_sparse(values):
        values = values.tocsr()
        finite = bool(np.isfinite(values.data).all())
    else:
        values = to_vector(values)
        finite = bool(np.isfinite(values).all())
    if not finite:
        msg = "kernel samples must be finite; fill or drop missing values first"
        raise InvalidDataError(msg)
    labels = checked_names(names, None, int(values.shape[0]))
    function = named_kernel(kernel, parameters) if isinstance(kernel, str) else kernel
    label = kernel if isinstance(kernel, str) else getattr(kernel, "__name__", "own")
    description = f"{'centred ' if center else ''}{label} kernel matrix of {values.shape[0]} samples"
    return KernelOperator(values, function, centred=center, names=labels, description=description)


def refuse_device(device: str | None, what: str) -> None:
    """Say that some kinds of data are worked with on the host only."""
    if device is not None:
        msg = f"device={device!r} is for dense arrays in memory; {what} cannot be moved there"
        raise InvalidProblemError(msg)


def _fill_sparse(values: Any, mean: Vector) -> Any:
    filled = values.copy()
    holes = np.flatnonzero(np.isnan(filled.data))
    column = np.searchsorted(filled.indptr, holes, side="right") - 1
    filled.data[holes] = mean[column]
    return filled


def _refuse_bad_values(moments: Moments, names: tuple[str, ...] | None, missing: Missing, code: int | None) -> None:
    infinite = np.flatnonzero(moments.infinite)
    if infinite.size:
        msg = f"{label_of(int(infinite[0]), names)} holds infinite values; replace them or mark them missing (NaN)"
        raise InvalidDataError(msg)
    huge = np.flatnonzero(~np.isfinite(moments.squares) | ~np.isfinite(moments.mean))
    if huge.size:
        msg = f"{label_of(int(huge[0]), names)} holds values too large to add up; divide the data by a constant"
        raise InvalidDataError(msg)
    holes = np.flatnonzero(moments.count < moments.rows)
    if holes.size and missing == "error":
        absent = int(moments.rows - moments.count[holes[0]])
        coded = f" (coded {code})" if code is not None else ""
        msg = (
            f"{label_of(int(holes[0]), names)} has {absent} missing values{coded}, and {holes.size} of "
            f"{moments.count.size} columns have some; use missing='mean' (--missing mean) to put the column mean there"
        )
        raise InvalidDataError(msg)
    empty = np.flatnonzero(moments.count == 0)
    if empty.size:
        msg = f"{label_of(int(empty[0]), names)} has no values at all; drop it"
        raise InvalidDataError(msg)


def _standardisation(
    moments: Moments,
    divisor: int,
    code: int | None,
    names: tuple[str, ...] | None,
    *,
    center: bool,
    scale: Scale,
) -> Standardisation:
    spread = moments.squares / divisor  # variances of columns that are divided by 2 to a power of their own
    if not spread.any():
        what = "constant" if center else "zero"
        msg = f"every column is {what}, so there is no variance to explain; check that features are columns"
        raise InvalidDataError(msg)
    unit = 1.0
    if scale is True:
        flat = np.flatnonzero(spread == 0.0)
        if flat.size:
            what = "constant" if center else "zero"
            msg = (
                f"{label_of(int(flat[0]), names)} is {what} ({flat.size} such columns), "
                "so its correlation is undefined; drop it, or use the covariance (scale=False), where it does no harm"
            )
            raise InvalidDataError(msg)
        with np.errstate(over="ignore"):
            weight = np.ldexp(1.0 / np.sqrt(spread), -np.asarray(moments.power))
        _refuse_small_columns(weight, names)
        variance = np.ones_like(spread)
    else:
        half = _common_half(spread, moments.power, names)
        weight, unit = np.full(spread.size, math.ldexp(1.0, -half)), math.ldexp(1.0, 2 * half)
        variance = np.ldexp(spread, 2 * (np.asarray(moments.power) - half))
        if scale == "2pq":
            expected = _expected_variance(moments, names)
            weight, variance = weight / np.sqrt(expected), variance / expected
    mean = moments.mean if center else np.zeros_like(moments.mean)
    holes = moments.any_missing
    if holes and not center:
        # The mean stands in for missing values even where it is not subtracted.
        msg = "missing='mean' needs center=True: without centring, fill missing values before"
        raise InvalidProblemError(msg)
    return Standardisation(
        mean, weight, variance, float(divisor), center, scale, code if holes else None, holes and code is None, unit
    )


def _common_half(spread: Vector, power: Any, names: tuple[str, ...] | None) -> int:
    """Return the power of two that all columns are divided by: 0 for ordinary data.

    Variances are reported in the units of the data, so they must be numbers there.
    """
    reach = np.where(spread > 0, np.frexp(spread)[1] + 2 * np.asarray(power), np.iinfo(np.int64).min)
    largest = int(reach.argmax())
    top = int(reach[largest])
    if SMALLEST_VARIANCE <= top <= LARGEST_VARIANCE:
        return 0 if abs(top) <= ORDINARY_POWER else top // 2
    small = top < 0
    msg = (
        f"{label_of(largest, names)} has the largest variance, about 1e{top * math.log10(2):.0f}: too "
        f"{'small' if small else 'large'} to square in double precision; {'multiply' if small else 'divide'} the data "
        f"by a constant, such as 2**{abs(top) // 2}, or use correlations (scale=True)"
    )
    raise InvalidDataError(msg)


def _refuse_small_columns(weight: Vector, names: tuple[str, ...] | None) -> None:
    """Refuse columns whose numbers have lost digits already, or soon will."""
    bad = np.flatnonzero(~((weight > 0) & (weight < LARGEST_WEIGHT)))
    if bad.size:
        msg = (
            f"{label_of(int(bad[0]), names)} holds values too small, or too large, for double precision "
            f"({bad.size} such columns); multiply or divide them by a constant"
        )
        raise InvalidDataError(msg)


def _expected_variance(moments: Moments, names: tuple[str, ...] | None) -> Vector:
    """Return 2p(1 − p), the variance of genotypes under Hardy-Weinberg equilibrium."""
    share = moments.mean / 2
    bad = np.flatnonzero(~((share > 0) & (share < 1)))
    if bad.size:
        msg = (
            f"{label_of(int(bad[0]), names)} has an allele frequency of {share[bad[0]]:g}, and {bad.size} columns have "
            'none between 0 and 1; scale="2pq" is for genotypes counted 0, 1, 2 that vary: drop the others '
            "(PLINK files: maf=)"
        )
        raise InvalidDataError(msg)
    return np.asarray(2 * share * (1 - share))


def _working_type(values: Any, moments: Moments) -> Any:
    """Single precision where the data are no better and centring does not cancel digits."""
    on_host = is_sparse(values) or is_host(values) or isinstance(values, Reader)
    xp = np if on_host else namespace(values)
    if on_host:
        narrow = values.dtype.itemsize < 8 and (values.dtype.kind == "f" or values.dtype.itemsize <= 2)
    else:
        narrow = not xp.isdtype(values.dtype, (xp.float64, xp.int64, xp.int32))
    if not narrow:
        return np.dtype(np.float64) if on_host else xp.float64
    spread = math.sqrt(float(moments.squares.mean()) / moments.rows)
    level = float(np.abs(moments.mean).max())
    ordinary = 1e-6 < spread < 1e6  # squares of variances must fit single precision too
    if ordinary and level <= 100.0 * spread:
        return np.dtype(np.float32) if on_host else xp.float32
    return np.dtype(np.float64) if on_host else xp.float64
