"""Sparse components of AnnData objects: in memory, backed by files, and on their way to scanpy."""

import anndata as ad
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import certpca
from certpca import tl

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")


def made(rng, kind=np.asarray):
    counts = rng.poisson(2.0, (60, 15)) + 4.0 * (rng.random((60, 1)) < 0.5) * (np.arange(15) < 4)
    cells = ad.AnnData(kind(counts.astype(np.float32)))
    cells.var_names = [f"g{j}" for j in range(15)]
    cells.obs_names = [f"c{i}" for i in range(60)]
    cells.obs["batch"] = pd.Categorical(rng.choice(["a", "b"], 60))
    cells.var["highly_variable"] = np.arange(15) % 3 != 1
    cells.layers["double"] = 2 * counts
    cells.obsm["X_other"] = rng.standard_normal((60, 5))
    return cells


@pytest.fixture
def cells(rng):
    return made(rng)


def test_results_are_where_scanpy_looks_for_them(cells):
    found = tl.spca(cells, 2, 4)
    expected = certpca.decompose(cells.X, 2, 4, names=cells.var_names)
    np.testing.assert_allclose(cells.varm["SPCs"], expected.loadings)
    np.testing.assert_allclose(cells.obsm["X_spca"].var(axis=0, ddof=1), found.explained_variance, rtol=1e-5)
    about = cells.uns["spca"]
    np.testing.assert_allclose(about["variance_ratio"], expected.explained_variance_ratio)
    assert about["params"]["sparsities"].tolist() == [4, 4]
    assert not about["certificate"]["proved"]
    assert found.components[0].names == expected.components[0].names


@pytest.mark.parametrize("together", ["greedy", "disjoint"])
def test_a_file_keeps_everything_and_the_summary_of_the_certificate(cells, tmp_path, together):
    found = tl.spca(cells, 2, 3, together=together, certify=True, scale=True)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = ad.read_h5ad(tmp_path / "cells.h5ad")
    np.testing.assert_array_equal(again.obsm["X_spca"], cells.obsm["X_spca"])
    np.testing.assert_array_equal(again.varm["SPCs"], cells.varm["SPCs"])
    kept = again.uns["spca"]["certificate"]
    assert kept["proved"]
    bounds = [found.upper_bound] if together != "greedy" else [part.upper_bound for part in found.components]
    np.testing.assert_array_equal(kept["upper_bound"], bounds)
    proofs = [found.certificate] if found.certificate is not None else list(found.certificates)
    assert list(kept["fingerprint"]) == [proof.fingerprint for proof in proofs if proof is not None]
    assert kept["verdict"] == found.verdict()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csc_matrix])
@pytest.mark.parametrize("mode", ["r", "r+"])
def test_backed_files_are_streamed_and_give_the_same(rng, tmp_path, kind, mode):
    cells = made(rng, kind)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    expected = tl.spca(cells, 2, 4)
    backed = ad.read_h5ad(tmp_path / "cells.h5ad", backed=mode)
    found = tl.spca(backed, 2, 4, memory=1e-6)
    assert found.operator.cost.given_in_file
    np.testing.assert_allclose(found.loadings, expected.loadings, atol=1e-6)
    np.testing.assert_allclose(backed.obsm["X_spca"], cells.obsm["X_spca"], atol=1e-5)
    masked = tl.spca(backed, 1, 4, mask_var="highly_variable", key_added="hv")
    np.testing.assert_allclose(masked.objective, tl.spca(cells, 1, 4, mask_var="highly_variable").objective, rtol=1e-6)
    backed.file.close()


def test_layers_masks_representations_and_names(cells):
    tl.spca(cells, 1, 3, layer="double", key_added="doubled")
    tl.spca(cells, 1, 3)
    assert {"doubled"} <= set(cells.obsm) & set(cells.varm) & set(cells.uns)
    np.testing.assert_allclose(cells.uns["doubled"]["variance"], 4 * cells.uns["spca"]["variance"], rtol=1e-5)
    tl.spca(cells, 1, 3, mask_var="highly_variable", key_added="hv")
    assert not cells.varm["hv"][~cells.var["highly_variable"].to_numpy()].any()
    assert (cells.varm["hv"] != 0).sum() == 3
    found = tl.spca(cells, 2, 2, use_rep="X_other", key_added="rep")
    assert cells.uns["rep"]["loadings"].shape == (5, 2)
    assert "rep" not in cells.varm
    assert all(name.startswith("other") for name in found.components[0].names or ())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layer": "duble"}, "there are 'double'; did you mean 'double'"),
        ({"use_rep": "X_pca"}, ".obsm has no such entry; there are 'X_other'"),
        ({"layer": "double", "use_rep": "X_other"}, "but not both"),
        ({"use_rep": "X_other", "mask_var": "highly_variable"}, "mask_var chooses among variables"),
        ({"mask_var": "highly_variabel"}, "did you mean 'highly_variable'"),
        ({"mask_var": [True, False]}, "15 truth values"),
        ({"mask_var": np.zeros(15, bool)}, "chooses no variable"),
        ({"memory": 1.0}, "memory=1.0 would have no effect"),
        ({"key_added": ""}, "key_added must be a name"),
        ({"sparsity": 99}, "sparsity must be a whole number in 1..15"),
        ({"adata": np.ones((3, 3))}, "adata must be an AnnData object"),
        ({"n_component": 2}, "did you mean 'n_components'"),
    ],
)
def test_bad_arguments_are_refused_with_advice(cells, change, message):
    before = set(cells.obsm)
    with pytest.raises(certpca.CertpcaError) as caught:
        tl.spca(**{"adata": cells, "n_components": 2, "sparsity": 3, **change})
    assert message in str(caught.value)
    assert set(cells.obsm) == before


def test_objects_without_x_and_parts_of_backed_ones(cells, tmp_path):
    bare = ad.AnnData(obs=cells.obs, var=cells.var, layers=dict(cells.layers))
    with pytest.raises(certpca.InvalidDataError, match="name a layer"):
        tl.spca(bare, 1, 3)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    backed = ad.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with pytest.raises(certpca.InvalidDataError, match="to_memory"):
        tl.spca(backed[:, :5], 1, 3)
    backed.file.close()


@pytest.mark.filterwarnings("ignore")
def test_scanpy_draws_them(cells):
    import matplotlib as mpl

    mpl.use("agg")
    sc = pytest.importorskip("scanpy")
    tl.spca(cells, 2, 4)
    assert sc.pl.embedding(cells, basis="spca", color="batch", show=False) is not None
    sc.pl.ranking(cells, "varm", "SPCs", indices=[0, 1], labels=cells.var_names, show=False)
    sc.pl.ranking(cells, "uns", "variance_ratio", dictionary="spca", labels="SPC", show=False)
    sc.pp.neighbors(cells, use_rep="X_spca", n_neighbors=5)
    mpl.pyplot.close("all")


def test_the_module_is_public():
    assert "tl" in dir(certpca)
    assert certpca.tl.spca is tl.spca
