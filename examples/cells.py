# %% [markdown]
# # Cells: AnnData and scanpy's places
#
# 600 cells of three types, 1,500 genes, drawn as counts: two of the types have ten marker genes each. The object is
# what scanpy works on.

# %%
import anndata
import numpy as np
from scipy.sparse import csr_matrix

import certpca

rng = np.random.default_rng(0)
kind = rng.integers(3, size=600)
rates = rng.gamma(0.3, 1.0, size=1500)[None, :] * rng.lognormal(0, 0.2, size=(600, 1))
for number in (1, 2):
    markers = slice(10 * number - 10, 10 * number)
    rates[:, markers] = np.where((kind == number)[:, None], 6.0, 0.3) * rng.lognormal(0, 0.2, size=(600, 1))
counts = rng.poisson(rates)
cells = anndata.AnnData(csr_matrix(np.log1p(counts / counts.sum(axis=1, keepdims=True) * 1e3)))
cells.obs_names = [f"cell{number}" for number in range(600)]
cells.var_names = [f"marker{gene // 10 + 2}.{gene % 10}" if gene < 20 else f"gene{gene}" for gene in range(1500)]
cells.obs["type"] = [f"type {number + 1}" for number in kind]
print(cells)

# %% [markdown]
# Two components of ten genes each, with proofs. The matrix stays sparse: it is centred in the arithmetic, never in
# memory.

# %%
found = certpca.tl.spca(cells, 2, 10, certify=True, target_gap=0.02, time_limit=60)
print(found)
for part in found.components:
    print(" ".join(part.names))

# %% [markdown]
# Scores, loadings and what is proved are where scanpy looks for them, and are written with the object:

# %%
print(cells.obsm["X_spca"].shape, cells.varm["SPCs"].shape)
print(cells.uns["spca"]["certificate"]["verdict"])
cells.write_h5ad("cells.h5ad")

# %%
from matplotlib import pyplot

from certpca import plots

figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
scores = cells.obsm["X_spca"]
plots.draw("scores", scores[:, 0], scores[:, 1], kind, ["type 1", "type 2", "type 3"], ax=left)
found.plot("heatmap", right)

# %% [markdown]
# The same from the file, streamed, and held against the certificate of the first component:

# %%
reader = certpca.read_h5ad("cells.h5ad")
proof = certpca.verify(found.components[0].certificate, reader)
print(proof.matrix)
print(f"no {proof.sparsity} genes capture more than {proof.upper_bound:.4f}; these capture {proof.objective:.4f}")

# %% [markdown]
# [What is written where](../docs/anndata.md); [3,171 genes of lung tumours, from file to
# figure](../docs/transcriptomics.md).
