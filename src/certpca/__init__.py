"""Sparse principal component analysis with a proof attached.

The public names; each loads its part of the library when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from certpca.api import certify as certify
    from certpca.api import solve as solve
    from certpca.api import solve_sdp as solve_sdp
    from certpca.api import verify as verify
    from certpca.budget import Budget as Budget
    from certpca.budget import Step as Step
    from certpca.certificates.checker import Proof as Proof
    from certpca.choose import Choice as Choice
    from certpca.choose import choose_sparsity as choose_sparsity
    from certpca.components import Decomposition as Decomposition
    from certpca.components import decompose as decompose
    from certpca.datasets import balding_nichols as balding_nichols
    from certpca.datasets import load_table as load_table
    from certpca.datasets import open_npy as open_npy
    from certpca.datasets import pitprops as pitprops
    from certpca.datasets import read_geo as read_geo
    from certpca.datasets import read_h5ad as read_h5ad
    from certpca.datasets import read_parquet as read_parquet
    from certpca.datasets import read_plink as read_plink
    from certpca.datasets import read_zarr as read_zarr
    from certpca.datasets import rotated_hadamard as rotated_hadamard
    from certpca.datasets import write_plink as write_plink
    from certpca.errors import CertificateError as CertificateError
    from certpca.errors import CertpcaError as CertpcaError
    from certpca.estimator import SparsePCA as SparsePCA
    from certpca.kernel_estimator import SparseKernelPCA as SparseKernelPCA
    from certpca.operators import Operator as Operator
    from certpca.operators import from_data as from_data
    from certpca.operators import from_kernel as from_kernel
    from certpca.operators import from_matrix as from_matrix
    from certpca.operators import verify_operator as verify_operator
    from certpca.result import Certificate as Certificate
    from certpca.result import Solution as Solution
    from certpca.result import Status as Status
    from certpca.solvers import available_solvers as available_solvers
    from certpca.solvers import solver_named as solver_named
    from certpca.sparsity_path import Path as Path
    from certpca.sparsity_path import path as path
    from certpca.storage import load_certificate as load_certificate
    from certpca.storage import load_path as load_path
    from certpca.storage import load_solution as load_solution
    from certpca.storage import save_certificate as save_certificate
    from certpca.storage import save_path as save_path
    from certpca.storage import save_solution as save_solution

__version__ = "0.1.0"

_HOMES = {
    "Budget": "budget",
    "Certificate": "result",
    "CertificateError": "errors",
    "CertpcaError": "errors",
    "Choice": "choose",
    "Decomposition": "components",
    "Operator": "operators",
    "Path": "sparsity_path",
    "Proof": "certificates.checker",
    "Solution": "result",
    "SparseKernelPCA": "kernel_estimator",
    "SparsePCA": "estimator",
    "Status": "result",
    "Step": "budget",
    "available_solvers": "solvers",
    "balding_nichols": "datasets",
    "certify": "api",
    "choose_sparsity": "choose",
    "decompose": "components",
    "from_data": "operators",
    "from_kernel": "operators",
    "from_matrix": "operators",
    "load_certificate": "storage",
    "load_path": "storage",
    "load_solution": "storage",
    "load_table": "datasets",
    "open_npy": "datasets",
    "path": "sparsity_path",
    "pitprops": "datasets",
    "read_geo": "datasets",
    "read_h5ad": "datasets",
    "read_parquet": "datasets",
    "read_plink": "datasets",
    "read_zarr": "datasets",
    "rotated_hadamard": "datasets",
    "save_certificate": "storage",
    "save_path": "storage",
    "save_solution": "storage",
    "solve": "api",
    "solve_sdp": "api",
    "solver_named": "solvers",
    "verify": "api",
    "verify_operator": "operators",
    "write_plink": "datasets",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> object:
    """Load a public name from its module."""
    if name not in _HOMES:
        msg = f"module 'certpca' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"certpca.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
