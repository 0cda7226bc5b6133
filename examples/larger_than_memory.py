# %% [markdown]
# # Larger than memory
#
# Files are walked over in blocks that fit a budget. Here is one of 80 MB with a budget of 8 MB; the same lines do
# for one of 80 GB, which takes a thousand times as long.

# %%
import numpy as np

import certpca

rng = np.random.default_rng(0)
samples, features = 1000, 20_000
shape = (samples, features)
table = np.lib.format.open_memmap("table.npy", mode="w+", dtype=np.float32, shape=shape, fortran_order=True)
hidden = rng.standard_normal(samples).astype(np.float32)
for start in range(0, features, 4000):  # written by blocks too: it is never in memory as a whole
    block = rng.standard_normal((samples, 4000), dtype=np.float32)
    if start == 8000:
        block[:, :20] += 1.5 * hidden[:, None]
    table[:, start : start + 4000] = block
table.flush()
del table

# %% [markdown]
# The file is opened, not read. Every verb takes it as data:

# %%
data = certpca.open_npy("table.npy", memory=8 / 1024)
solution = certpca.solve(data, 20, certify=True, target_gap=0.05, time_limit=90)
print(solution)
print("features", solution.support.min(), "to", solution.support.max())
walks, proving = solution.details["walks"], solution.details["walks_proof"]
print(f"{walks:.0f} walks over the file, of which {proving:.0f} for the proof")

# %% [markdown]
# The checker reads by blocks as well, on any machine that has the file:

# %%
proof = certpca.verify(solution.certificate, data)
print(proof.matrix)
print(f"no {proof.sparsity} features capture more than {proof.upper_bound:.3f}; these capture {proof.objective:.3f}")

# %% [markdown]
# How few features tell as much? What is known of one sparsity serves the next, so that a path takes fewer walks than as
# many calls:

# %%
before = data.passes
path = certpca.path(data, [5, 10, 20, 30, 40], time_limit=90)
print(path)
print(f"{data.passes - before:.0f} walks")

# %%
from matplotlib import pyplot

figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
left.plot(path.sparsities, path.objectives, color="#0072B2", marker="o", label="captured")
left.axvline(20, color="grey", linestyle=":", label="planted")
left.set_xlabel("features")
left.set_ylabel("variance captured")
left.legend()
scores = certpca.transform(data, solution)
right.scatter(hidden, scores, s=4, color="#0072B2")
right.set_xlabel("planted factor")
right.set_ylabel("score")

# %% [markdown]
# PLINK, AnnData, Zarr and Parquet files are streamed likewise: [formats, memory and speed](../docs/large_data.md).
# For runs of hours, [checkpoints](../docs/checkpoints.md); for several machines, [clusters](../docs/clusters.md).
