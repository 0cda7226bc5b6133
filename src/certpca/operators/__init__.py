"""Symmetric positive semidefinite matrices, explicit or implied by data."""

from certpca.operators.base import Factor, Operator
from certpca.operators.build import DataOptions, as_operator, from_data, from_kernel, from_matrix
from certpca.operators.verify import verify_operator
from certpca.operators.views import HostView, on_host

__all__ = [
    "DataOptions",
    "Factor",
    "HostView",
    "Operator",
    "as_operator",
    "from_data",
    "from_kernel",
    "from_matrix",
    "on_host",
    "verify_operator",
]
