"""The exception tree. Each error also inherits the built-in that callers expect."""


class CertpcaError(Exception):
    """Base of everything certpca raises on purpose.

    See Also
    --------
    InvalidProblemError, InvalidDataError, DataFileError, CertificateError : The ones met most often.

    Examples
    --------
    >>> import certpca
    >>> try:
    ...     certpca.solve(certpca.pitprops(), 14)
    ... except certpca.CertpcaError as error:
    ...     print(error)
    sparsity must be a whole number in 1..13 (the number of features), got 14
    """


class InvalidDataError(CertpcaError, ValueError):
    """The data cannot be used as they are; the message says which part and what to do.

    See Also
    --------
    DataFileError : A file cannot be read at all.
    from_data : What data may be.

    Examples
    --------
    >>> import numpy as np, certpca
    >>> certpca.solve(np.array([[1.0, np.nan], [2.0, 3.0]]), 1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    certpca.runtime.errors.InvalidDataError: ...
    """


class InvalidProblemError(CertpcaError, ValueError):
    """The question asked of the data has no meaning, such as a sparsity out of range.

    See Also
    --------
    UnknownArgumentError : An argument has no such name.
    InvalidDataError : The data are at fault.

    Examples
    --------
    >>> import certpca
    >>> certpca.solve(certpca.pitprops(), 3, target_gap=0.1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    certpca.runtime.errors.InvalidProblemError: target_gap=0.1 would have no effect: ... add certify=True
    """


class UnknownArgumentError(CertpcaError, TypeError):
    """A call names an argument that does not exist, or gives one by position that has to be named.

    See Also
    --------
    InvalidProblemError : The argument exists, but not with that value.

    Examples
    --------
    >>> import certpca
    >>> certpca.solve(certpca.pitprops(), 3, seed=1)
    Traceback (most recent call last):
    certpca.runtime.errors.UnknownArgumentError: solve has no argument 'seed'; did you mean 'rng'?
    """


class DataFileError(CertpcaError, OSError):
    """A file is missing, unreadable or not in the format its name promises.

    See Also
    --------
    InvalidDataError : A file was read, but its numbers cannot be used.

    Examples
    --------
    >>> import certpca
    >>> certpca.load_solution("nowhere.json")
    Traceback (most recent call last):
    certpca.runtime.errors.DataFileError: there is no file 'nowhere.json'
    """


class MissingDependencyError(CertpcaError, ImportError):
    """An optional library is needed; the message says how to install it.

    See Also
    --------
    DataFileError : The library is there, but the file cannot be read.

    Examples
    --------
    >>> from certpca.runtime.optional import require
    >>> require("no_such_library", extra="parquet", purpose="Parquet")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    certpca.runtime.errors.MissingDependencyError: Parquet needs ... not installed: pip install 'certpca[parquet]'
    """


class ClusterError(CertpcaError, RuntimeError):
    """The cluster cannot finish the work: it has no workers, or cannot be reached, or keeps losing them.

    See Also
    --------
    from_data : Its `client` names the cluster.

    Examples
    --------
    >>> import certpca
    >>> issubclass(certpca.ClusterError, RuntimeError)
    True
    """
