"""Data: files users bring, and examples that need no file."""

from certpca.datasets.examples import (
    PITPROPS_NAMES,
    Genotypes,
    RotatedHadamard,
    balding_nichols,
    pitprops,
    pitprops_matrix,
    rotated_hadamard,
)
from certpca.datasets.tables import Table, load_table

__all__ = [
    "PITPROPS_NAMES",
    "Genotypes",
    "RotatedHadamard",
    "Table",
    "balding_nichols",
    "load_table",
    "pitprops",
    "pitprops_matrix",
    "rotated_hadamard",
]
