"""Symmetric positive semidefinite matrices, explicit or implied by data."""

from certpca.operators.base import Operator
from certpca.operators.factor import Factor
from certpca.operators.verify import verify_operator
from certpca.operators.views import HostView, on_host

__all__ = [
    "Factor",
    "HostView",
    "Operator",
    "on_host",
    "verify_operator",
]
