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
from certpca.datasets.geo import SeriesMatrix, read_geo
from certpca.datasets.h5ad import read_h5ad
from certpca.datasets.parquet import read_parquet
from certpca.datasets.plink import PlinkFile, read_plink
from certpca.datasets.plink_writing import write_plink
from certpca.datasets.reading import reading_from_json
from certpca.datasets.suspicions import suspicions
from certpca.datasets.tables import Table, load_table, open_npy
from certpca.datasets.zarr_files import read_zarr

__all__ = [
    "PITPROPS_NAMES",
    "Genotypes",
    "PlinkFile",
    "RotatedHadamard",
    "SeriesMatrix",
    "Table",
    "balding_nichols",
    "load_table",
    "open_npy",
    "pitprops",
    "pitprops_matrix",
    "read_geo",
    "read_h5ad",
    "read_parquet",
    "read_plink",
    "read_zarr",
    "reading_from_json",
    "rotated_hadamard",
    "suspicions",
    "write_plink",
]
