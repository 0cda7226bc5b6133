"""Every kind of operator, as a function from one integer data matrix to its covariance."""

import array_api_strict
import numpy as np
import pandas
import polars
import scipy.sparse

import certpca
from certpca.operators import HostView


def planted_counts(rows=60, size=12, block=4, seed=3):
    """Make counts 0, 1, 2 in which the first features in a shuffled order move together."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal(rows)
    order = rng.permutation(size)
    strength = np.zeros(size)
    strength[order[:block]] = 1.5 + 0.1 * np.arange(block)
    score = hidden[:, None] * strength + rng.standard_normal((rows, size))
    return (score > -0.5).astype(np.int8) + (score > 0.7).astype(np.int8), np.sort(order[:block])


def _standardised(data):
    centred = data - data.mean(axis=0)
    return centred / np.sqrt(data.shape[0] - 1)


def _memory_map(data, folder):
    file = folder / "data.npy"
    np.save(file, data)
    return certpca.from_data(np.load(file, mmap_mode="r"))


def _packed(data, folder):
    certpca.write_plink(folder / "data.bed", data)
    return certpca.from_data(certpca.read_plink(folder / "data.bed"))


def _streamed(data, folder):
    np.save(folder / "data.npy", np.asfortranarray(data))
    return certpca.from_data(certpca.open_npy(folder / "data.npy", memory=1e-6))


def _restricted(data):
    wide = np.concatenate([data[:, :3], data, data[:, :2]], axis=1).astype(float)
    matrix = certpca.from_matrix(np.cov(wide.T))
    return certpca.operators.views.Restricted(matrix, np.arange(3, 3 + data.shape[1]))


OPERATORS = {
    "explicit": lambda data, _: certpca.from_matrix(np.cov(data.T)),
    "explicit-sparse": lambda data, _: certpca.from_matrix(scipy.sparse.csr_array(np.cov(data.T))),
    "explicit-frame": lambda data, _: certpca.from_matrix(pandas.DataFrame(np.cov(data.T))),
    "float64": lambda data, _: certpca.from_data(data.astype(np.float64)),
    "float32": lambda data, _: certpca.from_data(data.astype(np.float32)),
    "int8": lambda data, _: certpca.from_data(data),
    "fortran-int8": lambda data, _: certpca.from_data(np.asfortranarray(data)),
    "memory-map": _memory_map,
    "packed-genotypes": _packed,
    "streamed": _streamed,
    "csr": lambda data, _: certpca.from_data(scipy.sparse.csr_array(data)),
    "csc": lambda data, _: certpca.from_data(scipy.sparse.csc_matrix(data.astype(np.float32))),
    "pandas": lambda data, _: certpca.from_data(
        pandas.DataFrame(data, columns=[f"f{i}" for i in range(data.shape[1])])
    ),
    "polars": lambda data, _: certpca.from_data(polars.DataFrame(data, schema=[f"f{i}" for i in range(data.shape[1])])),
    "strict": lambda data, _: certpca.from_data(array_api_strict.asarray(data.astype(np.float64))),
    "strict-explicit": lambda data, _: certpca.from_matrix(array_api_strict.asarray(np.cov(data.T))),
    "host-view": lambda data, _: HostView(certpca.from_data(array_api_strict.asarray(data.astype(np.float64)))),
    "kernel": lambda data, _: certpca.from_kernel(_standardised(data).T, "linear", center=False),
    "restricted": lambda data, _: _restricted(data),
}
