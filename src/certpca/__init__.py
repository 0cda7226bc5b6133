"""Sparse principal component analysis with a proof attached.

The public names; each loads its part of the library when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from certpca import tl as tl
    from certpca.bounds.sdp import Relaxation as Relaxation
    from certpca.checker import Expected as Expected
    from certpca.datasets.examples import Genotypes as Genotypes
    from certpca.datasets.examples import RotatedHadamard as RotatedHadamard
    from certpca.datasets.examples import balding_nichols as balding_nichols
    from certpca.datasets.examples import pitprops as pitprops
    from certpca.datasets.examples import rotated_hadamard as rotated_hadamard
    from certpca.formats.arranging import Table as Table
    from certpca.formats.geo import SeriesMatrix as SeriesMatrix
    from certpca.formats.geo import read_geo as read_geo
    from certpca.formats.h5ad import read_h5ad as read_h5ad
    from certpca.formats.npy import open_npy as open_npy
    from certpca.formats.parquet import read_parquet as read_parquet
    from certpca.formats.tables import load_table as load_table
    from certpca.formats.zarr_files import read_zarr as read_zarr
    from certpca.frontends.estimators.sparse_kernel_pca import SparseKernelPCA as SparseKernelPCA
    from certpca.frontends.estimators.sparse_pca import SparsePCA as SparsePCA
    from certpca.frontends.report import Facts as Facts
    from certpca.frontends.report import Files as Files
    from certpca.frontends.report import SetFacts as SetFacts
    from certpca.frontends.report import write_report as write_report
    from certpca.genotypes.markers import MarkerPanel as MarkerPanel
    from certpca.genotypes.markers import load_markers as load_markers
    from certpca.genotypes.markers import save_markers as save_markers
    from certpca.genotypes.pgen import read_pgen as read_pgen
    from certpca.genotypes.plink import read_plink as read_plink
    from certpca.genotypes.plink_writing import write_plink as write_plink
    from certpca.intake import DataOptions as DataOptions
    from certpca.intake import from_data as from_data
    from certpca.intake import from_kernel as from_kernel
    from certpca.intake import from_matrix as from_matrix
    from certpca.operators import Operator as Operator
    from certpca.operators import verify_operator as verify_operator
    from certpca.operators.cost import Cost as Cost
    from certpca.operators.factor import Factor as Factor
    from certpca.results.certificate import Certificate as Certificate
    from certpca.results.certificate import Source as Source
    from certpca.results.component_files import load_components as load_components
    from certpca.results.component_files import save_components as save_components
    from certpca.results.component_set import ComponentSet as ComponentSet
    from certpca.results.constraints import Constraints as Constraints
    from certpca.results.errors import CertificateError as CertificateError
    from certpca.results.files import load_certificate as load_certificate
    from certpca.results.files import load_path as load_path
    from certpca.results.files import load_solution as load_solution
    from certpca.results.files import save_certificate as save_certificate
    from certpca.results.files import save_path as save_path
    from certpca.results.files import save_solution as save_solution
    from certpca.results.path import Path as Path
    from certpca.results.proof import Proof as Proof
    from certpca.results.proof import SetProof as SetProof
    from certpca.results.set_certificate import SetCertificate as SetCertificate
    from certpca.results.solution import Candidate as Candidate
    from certpca.results.solution import Solution as Solution
    from certpca.results.status import Status as Status
    from certpca.runtime.budget import Budget as Budget
    from certpca.runtime.budget import Progress as Progress
    from certpca.runtime.budget import Step as Step
    from certpca.runtime.errors import CertpcaError as CertpcaError
    from certpca.runtime.errors import ClusterError as ClusterError
    from certpca.runtime.errors import DataFileError as DataFileError
    from certpca.runtime.errors import InvalidDataError as InvalidDataError
    from certpca.runtime.errors import InvalidProblemError as InvalidProblemError
    from certpca.runtime.errors import MissingDependencyError as MissingDependencyError
    from certpca.runtime.errors import UnknownArgumentError as UnknownArgumentError
    from certpca.solvers import Solver as Solver
    from certpca.solvers import available_solvers as available_solvers
    from certpca.solvers import register as register
    from certpca.solvers import solver_named as solver_named
    from certpca.verbs.certify import certify as certify
    from certpca.verbs.choose import Choice as Choice
    from certpca.verbs.choose import choose_sparsity as choose_sparsity
    from certpca.verbs.choose_components import ComponentChoice as ComponentChoice
    from certpca.verbs.choose_components import choose_components as choose_components
    from certpca.verbs.components import Components as Components
    from certpca.verbs.decompose import decompose as decompose
    from certpca.verbs.marker_panel import marker_panel as marker_panel
    from certpca.verbs.metadata import Associations as Associations
    from certpca.verbs.metadata import associations as associations
    from certpca.verbs.path import path as path
    from certpca.verbs.project import Projection as Projection
    from certpca.verbs.project import project as project
    from certpca.verbs.project import save_eigenvec as save_eigenvec
    from certpca.verbs.relax import solve_sdp as solve_sdp
    from certpca.verbs.solve import solve as solve
    from certpca.verbs.stability import stability as stability
    from certpca.verbs.stable_features import Stability as Stability
    from certpca.verbs.transform import transform as transform
    from certpca.verbs.verify import verify as verify

__version__ = "0.1.0"

_HOMES = {
    "Associations": "verbs.metadata",
    "Budget": "runtime.budget",
    "Candidate": "results.solution",
    "Certificate": "results.certificate",
    "CertificateError": "results.errors",
    "CertpcaError": "runtime.errors",
    "Constraints": "results.constraints",
    "Choice": "verbs.choose",
    "ClusterError": "runtime.errors",
    "ComponentChoice": "verbs.choose_components",
    "ComponentSet": "results.component_set",
    "Components": "verbs.components",
    "Cost": "operators.cost",
    "DataFileError": "runtime.errors",
    "DataOptions": "intake",
    "Expected": "checker",
    "Factor": "operators.factor",
    "Facts": "frontends.report",
    "Files": "frontends.report",
    "Genotypes": "datasets.examples",
    "InvalidDataError": "runtime.errors",
    "InvalidProblemError": "runtime.errors",
    "MarkerPanel": "genotypes.markers",
    "MissingDependencyError": "runtime.errors",
    "Operator": "operators",
    "Path": "results.path",
    "Progress": "runtime.budget",
    "Projection": "verbs.project",
    "Proof": "results.proof",
    "Relaxation": "bounds.sdp",
    "RotatedHadamard": "datasets.examples",
    "SeriesMatrix": "formats.geo",
    "SetCertificate": "results.set_certificate",
    "SetFacts": "frontends.report",
    "SetProof": "results.proof",
    "Solution": "results.solution",
    "Solver": "solvers",
    "Source": "results.certificate",
    "SparseKernelPCA": "frontends.estimators.sparse_kernel_pca",
    "SparsePCA": "frontends.estimators.sparse_pca",
    "Stability": "verbs.stable_features",
    "Status": "results.status",
    "Step": "runtime.budget",
    "Table": "formats.arranging",
    "UnknownArgumentError": "runtime.errors",
    "associations": "verbs.metadata",
    "available_solvers": "solvers",
    "balding_nichols": "datasets.examples",
    "certify": "verbs.certify",
    "choose_components": "verbs.choose_components",
    "choose_sparsity": "verbs.choose",
    "decompose": "verbs.decompose",
    "from_data": "intake",
    "from_kernel": "intake",
    "from_matrix": "intake",
    "load_certificate": "results.files",
    "load_components": "results.component_files",
    "load_markers": "genotypes.markers",
    "load_path": "results.files",
    "load_solution": "results.files",
    "load_table": "formats.tables",
    "marker_panel": "verbs.marker_panel",
    "open_npy": "formats.npy",
    "path": "verbs.path",
    "pitprops": "datasets.examples",
    "project": "verbs.project",
    "read_geo": "formats.geo",
    "read_h5ad": "formats.h5ad",
    "read_parquet": "formats.parquet",
    "read_pgen": "genotypes.pgen",
    "read_plink": "genotypes.plink",
    "read_zarr": "formats.zarr_files",
    "register": "solvers",
    "rotated_hadamard": "datasets.examples",
    "save_certificate": "results.files",
    "save_components": "results.component_files",
    "save_eigenvec": "verbs.project",
    "save_markers": "genotypes.markers",
    "save_path": "results.files",
    "save_solution": "results.files",
    "solve": "verbs.solve",
    "solve_sdp": "verbs.relax",
    "solver_named": "solvers",
    "transform": "verbs.transform",
    "stability": "verbs.stability",
    "verify": "verbs.verify",
    "verify_operator": "operators",
    "write_plink": "genotypes.plink_writing",
    "write_report": "frontends.report",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


_MODULES = ("tl",)  # public modules


def __getattr__(name: str) -> object:
    """Load a public name from its module."""
    if name in _MODULES:
        return import_module(f"certpca.{name}")
    if name not in _HOMES:
        msg = f"module 'certpca' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"certpca.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*__all__, *_MODULES])
