"""From anything that users hold to an operator."""

from certpca.intake.build import DataOptions, as_operator, from_kernel, from_matrix
from certpca.intake.data import from_data

__all__ = ["DataOptions", "as_operator", "from_data", "from_kernel", "from_matrix"]
