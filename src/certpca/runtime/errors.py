"""The exception tree. Each error also inherits the built-in that callers expect."""


class CertpcaError(Exception):
    """Base of everything certpca raises on purpose."""


class InvalidDataError(CertpcaError, ValueError):
    """The data cannot be used as they are; the message says which part and what to do."""


class InvalidProblemError(CertpcaError, ValueError):
    """The question asked of the data has no meaning, such as a sparsity out of range."""


class DataFileError(CertpcaError, OSError):
    """A file is missing, unreadable or not in the format its name promises."""


class MissingDependencyError(CertpcaError, ImportError):
    """An optional library is needed; the message says how to install it."""


class ClusterError(CertpcaError, RuntimeError):
    """The cluster cannot finish the work: it has no workers, or cannot be reached, or keeps losing them."""
