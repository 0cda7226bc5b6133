"""From what users hold to operators: `from_data`, `from_matrix` and `from_kernel` validate, the operators trust."""

from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np

from certpca.intake.data import from_data
from certpca.intake.inputs import checked_names, refuse_device, require_in_memory, values_and_names
from certpca.intake.matrix_checks import checked_dense_matrix, checked_sparse_matrix
from certpca.intake.missing import Missing
from certpca.intake.standardise import Scale
from certpca.operators.base import Operator
from certpca.operators.explicit import ExplicitOperator, SparseOperator
from certpca.operators.kernel import KernelFunction, KernelOperator, named_kernel
from certpca.runtime.array_kinds import is_sparse, require_table
from certpca.runtime.arrays import to_device, to_vector
from certpca.runtime.errors import InvalidDataError, InvalidProblemError
from certpca.runtime.freed_memory import keep_freed_memory


class DataOptions(TypedDict, total=False):
    """How data become a matrix: what every verb takes by name beside its own arguments.

    Attributes
    ----------
    covariance : bool
        Whether the data are the matrix already.
    center : bool
        As in `from_data`, like all that follow.
    scale : bool or {"2pq"}
        See there.
    missing : {"error", "mean"}
        See there.
    ddof : int or None
        See there.
    sample_weight : array_like or None
        See there.
    device : str or None
        See there.
    client : distributed.Client
        See there.
    names : sequence of str
        See there.
    reading : mapping
        How the file behind the data was read (`Table.reading`), which results repeat for those who verify them.

    See Also
    --------
    from_data : What they mean.

    Examples
    --------
    >>> import certpca, numpy as np
    >>> options: certpca.DataOptions = {"covariance": True, "names": ["a", "b"]}
    >>> certpca.solve(np.diag([1.0, 2.0]), 1, **options).names
    ('b',)
    """

    covariance: bool
    center: bool
    scale: Scale
    missing: Missing
    ddof: int | None
    sample_weight: Any
    device: str | None
    client: Any
    names: Any
    reading: Mapping[str, Any]


def as_operator(data: Any, **options: Any) -> Operator:
    """Turn whatever the caller holds into an operator."""
    keep_freed_memory()
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
