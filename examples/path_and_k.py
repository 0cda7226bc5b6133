# %% [markdown]
# # A path, and how many features
#
# k is a choice, and no proof can make it. What can be seen is what each k gives, and what is proved that no component
# with k features can exceed. The data are 569 biopsies of breast tumours with 30 measurements, which come with
# scikit-learn; `scale=True` asks about correlations.

# %%
from itertools import pairwise

from sklearn.datasets import load_breast_cancer

import certpca

tumours = load_breast_cancer()
X = certpca.from_data(tumours.data, scale=True, names=tumours.feature_names)
path = certpca.path(X, [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30], certify=True, target_gap=1e-4)
print(path)

# %% [markdown]
# Do features stay once they are in? Not always: the best seven need not contain the best six.

# %%
for before, after in pairwise(path.solutions):
    gone = sorted(set(before.names) - set(after.names))
    print(f"{before.sparsity:2d} to {after.sparsity:2d}: {', '.join(gone) or 'nothing'} left")

# %% [markdown]
# Four ways to choose, each with its reason. The elbow looks at the curve alone:

# %%
elbow = certpca.choose_sparsity(X, method="elbow")
print(elbow.sparsity, elbow.reason, sep=": ")

# %% [markdown]
# A share says how few features tell most of what all of them tell, and with a proof, how many are too few whatever
# one does:

# %%
share = certpca.choose_sparsity(X, method="share", share=0.9, measure="captured", certify=True)
print(share.sparsity, share.reason, sep=": ")

# %% [markdown]
# Cross-validation asks samples that were left out, and stability which features come again in other halves of the
# sample:

# %%
held_out = certpca.choose_sparsity(tumours.data, [2, 5, 10, 15, 20, 30], method="cross-validation", scale=True)
print(held_out.sparsity, held_out.reason, sep=": ")
again = certpca.choose_sparsity(tumours.data, [4, 8, 12], method="stability", scale=True, subsamples=10)
print(again.sparsity, again.reason, sep=": ")

# %%
from matplotlib import pyplot

from certpca import plots

figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
plots.draw("path", path, ax=left)
held_out.plot(right)

# %% [markdown]
# They answer different questions, and none is wrong. [Which k, and how many components](../docs/how_many.md) compares
# them on more data.
